package policy_test

import (
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
	"pgregory.net/rapid"
)

// model is a breaker written from the description alone: it remembers every result with its instant and counts anew at each question.
type model struct {
	rules   policy.BreakerRules
	state   policy.BreakerState
	since   time.Duration
	start   time.Duration // of the window
	results []result
	epoch   uint32
	judged  time.Duration // Hystrix mode: the last boundary judged
	probes  map[uint32]time.Duration
	tried   []result
}

type result struct {
	at           time.Duration
	failed, slow bool
}

func (m *model) tally(now time.Duration) policy.BreakerTally {
	var in []result
	switch {
	case m.rules.Window.Calls > 0:
		in = m.results[max(len(m.results)-m.rules.Window.Calls, 0):]
	default:
		width := m.rules.Window.Width()
		oldest := (now-m.start)/width - time.Duration(m.rules.Window.Buckets) + 1
		if m.rules.Mode == policy.BreakerHystrix {
			oldest--
		}
		for _, r := range m.results {
			if (r.at-m.start)/width >= oldest {
				in = append(in, r)
			}
		}
	}
	return count(in)
}

func count(in []result) (t policy.BreakerTally) {
	for _, r := range in {
		t.Total++
		if r.failed {
			t.Failures++
		}
		if r.slow {
			t.Slow++
		}
	}
	return t
}

func (m *model) bad(t policy.BreakerTally, least uint64, total float64) bool {
	if t.Total < least {
		return false
	}
	return float64(t.Failures)*1e6 >= float64(m.rules.FailurePPM)*total || m.rules.SlowPPM > 0 && float64(t.Slow)*1e6 >= float64(m.rules.SlowPPM)*total
}

// tick lets the boundaries up to now pass, which matters in Hystrix mode only.
func (m *model) tick(now time.Duration) {
	if m.rules.Mode != policy.BreakerHystrix {
		return
	}
	width := m.rules.Window.Width()
	for m.judged+width <= now {
		m.judged += width
		t := m.tally(m.judged)
		if m.state == policy.BreakerClosed && m.rules.Force != policy.BreakerDisabled && m.bad(t, m.rules.MinVolume, float64(t.Total)) {
			m.state, m.since = policy.BreakerOpen, m.judged
		}
	}
}

func (m *model) close(now time.Duration) {
	m.state, m.since, m.start, m.judged, m.results, m.tried = policy.BreakerClosed, now, now, now, nil, nil
	m.probes = map[uint32]time.Duration{}
	m.epoch++
}

func (m *model) trip(now time.Duration) {
	m.state, m.since, m.tried = policy.BreakerOpen, now, nil
	m.probes = map[uint32]time.Duration{}
}

// admit decides; id is what the machine called its probe, if it sent one.
func (m *model) admit(now time.Duration, id uint32) policy.BreakerDecision {
	m.tick(now)
	switch m.rules.Force {
	case policy.BreakerForcedOpen:
		return policy.BreakerRefuseOpen
	case policy.BreakerForcedClosed, policy.BreakerDisabled:
		return policy.BreakerPass
	}
	if m.state == policy.BreakerClosed {
		return policy.BreakerPass
	}
	if m.state == policy.BreakerOpen {
		if now-m.since < m.rules.SleepWindow || m.rules.Mode == policy.BreakerHystrix && now-m.since == m.rules.SleepWindow {
			return policy.BreakerRefuseOpen
		}
		m.state, m.since = policy.BreakerHalfOpen, now
	}
	m.lose(now)
	if len(m.probes)+len(m.tried) >= m.rules.Probes {
		return policy.BreakerRefuseProbing
	}
	m.probes[id] = now
	return policy.BreakerProbe
}

func (m *model) lose(now time.Duration) {
	for id, started := range m.probes {
		if now-started >= m.rules.ProbeExpiry {
			delete(m.probes, id)
		}
	}
}

func (m *model) done(now time.Duration, ticket policy.BreakerTicket, outcome policy.BreakerOutcome, elapsed time.Duration) {
	m.tick(now)
	counts := outcome == policy.BreakerSuccess || outcome == policy.BreakerFailure || outcome == policy.BreakerRejected && m.rules.CountRejections
	r := result{at: now, failed: outcome != policy.BreakerSuccess,
		slow: m.rules.SlowAfter > 0 && elapsed >= m.rules.SlowAfter && outcome != policy.BreakerRejected}
	if ticket.Probe != 0 {
		m.probeDone(now, ticket.Probe, r, counts)
		return
	}
	hystrix := m.rules.Mode == policy.BreakerHystrix
	if !counts || m.rules.Force == policy.BreakerDisabled || ticket.Epoch != m.epoch && !hystrix {
		return
	}
	m.results = append(m.results, r)
	t := m.tally(now)
	if !hystrix && m.rules.Force == policy.BreakerAuto && m.state == policy.BreakerClosed && m.bad(t, m.rules.MinVolume, float64(t.Total)) {
		m.trip(now)
	}
}

