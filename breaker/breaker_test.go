package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/breaker"
)

func newBreaker(t *testing.T, s breaker.Settings) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(breaker.Config{Name: "price", Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// call makes one call with the given result; it fails the test when the breaker refuses.
func call(t *testing.T, b *breaker.Breaker, outcome breaker.Outcome) {
	t.Helper()
	p, err := b.Allow()
	if err != nil {
		t.Fatal(err)
	}
	p.Done(outcome)
}

// tripped returns a breaker of small settings that has just opened.
func tripped(t *testing.T, s breaker.Settings) *breaker.Breaker {
	t.Helper()
	s.MinVolume = 1
	b := newBreaker(t, s)
	call(t, b, breaker.Failure)
	if b.State() != breaker.Open {
		t.Fatalf("state %v after a failure at volume 1", b.State())
	}
	return b
}

func TestDefaultSettingsTripAtHalfOfTwentyAndProbeAfterFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Settings{})
		for i := range 20 {
			call(t, b, breaker.Outcome(i%2)) // ten failures
		}
		if _, err := b.Allow(); !errors.Is(err, breaker.ErrOpen) || errors.Is(err, breaker.ErrProbing) {
			t.Fatalf("Allow() = %v after 10 of 20 failed", err)
		}
		if s := b.Snapshot(); s.RetryAfter != 5*time.Second || !s.Refusing || s.Refused != 1 || s.Trips != 1 {
			t.Errorf("snapshot %+v", s)
		}
		time.Sleep(5*time.Second - 1)
		if _, err := b.Allow(); err == nil {
			t.Error("admitted before the sleep window was over")
		}
		time.Sleep(time.Nanosecond)
		call(t, b, breaker.Success)
		if b.State() != breaker.Closed {
			t.Errorf("state %v after the probe succeeded", b.State())
		}
	})
}

// The probe alone decides: a slow call from before must neither close nor re-open the breaker while the probe is under way.
func TestACallFromBeforeDoesNotDecideWhileAProbeIsUnderWay(t *testing.T) {
	for _, late := range []breaker.Outcome{breaker.Success, breaker.Failure, breaker.Neutral} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(t, breaker.Settings{MinVolume: 1, Mode: breaker.Standard})
				old, _ := b.Allow()
				call(t, b, breaker.Failure)
				time.Sleep(5 * time.Second)
				probe, err := b.Allow()
				if err != nil || !probe.Probe() {
					t.Fatalf("no probe: %v", err)
				}
				old.Done(late)
				if b.State() != breaker.HalfOpen {
					t.Fatalf("the old call's %v moved the breaker to %v", late, b.State())
				}
				probe.Done(breaker.Success)
				if b.State() != breaker.Closed {
					t.Errorf("state %v after the probe's success", b.State())
				}
			})
		})
	}
}

func TestANeutralProbeGivesItsPlaceFree(t *testing.T) {
	for _, outcome := range []breaker.Outcome{breaker.Neutral, breaker.Rejected} { // client gone or bad request; blocked by another rule
		synctest.Test(t, func(t *testing.T) {
			b := tripped(t, breaker.Settings{})
			time.Sleep(5 * time.Second)
			call(t, b, outcome)
			if b.State() != breaker.HalfOpen {
				t.Errorf("%v: state %v", outcome, b.State())
			}
			call(t, b, breaker.Success) // admitted at once
			if b.State() != breaker.Closed {
				t.Errorf("%v: state %v after the next probe's success", outcome, b.State())
			}
		})
	}
}

func TestALostProbeExpiresAndItsLateResultIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tripped(t, breaker.Settings{ProbeExpiry: 2 * time.Second})
		time.Sleep(5 * time.Second)
		lost, _ := b.Allow()
		if _, err := b.Allow(); !errors.Is(err, breaker.ErrProbing) {
			t.Fatalf("second call while probing: %v", err)
		}
		time.Sleep(2 * time.Second)
		next, err := b.Allow()
		if err != nil || !next.Probe() {
			t.Fatalf("after the expiry: %v", err)
		}
		lost.Done(breaker.Success)
		if b.State() != breaker.HalfOpen {
			t.Errorf("an expired probe moved the breaker to %v", b.State())
		}
		next.Done(breaker.Success)
		if s := b.Snapshot(); s.State != breaker.Closed || s.ProbesExpired != 1 {
			t.Errorf("snapshot %+v", s)
		}
	})
}

func TestAPermitCountsOnce(t *testing.T) {
	b := newBreaker(t, breaker.Settings{})
	p, _ := b.Allow()
	p.Done(breaker.Success)
	p.Done(breaker.Failure)
	new(breaker.Permit).Done(breaker.Failure)
	if got := b.Snapshot().Total; got != (breaker.Tally{Calls: 1}) {
		t.Errorf("total %+v after one success handed back twice", got)
	}
}

func TestAResultSurvivesTheMovingOnOfTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Settings{MinVolume: 2})
		p, _ := b.Allow()
		time.Sleep(3 * time.Hour)
		p.Done(breaker.Failure)
		if got := b.Snapshot().Window; got != (breaker.Tally{Calls: 1, Failures: 1}) {
			t.Errorf("window %+v", got)
		}
	})
}

func TestAResultFromBeforeTheBreakerClosedIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Settings{MinVolume: 1})
		old, _ := b.Allow()
		b.Trip()
		b.Reset()
		old.Done(breaker.Failure)
		if s := b.Snapshot(); s.State != breaker.Closed || s.Stale != 1 {
			t.Errorf("snapshot %+v", s)
		}
	})
}

func TestAClientThatLeavesIsNoFailure(t *testing.T) {
	b := newBreaker(t, breaker.Settings{MinVolume: 1})
	err := b.Do(func() error { return fmt.Errorf("call: %w", context.Canceled) })
	if !errors.Is(err, context.Canceled) || b.State() != breaker.Closed {
		t.Errorf("Do() = %v, state %v", err, b.State())
	}
	if err := b.Do(func() error { return errors.ErrUnsupported }); !errors.Is(err, errors.ErrUnsupported) || b.State() != breaker.Open {
		t.Errorf("Do() = %v, state %v", err, b.State())
	}
	if _, err := breaker.Do(b, func() (int, error) { t.Error("called though open"); return 0, nil }); !errors.Is(err, breaker.ErrOpen) {
		t.Errorf("Do() = %v while open", err)
	}
}

func TestAPanicIsAFailureAndGoesOn(t *testing.T) {
	b := newBreaker(t, breaker.Settings{MinVolume: 1})
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = b.Do(func() error { panic("boom") })
	}()
	if b.State() != breaker.Open {
		t.Errorf("state %v after a panic", b.State())
	}
}

func TestSlowCallsTripByTheirOwnRatio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(t, breaker.Settings{MinVolume: 4, SlowAfter: 100 * time.Millisecond, SlowRatio: 0.5})
		for _, d := range []time.Duration{100, 99, 10, 500} {
			p, err := b.Allow()
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d * time.Millisecond)
			p.Done(breaker.Success)
		}
		s := b.Snapshot()
		if s.State != breaker.Open || s.Window != (breaker.Tally{Calls: 4, Slow: 2}) {
			t.Errorf("snapshot %+v", s)
		}
	})
}

func TestFiveFailuresInARowTripACountWindow(t *testing.T) {
	b := newBreaker(t, breaker.Settings{Window: breaker.Count, WindowCalls: 5, MinVolume: 5, FailureRatio: 1})
	for _, o := range []breaker.Outcome{1, 1, 1, 1, 0, 1, 1, 1, 1} {
		call(t, b, o)
	}
	if b.State() != breaker.Closed {
		t.Fatal("tripped by four in a row")
	}
	call(t, b, breaker.Failure)
	if b.State() != breaker.Open {
		t.Error("not tripped by five in a row")
	}
}

func TestForcedStatesOverrideAndLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := breaker.Settings{MinVolume: 1, Force: breaker.ForcedOpen}
		b := newBreaker(t, s)
		if _, err := b.Allow(); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("forced open: %v", err)
		}
		apply := func(f breaker.Force) {
			t.Helper()
			s.Force = f
			if err := b.Apply(s); err != nil {
				t.Fatal(err)
			}
		}
		apply(breaker.ForcedClosed)
		call(t, b, breaker.Failure)
		call(t, b, breaker.Failure)
		if got := b.Snapshot(); got.State != breaker.Closed || got.Window.Failures != 2 {
			t.Errorf("forced closed: %+v", got)
		}
		apply(breaker.Disabled)
		call(t, b, breaker.Failure)
		if got := b.Snapshot(); got.Window.Failures != 2 {
			t.Errorf("disabled counted: %+v", got)
		}
		apply(breaker.Auto)
		call(t, b, breaker.Failure)
		if b.State() != breaker.Open {
			t.Errorf("state %v once let go", b.State())
		}
	})
}

