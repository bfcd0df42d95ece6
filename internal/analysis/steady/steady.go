// Package steady finds where a run's start-up ends and whether the rest stands still: MSER-5 truncation on a series, a growth test on
// queue depth and a drift test on throughput and response time.
//
// Opinions: a minimum at the edge of what may be cut means that the run was too short, and is said; a queue that grows through the window
// has no steady state, whatever its throughput looks like. Too few intervals to judge is its own verdict, not a pass.
//
// Sources: K. P. White, "An Effective Truncation Heuristic for Bias Reduction in Simulation Output", Simulation 69 (1997); K. P. White, M.
// J. Cobb and S. C. Spratt, "A Comparison of Five Steady-State Truncation Heuristics for Simulation", WSC 2000 (batches of five, cut at
// most half).
package steady

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadline-dev/loadline/internal/stat"
)

const (
	// MinIntervals is the fewest intervals that a verdict rests on.
	MinIntervals = 10
	batchSize    = 5
	// material is the change over the window, as a share of the mean, below which a trend is of no interest however significant.
	material = 0.10
	// trendLevel is the one-sided confidence of the growth test.
	trendLevel = 0.99
)

// Truncation is where MSER cuts a series.
type Truncation struct {
	Drop     int     // observations to drop from the start
	Stat     float64 // MSER statistic there: estimated variance of the mean of the rest, over its length
	StatAll  float64 // statistic with nothing dropped
	Mean     float64 // of the rest; under MSER-5, of its whole batches
	TooShort bool    // the minimum lies at the edge of what may be cut: the start-up may not have ended
}

// MSER drops the d <= n/2 first observations for which Σ(x−x̄)²/(n−d)² over the rest is smallest. An empty series gives NaN.
func MSER(x []float64) Truncation {
	n := len(x)
	if n == 0 {
		return Truncation{Stat: math.NaN(), StatAll: math.NaN(), Mean: math.NaN(), TooShort: true}
	}
	best := Truncation{Stat: math.Inf(1)}
	// Sums run from the end, so that each d costs one step; they are taken about the overall mean so that nothing cancels.
	center := stat.Mean(x)
	var sum, sumSq float64
	for d := n - 1; d >= 0; d-- {
		v := x[d] - center
		sum, sumSq = sum+v, sumSq+v*v
		rest := float64(n - d)
		s := max(0, sumSq-sum*sum/rest) / (rest * rest)
		if d == 0 {
			best.StatAll = s
		}
		if d <= n/2 && s <= best.Stat {
			best.Drop, best.Stat, best.Mean = d, s, center+sum/rest
		}
	}
	best.TooShort = n < 2 || best.Drop == n/2
	return best
}

// MSER5 is MSER on the means of consecutive batches of five; Drop counts observations. An incomplete last batch is left out.
func MSER5(x []float64) Truncation {
	batches := make([]float64, 0, len(x)/batchSize)
	for i := 0; i+batchSize <= len(x); i += batchSize {
		batches = append(batches, stat.Mean(x[i:i+batchSize]))
	}
	t := MSER(batches)
	t.Drop *= batchSize
	return t
}

// Trend is a straight line through a series of evenly spaced observations.
type Trend struct {
	Slope    float64 // per observation
	Low      float64 // one-sided bounds of the slope at 99 %, with the residuals' correlation taken into account
	High     float64
	Relative float64 // change over the whole series as a share of its mean magnitude; 0 where the mean is 0
}

// FitTrend is the least-squares line. A series of fewer than four observations gives NaN.
func FitTrend(x []float64) Trend {
	n := float64(len(x))
	if len(x) < 4 {
		return Trend{Slope: math.NaN(), Low: math.NaN(), High: math.NaN(), Relative: math.NaN()}
	}
	mid, mean := (n-1)/2, stat.Mean(x)
	var sxx, sxy float64
	for i, v := range x {
		sxx += (float64(i) - mid) * (float64(i) - mid)
		sxy += (float64(i) - mid) * (v - mean)
	}
	slope := sxy / sxx
	residuals := make([]float64, len(x))
	sse := 0.0
	for i, v := range x {
		residuals[i] = v - mean - slope*(float64(i)-mid)
		sse += residuals[i] * residuals[i]
	}
	tau := stat.CorrelationTime(residuals)
	se := math.Sqrt(sse / (n - 2) / sxx * tau)
	// Correlated observations tell as much as fewer independent ones, and a line takes two of them.
	free := max(1, n/tau-2)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Quantile(trendLevel)
	out := Trend{Slope: slope, Low: slope - t*se, High: slope + t*se}
	if mean != 0 {
		out.Relative = slope * (n - 1) / math.Abs(mean)
	}
	return out
}

