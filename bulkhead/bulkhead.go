package bulkhead

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/internal/buckets"
	"github.com/loadline-dev/loadline/internal/coarse"
	"github.com/loadline-dev/loadline/internal/policy"
)

// Clock is what a bulkhead reads: nil in a Config means an exact clock of its own.
type Clock = coarse.Clock

// StartClock starts a coarse clock, to be handed to the Configs of everything that may be late by a tick (0: 1 ms; else 100 µs to 100 ms)
// and in return reads the time for the price of a load. Whoever starts it must Stop it.
func StartClock(tick time.Duration) (*Clock, error) { return coarse.Start(tick) }

// Histogram is a distribution of durations in log-linear buckets, good to 1.6 %. Histograms merge.
type Histogram = buckets.Snapshot

const (
	// MaxPermits is the greatest number of permits.
	MaxPermits = 1<<20 - 1
	// Unbounded is the MaxWaiting of a bulkhead at which any number of callers may wait.
	Unbounded = policy.PoolUnbounded
)

// Settings are what may be changed while the bulkhead works.
type Settings struct {
	// Permits is how many there are: 1 to MaxPermits. It has no default.
	Permits int
	// MaxWaiting is how many callers may wait for a permit: 0, the default, lets none wait; Unbounded any number.
	MaxWaiting int
	// MaxWait bounds the wait: 0, the default, waits as long as the caller's context allows. It holds for callers that come later.
	MaxWait time.Duration
}

// WithDefaults is s itself: its zero values are its defaults.
func (s Settings) WithDefaults() Settings { return s }

// Validate reports every fault, each with its field, what was found and what is allowed.
func (s Settings) Validate() error {
	return errors.Join(
		within("Permits", s.Permits, 1, MaxPermits),
		within("MaxWaiting", s.MaxWaiting, 0, Unbounded),
		within("MaxWait", s.MaxWait, 0, math.MaxInt64),
	)
}

func within[T ~int | ~int64](field string, value, low, high T) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %v: allowed %v to %v", field, value, low, high)
	}
	return nil
}

// Config describes a bulkhead.
type Config struct {
	// Name is how the bulkhead is called in errors, hooks and metrics. It must not be empty.
	Name string
	// Settings may be changed later with Apply.
	Settings Settings
	// MeasureHold records how long each permit is out, in Snapshot.Hold, for two readings of the clock a call.
	MeasureHold bool
	// TrackHolders keeps a list of the permits that are out with the stack that acquired each, for Holders and VerifyReleased. It costs
	// microseconds and allocations: for tests and for the hunt after a leak.
	TrackHolders bool
	// Hooks are called outside any lock. None is required.
	Hooks Hooks
	// Clock is what the bulkhead reads; nil means an exact clock of its own.
	Clock *Clock
}

// Hooks learn of what happens in a bulkhead, on the goroutine that made it happen. They may use the bulkhead and should be quick.
type Hooks struct {
	// OnReject learns of each caller that was refused.
	OnReject func(*RejectedError)
	// OnApply learns of each change of settings.
	OnApply func(Change)
}

// Change is a change of settings.
type Change struct {
	Bulkhead      string
	Before, After Settings
	Version       uint64 // that of After
}

// Validate reports every fault of the configuration. It changes nothing.
func (c Config) Validate() error {
	var name error
	if c.Name == "" {
		name = errors.New("Name: empty: give the bulkhead a name")
	}
	return errors.Join(name, c.Settings.Validate())
}

// Bulkhead grants permits. It is safe for concurrent use, must be made by New, owns no goroutine and needs no closing.
type Bulkhead struct {
	name    string
	clock   *Clock
	hooks   Hooks
	watched bool     // measure or holders
	measure bool     // how long permits are out
	holders *holders // nil unless tracked
	waiters sync.Pool

	_    [64]byte
	word atomic.Uint64 // permits, permits in use, and whether somebody waits: see word.go
	peak atomic.Int64  // most permits in use
	_    [64]byte

	maxWaiting atomic.Int64 // of settings, for a look without the lock
	refusal    atomic.Pointer[RejectedError]
	rejected   tally
	wait       buckets.Recorder
	hold       buckets.Recorder

	mu       sync.Mutex // guards what follows; the waiting bit of word changes only under it
	settings Settings
	version  uint64
	waiting  waitList
	counts   counts
	carries  uint64 // see word.go
}