func (m *model) probeDone(now time.Duration, id uint32, r result, counts bool) {
	m.lose(now)
	if _, out := m.probes[id]; !out {
		return
	}
	delete(m.probes, id)
	if !counts {
		return
	}
	m.tried = append(m.tried, r)
	t, n := count(m.tried), m.rules.Probes
	worst, missing := t, uint64(n-len(m.tried))
	worst.Failures += missing
	if m.rules.SlowPPM > 0 {
		worst.Slow += missing
	}
	switch {
	case m.bad(t, 0, float64(n)):
		m.trip(now)
	case !m.bad(worst, 0, float64(n)):
		m.close(now)
	}
}

func rulesGenerator() *rapid.Generator[policy.BreakerRules] {
	return rapid.Custom(func(t *rapid.T) policy.BreakerRules {
		r := policy.BreakerRules{
			MinVolume:       rapid.Uint64Range(1, 8).Draw(t, "volume"),
			FailurePPM:      rapid.SampledFrom([]uint64{1, 70_000, 500_000, 1_000_000}).Draw(t, "failures"),
			SleepWindow:     rapid.SampledFrom([]time.Duration{1, 7, 30}).Draw(t, "sleep"),
			Probes:          rapid.IntRange(1, 4).Draw(t, "probes"),
			ProbeExpiry:     rapid.SampledFrom([]time.Duration{1, 20, 50}).Draw(t, "expiry"),
			CountRejections: rapid.Bool().Draw(t, "rejections"),
			Force:           rapid.SampledFrom([]policy.BreakerForce{0, 0, 0, 0, 1, 2, 3}).Draw(t, "force"),
		}
		if rapid.Bool().Draw(t, "slow") {
			r.SlowAfter, r.SlowPPM = 5, 600_000
		}
		switch rapid.SampledFrom([]string{"time", "count", "hystrix"}).Draw(t, "kind") {
		case "count":
			r.Window.Calls = rapid.IntRange(1, 12).Draw(t, "calls")
			return r
		case "hystrix":
			r.Mode = policy.BreakerHystrix
		}
		r.Window.Buckets = rapid.IntRange(1, 5).Draw(t, "buckets")
		r.Window.Length = time.Duration(r.Window.Buckets) * rapid.SampledFrom([]time.Duration{1, 3, 10}).Draw(t, "width")
		return r
	})
}

// TestTheMachineDecidesAsItsDescription feeds machine and model the same random calls and compares every decision, state and tally.
func TestTheMachineDecidesAsItsDescription(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rulesGenerator().Draw(t, "rules")
		now := time.Duration(rapid.IntRange(-5, 5).Draw(t, "start"))
		machine := policy.NewBreaker(rules, now)
		m := &model{rules: rules, start: now, judged: now, since: now, probes: map[uint32]time.Duration{}}
		type call struct {
			ticket policy.BreakerTicket
			start  time.Duration
		}
		var under []call
		for range rapid.SampledFrom([]int{10, 40, 150}).Draw(t, "steps") {
			now += rapid.SampledFrom([]time.Duration{0, 0, 1, 2, 9, 40}).Draw(t, "pause")
			switch action := rapid.IntRange(0, 20).Draw(t, "action"); {
			case action < 10 || len(under) == 0:
				ticket, decision := machine.Admit(now)
				if want := m.admit(now, ticket.Probe); decision != want {
					t.Fatalf("at %d: decided %d, want %d", now, decision, want)
				}
				if decision.Admitted() {
					under = append(under, call{ticket, now})
				}
			case action < 19:
				i := rapid.IntRange(0, len(under)-1).Draw(t, "which")
				outcome := policy.BreakerOutcome(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3}).Draw(t, "outcome"))
				machine.Done(now, under[i].ticket, outcome, now-under[i].start)
				m.done(now, under[i].ticket, outcome, now-under[i].start)
				if rapid.IntRange(0, 9).Draw(t, "twice") > 0 || under[i].ticket.Probe == 0 {
					under = append(under[:i], under[i+1:]...)
				}
			case action == 19:
				machine.Trip(now)
				m.tick(now)
				m.trip(now)
			default:
				machine.Reset(now)
				m.tick(now)
				m.close(now)
			}
			m.tick(now)
			if got := machine.State(now); got != m.state {
				t.Fatalf("at %d: state %d, want %d", now, got, m.state)
			}
			if got, want := machine.Tally(now), m.tally(now); got != want {
				t.Fatalf("at %d: tally %+v, want %+v", now, got, want)
			}
		}
	})
}
