package pool

import (
	"context"
	"errors"

	"time"

	"github.com/loadline-dev/loadline/internal/coarse"
)

// Clock is what a pool reads: nil in a Config means an exact clock of its own.
type Clock = coarse.Clock

// StartClock starts a coarse clock, to be handed to the Configs of everything that may be late by a tick (0: 1 ms; else 100 µs to 100 ms)
// and in return reads the time for the price of a load. Whoever starts it must Stop it.
func StartClock(tick time.Duration) (*Clock, error) { return coarse.Start(tick) }

// Config describes a pool.
type Config struct {
	// Name is how the pool is called in errors, hooks, metrics and the names of its workers (NAME-worker-3). It must not be empty.
	Name string
	// Settings may be changed later with Apply.
	Settings Settings
	// Prestart makes New start the core workers.
	Prestart bool
	// OSThreads ties each worker to an operating-system thread of its own, which ends with the worker: for cgo libraries that want it,
	// and to reproduce what threads cost.
	OSThreads bool
	// OnOverflow is the policy User: asked outside any lock, on the caller's goroutine. Required with that policy.
	OnOverflow func(Overflow) Verdict
	// Hooks are called outside any lock. None is required.
	Hooks Hooks
	// Clock is what the pool reads; nil means an exact clock of its own. With a coarse one waits and executions shorter than its tick
	// are counted as 0 or one tick.
	Clock *Clock
}

// Validate reports every fault of the configuration. It changes nothing.
func (c Config) Validate() error {
	var faults []error
	if c.Name == "" {
		faults = append(faults, errors.New("Name: empty: give the pool a name"))
	}
	if c.Settings.Policy == User && c.OnOverflow == nil {
		faults = append(faults, errNoOverflow)
	}
	return errors.Join(append(faults, c.Settings.Validate())...)
}

var errNoOverflow = errors.New("Policy: user: needs Config.OnOverflow, which is nil")

// Overflow is what a user's own policy decides on.
type Overflow struct {
	// Rejection is why there is no room, with figures taken at that moment.
	Rejection *RejectedError
	// Context is the caller's; context.Background for Go.
	Context context.Context
}

// Verdict is what a user's own policy decides.
type Verdict struct {
	// Policy is what to do with the task: any but User, which counts as Abort. If there is room by now, the task is admitted instead.
	Policy Policy
	// Cause is wrapped in the *RejectedError of an Abort; may be nil.
	Cause error
}

// Hooks learn of what happens in a pool, on the goroutine that made it happen. They may use the pool and should be quick.
type Hooks struct {
	// OnReject learns of each task that was refused or, with Discard, dropped for lack of room.
	OnReject func(*RejectedError)
	// OnPanic learns of each task that panicked.
	OnPanic func(*PanicError)
	// OnAbandon learns of each running task whose caller left: its worker is a zombie from now on.
	OnAbandon func(pool string)
	// OnApply learns of each change of settings, in the order in which they took effect if changes do not overlap.
	OnApply func(Change)
	// OnWait learns that a task of pool from is about to wait for one of pool to, the first time for each pair: before the wait begins,
	// so that from == to, or a circle of pairs, is known before it can deadlock. It is called on from's hooks. See Pool.Waits for counts.
	OnWait func(from, to *Pool)
}

// Change is a change of settings.
type Change struct {
	Pool          string
	Before, After Settings
	Version       uint64 // that of After
}
