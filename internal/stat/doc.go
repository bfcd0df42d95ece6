// Package stat holds the statistics that Loadline's verdicts rest on: intervals of quantiles from order statistics, shares with exact
// bounds, sequential tests, what autocorrelation leaves of a sample, rank tests and bootstrap for comparisons.
//
// Opinions: a quantile has an interval or it is not a result; the interval comes from order statistics, which assume nothing about the
// shape of latencies; where samples are correlated, their number is replaced by the effective one. A bound that the samples cannot give is
// said to be missing, never extrapolated.
//
// Everything here is pure: random streams are handed in. Functions are safe for concurrent use unless they take a stream.
package stat

import "math"

// Interval is a confidence interval. A bound that does not exist is NaN.
type Interval struct {
	Low, High float64
	Level     float64 // the confidence asked for or, where it is known exactly, achieved
}

// Contains tells whether v lies in the interval, ends included. A missing bound excludes nothing.
func (i Interval) Contains(v float64) bool {
	return !(v < i.Low) && !(v > i.High)
}

// missing is the bound that does not exist.
func missing() float64 { return math.NaN() }
