package breaker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/internal/policy"
	"pgregory.net/rapid"
)

// settingsGenerator draws settings that trip, sleep and expire within a few steps of a trace.
func settingsGenerator() *rapid.Generator[breaker.Settings] {
	const ms = time.Millisecond
	return rapid.Custom(func(t *rapid.T) breaker.Settings {
		s := breaker.Settings{
			MinVolume:       rapid.IntRange(1, 8).Draw(t, "volume"),
			FailureRatio:    rapid.SampledFrom([]float64{0.000001, 0.07, 0.5, 1}).Draw(t, "failures"),
			SleepWindow:     rapid.SampledFrom([]time.Duration{ms, 7 * ms, 30 * ms}).Draw(t, "sleep"),
			Probes:          rapid.IntRange(1, 4).Draw(t, "probes"),
			ProbeExpiry:     rapid.SampledFrom([]time.Duration{ms, 20 * ms, 50 * ms}).Draw(t, "expiry"),
			CountRejections: rapid.Bool().Draw(t, "rejections"),
			Force:           rapid.SampledFrom([]breaker.Force{0, 0, 0, 0, 1, 2, 3}).Draw(t, "force"),
		}
		if rapid.Bool().Draw(t, "slow") {
			s.SlowAfter, s.SlowRatio = 5*ms, 0.6
		}
		switch rapid.SampledFrom([]string{"time", "count", "hystrix"}).Draw(t, "kind") {
		case "count":
			s.Window, s.WindowCalls = breaker.Count, rapid.IntRange(s.MinVolume, 12).Draw(t, "calls")
			return s
		case "hystrix":
			s.Mode = breaker.Hystrix
		}
		s.WindowBuckets = rapid.IntRange(1, 5).Draw(t, "buckets")
		s.WindowLength = time.Duration(s.WindowBuckets) * rapid.SampledFrom([]time.Duration{10 * ms, 30 * ms}).Draw(t, "width")
		return s
	})
}

// rulesOf says in the machine's words what settings mean.
func rulesOf(s breaker.Settings) policy.BreakerRules {
	s = s.WithDefaults()
	r := policy.BreakerRules{
		MinVolume: uint64(s.MinVolume), FailurePPM: uint64(s.FailureRatio*1e6 + 0.5), SlowAfter: s.SlowAfter, SleepWindow: s.SleepWindow,
		Probes: s.Probes, ProbeExpiry: s.ProbeExpiry, CountRejections: s.CountRejections,
		Mode: map[breaker.Mode]policy.BreakerMode{breaker.Standard: policy.BreakerStandard, breaker.Hystrix: policy.BreakerHystrix}[s.Mode],
		Force: map[breaker.Force]policy.BreakerForce{breaker.Auto: policy.BreakerAuto, breaker.ForcedOpen: policy.BreakerForcedOpen,
			breaker.ForcedClosed: policy.BreakerForcedClosed, breaker.Disabled: policy.BreakerDisabled}[s.Force],
		Window: policy.BreakerWindow{Length: s.WindowLength, Buckets: s.WindowBuckets},
	}
	if s.Window == breaker.Count {
		r.Window = policy.BreakerWindow{Calls: s.WindowCalls}
	}
	if s.SlowAfter > 0 {
		r.SlowPPM = uint64(s.SlowRatio*1e6 + 0.5)
	}
	return r
}

// trace drives breaker and machine side by side.
type trace struct {
	*rapid.T
	b       *breaker.Breaker
	machine *policy.Breaker
	under   []*tracedCall
	clock   *breaker.Clock
	events  []breaker.Change
}

type tracedCall struct {
	permit breaker.Permit
	ticket policy.BreakerTicket
	start  time.Duration
}

func (tr *trace) call() {
	now := tr.clock.Now()
	ticket, decision := tr.machine.Admit(now)
	allow := func() (breaker.Permit, error) { return tr.b.AllowAt(now) }
	if tr.b.Settings().SlowAfter > 0 { // else Allow does not look at the clock, and settings that come later would not know the start
		allow = tr.b.Allow
	}
	permit, err := allow()
	switch {
	case (err == nil) != decision.Admitted():
		tr.Fatalf("at %v: library says %v, machine %d", now, err, decision)
	case permit.Probe() != (decision == policy.BreakerProbe):
		tr.Fatalf("at %v: probe %v, machine %d", now, permit.Probe(), decision)
	case errors.Is(err, breaker.ErrProbing) != (decision == policy.BreakerRefuseProbing):
		tr.Fatalf("at %v: library says %v, machine %d", now, err, decision)
	}
	if err == nil {
		tr.under = append(tr.under, &tracedCall{permit, ticket, now})
	}
}

