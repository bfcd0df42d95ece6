package policy

import (
	"slices"
	"time"
)

// BreakerDecision is the answer to a call that asks to pass.
type BreakerDecision uint8

// The decisions.
const (
	BreakerPass          BreakerDecision = iota // go on; the result counts in the window
	BreakerProbe                                // go on; the result decides whether the breaker closes
	BreakerRefuseOpen                           // refused: open, or forced open
	BreakerRefuseProbing                        // refused: half-open, and all probes are out
)

// Admitted tells whether the call may go on.
func (d BreakerDecision) Admitted() bool { return d <= BreakerProbe }

// BreakerTicket is the identity of an admitted call, to be handed back with its result.
type BreakerTicket struct {
	Epoch uint32 // how often the breaker had closed when the call was admitted
	Probe uint32 // which probe it is, 0 for none
}

// BreakerChange is a change of state.
type BreakerChange struct {
	From, To BreakerState
	Reason   BreakerReason
	At       time.Duration
	Tally    BreakerTally // what was judged: the window's, or the probes'
}

type breakerProbe struct {
	id      uint32
	started time.Duration
}

// BreakerGate is the part of a breaker that holds its state and its probes; the window is kept apart, so that a lock-free window can
// stand beside the same gate. Instants are durations since any one epoch and must not go back. A gate is for one goroutine at a time.
type BreakerGate struct {
	rules   BreakerRules
	state   BreakerState
	since   time.Duration
	epoch   uint32
	lastID  uint32
	out     []breakerProbe
	results BreakerTally
	expired uint64
	changes []BreakerChange
}

// NewBreakerGate returns a closed gate.
func NewBreakerGate(rules BreakerRules, now time.Duration) *BreakerGate {
	return &BreakerGate{rules: rules, since: now}
}

// State is the state, whatever is forced.
func (g *BreakerGate) State() BreakerState { return g.state }

// Since is when the state was entered.
func (g *BreakerGate) Since() time.Duration { return g.since }

// Epoch counts how often the gate has closed.
func (g *BreakerGate) Epoch() uint32 { return g.epoch }

// Rules are the rules in force.
func (g *BreakerGate) Rules() BreakerRules { return g.rules }

// ProbesOut is how many probes have not come back.
func (g *BreakerGate) ProbesOut() int { return len(g.out) }

// ProbesExpired is how many probes never came back in time, since the gate was made.
func (g *BreakerGate) ProbesExpired() uint64 { return g.expired }

// TakeChanges returns the changes of state since it was last called, oldest first.
func (g *BreakerGate) TakeChanges() []BreakerChange {
	changes := g.changes
	g.changes = nil
	return changes
}

// Apply puts new rules in force. State, probes and their results stay; a half-open gate is judged by the new rules at once.
func (g *BreakerGate) Apply(now time.Duration, rules BreakerRules) {
	g.rules = rules
	if g.state == BreakerHalfOpen {
		g.settleProbes(now)
	}
}

// Admit decides on a call that asks to pass.
func (g *BreakerGate) Admit(now time.Duration) (BreakerTicket, BreakerDecision) {
	switch g.rules.Force {
	case BreakerForcedOpen:
		return BreakerTicket{}, BreakerRefuseOpen
	case BreakerForcedClosed, BreakerDisabled:
		return BreakerTicket{Epoch: g.epoch}, BreakerPass
	}
	switch g.state {
	case BreakerClosed:
		return BreakerTicket{Epoch: g.epoch}, BreakerPass
	case BreakerOpen:
		if now < g.ProbesFrom() {
			return BreakerTicket{}, BreakerRefuseOpen
		}
		g.enter(now, BreakerHalfOpen, BreakerSlept, BreakerTally{})
	}
	return g.probe(now)
}

// ProbesFrom is the first instant at which an open gate lets a probe pass: when the sleep window is over, in Hystrix mode just after, since
// Hystrix compares with "later than".
func (g *BreakerGate) ProbesFrom() time.Duration {
	from := g.since + g.rules.SleepWindow
	if g.rules.Mode == BreakerHystrix {
		from++
	}
	return from
}

// RefusesTill tells whether a half-open gate has all its probes out, and when the first of them expires.
func (g *BreakerGate) RefusesTill() (till time.Duration, full bool) {
	if len(g.out) == 0 || len(g.out)+int(g.results.Total) < g.rules.Probes {
		return 0, false
	}
	first := g.out[0].started
	for _, p := range g.out[1:] {
		first = min(first, p.started)
	}
	return first + g.rules.ProbeExpiry, true
}

