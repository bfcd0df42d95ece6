package breaker

import (
	"context"
	"errors"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
)

// What a call may do without the lock stands in the low bits of word, the epoch in the high 32. "Till" is the instant in b.till.
const (
	wordPass          = iota // admitted, as an ordinary call whose start nobody will ask for
	wordPassTimed            // admitted, as an ordinary call whose start decides whether it was slow
	wordPassTill             // the same, but from till on the window must be judged first (Hystrix mode)
	wordRefuse               // refused until till
	wordRefuseProbing        // refused until till, when the oldest probe expires
	wordAsk                  // ask the gate
	wordKind          = 7
)

// Permit is an admitted call. Hand its result back with Done, exactly once: a second Done on the same Permit does nothing. The zero
// Permit does nothing. A Permit belongs to one goroutine and must not be copied.
type Permit struct {
	b      *Breaker
	start  time.Duration
	ticket policy.BreakerTicket
}

// Allow asks whether a call may go on. When it may not, the error matches ErrOpen, and the call must not be made.
func (b *Breaker) Allow() (Permit, error) {
	if word := b.word.Load(); word&wordKind == wordPass {
		return Permit{b: b, start: unknown, ticket: policy.BreakerTicket{Epoch: uint32(word >> 32)}}, nil
	}
	return b.AllowAt(b.clock.Now())
}

// unknown stands for an instant that no rule asked for. Should a rule for slow calls come later, a call with an unknown start is quick.
const unknown = time.Duration(-1)

// AllowAt is Allow for a caller who has just read the breaker's Clock.
func (b *Breaker) AllowAt(now time.Duration) (Permit, error) {
	word := b.word.Load()
	switch word & wordKind {
	case wordPass, wordPassTimed:
		return Permit{b: b, start: now, ticket: policy.BreakerTicket{Epoch: uint32(word >> 32)}}, nil
	case wordPassTill:
		if int64(now) < b.till.Load() {
			return Permit{b: b, start: now, ticket: policy.BreakerTicket{Epoch: uint32(word >> 32)}}, nil
		}
	case wordRefuse:
		if int64(now) < b.till.Load() {
			b.refused.Add(1)
			return Permit{}, b.open
		}
	case wordRefuseProbing:
		if int64(now) < b.till.Load() {
			b.refused.Add(1)
			return Permit{}, b.probing
		}
	}
	return b.ask(now)
}

func (b *Breaker) ask(now time.Duration) (Permit, error) {
	b.mu.Lock()
	now = b.advanceLocked(now)
	ticket, decision := b.gate.Admit(now)
	b.unlockAndDeliver()
	switch decision {
	case policy.BreakerRefuseOpen:
		b.refused.Add(1)
		return Permit{}, b.open
	case policy.BreakerRefuseProbing:
		b.refused.Add(1)
		return Permit{}, b.probing
	}
	return Permit{b: b, start: now, ticket: ticket}, nil
}

// Probe tells whether the call is one that decides whether a half-open breaker closes.
func (p *Permit) Probe() bool { return p.ticket.Probe != 0 }

// Ticket identifies an admitted call by a number, for one who must hand its result back from elsewhere; see Breaker.PermitOf.
type Ticket uint64

// Ticket is the permit's identity.
func (p *Permit) Ticket() Ticket { return Ticket(p.ticket.Probe)<<32 | Ticket(p.ticket.Epoch) }

// PermitOf makes the permit of a ticket anew, admitted at start by the breaker's Clock. Only one of the two may be handed back.
func (b *Breaker) PermitOf(ticket Ticket, start time.Duration) Permit {
	return Permit{b: b, start: start, ticket: policy.BreakerTicket{Epoch: uint32(ticket), Probe: uint32(ticket >> 32)}}
}

// Done hands the result back. The time since Allow decides whether the call was slow.
func (p *Permit) Done(outcome Outcome) {
	b := p.b
	if b == nil {
		return
	}
	now := unknown // a count window without slow calls knows no time; should this result trip it, the clock is read then
	if p.start != unknown || b.gear.Load().window.ring == nil {
		now = b.clock.Now()
	}
	p.DoneAt(now, outcome)
}

// DoneAt is Done for a caller who has just read the breaker's Clock.
func (p *Permit) DoneAt(now time.Duration, outcome Outcome) {
	b := p.b
	if b == nil {
		return
	}
	p.b = nil
	if p.ticket.Probe != 0 {
		b.probeDone(now, p.start, p.ticket, outcome)
		return
	}
	elapsed := now - p.start
	if p.start == unknown {
		elapsed = 0
	}
	b.done(now, elapsed, p.ticket, outcome)
}

func (b *Breaker) done(now, elapsed time.Duration, ticket policy.BreakerTicket, outcome Outcome) {
	g := b.gear.Load()
	calls, slow := g.weigh(outcome, elapsed)
	if calls == 0 {
		b.neutral.Add(1)
		return
	}
	word := b.word.Load()
	if uint32(word>>32) != ticket.Epoch && g.rules.Mode == policy.BreakerStandard {
		b.stale.Add(1)
		return
	}
	if g.window.over(now) {
		b.moveOn(now)
	}
	sum, settled := g.window.add(calls, slow)
	if g.rules.Mode == policy.BreakerStandard && word&wordKind <= wordPassTimed && (!settled || g.trips(sum)) {
		b.judge(now, g, ticket, sum, settled)
	}
}