func TestChangesArriveInOrderOutsideTheLockEvenWhenTheListenerCausesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *breaker.Breaker
		var seen []string
		b, err := breaker.New(breaker.Config{Name: "price", Settings: breaker.Settings{MinVolume: 1}, OnChange: func(c breaker.Change) {
			seen = append(seen, fmt.Sprintf("%s %v>%v by %v", c.Breaker, c.From, c.To, c.Reason))
			if c.Reason == breaker.FailureRatio {
				b.Reset() // would deadlock under the lock, and recurse if delivered at once
				b.Trip()
				if b.State() != breaker.Open {
					t.Error("the listener does not see what it did")
				}
			}
			seen = append(seen, "end")
		}})
		if err != nil {
			t.Fatal(err)
		}
		call(t, b, breaker.Failure)
		want := "price closed>open by failure ratio,end,price open>closed by by hand,end,price closed>open by by hand,end"
		if got := strings.Join(seen, ","); got != want {
			t.Errorf("saw %s\nwant %s", got, want)
		}
	})
}

func TestAListenersPanicDoesNotSilenceTheNextChanges(t *testing.T) {
	seen := 0
	b, err := breaker.New(breaker.Config{Name: "price", OnChange: func(breaker.Change) {
		if seen++; seen == 1 {
			panic("listener")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		b.Trip()
	}()
	b.Reset()
	if seen != 2 {
		t.Errorf("%d changes delivered, want 2", seen)
	}
}

func TestApplyKeepsResultsWhenTheWindowKeepsItsShape(t *testing.T) {
	b := newBreaker(t, breaker.Settings{})
	call(t, b, breaker.Failure)
	if err := b.Apply(breaker.Settings{MinVolume: 2}); err != nil {
		t.Fatal(err)
	}
	call(t, b, breaker.Failure)
	if b.State() != breaker.Open {
		t.Error("the result from before the change was forgotten")
	}
}

func TestApplyChangesNothingWhenInvalidOrEqual(t *testing.T) {
	b := newBreaker(t, breaker.Settings{})
	before := b.Snapshot()
	err := b.Apply(breaker.Settings{FailureRatio: 1.5, Probes: -1})
	for _, want := range []string{`"price"`, "FailureRatio: 1.5: allowed 0.000001 to 1", "Probes: -1: allowed 1 to 1000"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %s", err, want)
		}
	}
	if err := b.Apply(breaker.Settings{SleepWindow: 5 * time.Second}); err != nil { // the default, spelt out
		t.Fatal(err)
	}
	if after := b.Snapshot(); after.Settings != before.Settings || after.Version != 1 {
		t.Errorf("settings %+v version %d", after.Settings, after.Version)
	}
	if err := b.Apply(breaker.Settings{SleepWindow: time.Second}); err != nil || b.Snapshot().Version != 2 {
		t.Errorf("version %d after a change, %v", b.Snapshot().Version, err)
	}
}

func TestSettingsNameEveryFault(t *testing.T) {
	for want, s := range map[string]breaker.Settings{
		"WindowLength: 1ms: allowed 10ms to 1h0m0s":                 {WindowLength: time.Millisecond},
		"WindowBuckets: 7: does not divide WindowLength (10s)":      {WindowBuckets: 7},
		"WindowCalls: 65537":                                        {WindowCalls: 65537},
		"MinVolume: 6: above WindowCalls (5), so the breaker would": {Window: breaker.Count, WindowCalls: 5, MinVolume: 6},
		"Window: count: Hystrix mode knows only a time window":      {Window: breaker.Count, Mode: breaker.Hystrix},
		"SlowRatio: -1":   {SlowRatio: -1},
		"SlowAfter: -1ns": {SlowAfter: -1},
		"ProbeExpiry: 1ns: allowed 1ms to 24h0m0s":   {ProbeExpiry: 1},
		"Force: 9: allowed 0 to 3":                   {Force: 9},
		"Mode: 2":                                    {Mode: 2},
		"Window: 2":                                  {Window: 2},
		"SleepWindow: 2h0m0s: allowed 1ms to 1h0m0s": {SleepWindow: 2 * time.Hour},
		"Name: empty":                                {},
		"WindowBuckets: 601: allowed 1 to 600":       {WindowBuckets: 601},
		"MinVolume: -1: allowed 1 to":                {MinVolume: -1},
	} {
		_, err := breaker.New(breaker.Config{Settings: s})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", s, err, want)
		}
	}
}

func TestHystrixSettingsAreItsDefaults(t *testing.T) {
	got := breaker.HystrixSettings().WithDefaults()
	want := breaker.Settings{Mode: breaker.Hystrix, WindowLength: 10 * time.Second, WindowBuckets: 20, WindowCalls: 100, MinVolume: 20,
		FailureRatio: 0.5, SlowRatio: 1, SleepWindow: 5 * time.Second, Probes: 1, ProbeExpiry: 5 * time.Second, CountRejections: true}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
