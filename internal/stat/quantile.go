package stat

import (
	"math"
	"slices"
)

// Ranks are two order statistics that enclose a quantile: the Lower-th and Upper-th smallest of the samples. A rank of 0 says that the
// samples give no bound on that side.
type Ranks struct {
	Lower, Upper int64
	Coverage     float64 // probability that the interval holds the quantile, where both bounds exist; else of the one-sided statement
}

// QuantileRanks gives the ranks of the two-sided interval of the q-quantile (0 < q < 1) of n independent samples, each tail at most
// (1−level)/2. It is valid for any continuous distribution: P(X_(l) <= x_q < X_(u)) = P(l <= B < u), B ~ Bin(n, q).
//
// Source: H. A. David and H. N. Nagaraja, Order Statistics (3rd ed., 2003), section 7.1.
func QuantileRanks(n int64, q, level float64) Ranks {
	tail := (1 - level) / 2
	lower, upper := lowerRank(n, q, tail), upperRank(n, q, tail)
	return Ranks{Lower: lower, Upper: upper, Coverage: coverage(n, q, lower, upper)}
}

// coverage is P(lower <= B < upper); a missing bound stands open.
func coverage(n int64, q float64, lower, upper int64) float64 {
	most := 1.0
	if upper > 0 {
		most = binomialCDF(upper-1, n, q)
	}
	return most - binomialCDF(lower-1, n, q)
}

// UpperRank is the rank of the one-sided upper bound of the q-quantile at the confidence level, 0 where n samples give none.
func UpperRank(n int64, q, level float64) int64 { return upperRank(n, q, 1-level) }

// LowerRank is the rank of the one-sided lower bound of the q-quantile at the confidence level, 0 where n samples give none.
func LowerRank(n int64, q, level float64) int64 { return lowerRank(n, q, 1-level) }

// upperRank is the smallest u with P(B >= u) <= tail.
func upperRank(n int64, q, tail float64) int64 {
	misses := func(u int64) bool { return 1-binomialCDF(u-1, n, q) > tail+rounding }
	if n < 1 || misses(n) {
		return 0
	}
	lo, hi := int64(0), n
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if misses(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// lowerRank is the largest l with P(B < l) <= tail.
func lowerRank(n int64, q, tail float64) int64 {
	holds := func(l int64) bool { return binomialCDF(l-1, n, q) <= tail+rounding }
	if n < 1 || !holds(1) {
		return 0
	}
	lo, hi := int64(1), n+1
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if holds(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// rounding keeps the last digit of a probability from moving a rank.
const rounding = 1e-12

// MinSamples is the fewest independent samples whose largest is a one-sided upper bound of the q-quantile at the confidence level: the
// smallest n with qⁿ <= 1−level (Wilks 1941). 299 for p99 at 95 %.
func MinSamples(q, level float64) int64 { return wilks(q, 1-level) }

// MinSamplesTwoSided is the fewest samples that bound the q-quantile on both sides, each tail at most (1−level)/2. 368 for p99 at 95 %.
func MinSamplesTwoSided(q, level float64) int64 {
	tail := (1 - level) / 2
	return max(wilks(q, tail), wilks(1-q, tail))
}

func wilks(q, tail float64) int64 {
	return int64(math.Ceil(math.Log(tail)/math.Log(q) - rounding))
}

// QuantileRanksEffective is QuantileRanks for correlated samples: n of them that tell as much as effective independent ones
// (1 <= effective <= n). The ranks are those of the smaller sample, spread to the n.
func QuantileRanksEffective(n int64, effective, q, level float64) Ranks {
	small := int64(math.Floor(effective))
	if small >= n {
		return QuantileRanks(n, q, level)
	}
	r := QuantileRanks(max(small, 0), q, level)
	if r.Lower > 0 {
		r.Lower = max(1, int64(math.Floor(float64(r.Lower)*float64(n)/float64(small))))
	}
	if r.Upper > 0 {
		r.Upper = min(n, int64(math.Ceil(float64(r.Upper)*float64(n)/float64(small))))
	}
	return r
}

// Median is the median of a sample, NaN for an empty one. The sample is not changed.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return missing()
	}
	s := slices.Clone(x)
	slices.Sort(s)
	m := len(s) / 2
	if len(s)%2 == 1 {
		return s[m]
	}
	return s[m-1]/2 + s[m]/2
}

// MedianInterval is the order-statistic interval of the median; at 95 % it needs 6 samples, at 99 % 8, below which both bounds are missing.
// Level is the coverage reached. The sample is not changed.
func MedianInterval(x []float64, level float64) Interval {
	r := QuantileRanks(int64(len(x)), 0.5, level)
	if r.Lower == 0 || r.Upper == 0 {
		return Interval{Low: missing(), High: missing(), Level: level}
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return Interval{Low: s[r.Lower-1], High: s[r.Upper-1], Level: r.Coverage}
}