func (tr *trace) done() {
	i := rapid.IntRange(0, len(tr.under)-1).Draw(tr.T, "which")
	outcome := breaker.Outcome(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3}).Draw(tr.T, "outcome"))
	c := tr.under[i]
	tr.under = append(tr.under[:i], tr.under[i+1:]...)
	now := tr.clock.Now()
	tr.machine.Done(now, c.ticket, policy.BreakerOutcome(outcome), now-c.start)
	c.permit.Done(outcome)
	c.permit.Done(breaker.Failure) // a second one does nothing
}

func (tr *trace) step() {
	time.Sleep(rapid.SampledFrom([]time.Duration{0, 0, 1, time.Millisecond, 2 * time.Millisecond, 9 * time.Millisecond, 200 * time.Millisecond}).Draw(tr.T, "pause"))
	switch action := rapid.IntRange(0, 30).Draw(tr.T, "action"); {
	case action < 14 || len(tr.under) == 0 && action < 28:
		tr.call()
	case action < 28:
		tr.done()
	case action == 28:
		tr.machine.Trip(tr.clock.Now())
		tr.b.Trip()
	case action == 29:
		tr.machine.Reset(tr.clock.Now())
		tr.b.Reset()
	default:
		s := settingsGenerator().Draw(tr.T, "settings")
		tr.machine.Apply(tr.clock.Now(), rulesOf(s))
		if err := tr.b.Apply(s); err != nil {
			tr.Fatal(err)
		}
	}
	if rapid.Bool().Draw(tr.T, "look") {
		tr.compare()
	}
}

func (tr *trace) compare() {
	now := tr.clock.Now()
	s, want := tr.b.Snapshot(), tr.machine.Tally(now)
	if got := (policy.BreakerTally{Total: s.Window.Calls, Failures: s.Window.Failures, Slow: s.Window.Slow}); got != want {
		tr.Fatalf("at %v: window %+v, machine %+v", now, got, want)
	}
	if policy.BreakerState(s.State) != tr.machine.State(now) {
		tr.Fatalf("at %v: state %v, machine %d", now, s.State, tr.machine.State(now))
	}
	if s.ProbesOut != tr.machine.Gate().ProbesOut() {
		tr.Fatalf("at %v: %d probes out, machine %d", now, s.ProbesOut, tr.machine.Gate().ProbesOut())
	}
	for _, c := range tr.machine.Gate().TakeChanges() {
		if len(tr.events) == 0 {
			tr.Fatalf("at %v: no event for %+v", now, c)
		}
		e := tr.events[0]
		tr.events = tr.events[1:]
		if e.From != breaker.State(c.From) || e.To != breaker.State(c.To) || e.Reason != breaker.Reason(c.Reason) || !e.At.Equal(tr.clock.Epoch().Add(c.At)) {
			tr.Fatalf("at %v: event %+v, machine %+v", now, e, c)
		}
	}
	if len(tr.events) > 0 {
		tr.Fatalf("at %v: events without a change: %+v", now, tr.events)
	}
}

// TestTheLockFreeBreakerDecidesAsTheMachine runs random calls, results, pauses, changes of settings and commands by hand through both, and
// compares every decision, and state, window and events at random moments.
func TestTheLockFreeBreakerDecidesAsTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A bubble has no deadline to ask for.
		rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) {
			tr := &trace{T: t}
			settings := settingsGenerator().Draw(t, "settings")
			b, err := breaker.New(breaker.Config{Name: "trace", Settings: settings, OnChange: func(c breaker.Change) { tr.events = append(tr.events, c) }})
			if err != nil {
				t.Fatal(err)
			}
			tr.b, tr.clock = b, b.Clock()
			tr.machine = policy.NewBreaker(rulesOf(settings), tr.clock.Now())
			for range rapid.SampledFrom([]int{10, 40, 150}).Draw(t, "steps") {
				tr.step()
			}
			tr.compare()
		})
	})
}