func (g *BreakerGate) probe(now time.Duration) (BreakerTicket, BreakerDecision) {
	g.expire(now)
	if len(g.out)+int(g.results.Total) >= g.rules.Probes {
		return BreakerTicket{}, BreakerRefuseProbing
	}
	g.lastID++
	if g.lastID == 0 { // 0 means "no probe"
		g.lastID = 1
	}
	g.out = append(g.out, breakerProbe{id: g.lastID, started: now})
	return BreakerTicket{Epoch: g.epoch, Probe: g.lastID}, BreakerProbe
}

// expire forgets the probes that have been out too long, so that one that never comes back cannot hold the gate half-open for ever. A lost
// probe says nothing about the dependency; the next call may try.
func (g *BreakerGate) expire(now time.Duration) {
	kept := g.out[:0]
	for _, p := range g.out {
		if now-p.started < g.rules.ProbeExpiry {
			kept = append(kept, p)
		}
	}
	g.expired += uint64(len(g.out) - len(kept))
	g.out = kept
}

// ProbeDone takes the result of a probe. One that is not out any more (expired, handed back twice, or of an earlier half-open state) is
// dropped: only the probes that this state sent decide about it. A result that does not count gives the probe's place free.
func (g *BreakerGate) ProbeDone(now time.Duration, ticket BreakerTicket, outcome BreakerOutcome, elapsed time.Duration) {
	g.expire(now)
	at := slices.IndexFunc(g.out, func(p breakerProbe) bool { return p.id == ticket.Probe })
	if at < 0 {
		return
	}
	g.out = slices.Delete(g.out, at, at+1)
	if one, counts := g.rules.Tally(outcome, elapsed); counts {
		g.results = g.results.Plus(one)
		g.settleProbes(now)
	}
}

func (g *BreakerGate) settleProbes(now time.Duration) {
	if g.results.Total == 0 {
		return
	}
	switch failed, passed := g.rules.judgeProbes(g.results); {
	case failed:
		g.enter(now, BreakerOpen, BreakerProbesFailed, g.results)
	case passed:
		g.enter(now, BreakerClosed, BreakerProbesPassed, g.results)
	}
}

// Judge trips a closed gate whose window's tally calls for it. A forced gate does not trip, except in Hystrix mode, where the health stream
// goes on beneath a forced-closed one.
func (g *BreakerGate) Judge(at time.Duration, tally BreakerTally) {
	if !g.judges() {
		return
	}
	if reason := g.rules.Judge(tally); reason != BreakerNoReason {
		g.enter(at, BreakerOpen, reason, tally)
	}
}

func (g *BreakerGate) judges() bool {
	switch g.rules.Force {
	case BreakerAuto:
		return g.state == BreakerClosed
	case BreakerDisabled:
		return false
	default:
		return g.state == BreakerClosed && g.rules.Mode == BreakerHystrix
	}
}

// Trip opens the gate by hand, whatever it was; the sleep window starts at now.
func (g *BreakerGate) Trip(now time.Duration) {
	g.enter(now, BreakerOpen, BreakerByHand, BreakerTally{})
}

// Reset closes the gate by hand, whatever it was; a closed one starts over too.
func (g *BreakerGate) Reset(now time.Duration) {
	g.enter(now, BreakerClosed, BreakerByHand, BreakerTally{})
}

func (g *BreakerGate) enter(at time.Duration, to BreakerState, reason BreakerReason, tally BreakerTally) {
	if to != g.state {
		g.changes = append(g.changes, BreakerChange{From: g.state, To: to, Reason: reason, At: at, Tally: tally})
	}
	g.state, g.since = to, at
	g.out, g.results = g.out[:0], BreakerTally{}
	if to == BreakerClosed {
		g.epoch++
	}
}

// Counts tells whether the result of a call that was no probe belongs in the window: not when breaking is disabled, and in the standard
// mode not when the breaker has closed again since the call was admitted, since the call tells of the time before.
func (g *BreakerGate) Counts(ticket BreakerTicket) bool {
	if g.rules.Force == BreakerDisabled {
		return false
	}
	return ticket.Epoch == g.epoch || g.rules.Mode == BreakerHystrix
}
