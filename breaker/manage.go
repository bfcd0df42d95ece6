package breaker

import (
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
)

// Reason is why a breaker changed its state.
type Reason uint8

// The reasons.
const (
	FailureRatio = Reason(policy.BreakerFailureRatio) // tripped by the share of failures
	SlowRatio    = Reason(policy.BreakerSlowRatio)    // tripped by the share of slow calls
	Slept        = Reason(policy.BreakerSlept)        // the sleep window is over and the first probe passes
	ProbesPassed = Reason(policy.BreakerProbesPassed)
	ProbesFailed = Reason(policy.BreakerProbesFailed)
	ByHand       = Reason(policy.BreakerByHand) // Trip or Reset
)

// String is the reason in lower-case words.
func (r Reason) String() string {
	return nameOf([]string{"none", "failure ratio", "slow ratio", "sleep window over", "probes passed", "probes failed", "by hand"}, int(r), "reason")
}

// Change is a change of state.
type Change struct {
	Breaker  string
	From, To State
	Reason   Reason
	At       time.Time // when it took effect; in Hystrix mode the end of the health interval that was judged
	Judged   Tally     // what was judged: the window's results or the probes'; empty for Slept and ByHand
}

// Tally counts results.
type Tally struct {
	Calls    uint64 // those that count: no neutral ones, and rejections only where settings say so
	Failures uint64
	Slow     uint64 // successes among them
}

// FailureRatio is the share of failures, 0 to 1; ok is false when there is no call.
func (t Tally) FailureRatio() (ratio float64, ok bool) {
	if t.Calls == 0 {
		return 0, false
	}
	return float64(t.Failures) / float64(t.Calls), true
}

func publicTally(t policy.BreakerTally) Tally {
	return Tally{Calls: t.Total, Failures: t.Failures, Slow: t.Slow}
}

// mailbox holds the changes that have not been delivered yet; the breaker's lock guards it.
type mailbox struct {
	changes    []Change
	delivering bool
	trips      uint64
}

// unlockAndDeliver publishes what the gate has decided, gives the lock back and then delivers changes, outside it.
func (b *Breaker) unlockAndDeliver() {
	b.publishLocked()
	for _, c := range b.gate.TakeChanges() {
		if c.To == policy.BreakerOpen {
			b.mail.trips++
		}
		if b.onChange != nil {
			b.mail.changes = append(b.mail.changes, Change{
				Breaker: b.name, From: State(c.From), To: State(c.To), Reason: Reason(c.Reason),
				At: b.clock.Epoch().Add(c.At), Judged: publicTally(c.Tally),
			})
		}
	}
	waiting := len(b.mail.changes) > 0 && !b.mail.delivering
	b.mail.delivering = b.mail.delivering || waiting
	b.mu.Unlock()
	if waiting {
		b.deliver()
	}
}

// deliver hands changes over one by one. Only one goroutine delivers at a time, so they arrive in order; those that a listener causes
// itself, or another goroutine meanwhile, are delivered by the same loop. A listener's panic goes on to the caller, and the rest of the
// changes follow with the next one.
func (b *Breaker) deliver() {
	finished := false
	defer func() {
		if !finished {
			b.mu.Lock()
			b.mail.delivering = false
			b.mu.Unlock()
		}
	}()
	for {
		b.mu.Lock()
		if len(b.mail.changes) == 0 {
			b.mail.delivering, finished = false, true
			b.mu.Unlock()
			return
		}
		next := b.mail.changes[0]
		b.mail.changes = b.mail.changes[1:]
		b.mu.Unlock()
		b.onChange(next)
	}
}

// Apply puts new settings in force at once, in one step; invalid ones change nothing. State and probes stay. The window's results stay too
// unless its shape (kind, length, buckets, mode) changes, in which case it starts empty; results are judged by the new settings from the
// next one on. Equal settings do nothing.
func (b *Breaker) Apply(settings Settings) error {
	if err := settings.Validate(); err != nil {
		return fmt.Errorf("breaker %q: %w", b.name, err)
	}
	settings = settings.WithDefaults()
	b.mu.Lock()
	if settings != b.settings {
		b.applyLocked(settings)
	}
	b.unlockAndDeliver()
	return nil
}

