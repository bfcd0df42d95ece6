package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	exactWithoutTies = 50 // samples a side up to which the U distribution is counted
	exactWithTies    = 25
)

// MannWhitney is the two-sided rank test of two samples.
type MannWhitney struct {
	U float64 // pairs in which the first sample's value is larger, ties counted half
	P float64 // probability of a U as far from its mean, when both samples come from one distribution; NaN where a sample is empty or all values are equal
}

// MannWhitneyU tests whether two samples come from one distribution, against a shift of location. It says nothing about tails. The
// distribution of U is counted exactly up to 50 samples a side (25 with ties), then normal with tie and continuity correction.
//
// Source: H. B. Mann and D. R. Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other", Annals
// of Mathematical Statistics 18 (1947).
func MannWhitneyU(a, b []float64) MannWhitney {
	if len(a) == 0 || len(b) == 0 {
		return MannWhitney{U: missing(), P: missing()}
	}
	groups, u := rankGroups(a, b)
	if len(groups) == 1 {
		return MannWhitney{U: u, P: missing()}
	}
	limit := exactWithoutTies
	if len(groups) < len(a)+len(b) {
		limit = exactWithTies
	}
	if len(a) <= limit && len(b) <= limit {
		return MannWhitney{U: u, P: exactP(groups, len(a), len(b), u)}
	}
	return MannWhitney{U: u, P: normalP(groups, len(a), len(b), u)}
}

// rankGroups gives the sizes of the groups of equal values in rising order, and U of the first sample.
func rankGroups(a, b []float64) (groups []int, u float64) {
	type value struct {
		v     float64
		first bool
	}
	all := make([]value, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, value{v, true})
	}
	for _, v := range b {
		all = append(all, value{v, false})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].v < all[j].v })
	below := 0 // values of b below the group
	for i := 0; i < len(all); {
		j, inA, inB := i, 0, 0
		for ; j < len(all) && all[j].v == all[i].v; j++ {
			if all[j].first {
				inA++
			} else {
				inB++
			}
		}
		u += float64(inA) * (float64(below) + float64(inB)/2)
		below += inB
		groups = append(groups, j-i)
		i = j
	}
	return groups, u
}

// exactP counts, over all ways to deal the groups' values to the two samples, those with a U at least as far from the mean. The state is
// (values dealt to the first sample, twice its U); ways are kept as probabilities so that they do not overflow.
func exactP(groups []int, na, nb int, u float64) float64 {
	width := 2*na*nb + 1
	ways := make([][]float64, na+1)
	for k := range ways {
		ways[k] = make([]float64, width)
	}
	ways[0][0] = 1
	dealt := 0
	for _, size := range groups {
		next := make([][]float64, na+1)
		for k := range next {
			next[k] = make([]float64, width)
		}
		for k := 0; k <= min(na, dealt); k++ {
			belowB := dealt - k
			for take := max(0, size-(nb-belowB)); take <= min(size, na-k); take++ {
				add := 2*take*belowB + take*(size-take)
				addShifted(next[k+take], ways[k], add, choose(size, take))
			}
		}
		ways, dealt = next, dealt+size
	}
	return tailShare(ways[na], float64(na*nb), math.Abs(2*u-float64(na*nb)))
}

// addShifted adds weight × from, moved right by shift, to into.
func addShifted(into, from []float64, shift int, weight float64) {
	for i, w := range from {
		if w != 0 && i+shift < len(into) {
			into[i+shift] += w * weight
		}
	}
}

// tailShare is the share of the ways at least distance from the mean.
func tailShare(ways []float64, mean, distance float64) float64 {
	var total, tail float64
	for twiceU, w := range ways {
		total += w
		if math.Abs(float64(twiceU)-mean) >= distance-1e-9 {
			tail += w
		}
	}
	return min(1, tail/total)
}

func choose(n, k int) float64 {
	out := 1.0
	for i := 1; i <= k; i++ {
		out = out * float64(n-k+i) / float64(i)
	}
	return out
}

// normalP is the normal approximation with tie and continuity correction (Lehmann, Nonparametrics, 1975, section 1.4).
func normalP(groups []int, na, nb int, u float64) float64 {
	n1, n2 := float64(na), float64(nb)
	n := n1 + n2
	ties := 0.0
	for _, g := range groups {
		t := float64(g)
		ties += t*t*t - t
	}
	sd := math.Sqrt(n1 * n2 / 12 * ((n + 1) - ties/(n*(n-1))))
	z := max(0, math.Abs(u-n1*n2/2)-0.5) / sd
	return min(1, 2*distuv.UnitNormal.Survival(z))
}

// SmallestP is the smallest p that MannWhitneyU can give for two samples of these sizes without ties: 2 / C(a+b, a). A test at a level
// below it can find nothing.
func SmallestP(a, b int) float64 {
	return min(1, 2/choose(a+b, min(a, b)))
}

// Holm adjusts p values of several tests made together, so that each may be compared with the level of the whole family. The order is
// kept; NaN values stay and are not counted.
//
// Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6 (1979).
func Holm(p []float64) []float64 {
	out := slices.Clone(p)
	order := make([]int, 0, len(p))
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return p[order[i]] < p[order[j]] })
	running := 0.0
	for rank, i := range order {
		running = max(running, p[i]*float64(len(order)-rank))
		out[i] = min(1, running)
	}
	return out
}

// Bootstrap is the percentile interval of a statistic of two samples of independent runs, each resampled with replacement from its own
// runs. The runs, not the requests, are resampled, since requests of one run are not independent. A sample of fewer than two runs gives
// an interval without bounds. Rounds below 100 are raised to 100.
//
// Source: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), sections 8.3 and 13.3.
func Bootstrap(a, b []float64, statistic func(a, b []float64) float64, level float64, rounds int, rng *rand.Rand) Interval {
	if len(a) < 2 || len(b) < 2 {
		return Interval{Low: missing(), High: missing(), Level: level}
	}
	rounds = max(rounds, 100)
	values := make([]float64, 0, rounds)
	ra, rb := make([]float64, len(a)), make([]float64, len(b))
	for range rounds {
		resample(ra, a, rng)
		resample(rb, b, rng)
		if v := statistic(ra, rb); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return Interval{Low: missing(), High: missing(), Level: level}
	}
	slices.Sort(values)
	tail := (1 - level) / 2
	return Interval{Low: quantileOfSorted(values, tail), High: quantileOfSorted(values, 1-tail), Level: level}
}

func resample(into, from []float64, rng *rand.Rand) {
	for i := range into {
		into[i] = from[rng.IntN(len(from))]
	}
}

// quantileOfSorted is the inverse of the empirical distribution: the smallest value with at least the share q at or below it.
func quantileOfSorted(s []float64, q float64) float64 {
	i := int(math.Ceil(q*float64(len(s)))) - 1
	return s[min(max(i, 0), len(s)-1)]
}
