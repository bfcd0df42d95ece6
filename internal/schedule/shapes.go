package schedule

import "time"

// Constant is one rate.
func Constant(ratePerSec float64, length time.Duration) []Stage {
	return []Stage{{From: ratePerSec, To: ratePerSec, Length: length}}
}

// Ramp is a rate that goes from one value to another in a straight line.
func Ramp(from, to float64, length time.Duration) []Stage {
	return []Stage{{From: from, To: to, Length: length}}
}

// Steps are rates one after the other, each for the same time.
func Steps(length time.Duration, ratesPerSec ...float64) []Stage {
	var out []Stage
	for _, r := range ratesPerSec {
		out = append(out, Constant(r, length)...)
	}
	return out
}

// Spike is a rate that jumps to a peak and back: base for before, peak for length, base for after.
func Spike(base, peak float64, before, length, after time.Duration) []Stage {
	return append(append(Constant(base, before), Constant(peak, length)...), Constant(base, after)...)
}

// Length is how long the stages take together.
func Length(stages []Stage) time.Duration {
	var sum time.Duration
	for _, s := range stages {
		sum += s.Length
	}
	return sum
}
