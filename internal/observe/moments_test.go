package observe_test

import (
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"pgregory.net/rapid"
)

func TestDumpsOfAStepwiseRunAreTakenAtItsMarksAndBeforeTheWindow(t *testing.T) {
	p := observe.Place{Warmup: 4 * time.Minute, Discard: time.Minute, Window: 5 * time.Minute, Steps: 4}
	want := [][]string{{observe.WhyStart, observe.WhySteady}, {observe.WhySteady}, {observe.WhyBeforePeak}, {observe.WhyPeak}}
	for step, reasons := range want {
		p.Step = step
		got := observe.Moments(p)
		if len(got) != len(reasons) {
			t.Fatalf("step %d: %+v, want %v", step, got, reasons)
		}
		for i, m := range got {
			if m.Why != reasons[i] || m.Inside || m.At >= p.Warmup+p.Discard {
				t.Errorf("step %d: %+v, want %s before the window", step, m, reasons[i])
			}
		}
	}
	p.Step = 0
	if first := observe.Moments(p)[0]; first.At != time.Minute {
		t.Errorf("the first is taken after %v, want 1 min", first.At)
	}
}

func TestMomentsLieInTheCellInTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Int64Range(0, int64(time.Hour))
		p := observe.Place{Warmup: time.Duration(length.Draw(t, "warmup")), Discard: time.Duration(length.Draw(t, "discard")),
			Window: time.Duration(length.Draw(t, "window")), Steps: rapid.IntRange(1, 9).Draw(t, "steps")}
		p.Step = rapid.IntRange(0, p.Steps-1).Draw(t, "step")
		last := time.Duration(0)
		for _, m := range observe.Moments(p) {
			end := p.Warmup + p.Discard
			if m.Inside {
				end += p.Window
			}
			if m.At < last || m.At > end {
				t.Fatalf("%+v of %+v", m, p)
			}
			last = m.At
		}
	})
}

func TestFindingsFireFewDumpsFarApart(t *testing.T) {
	f, err := observe.NewFired(10*time.Second, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code string
		at   time.Duration
		ok   bool
		why  string
	}{
		{"slot-ceiling", 0, true, "the first"}, {"queue-backlog", 9 * time.Second, false, "too soon"}, {"slot-ceiling", 20 * time.Second, false, "had its dump"},
		{"queue-backlog", 20 * time.Second, true, "far enough"}, {"deadlock", 30 * time.Second, true, "far enough"}, {"cpu-binding", 90 * time.Second, false, "the fourth"},
	} {
		reason, ok := f.Allow(c.code, c.at)
		if ok != c.ok || ok && reason != "finding:"+c.code {
			t.Errorf("%s at %v: %v %q, want %v: %s", c.code, c.at, ok, reason, c.ok, c.why)
		}
	}
	if _, err := observe.NewFired(-1, 0); err == nil {
		t.Error("-1 was taken")
	}
}
