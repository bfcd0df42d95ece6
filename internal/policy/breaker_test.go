package policy_test

import (
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
)

// hystrixRules are the defaults of Hystrix 1.5.18.
func hystrixRules() policy.BreakerRules {
	return policy.BreakerRules{
		Window: policy.BreakerWindow{Length: 10 * time.Second, Buckets: 20}, MinVolume: 20, FailurePPM: 500_000,
		SleepWindow: 5 * time.Second, Probes: 1, ProbeExpiry: 5 * time.Second, Mode: policy.BreakerHystrix, CountRejections: true,
	}
}

func feed(t *testing.T, b *policy.Breaker, now time.Duration, successes, failures int) {
	t.Helper()
	for i := range successes + failures {
		ticket, decision := b.Admit(now)
		if !decision.Admitted() {
			t.Fatalf("call %d at %v refused", i, now)
		}
		outcome := policy.BreakerSuccess
		if i >= successes {
			outcome = policy.BreakerFailure
		}
		b.Done(now, ticket, outcome, 0)
	}
}

func TestHystrixModeTripsAtVolumeAndRatioAndOnlyAtTheHealthInterval(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name                string
		successes, failures int
		trips               bool
	}{
		{"19 failures are below the volume", 0, 19, false},
		{"20 failures trip", 0, 20, true},
		{"10 of 20 is 50 % and trips", 10, 10, true},
		{"9 of 20 is 45 %", 11, 9, false},
		{"49 of 99 is 49 % when rounded down", 50, 49, false},
		{"50 of 100 trips", 50, 50, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := policy.NewBreaker(hystrixRules(), 0)
			feed(t, b, 100*ms, c.successes, c.failures)
			if b.State(499*ms) != policy.BreakerClosed {
				t.Error("tripped before the health interval ended")
			}
			if tripped := b.State(500*ms) == policy.BreakerOpen; tripped != c.trips {
				t.Errorf("tripped: %v, want %v", tripped, c.trips)
			}
		})
	}
}

func TestHystrixModeOpensAtTheBoundaryEvenWhenNobodyCalls(t *testing.T) {
	b := policy.NewBreaker(hystrixRules(), 0)
	feed(t, b, 1200*time.Millisecond, 0, 20)
	b.State(time.Minute)
	changes := b.Gate().TakeChanges()
	if len(changes) != 1 || changes[0].At != 1500*time.Millisecond || changes[0].Tally != (policy.BreakerTally{Total: 20, Failures: 20}) {
		t.Errorf("changes %+v, want one at 1.5s of 20 failures", changes)
	}
}

func TestHystrixModeTripsWhenOldSuccessesRollOut(t *testing.T) {
	b := policy.NewBreaker(hystrixRules(), 0)
	feed(t, b, 0, 40, 0)
	feed(t, b, 9900*time.Millisecond, 0, 30) // 30 of 70 until the first bucket leaves
	if b.State(10*time.Second) != policy.BreakerClosed {
		t.Error("30 of 70 tripped")
	}
	if b.State(10500*time.Millisecond) != policy.BreakerOpen {
		t.Error("30 of 30 did not trip")
	}
}

func TestHystrixModeSendsOneProbeAfterTheSleepWindowAndClosesOnItsSuccess(t *testing.T) {
	b := policy.NewBreaker(hystrixRules(), 0)
	feed(t, b, 0, 0, 20)
	opened := 500 * time.Millisecond
	if _, d := b.Admit(opened + 5*time.Second); d != policy.BreakerRefuseOpen {
		t.Errorf("at exactly the sleep window: %d, Hystrix asks for later", d)
	}
	probe, d := b.Admit(opened + 5*time.Second + 1)
	if d != policy.BreakerProbe {
		t.Fatalf("after the sleep window: %d", d)
	}
	if _, d := b.Admit(opened + 5*time.Second + 2); d != policy.BreakerRefuseProbing {
		t.Errorf("second call while probing: %d", d)
	}
	b.Done(6*time.Second, probe, policy.BreakerSuccess, 0)
	if b.State(6*time.Second) != policy.BreakerClosed || b.Tally(6*time.Second).Total != 0 {
		t.Errorf("state %d, tally %+v after the probe's success", b.State(6*time.Second), b.Tally(6*time.Second))
	}
}

func TestAFailedProbeStartsANewSleepWindow(t *testing.T) {
	b := policy.NewBreaker(hystrixRules(), 0)
	b.Trip(0)
	probe, _ := b.Admit(6 * time.Second)
	b.Done(7*time.Second, probe, policy.BreakerFailure, time.Second)
	if _, d := b.Admit(12 * time.Second); d != policy.BreakerRefuseOpen {
		t.Errorf("5 s after the failed probe: %d", d)
	}
	if _, d := b.Admit(12*time.Second + 1); d != policy.BreakerProbe {
		t.Errorf("after 5 s more: %d", d)
	}
}

func TestARatioIsComparedInWholeNumbers(t *testing.T) {
	// 0.07 × 100 is 7.000000000000001 in floating point; 7 of 100 must trip at 7 % all the same.
	rules := policy.BreakerRules{FailurePPM: 70_000, MinVolume: 1}
	if rules.Judge(policy.BreakerTally{Total: 100, Failures: 7}) != policy.BreakerFailureRatio {
		t.Error("7 of 100 does not trip at 7 %")
	}
	if rules.Judge(policy.BreakerTally{Total: 101, Failures: 7}) != policy.BreakerNoReason {
		t.Error("7 of 101 trips at 7 %")
	}
}

func TestRejectionsCountOnlyWhenAskedFor(t *testing.T) {
	for _, counted := range []bool{false, true} {
		rules := hystrixRules()
		rules.CountRejections = counted
		b := policy.NewBreaker(rules, 0)
		for range 20 {
			ticket, _ := b.Admit(0)
			b.Done(0, ticket, policy.BreakerRejected, 0)
		}
		if open := b.State(time.Second) == policy.BreakerOpen; open != counted {
			t.Errorf("rejections counted: %v, opened: %v", counted, open)
		}
	}
}

func TestSeveralProbesDecideAsSoonAsTheRestCannotMatter(t *testing.T) {
	rules := hystrixRules()
	rules.Mode, rules.Probes = policy.BreakerStandard, 4
	for _, c := range []struct {
		name    string
		results []policy.BreakerOutcome
		want    policy.BreakerState
	}{
		{"two failures of four are half", []policy.BreakerOutcome{policy.BreakerFailure, policy.BreakerFailure}, policy.BreakerOpen},
		{"two successes leave it undecided", []policy.BreakerOutcome{policy.BreakerSuccess, policy.BreakerSuccess}, policy.BreakerHalfOpen},
		{"three successes cannot be outvoted", []policy.BreakerOutcome{0, 0, 0}, policy.BreakerClosed},
		{"neutral results decide nothing", []policy.BreakerOutcome{3, 3, 3, 3, 3, 3}, policy.BreakerHalfOpen},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := policy.NewBreaker(rules, 0)
			b.Trip(0)
			for _, outcome := range c.results {
				ticket, d := b.Admit(5 * time.Second)
				if d != policy.BreakerProbe {
					t.Fatalf("decision %d", d)
				}
				b.Done(5*time.Second, ticket, outcome, 0)
			}
			if got := b.State(5 * time.Second); got != c.want {
				t.Errorf("state %d, want %d", got, c.want)
			}
		})
	}
}