func (t Trend) grows() bool   { return t.Low > 0 && t.Relative > material }
func (t Trend) shrinks() bool { return t.High < 0 && t.Relative < -material }

// Verdict is what is known about the window. The zero value is TooShort: nothing is known.
type Verdict uint8

// The verdicts.
const (
	TooShort Verdict = iota // too few intervals, or a start-up that had not ended at half the window
	Unsteady                // a queue grows or a figure drifts through the window
	Steady
)

// String names the verdict.
func (v Verdict) String() string {
	switch v {
	case Steady:
		return "steady"
	case Unsteady:
		return "unsteady"
	default:
		return "too short"
	}
}

// Series are what was seen in consecutive intervals of equal length; an empty one is unknown.
type Series struct {
	IntervalSeconds float64
	Throughput      []float64 // completions per second
	ResponseMS      []float64 // mean response of each interval
	Queue           []float64 // requests waiting or in flight: whatever grows when the service cannot follow
}

// Result says whether the window stands still, and why not.
type Result struct {
	Verdict     Verdict
	DropSeconds float64  // start-up that MSER-5 would cut, the longest of the series
	Reasons     []string // what speaks against steady state, with figures; empty when steady
}

// Detect judges a window. A start-up is cut before drift is looked for; a window in which it may reach half is too short.
func Detect(s Series) Result {
	named := []struct {
		name  string
		x     []float64
		grows bool // only growth matters: a queue that drains ends in a steady state
	}{{"throughput", s.Throughput, false}, {"response time", s.ResponseMS, false}, {"queue", s.Queue, true}}
	longest, drop := 0, 0
	var short []string
	for _, n := range named {
		longest = max(longest, len(n.x))
		if len(n.x) < MinIntervals {
			continue
		}
		t := MSER5(n.x)
		if t.TooShort && changes(n.x) {
			short = append(short, fmt.Sprintf("%s had not settled at half of %d intervals: measure longer", n.name, len(n.x)))
			continue
		}
		drop = max(drop, settledAt(n.x, t))
	}
	if longest < MinIntervals {
		return Result{Reasons: []string{fmt.Sprintf("%d intervals of %v s: at least %d are needed to judge steady state", longest, s.IntervalSeconds, MinIntervals)}}
	}
	out := Result{Verdict: Steady, DropSeconds: float64(drop) * s.IntervalSeconds}
	for _, n := range named {
		if len(n.x)-drop < MinIntervals/2 {
			continue
		}
		t := FitTrend(n.x[drop:])
		if t.grows() || (!n.grows && t.shrinks()) {
			out.Verdict = Unsteady
			out.Reasons = append(out.Reasons, fmt.Sprintf("%s changes by %+.0f %% of its mean through %v s", n.name, t.Relative*100,
				float64(len(n.x)-drop)*s.IntervalSeconds))
		}
	}
	if out.Verdict == Steady && len(short) > 0 {
		out.Verdict = TooShort
	}
	out.Reasons = append(out.Reasons, short...)
	return out
}

// settledAt is what MSER-5 would cut, where that start-up differs materially from the rest: noise moves the minimum about in a series
// that was steady from its beginning.
func settledAt(x []float64, t Truncation) int {
	if t.Drop == 0 || math.Abs(stat.Mean(x[:t.Drop])-t.Mean) <= material*math.Abs(t.Mean) {
		return 0
	}
	return t.Drop
}

// changes tells whether the two halves of a series differ by more than noise and materially; a minimum at the edge means nothing in a
// series that was the same throughout.
func changes(x []float64) bool {
	half := len(x) / 2
	a, b := x[:half], x[half:]
	ma, mb := stat.Mean(a), stat.Mean(b)
	se := math.Sqrt(variance(a)*stat.CorrelationTime(a)/float64(len(a)) + variance(b)*stat.CorrelationTime(b)/float64(len(b)))
	return math.Abs(ma-mb) > material*math.Abs(mb) && math.Abs(ma-mb) > 2.5*se
}

func variance(x []float64) float64 {
	m, sum := stat.Mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return sum / max(1, float64(len(x)-1))
}
