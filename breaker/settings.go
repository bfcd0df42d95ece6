package breaker

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
)

// Window is the kind of window over which results count.
type Window uint8

// The windows.
const (
	Time  Window = iota // the results of the last WindowLength
	Count               // the last WindowCalls results
)

// String is the name used in settings documents.
func (w Window) String() string { return nameOf([]string{"time", "count"}, int(w), "window") }

// Mode is when the breaker judges its window.
type Mode uint8

const (
	// Standard judges at every result.
	Standard Mode = iota
	// Hystrix judges as Netflix Hystrix does: once a health interval, over completed intervals only, so that the breaker trips up to one
	// interval after the result that would have tripped it. See HystrixSettings.
	Hystrix
)

// String is the name used in settings documents.
func (m Mode) String() string { return nameOf([]string{"standard", "hystrix"}, int(m), "mode") }

// Force overrides what the breaker would decide, while it is set.
type Force uint8

const (
	// Auto overrides nothing.
	Auto Force = iota
	// ForcedOpen refuses every call.
	ForcedOpen
	// ForcedClosed admits every call and counts its result. In the standard mode the breaker does not trip beneath, in Hystrix mode it does.
	ForcedClosed
	// Disabled admits every call and counts nothing.
	Disabled
)

// String is the name used in settings documents.
func (f Force) String() string {
	return nameOf([]string{"auto", "forced-open", "forced-closed", "disabled"}, int(f), "force")
}

func nameOf(names []string, i int, what string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}

// Settings are what may be changed while the breaker works. The zero value of each field is its default.
type Settings struct {
	// Window is the kind of window: Time by default.
	Window Window
	// WindowLength is the length of a time window: 10 ms to 1 h, 10 s by default. It is a whole multiple of WindowBuckets nanoseconds.
	WindowLength time.Duration
	// WindowBuckets is in how many steps a time window moves on: 1 to 600, 10 by default; in Hystrix mode WindowLength ÷ 500 ms by default.
	WindowBuckets int
	// WindowCalls is the length of a count window: 1 to 65536, 100 by default.
	WindowCalls int
	// MinVolume is the fewest results in the window on which to judge: 1 or more, 20 by default. With a count window no more than
	// WindowCalls; the default is lowered to that.
	MinVolume int
	// FailureRatio is the share of failures that trips: above 0 to 1, 0.5 by default. A ratio equal to it trips. Kept to a millionth.
	FailureRatio float64
	// SlowAfter is from when a call is slow: 0, the default, means never. A slow call may be a success.
	SlowAfter time.Duration
	// SlowRatio is the share of slow calls that trips, where SlowAfter is set: above 0 to 1, 1 by default.
	SlowRatio float64
	// SleepWindow is how long an open breaker refuses before it sends probes: 1 ms to 1 h, 5 s by default.
	SleepWindow time.Duration
	// Probes is how many calls a half-open breaker lets through: 1 to 1000, 1 by default. It closes or opens by the same ratios over
	// that number, as soon as the missing results cannot change the verdict.
	Probes int
	// ProbeExpiry is after how long a probe that has not come back gives its place free: 1 ms to 24 h, by default the sleep window or 1 s,
	// whichever is longer. Keep it above the longest call that is not lost.
	ProbeExpiry time.Duration
	// CountRejections makes Rejected a failure, as in Hystrix. By default it does not count.
	CountRejections bool
	// Mode is when the breaker judges: Standard by default.
	Mode Mode
	// Force overrides what the breaker would decide: Auto by default.
	Force Force
}

// HystrixSettings are those of Netflix Hystrix 1.5.18: 20 requests, 50 %, 10 s window, 5 s sleep, one probe, health every 500 ms, rejections
// count as failures. Its stuck states are not reproduced: only the probe itself closes or re-opens the breaker, a probe that is
// cancelled or was a bad request gives its place free, and a lost one expires.
func HystrixSettings() Settings {
	return Settings{Mode: Hystrix, CountRejections: true}
}

const (
	maxWindow     = time.Hour
	minWindow     = 10 * time.Millisecond
	maxBuckets    = 600
	maxCalls      = 65536
	maxProbes     = 1000
	healthTick    = 500 * time.Millisecond // metrics.healthSnapshot.intervalInMilliseconds of Hystrix
	leastExpiry   = time.Second
	longestExpiry = 24 * time.Hour
)