func (b *Breaker) applyLocked(settings Settings) {
	now := b.advanceLocked(b.clock.Now())
	old, rules := b.gear.Load(), settings.rules()
	epoch := b.gate.Epoch()
	b.gate.Apply(now, rules)
	next := &gear{rules: rules, window: old.window}
	switch {
	case old.rules.Window != rules.Window || old.rules.Mode != rules.Mode:
		next.window = newWindow(rules, now)
		next.window.inherit(old.window.everLocked())
	case b.gate.Epoch() != epoch:
		old.window.startLocked(now)
	}
	b.gear.Store(next)
	b.settings = settings
	b.version++
}

// Settings are the settings in force, defaults filled in.
func (b *Breaker) Settings() Settings {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settings
}

// Trip opens the breaker by hand; its sleep window starts now, and it closes by its probes as ever. To keep it open use ForcedOpen.
func (b *Breaker) Trip() {
	b.mu.Lock()
	b.gate.Trip(b.advanceLocked(b.clock.Now()))
	b.unlockAndDeliver()
}

// Reset closes the breaker by hand and empties its window. Results of calls admitted before no longer count, in Hystrix mode they do.
func (b *Breaker) Reset() {
	b.mu.Lock()
	now := b.advanceLocked(b.clock.Now())
	b.gate.Reset(now)
	b.gear.Load().window.startLocked(now)
	b.unlockAndDeliver()
}

// State is where the breaker stands, whatever is forced. An open breaker stays open after its sleep window until a call comes to probe.
func (b *Breaker) State() State {
	b.mu.Lock()
	b.advanceLocked(b.clock.Now())
	state := b.gate.State()
	b.unlockAndDeliver()
	return State(state)
}

// Snapshot is what a breaker shows of itself. Counters count since it was made.
type Snapshot struct {
	Name          string
	State         State
	Since         time.Time     // when the state was entered
	RetryAfter    time.Duration // while open: how long until a probe may pass; else 0
	Refusing      bool          // whether a call would be refused now, forced states included
	Settings      Settings      // in force, defaults filled in
	Version       uint64        // of the settings: 1, and one more with each change
	Window        Tally         // what the window holds
	Total         Tally         // what the window has held in all its time
	Neutral       uint64        // results that did not count: neutral, rejected, or while disabled
	Stale         uint64        // results dropped because the breaker closed after the call was admitted
	Refused       uint64        // calls
	Trips         uint64        // how often it opened, by hand too
	ProbesOut     int           // probes under way
	ProbesExpired uint64        // probes that never came back in time
}

// Snapshot shows the breaker as it is now.
func (b *Breaker) Snapshot() Snapshot {
	b.mu.Lock()
	now := b.advanceLocked(b.clock.Now())
	b.publishLocked()
	w := b.gear.Load().window
	s := Snapshot{
		Name: b.name, State: State(b.gate.State()), Since: b.clock.Epoch().Add(b.gate.Since()),
		Settings: b.settings, Version: b.version,
		Window: publicTally(w.tally()), Total: publicTally(w.everLocked()),
		Neutral: b.neutral.Load(), Stale: b.stale.Load(), Refused: b.refused.Load(), Trips: b.mail.trips,
		ProbesOut: b.gate.ProbesOut(), ProbesExpired: b.gate.ProbesExpired(),
	}
	if s.State == Open {
		s.RetryAfter = max(b.gate.ProbesFrom()-now, 0)
	}
	kind := b.word.Load() & wordKind
	s.Refusing = (kind == wordRefuse || kind == wordRefuseProbing) && int64(now) < b.till.Load()
	b.unlockAndDeliver()
	return s
}
