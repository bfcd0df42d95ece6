package breaker

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/internal/coarse"
	"github.com/loadline-dev/loadline/internal/policy"
)

// Clock is what a breaker reads: nil in a Config means an exact clock of its own.
type Clock = coarse.Clock

// StartClock starts a coarse clock, to be handed to the Configs of everything that may be late by a tick (0: 1 ms; else 100 µs to 100 ms)
// and in return reads the time for the price of a load. Whoever starts it must Stop it.
func StartClock(tick time.Duration) (*Clock, error) { return coarse.Start(tick) }

// Config describes a breaker.
type Config struct {
	// Name is how the breaker is called in errors, events and metrics. It must not be empty.
	Name string
	// Settings may be changed later with Apply.
	Settings Settings
	// Classify turns what a function given to Do returned into an outcome. By default nil is a success, context.Canceled neutral, and
	// any other error a failure.
	Classify func(error) Outcome
	// OnChange is called after each change of state, in order, outside any lock, on the goroutine whose call caused it or, when
	// one is being delivered, on the goroutine that delivers. It may use the breaker. It should be quick.
	OnChange func(Change)
	// Clock is what the breaker reads; nil means an exact clock of its own.
	Clock *Clock
}

// Validate reports every fault of the configuration. It changes nothing.
func (c Config) Validate() error {
	var name error
	if c.Name == "" {
		name = errors.New("Name: empty: give the breaker a name")
	}
	return errors.Join(name, c.Settings.Validate())
}

// The states of a breaker.
const (
	Closed   = State(policy.BreakerClosed)
	Open     = State(policy.BreakerOpen)
	HalfOpen = State(policy.BreakerHalfOpen)
)

// State is where a breaker stands.
type State uint8

// String is closed, open or half-open.
func (s State) String() string {
	return nameOf([]string{"closed", "open", "half-open"}, int(s), "state")
}

// Outcome is what a breaker learns of a call.
type Outcome uint8

// The outcomes.
const (
	Success  = Outcome(policy.BreakerSuccess)
	Failure  = Outcome(policy.BreakerFailure)  // an error, a wrong answer, a timeout
	Rejected = Outcome(policy.BreakerRejected) // no capacity on our own side; counts only with Settings.CountRejections
	Neutral  = Outcome(policy.BreakerNeutral)  // says nothing about the dependency: the client went away, the request was bad
)

// String is the outcome's name.
func (o Outcome) String() string {
	return nameOf([]string{"success", "failure", "rejected", "neutral"}, int(o), "outcome")
}

// What Allow's errors are: errors.Is(err, ErrOpen) holds for both kinds.
var (
	// ErrOpen means that the call was refused.
	ErrOpen = errors.New("breaker open")
	// ErrProbing means that the call was refused because the breaker is half-open and its probes are under way.
	ErrProbing = fmt.Errorf("%w: half-open, probes under way", ErrOpen)
)

// Breaker is a circuit breaker. It is safe for concurrent use and must be made by New; it owns no goroutine and needs no closing.
type Breaker struct {
	name     string
	clock    *Clock
	classify func(error) Outcome
	onChange func(Change)
	open     error // ErrOpen with the name, made once
	probing  error

	word atomic.Uint64 // what a call may do without the lock: see publish
	till atomic.Int64  // while word refuses: until when
	gear atomic.Pointer[gear]

	refused atomic.Uint64
	neutral atomic.Uint64
	stale   atomic.Uint64

	mu       sync.Mutex // guards gate, last, settings, version and the moving on of windows
	gate     *policy.BreakerGate
	last     time.Duration
	settings Settings
	version  uint64
	mail     mailbox
}

// gear is what a result needs: rules and window, swapped together.
type gear struct {
	rules  policy.BreakerRules
	window *window
}

// New returns a closed breaker.
func New(config Config) (*Breaker, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("breaker %q: %w", config.Name, err)
	}
	b := &Breaker{
		name: config.Name, clock: config.Clock, classify: config.Classify, onChange: config.OnChange,
		open:     fmt.Errorf("breaker %q: %w", config.Name, ErrOpen),
		probing:  fmt.Errorf("breaker %q: %w", config.Name, ErrProbing),
		settings: config.Settings.WithDefaults(), version: 1,
	}
	if b.clock == nil {
		b.clock = coarse.Exact()
	}
	if b.classify == nil {
		b.classify = Classify
	}
	rules, now := b.settings.rules(), b.clock.Now()
	b.gate, b.last = policy.NewBreakerGate(rules, now), now
	b.gear.Store(&gear{rules: rules, window: newWindow(rules, now)})
	b.publishLocked()
	return b, nil
}

// Name is the breaker's name.
func (b *Breaker) Name() string { return b.name }

// Clock is the clock that AllowAt and DoneAt reckon by.
func (b *Breaker) Clock() *Clock { return b.clock }
