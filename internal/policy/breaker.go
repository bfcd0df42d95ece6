package policy

import "time"

// Breaker is the whole machine: gate and window. The library runs the same gate beside a lock-free window and is held to this one by
// trace; the simulator runs it as it is. Instants are durations since any one epoch; one that goes back is taken as the latest seen.
// A Breaker is for one goroutine at a time.
type Breaker struct {
	gate   *BreakerGate
	window *BreakerCounts
	last   time.Duration
}

// NewBreaker returns a closed breaker with an empty window that starts at now.
func NewBreaker(rules BreakerRules, now time.Duration) *Breaker {
	return &Breaker{gate: NewBreakerGate(rules, now), window: NewBreakerCounts(rules, now), last: now}
}

// Admit decides on a call that asks to pass at now.
func (b *Breaker) Admit(now time.Duration) (BreakerTicket, BreakerDecision) {
	return b.gate.Admit(b.advance(now))
}

// Done takes the result of an admitted call, elapsed after its start.
func (b *Breaker) Done(now time.Duration, ticket BreakerTicket, outcome BreakerOutcome, elapsed time.Duration) {
	now = b.advance(now)
	rules := b.gate.rules
	one, counts := rules.Tally(outcome, elapsed)
	if ticket.Probe != 0 {
		b.probeDone(now, ticket, outcome, elapsed)
	} else if counts && b.gate.Counts(ticket) {
		b.window.Add(one)
		if rules.Mode == BreakerStandard {
			b.gate.Judge(now, b.window.Sum())
		}
	}
}

func (b *Breaker) probeDone(now time.Duration, ticket BreakerTicket, outcome BreakerOutcome, elapsed time.Duration) {
	epoch := b.gate.epoch
	b.gate.ProbeDone(now, ticket, outcome, elapsed)
	if b.gate.epoch != epoch {
		b.window.Start(now)
	}
}

// Apply puts new rules in force; a window of another shape starts empty.
func (b *Breaker) Apply(now time.Duration, rules BreakerRules) {
	now = b.advance(now)
	old, epoch := b.gate.rules, b.gate.epoch
	b.gate.Apply(now, rules)
	if old.Window != rules.Window || old.Mode != rules.Mode {
		b.window = NewBreakerCounts(rules, now)
	} else if b.gate.epoch != epoch {
		b.window.Start(now)
	}
}

// Trip opens the breaker by hand.
func (b *Breaker) Trip(now time.Duration) { b.gate.Trip(b.advance(now)) }

// Reset closes the breaker by hand and empties its window.
func (b *Breaker) Reset(now time.Duration) {
	now = b.advance(now)
	b.gate.Reset(now)
	b.window.Start(now)
}

// State is the state at now.
func (b *Breaker) State(now time.Duration) BreakerState {
	b.advance(now)
	return b.gate.state
}

// Tally is what the window holds at now.
func (b *Breaker) Tally(now time.Duration) BreakerTally {
	b.advance(now)
	return b.window.Sum()
}

// Gate gives read access to the state's particulars.
func (b *Breaker) Gate() *BreakerGate { return b.gate }

// advance moves the window on. In Hystrix mode each bucket that ended is a moment of judgement, at the instant it ended.
func (b *Breaker) advance(now time.Duration) time.Duration {
	now = max(now, b.last)
	b.last = now
	b.window.Advance(now, func(boundary time.Duration, sum BreakerTally) {
		if b.gate.rules.Mode == BreakerHystrix {
			b.gate.Judge(boundary, sum)
		}
	})
	return now
}
