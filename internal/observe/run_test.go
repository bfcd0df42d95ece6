package observe_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
)

// fake answers as its function says.
type fake struct {
	name    string
	collect func(ctx context.Context, clock observe.Clock) (observe.Batch, error)
	closed  bool
}

func (f *fake) Source() string { return f.name }
func (f *fake) Collect(ctx context.Context, clock observe.Clock) (observe.Batch, error) {
	return f.collect(ctx, clock)
}
func (f *fake) Close() error { f.closed = true; return nil }

func quick(context.Context, observe.Clock) (observe.Batch, error) { return observe.Batch{}, nil }

// bySource runs collectors for a while of the bubble's time.
func bySource(t *testing.T, c observe.Config, length time.Duration, collectors ...observe.Collector) map[string][]observe.Batch {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	out := map[string][]observe.Batch{}
	if err := observe.Run(ctx, c, collectors, func(b observe.Batch) { out[b.Source] = append(out[b.Source], b) }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestACollectorThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _ observe.Clock) (observe.Batch, error) {
			<-ctx.Done()
			return observe.Batch{}, ctx.Err()
		}
		c := observe.Config{Origin: time.Now(), Every: 100 * time.Millisecond, Timeout: 350 * time.Millisecond}
		got := bySource(t, c, 1050*time.Millisecond, &fake{name: "quick", collect: quick}, &fake{name: "hung", collect: hangs})
		if n := len(got["quick"]); n != 11 {
			t.Errorf("%d looks in 1.05 s at 10 Hz, want 11 (0 and 1.0 s included)", n)
		}
		if n := len(got["hung"]); n != 3 {
			t.Errorf("%d looks of a collector that times out after 0.35 s, want those at 0, 0.4 and 0.8 s", n)
		}
		for _, b := range got["hung"] {
			if !errors.Is(b.Err, context.DeadlineExceeded) || !strings.HasPrefix(b.Err.Error(), "hung: ") {
				t.Errorf("error %v, want the source and a timeout", b.Err)
			}
		}
	})
}

func TestLooksFallOnMultiplesOfThePeriodAndOnTheInstantsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin := time.Now()
		time.Sleep(50 * time.Millisecond) // Run begins in the middle of a period.
		c := observe.Config{Origin: origin, Every: 400 * time.Millisecond, Instants: []time.Duration{time.Second, 10 * time.Millisecond, 500 * time.Millisecond}}
		got := bySource(t, c, 1200*time.Millisecond, &fake{name: "a", collect: quick})
		var at []time.Duration
		for _, b := range got["a"] {
			at = append(at, b.At/time.Millisecond)
		}
		want := []time.Duration{50, 400, 500, 800, 1000, 1200}
		if len(at) != len(want) {
			t.Fatalf("looks at %v ms, want %v", at, want)
		}
		for i := range at {
			if at[i] != want[i] {
				t.Fatalf("looks at %v ms, want %v", at, want)
			}
		}
	})
}

func TestCollectorsAreClosedAndPartialBatchesKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("half of it")
		f := &fake{name: "a", collect: func(context.Context, observe.Clock) (observe.Batch, error) {
			return observe.Batch{Notes: []string{"kept"}}, broken
		}}
		got := bySource(t, observe.Config{}, 10*time.Millisecond, f)
		if !f.closed {
			t.Error("not closed")
		}
		if b := got["a"][0]; !errors.Is(b.Err, broken) || len(b.Notes) != 1 {
			t.Errorf("batch %+v", b)
		}
	})
}

func TestAConfigIsRefusedWithEveryFault(t *testing.T) {
	err := observe.Run(t.Context(), observe.Config{Every: 1, Timeout: -1, CostRatio: 2}, nil, nil)
	for _, field := range []string{"Every", "Timeout", "CostRatio"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