// counts are of what happens under the lock. Grants are in word and carries, refusals in rejected.
type counts struct {
	timedOut, heavy, cancelled uint64
	largestWaiting             int
}

// New returns a bulkhead with all permits free.
func New(config Config) (*Bulkhead, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("new bulkhead %q: %w", config.Name, err)
	}
	b := &Bulkhead{
		name: config.Name, clock: config.Clock, hooks: config.Hooks, measure: config.MeasureHold,
		settings: config.Settings, version: 1,
	}
	if b.clock == nil {
		b.clock = coarse.Exact()
	}
	if config.TrackHolders {
		b.holders = &holders{}
	}
	b.watched = b.measure || b.holders != nil
	b.word.Store(pack(config.Settings.Permits))
	b.maxWaiting.Store(int64(config.Settings.MaxWaiting))
	return b, nil
}

// Name is the bulkhead's name.
func (b *Bulkhead) Name() string { return b.name }

// Clock is the clock that the bulkhead reads.
func (b *Bulkhead) Clock() *Clock { return b.clock }

// Settings are those in force.
func (b *Bulkhead) Settings() Settings {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings
}

// Apply puts settings in force, all in one step and without waiting. Permits that are out stay out. Callers that wait keep their places,
// even beyond a smaller MaxWaiting; those who ask for more than there are permits now are refused. Settings equal to those in force
// change nothing. An error leaves the old settings in force.
func (b *Bulkhead) Apply(settings Settings) error {
	if err := settings.Validate(); err != nil {
		return fmt.Errorf("apply settings to bulkhead %q: %w", b.name, err)
	}
	b.mu.Lock()
	before := b.settings
	if before == settings {
		b.mu.Unlock()
		return nil
	}
	b.settings = settings
	b.version++
	change := Change{Bulkhead: b.name, Before: before, After: settings, Version: b.version}
	b.maxWaiting.Store(int64(settings.MaxWaiting))
	b.setPermitsLocked(settings.Permits)
	refused := b.refuseHeavyLocked()
	granted := b.grantLocked()
	b.mu.Unlock()
	granted.tell()
	refused.tell()
	if b.hooks.OnApply != nil {
		b.hooks.OnApply(change)
	}
	return nil
}

// Snapshot is how a bulkhead stands. Figures that change without a lock are read one after the other.
type Snapshot struct {
	Name     string
	Settings Settings
	Version  uint64 // 1 at New, one more with each change

	InUse                        int // permits out; may exceed Settings.Permits after those were lowered
	Waiting                      int // callers
	LargestInUse, LargestWaiting int // since New
	Granted                      uint64
	Rejected                     Rejections
	Cancelled                    uint64    // the caller's context ended while it waited
	Wait                         Histogram // of callers that waited and were granted
	Hold                         Histogram // of permits that were released; empty unless Config.MeasureHold
}

// Rejections count refused callers by reason.
type Rejections struct{ Full, TimedOut, TooHeavy uint64 }

// Sum is all of them.
func (r Rejections) Sum() uint64 { return r.Full + r.TimedOut + r.TooHeavy }

// Snapshot is how the bulkhead stands.
func (b *Bulkhead) Snapshot() Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	word := b.word.Load()
	return Snapshot{
		Name: b.name, Settings: b.settings, Version: b.version,
		InUse: inUse(word), Waiting: b.waiting.n,
		LargestInUse: int(b.peak.Load()), LargestWaiting: b.counts.largestWaiting,
		Granted:   b.grantsLocked(word),
		Rejected:  Rejections{Full: b.rejected.sum(), TimedOut: b.counts.timedOut, TooHeavy: b.counts.heavy},
		Cancelled: b.counts.cancelled, Wait: b.wait.Snapshot(), Hold: b.hold.Snapshot(),
	}
}
