package experiment

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// fakeDumper takes as long as it is told.
type fakeDumper struct {
	takes time.Duration
	err   error
}

func (f fakeDumper) Source() string { return "fake" }

func (f fakeDumper) Dump(context.Context) (string, []byte, error) {
	time.Sleep(f.takes)
	return "go", []byte("x"), f.err
}

// fakeAlbum keeps what it gets.
type fakeAlbum struct {
	whys   []string
	at     []time.Duration
	faults []error
	said   []error
}

func (a *fakeAlbum) dumped(d record.Dump, err error) {
	if err != nil {
		a.faults = append(a.faults, err)
		return
	}
	a.whys, a.at = append(a.whys, d.Why), append(a.at, d.At)
}

func (a *fakeAlbum) say(err error) { a.said = append(a.said, err) }

// taken runs a taker through a cell of 10 s before and 10 s in its window, and fires once in its middle.
func taken(t *testing.T, d fakeDumper, place observe.Place) *fakeAlbum {
	t.Helper()
	out := &fakeAlbum{}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		fire := make(chan string, 1)
		time.AfterFunc(15*time.Second, func() { fire <- "finding:slot-ceiling" })
		tk := &taker{dumper: d, service: "order", clock: observe.Since(time.Now()), keep: out, window: 10 * time.Second}
		tk.run(ctx, moments(place), fire)
	})
	return out
}

func TestDumpsFallAtTheRightMoments(t *testing.T) {
	lowest := observe.Place{Warmup: 10 * time.Second, Window: 10 * time.Second, Step: 0, Steps: 3}
	got := taken(t, fakeDumper{takes: time.Millisecond}, lowest)
	if want := []string{"start", "steady", "finding:slot-ceiling", "steady"}; !slices.Equal(got.whys, want) {
		t.Errorf("dumps %v, want %v", got.whys, want)
	}
	if want := []time.Duration{5 * time.Second, 9 * time.Second, 15 * time.Second, 19 * time.Second}; !slices.Equal(got.at, want) {
		t.Errorf("at %v, want %v", got.at, want)
	}
	for step, why := range map[int]string{1: "before-peak", 2: "peak"} {
		place := lowest
		place.Step = step
		if got := taken(t, fakeDumper{takes: time.Millisecond}, place); got.whys[0] != why || len(got.whys) != 3 {
			t.Errorf("step %d of 3: %v, want %s first", step, got.whys, why)
		}
	}
}

func TestADearDumpStaysOutOfTheWindowAndSaysSo(t *testing.T) {
	got := taken(t, fakeDumper{takes: 200 * time.Millisecond}, observe.Place{Warmup: 10 * time.Second, Window: 10 * time.Second, Steps: 1})
	if want := []string{"start", "steady"}; !slices.Equal(got.whys, want) {
		t.Errorf("dumps %v, want %v: 200 ms are 2 %% of the window", got.whys, want)
	}
	if len(got.said) != 2 {
		t.Errorf("said %v, want a word for each dump that was left out", got.said)
	}
}

func TestADumpThatFailsIsToldAndTheNextIsTriedAllTheSame(t *testing.T) {
	got := taken(t, fakeDumper{err: errors.New("refused")}, observe.Place{Warmup: 10 * time.Second, Window: 10 * time.Second, Steps: 1})
	if len(got.faults) != 4 || len(got.whys) != 0 {
		t.Errorf("faults %v, dumps %v", got.faults, got.whys)
	}
}

// fullPool is a look at a pool with all workers busy and a queue.
func fullPool(at time.Duration) observe.Batch {
	f := func(v float64) *float64 { return &v }
	n := at.Seconds() * 100
	return observe.Batch{At: at, Pools: []record.PoolSample{{Service: "order", Pool: "price", Kind: record.KindPool, At: at, Core: f(10), Max: f(10), Size: f(10),
		Capacity: f(6), Active: f(10), Queue: f(6), Completed: f(n), Rejected: f(n), Execution: &record.Dist{Count: n, Seconds: n * 0.02}, QueueWait: &record.Dist{Count: n, Seconds: n * 0.01}}}}
}

func TestAFindingAsksForADumpOnceAndNotBeforeTheWindow(t *testing.T) {
	fired, err := observe.NewFired(3*time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{service: "order", fired: fired, from: 10 * time.Second, every: time.Second, fire: make(chan string, 1)}
	for second := range 10 {
		w.look(fullPool(time.Duration(second) * time.Second))
	}
	if len(w.fire) != 0 {
		t.Fatalf("fired %s before the window", <-w.fire)
	}
	var whys []string
	for second := range 10 {
		w.look(fullPool(time.Duration(10+second) * time.Second))
		w.look(observe.Batch{At: time.Duration(10+second) * time.Second, Pools: []record.PoolSample{{Service: "other", Pool: "x"}}})
		if len(w.fire) > 0 {
			whys = append(whys, <-w.fire)
		}
	}
	if len(whys) == 0 || whys[0] != "finding:slot-ceiling" || len(slices.Compact(slices.Sorted(slices.Values(whys)))) != len(whys) {
		t.Errorf("fired %v, want the ceiling, and nothing twice", whys)
	}
}

func TestAStepsPlaceIsByRisingLoad(t *testing.T) {
	p := &plan.Plan{Load: plan.Load{Model: record.Closed, Concurrency: []int{400, 50, 100}, Warmup: time.Second, Measure: 2 * time.Second}}
	for users, want := range map[int]int{50: 0, 100: 1, 400: 2} {
		got := placeOf(p, plan.Cell{Load: record.Load{Model: record.Closed, Concurrency: users}})
		if got.Step != want || got.Steps != 3 {
			t.Errorf("%d users: step %d of %d, want %d", users, got.Step, got.Steps, want)
		}
	}
}
