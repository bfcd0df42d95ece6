package analysis

import (
	"math"
	"slices"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/stat"
)

// confidence is the level of every interval, two-sided, and of the least number of samples, one-sided.
const confidence = 0.95

// minimumSamples is the least n for which a q-quantile is shown: 5 for p50, 29 for p90, 59 for p95, 299 for p99, 2995 for p999. With
// fewer not even the largest sample lies at or above the true quantile with 95 % confidence.
func minimumSamples(q float64) int64 { return stat.MinSamples(q, confidence) }

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
	ranks := stat.QuantileRanks(n, 0.99, confidence)
	if ranks.Lower > 0 {
		out.P99Low = millis(h.AtRank(ranks.Lower))
	}
	if ranks.Upper > 0 {
		out.P99High = millis(h.AtRank(ranks.Upper))
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

func valueOr0(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// higher is the greater of two figures of which either may be unknown.
func higher(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func has(findings []Finding, code finding.Code) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Code == code })
}
