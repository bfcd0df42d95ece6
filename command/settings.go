package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/breaker"
)

// Isolation is how a command bounds the calls that run at once.
type Isolation uint8

// The isolations; the package documentation says which to use.
const (
	None      Isolation = iota // no bound; on the caller's goroutine
	Semaphore                  // under a permit of a bulkhead; on the caller's goroutine
	Pool                       // on a worker of a pool
)

var isolationNames = []string{"none", "semaphore", "pool"}

// String is the name used in settings documents.
func (i Isolation) String() string {
	if int(i) >= len(isolationNames) {
		return fmt.Sprintf("isolation(%d)", uint8(i))
	}
	return isolationNames[i]
}

// TimeoutFrom is when the clock of Settings.Timeout starts.
type TimeoutFrom uint8

const (
	// FromCall starts it with the call, so that waiting uses the budget up, as in Hystrix.
	FromCall TimeoutFrom = iota
	// FromStart starts it when the function does; waiting then has only the budget of Settings.MaxWait.
	FromStart
)

// String is the name used in settings documents.
func (f TimeoutFrom) String() string {
	switch f {
	case FromCall:
		return "call"
	case FromStart:
		return "start"
	default:
		return fmt.Sprintf("timeout-from(%d)", uint8(f))
	}
}

// Settings are what may be changed while the command works. The zero value of each field is its default.
type Settings struct {
	// Isolation is how calls are bounded: None by default. It may be switched at any time; calls under way keep what they hold. Pool needs
	// Config.Pool.
	Isolation Isolation
	// MaxConcurrent is how many permits the command's own bulkhead has: 1 to 1e6, 10 by default. It is not used, and must be 0, with a
	// Config.Bulkhead, which has settings of its own.
	MaxConcurrent int
	// MaxWait is how long a call may wait for a permit, or in the pool's queue: up to 1 h. 0 means: for a permit not at all, in the queue as
	// long as the rest lets it.
	MaxWait time.Duration
	// Timeout is how long a call may take: 1 ms to 24 h, 1 s by default. An earlier deadline of the caller's context goes before it.
	Timeout time.Duration
	// TimeoutFrom is when Timeout's clock starts: FromCall by default.
	TimeoutFrom TimeoutFrom
	// NoTimeout switches Timeout off. The caller's own deadline still holds.
	NoTimeout bool
	// FallbackMax is how many fallbacks may run at once: up to 1e6; 0, the default, means any number.
	FallbackMax int
	// NoFallback switches the fallback off.
	NoFallback bool
	// Breaker is for the command's own breaker. It is not used, and must be zero, with a Config.Breaker, which has settings of its own. Set
	// Breaker.Force to breaker.Disabled to go without.
	Breaker breaker.Settings
}

const (
	maxPermits  = 1_000_000
	maxWait     = time.Hour
	minTimeout  = time.Millisecond
	maxTimeout  = 24 * time.Hour
	leastExpiry = 1500 * time.Millisecond
)

// HystrixSettings are the defaults of Netflix Hystrix 1.5.18, but for the isolation, which is a semaphore; set Isolation to Pool for its
// THREAD, together with a Config.Pool.
func HystrixSettings() Settings {
	return Settings{Isolation: Semaphore, MaxConcurrent: 10, FallbackMax: 10, Breaker: breaker.HystrixSettings()}
}

// WithDefaults returns the settings with every zero field replaced by its default. Invalid fields stay as they are.
func (s Settings) WithDefaults() Settings {
	if s.MaxConcurrent == 0 {
		s.MaxConcurrent = 10
	}
	if s.Timeout == 0 {
		s.Timeout = time.Second
	}
	if s.Breaker.ProbeExpiry == 0 && !s.NoTimeout {
		// A probe ends by the command's timeout; one that is out for half as long again is lost.
		s.Breaker.ProbeExpiry = min(max(s.Timeout+s.MaxWait+(s.Timeout+s.MaxWait)/2, leastExpiry), maxTimeout)
	}
	s.Breaker = s.Breaker.WithDefaults()
	return s
}

// Validate reports every fault of the settings, each with the field, what was found and what is allowed. It changes nothing.
func (s Settings) Validate() error {
	s = s.WithDefaults()
	faults := []error{
		within("Isolation", s.Isolation, None, Pool),
		within("MaxConcurrent", s.MaxConcurrent, 1, maxPermits),
		within("MaxWait", s.MaxWait, 0, maxWait),
		within("Timeout", s.Timeout, minTimeout, maxTimeout),
		within("TimeoutFrom", s.TimeoutFrom, FromCall, FromStart),
		within("FallbackMax", s.FallbackMax, 0, maxPermits),
	}
	if s.TimeoutFrom == FromCall && !s.NoTimeout && s.MaxWait >= s.Timeout {
		faults = append(faults, fmt.Errorf("MaxWait: %v: not below Timeout (%v), so a call could use its whole budget waiting; allowed 0 to less than "+
			"Timeout, or set TimeoutFrom to start", s.MaxWait, s.Timeout))
	}
	if err := s.Breaker.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("Breaker: %w", err))
	}
	return errors.Join(faults...)
}

func within[T int | time.Duration | Isolation | TimeoutFrom](field string, value, low, high T) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %v: allowed %v to %v", field, value, low, high)
	}
	return nil
}
