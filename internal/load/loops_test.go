package load_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

func TestSeveralLoopsShareTheLoadAndAddUp(t *testing.T) {
	for _, step := range []record.Load{{Model: record.Closed, Concurrency: 10}, {Model: record.Open, RatePerSec: 1234.5}} {
		var served atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
		defer srv.Close()
		job := load.Job{Target: plan.Target{Request: plan.Request{URL: srv.URL}}, Load: step, Shape: load.Shape{Arrivals: plan.ArrivalsConstant},
			Phases: load.Phases{Warmup: 200 * time.Millisecond, Window: 600 * time.Millisecond, Interval: 150 * time.Millisecond}}
		var window, inside, all int64
		var end time.Duration
		err := engine(t, load.Config{Loops: 3}).Run(t.Context(), job, load.SinkFunc(func(i record.Interval) error {
			if i.Start != end {
				t.Errorf("an interval begins at %v, the one before ended at %v", i.Start, end)
			}
			end = i.End
			if i.Phase == record.Window {
				window += i.Planned
			}
			if len(i.Generator.LoopCPU) != 3 {
				t.Errorf("CPU of %d loops, want 3", len(i.Generator.LoopCPU))
			}
			for _, c := range i.Classes {
				all += c.Count
				if c.Inside {
					inside += c.Count
				}
			}
			return nil
		}))
		if err != nil || window != inside || window == 0 || all != served.Load() {
			t.Errorf("%s: %d planned in the window, %d ended; %d counted, %d served (%v)", step.Model, window, inside, all, served.Load(), err)
		}
		if step.Model == record.Open && (window < 740 || window > 742) {
			t.Errorf("%d planned in 600 ms at 1234.5 per second over three loops, want 741 ± 1", window)
		}
	}
}

func TestAGrainMovesArrivalsTogether(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	job := load.Job{Target: plan.Target{Request: plan.Request{URL: srv.URL}}, Load: record.Load{Model: record.Open, RatePerSec: 400},
		Shape: load.Shape{Arrivals: plan.ArrivalsConstant, Grain: 50 * time.Millisecond}, Phases: load.Phases{Window: 500 * time.Millisecond}}
	instants := map[time.Duration]int{}
	job.Samples = func(samples []record.Sample) error {
		for _, s := range samples {
			instants[s.Planned]++
		}
		return nil
	}
	if err := engine(t, load.Config{}).Run(t.Context(), job, load.SinkFunc(func(record.Interval) error { return nil })); err != nil {
		t.Fatal(err)
	}
	for at, n := range instants {
		if at%(50*time.Millisecond) != 0 || n != 20 {
			t.Errorf("%d arrivals at %v, want 20 every 50 ms", n, at)
		}
	}
	if len(instants) != 10 {
		t.Errorf("%d instants in 500 ms, want 10: %v", len(instants), instants)
	}
}
