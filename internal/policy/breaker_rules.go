package policy

import "time"

// PartsPerMillion is the unit in which ratios reach the breaker: whole numbers, so that "at 7 %" means the same for every count.
const PartsPerMillion = 1_000_000

// BreakerRules are a breaker's settings, complete and valid; breaker.Settings describes each and gives defaults.
type BreakerRules struct {
	Window          BreakerWindow
	MinVolume       uint64
	FailurePPM      uint64        // trips at or above
	SlowPPM         uint64        // 0: slow calls are counted but never trip
	SlowAfter       time.Duration // 0: no call is slow
	SleepWindow     time.Duration
	Probes          int
	ProbeExpiry     time.Duration
	Mode            BreakerMode
	CountRejections bool
	Force           BreakerForce
}

// BreakerWindow is the shape of the window over which results count: the last Calls of them, or those of the last Length in Buckets
// steps when Calls is 0.
type BreakerWindow struct {
	Calls   int
	Length  time.Duration
	Buckets int
}

// Width is the length of one bucket of a time window.
func (w BreakerWindow) Width() time.Duration {
	if w.Calls > 0 {
		return 0
	}
	return w.Length / time.Duration(w.Buckets)
}

// BreakerMode is when a breaker judges its window.
type BreakerMode uint8

const (
	// BreakerStandard judges at every result.
	BreakerStandard BreakerMode = iota
	// BreakerHystrix judges once a bucket, over completed buckets only, as Hystrix' health stream does.
	BreakerHystrix
)

// BreakerForce overrides what a breaker would decide.
type BreakerForce uint8

// The overrides.
const (
	BreakerAuto         BreakerForce = iota // no override
	BreakerForcedOpen                       // refuse everything
	BreakerForcedClosed                     // admit everything and count it
	BreakerDisabled                         // admit everything and count nothing
)

// BreakerState is where a breaker stands.
type BreakerState uint8

// The states.
const (
	BreakerClosed BreakerState = iota
	BreakerOpen
	BreakerHalfOpen
)

// BreakerOutcome is what the breaker learns of a call.
type BreakerOutcome uint8

// The outcomes. A neutral one says nothing about the dependency; a rejected one found no capacity on our side.
const (
	BreakerSuccess BreakerOutcome = iota
	BreakerFailure
	BreakerRejected
	BreakerNeutral
)

// BreakerReason is why a breaker changed state.
type BreakerReason uint8

// The reasons.
const (
	BreakerNoReason BreakerReason = iota
	BreakerFailureRatio
	BreakerSlowRatio
	BreakerSlept
	BreakerProbesPassed
	BreakerProbesFailed
	BreakerByHand
)

// BreakerTally counts results.
type BreakerTally struct{ Total, Failures, Slow uint64 }

// Plus adds two tallies.
func (t BreakerTally) Plus(o BreakerTally) BreakerTally {
	return BreakerTally{t.Total + o.Total, t.Failures + o.Failures, t.Slow + o.Slow}
}

func (t BreakerTally) minus(o BreakerTally) BreakerTally {
	return BreakerTally{t.Total - o.Total, t.Failures - o.Failures, t.Slow - o.Slow}
}

// Tally is what one result adds to the window; ok is false when the result does not count.
func (r *BreakerRules) Tally(outcome BreakerOutcome, elapsed time.Duration) (one BreakerTally, ok bool) {
	switch {
	case outcome == BreakerNeutral, outcome == BreakerRejected && !r.CountRejections:
		return BreakerTally{}, false
	case outcome != BreakerSuccess:
		one.Failures = 1
	}
	one.Total = 1
	if r.SlowAfter > 0 && elapsed >= r.SlowAfter && outcome != BreakerRejected {
		one.Slow = 1
	}
	return one, true
}

// Judge tells whether a window's tally trips the breaker, and by which ratio; BreakerNoReason when it does not.
//
// Source of volume before ratio and of "at or above": Hystrix 1.5.18, HystrixCircuitBreaker; its integer percentage, rounded down, is at or
// above a whole threshold exactly when the ratio is.
func (r *BreakerRules) Judge(t BreakerTally) BreakerReason {
	switch {
	case t.Total < r.MinVolume || t.Total == 0:
		return BreakerNoReason
	case t.Failures*PartsPerMillion >= r.FailurePPM*t.Total:
		return BreakerFailureRatio
	case r.SlowPPM > 0 && t.Slow*PartsPerMillion >= r.SlowPPM*t.Total:
		return BreakerSlowRatio
	default:
		return BreakerNoReason
	}
}

// judgeProbes tells what the results of probes so far make certain: failed when enough have failed (or were slow) that the rest
// cannot help, passed when the rest cannot harm, neither while it is undecided.
func (r *BreakerRules) judgeProbes(t BreakerTally) (failed, passed bool) {
	n := uint64(r.Probes)
	if t.Failures*PartsPerMillion >= r.FailurePPM*n || r.SlowPPM > 0 && t.Slow*PartsPerMillion >= r.SlowPPM*n {
		return true, false
	}
	rest := n - min(t.Total, n)
	passed = (t.Failures+rest)*PartsPerMillion < r.FailurePPM*n
	if r.SlowPPM > 0 {
		passed = passed && (t.Slow+rest)*PartsPerMillion < r.SlowPPM*n
	}
	return false, passed
}