// WithDefaults returns the settings with every zero field replaced by its default. Invalid fields stay as they are.
func (s Settings) WithDefaults() Settings {
	s.WindowLength = or(s.WindowLength, 10*time.Second)
	if s.WindowBuckets == 0 && s.Mode == Hystrix {
		s.WindowBuckets = max(int(s.WindowLength/healthTick), 1)
	}
	s.WindowBuckets = or(s.WindowBuckets, 10)
	s.WindowCalls = or(s.WindowCalls, 100)
	if s.MinVolume == 0 && s.Window == Count && s.WindowCalls > 0 {
		s.MinVolume = min(20, s.WindowCalls)
	}
	s.MinVolume = or(s.MinVolume, 20)
	s.FailureRatio = or(s.FailureRatio, 0.5)
	s.SlowRatio = or(s.SlowRatio, 1)
	s.SleepWindow = or(s.SleepWindow, 5*time.Second)
	s.Probes = or(s.Probes, 1)
	s.ProbeExpiry = or(s.ProbeExpiry, max(s.SleepWindow, leastExpiry))
	return s
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// Validate reports every fault of the settings, each with the field, what was found and what is allowed. It changes nothing.
func (s Settings) Validate() error {
	s = s.WithDefaults()
	faults := []error{
		within("WindowLength", s.WindowLength, minWindow, maxWindow),
		within("WindowBuckets", s.WindowBuckets, 1, maxBuckets),
		within("WindowCalls", s.WindowCalls, 1, maxCalls),
		within("MinVolume", s.MinVolume, 1, math.MaxInt32),
		ratio("FailureRatio", s.FailureRatio),
		ratio("SlowRatio", s.SlowRatio),
		within("SlowAfter", s.SlowAfter, 0, longestExpiry),
		within("SleepWindow", s.SleepWindow, time.Millisecond, maxWindow),
		within("Probes", s.Probes, 1, maxProbes),
		within("ProbeExpiry", s.ProbeExpiry, time.Millisecond, longestExpiry),
		known("Window", s.Window, Count),
		known("Mode", s.Mode, Hystrix),
		known("Force", s.Force, Disabled),
	}
	return errors.Join(append(faults, s.together()...)...)
}

// together checks what one field cannot be judged without another.
func (s Settings) together() []error {
	var faults []error
	if s.Window == Count && s.MinVolume > s.WindowCalls && s.WindowCalls > 0 {
		faults = append(faults, fmt.Errorf("MinVolume: %d: above WindowCalls (%d), so the breaker would never trip; allowed 1 to %d",
			s.MinVolume, s.WindowCalls, s.WindowCalls))
	}
	if s.Mode == Hystrix && s.Window == Count {
		faults = append(faults, errors.New("Window: count: Hystrix mode knows only a time window; set Window to time or Mode to standard"))
	}
	if s.WindowBuckets > 0 && s.WindowLength%time.Duration(s.WindowBuckets) != 0 {
		faults = append(faults, fmt.Errorf("WindowBuckets: %d: does not divide WindowLength (%v) evenly", s.WindowBuckets, s.WindowLength))
	}
	return faults
}

func within[T int | time.Duration](field string, value, low, high T) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %v: allowed %v to %v", field, value, low, high)
	}
	return nil
}

func known[T ~uint8](field string, value, last T) error {
	if value > last {
		return fmt.Errorf("%s: %d: allowed 0 to %d", field, value, last)
	}
	return nil
}

func ratio(field string, value float64) error {
	// The smallest ratio is what is kept: a millionth. NaN fails both comparisons.
	if !(value >= 1.0/policy.PartsPerMillion && value <= 1) {
		return fmt.Errorf("%s: %v: allowed 0.000001 to 1", field, value)
	}
	return nil
}

// rules turns valid settings with defaults into what the machine reads.
func (s Settings) rules() policy.BreakerRules {
	r := policy.BreakerRules{
		Window:          policy.BreakerWindow{Length: s.WindowLength, Buckets: s.WindowBuckets},
		MinVolume:       uint64(s.MinVolume),
		FailurePPM:      partsPerMillion(s.FailureRatio),
		SlowAfter:       s.SlowAfter,
		SleepWindow:     s.SleepWindow,
		Probes:          s.Probes,
		ProbeExpiry:     s.ProbeExpiry,
		Mode:            policy.BreakerMode(s.Mode),
		CountRejections: s.CountRejections,
		Force:           policy.BreakerForce(s.Force),
	}
	if s.Window == Count {
		r.Window = policy.BreakerWindow{Calls: s.WindowCalls}
	}
	if s.SlowAfter > 0 {
		r.SlowPPM = partsPerMillion(s.SlowRatio)
	}
	return r
}

func partsPerMillion(ratio float64) uint64 { return uint64(math.Round(ratio * policy.PartsPerMillion)) }
