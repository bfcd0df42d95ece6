package command

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/internal/coarse"
	"github.com/loadline-dev/loadline/pool"
)

// Clock is what a command reads: nil in a Config means an exact clock of its own.
type Clock = coarse.Clock

// StartClock starts a coarse clock, to be handed to the Configs of everything that may be late by a tick (0: 1 ms; else 100 µs to 100 ms)
// and in return reads the time for the price of a load. Whoever starts it must Stop it.
func StartClock(tick time.Duration) (*Clock, error) { return coarse.Start(tick) }

// Config describes a command whose function returns a T.
type Config[T any] struct {
	// Name is how the command is called in errors and metrics: Hystrix' command key. It must not be empty.
	Name string
	// Group is what commands are shown under, Hystrix' command group; Name by default.
	Group string
	// Settings may be changed later with Apply.
	Settings Settings
	// Fallback gives an answer when the execution came to Failure, Timeout, Rejected or ShortCircuited; cause is what the caller would get
	// without it. It gets the caller's context and runs on the caller's goroutine. May be nil.
	Fallback func(ctx context.Context, cause error) (T, error)
	// Classify says which Outcome an execution came to that returned in time: Success, Failure, BadRequest or Cancelled, anything else counts as
	// Failure. By default it is the function Classify.
	Classify func(ctx context.Context, err error) Outcome
	// Pool is what isolation Pool runs on, most often shared with other commands. May be nil with the other isolations. The command's
	// timeouts hold as well as the pool's budgets.
	Pool *pool.Pool
	// Bulkhead is shared with other commands; nil means one of the command's own, by Settings.MaxConcurrent and MaxWait. Keep its MaxWait
	// below the command's Timeout.
	Bulkhead *bulkhead.Bulkhead
	// Breaker is shared with other commands; nil means one of the command's own, by Settings.Breaker.
	Breaker *breaker.Breaker
	// Clock is what the command and a breaker and a bulkhead of its own read; nil means an exact clock of its own.
	Clock *Clock
}

// Validate reports every fault of the configuration. It changes nothing.
func (c Config[T]) Validate() error {
	var faults []error
	if c.Name == "" {
		faults = append(faults, errors.New("Name: empty: give the command a name"))
	}
	return errors.Join(append(faults, c.parts().allows(c.Settings))...)
}

func (c Config[T]) parts() parts { return parts{c.Pool, c.Bulkhead, c.Breaker} }

// parts are what a command was given to share.
type parts struct {
	pool     *pool.Pool
	bulkhead *bulkhead.Bulkhead
	breaker  *breaker.Breaker
}

// allows reports what is wrong with settings for a command with these parts.
func (p parts) allows(s Settings) error {
	faults := []error{s.Validate()}
	if p.breaker != nil && s.Breaker != (breaker.Settings{}) {
		faults = append(faults, fmt.Errorf("Breaker: must be zero, since breaker %q is shared: change its settings instead", p.breaker.Name()))
	}
	if p.bulkhead != nil && s.MaxConcurrent != 0 {
		faults = append(faults, fmt.Errorf("MaxConcurrent: must be 0, since bulkhead %q is shared: change its settings instead", p.bulkhead.Name()))
	}
	if p.pool == nil && s.Isolation == Pool {
		faults = append(faults, errors.New("Isolation: pool: needs Config.Pool, which is nil"))
	}
	return errors.Join(faults...)
}

// Command puts isolation around functions that return a T. It is safe for concurrent use and must be made by New; Close ends it.
type Command[T any] struct {
	*Control
	fallback func(ctx context.Context, cause error) (T, error)
	errands  sync.Pool // of *errand[T]
}

// Control is the part of a command that does not depend on the type of its result: settings, metrics, and what registries keep.
type Control struct {
	name, group string
	clock       *Clock
	breaker     *breaker.Breaker
	bulkhead    *bulkhead.Bulkhead // the shared one, or the own one once it was wanted; mu guards it
	sameClock   bool               // the breaker's and the command's
	classify    func(ctx context.Context, err error) Outcome
	parts       parts
	ended       chan struct{} // closed from the beginning
	errTimeout  *Error        // made once, as all below
	errShort    *Error
	errQueued   *Error
	errClosed   *Error
	// lastRejection is kept, so that a full command allocates nothing.
	lastRejection atomic.Pointer[Error]

	gear    atomic.Pointer[gear]
	slots   atomic.Pointer[slots]
	watch   watch
	meters  meters
	growing sync.Mutex // guards the growth of slots

	mu      sync.Mutex // guards changes of settings
	version uint64
	closed  bool
}

// gear is what a call needs of the settings, swapped as one.
type gear struct {
	settings Settings
	closed   bool
	bulkhead *bulkhead.Bulkhead // nil without a semaphore
	shared   bool               // the bulkhead is not the command's own
	pool     *pool.Pool
	timeout  time.Duration // farAway for none
	waits    bool          // MaxWait bounds a wait
	entered  time.Duration // from the call to the first deadline that it has, on the caller's goroutine
	queued   time.Duration // the same, with a pool
}

// New returns a command.
func New[T any](config Config[T]) (*Command[T], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("command %q: %w", config.Name, err)
	}
	c := &Control{
		name: config.Name, group: config.Group, clock: config.Clock, breaker: config.Breaker, classify: config.Classify,
		parts: config.parts(), bulkhead: config.Bulkhead, ended: make(chan struct{}),
		errTimeout: &Error{Command: config.Name, Outcome: Timeout},
		errQueued:  &Error{Command: config.Name, Outcome: Rejected, Cause: pool.ErrQueueBudget},
		errClosed:  &Error{Command: config.Name, Outcome: Rejected, Cause: ErrClosed},
		version:    1,
	}
	close(c.ended)
	if c.group == "" {
		c.group = c.name
	}
	if c.classify == nil {
		c.classify = Classify
	}
	if c.clock == nil {
		c.clock = coarse.Exact()
	}
	settings := config.Settings.WithDefaults()
	if c.breaker == nil {
		own, err := breaker.New(breaker.Config{Name: c.name, Settings: settings.Breaker, Clock: c.clock})
		if err != nil {
			return nil, fmt.Errorf("command %q: %w", c.name, err)
		}
		c.breaker = own
	}
	c.sameClock = c.breaker.Clock() == c.clock
	c.errShort = &Error{Command: c.name, Outcome: ShortCircuited, Cause: breaker.ErrOpen}
	c.watch.init(c)
	c.slots.Store(newSlots(c, nil, 1))
	if err := c.adaptLocked(settings); err != nil {
		return nil, fmt.Errorf("command %q: %w", c.name, err)
	}
	c.shiftLocked(settings)
	return &Command[T]{Control: c, fallback: config.Fallback}, nil
}

// Name is the command's name.
func (c *Control) Name() string { return c.name }

// Group is what the command is shown under.
func (c *Control) Group() string { return c.group }

// Breaker is the command's breaker, its own or the shared one.
func (c *Control) Breaker() *breaker.Breaker { return c.breaker }

// Pool is the pool that the command was given, or nil.
func (c *Control) Pool() *pool.Pool { return c.parts.pool }

// Bulkhead is the command's bulkhead: the shared one, or its own if Settings.Isolation has ever been Semaphore, else nil.
func (c *Control) Bulkhead() *bulkhead.Bulkhead {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bulkhead
}

// breakerTime is now by the breaker's clock.
func (c *Control) breakerTime(now time.Duration) time.Duration {
	if c.sameClock {
		return now
	}
	return c.breaker.Clock().Now()
}
