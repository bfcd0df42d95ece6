package analysis

import (
	"math"
	"time"

	"gonum.org/v1/gonum/mathext"

	"github.com/loadline-dev/loadline/internal/hist"
)

// Confidence is the level of every interval: 95 %, two-sided.
const confidence = 0.95

// minimumSamples is the least n for which the largest of n samples lies at or above the true q-quantile with 95 % confidence:
// 1 − qⁿ >= 0.95. It gives 5 for p50, 29 for p90, 59 for p95, 299 for p99, 2995 for p999. Below it a percentile is not shown.
//
// Source: H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1 (one-sided form).
func minimumSamples(q float64) int64 {
	return int64(math.Ceil(math.Log(1-confidence) / math.Log(q)))
}

// intervalRanks gives the ranks (1…n) of the order statistics that bound the true q-quantile of n samples with 2.5 % left on each
// side. A rank of 0 says that no sample bounds that side: above p99 this is so for n < 368.
//
// The number B of samples at or below the quantile is binomial(n, q). The l-th sample lies above it when B < l, the u-th below it
// when B >= u. Source: David and Nagaraja, Order Statistics, 3rd ed., section 7.1.
func intervalRanks(n int64, q float64) (low, high int64) {
	const tail = (1 - confidence) / 2
	low = largest(n, func(l int64) bool { return binomialBelow(n, l, q) <= tail })
	high = n + 1 - largest(n, func(k int64) bool { return 1-binomialBelow(n, n+1-k, q) <= tail })
	if high > n {
		high = 0
	}
	return low, high
}

// largest finds the largest k in 1…n for which holds is true, given that it is true up to some k and false above it; 0 where it
// never is.
func largest(n int64, holds func(int64) bool) int64 {
	lo, hi := int64(0), n
	for lo < hi {
		mid := lo + (hi-lo+1)/2
		if holds(mid) {
			lo = mid
			continue
		}
		hi = mid - 1
	}
	return lo
}

// binomialBelow is P(B < k) for B binomial(n, q), by the regularised incomplete beta function (Abramowitz and Stegun, 26.5.24).
func binomialBelow(n, k int64, q float64) float64 {
	if k <= 0 {
		return 0
	}
	if k > n {
		return 1
	}
	return mathext.RegIncBeta(float64(n-k+1), float64(k), 1-q)
}

// latencyOf reads a distribution's figures; those whose samples do not suffice stay nil.
func latencyOf(h *hist.Histogram) Latency {
	n := h.Count()
	out := Latency{N: n}
	if n == 0 {
		return out
	}
	at := func(q float64) *float64 {
		if n < minimumSamples(q) {
			return nil
		}
		return millis(h.Quantile(q))
	}
	out.Mean, out.Max = millis(h.Mean()), millis(h.Max())
	out.P50, out.P90, out.P95, out.P99, out.P999 = at(0.5), at(0.9), at(0.95), at(0.99), at(0.999)
	if out.P99 == nil {
		return out
	}
	low, high := intervalRanks(n, 0.99)
	if low > 0 {
		out.P99Low = millis(h.AtRank(low))
	}
	if high > 0 {
		out.P99High = millis(h.AtRank(high))
	}
	return out
}

func millis(d time.Duration) *float64 { return known(float64(d) / float64(time.Millisecond)) }

// known makes a figure of a value; one that is no number is unknown.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// ratio is a/b, unknown where b is not above 0.
func ratio(a, b float64) *float64 {
	if b <= 0 {
		return nil
	}
	return known(a / b)
}