// weigh is policy's Tally as what add takes: no calls when the result does not count.
func (g *gear) weigh(outcome Outcome, elapsed time.Duration) (calls, slow uint64) {
	if g.rules.SlowAfter > 0 && elapsed >= g.rules.SlowAfter && outcome != Rejected {
		slow = 1
	}
	switch {
	case g.rules.Force == policy.BreakerDisabled:
		return 0, 0
	case outcome == Success:
		return oneCall, slow
	case outcome == Failure, outcome == Rejected && g.rules.CountRejections:
		return oneCall | 1, slow
	default:
		return 0, 0
	}
}

// trips tells whether the sum, of which one addition was just a part, calls for the gate's judgement.
func (g *gear) trips(calls uint64) bool {
	total := calls >> 32
	if total < g.rules.MinVolume {
		return false
	}
	if (calls&(oneCall-1))*policy.PartsPerMillion >= g.rules.FailurePPM*total {
		return true
	}
	return g.rules.SlowPPM > 0 && g.window.slowCalls()*policy.PartsPerMillion >= g.rules.SlowPPM*total
}

// judge trips the breaker by the sum that the caller's own addition made, or by what the window holds now if that is not settled, unless the
// breaker has closed anew or been changed in the meantime.
func (b *Breaker) judge(now time.Duration, g *gear, ticket policy.BreakerTicket, calls uint64, settled bool) {
	if now == unknown {
		now = b.clock.Now()
	}
	b.mu.Lock()
	now = b.advanceLocked(now)
	if b.gear.Load() == g && b.gate.Epoch() == ticket.Epoch {
		tally := tallyOf(calls, g.window.slowCalls())
		if !settled {
			tally = g.window.tally()
		}
		b.gate.Judge(now, tally)
	}
	b.unlockAndDeliver()
}

func (b *Breaker) probeDone(now, start time.Duration, ticket policy.BreakerTicket, outcome Outcome) {
	b.mu.Lock()
	now = b.advanceLocked(now)
	epoch := b.gate.Epoch()
	b.gate.ProbeDone(now, ticket, policy.BreakerOutcome(outcome), now-start)
	if b.gate.Epoch() != epoch {
		b.gear.Load().window.startLocked(now)
	}
	b.unlockAndDeliver()
}

func (b *Breaker) moveOn(now time.Duration) {
	b.mu.Lock()
	b.advanceLocked(now)
	b.unlockAndDeliver()
}

// advanceLocked moves the window on to now, judging at each boundary in Hystrix mode, and returns the instant to reckon by.
func (b *Breaker) advanceLocked(now time.Duration) time.Duration {
	now = max(now, b.last)
	b.last = now
	g := b.gear.Load()
	g.window.advanceLocked(now, func(boundary time.Duration, sum policy.BreakerTally) {
		if g.rules.Mode == policy.BreakerHystrix {
			b.gate.Judge(boundary, sum)
		}
	})
	return now
}

// publishLocked tells the calls that take no lock what to do.
func (b *Breaker) publishLocked() {
	kind, till := b.verdictLocked()
	b.till.Store(int64(till)) // first, since a call reads the word first
	b.word.Store(uint64(b.gate.Epoch())<<32 | kind)
}

func (b *Breaker) verdictLocked() (kind uint64, till time.Duration) {
	rules := b.gate.Rules()
	state, force := b.gate.State(), rules.Force
	pass := uint64(wordPass)
	if rules.SlowAfter > 0 {
		pass = wordPassTimed
	}
	switch {
	case force == policy.BreakerForcedOpen:
		return wordRefuse, 1<<63 - 1
	case force == policy.BreakerDisabled, force == policy.BreakerForcedClosed && state != policy.BreakerClosed:
		return pass, 0
	case state == policy.BreakerClosed && rules.Mode == policy.BreakerHystrix:
		return wordPassTill, time.Duration(b.gear.Load().window.end.Load())
	case state == policy.BreakerClosed:
		return pass, 0
	case state == policy.BreakerOpen:
		return wordRefuse, b.gate.ProbesFrom()
	}
	if till, full := b.gate.RefusesTill(); full {
		return wordRefuseProbing, till
	}
	return wordAsk, 0
}

// Do calls fn if the breaker lets it, and hands the result back as Config.Classify tells. A function that panics or ends its goroutine
// counts as a failure; the panic goes on. Where the breaker refuses, fn is not called and the error matches ErrOpen.
func (b *Breaker) Do(fn func() error) error {
	permit, err := b.Allow()
	if err != nil {
		return err
	}
	defer permit.Done(Failure) // does nothing once the result is in
	err = fn()
	permit.Done(b.classify(err))
	return err
}

// Do is Breaker.Do for a function with a value.
func Do[T any](b *Breaker, fn func() (T, error)) (T, error) {
	permit, err := b.Allow()
	if err != nil {
		var none T
		return none, err
	}
	defer permit.Done(Failure)
	value, err := fn()
	permit.Done(b.classify(err))
	return value, err
}

// Classify is the default of Config.Classify: nil is a success, context.Canceled neutral (the client has left), any other error a failure.
func Classify(err error) Outcome {
	switch {
	case err == nil:
		return Success
	case errors.Is(err, context.Canceled):
		return Neutral
	default:
		return Failure
	}
}
