package load_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// run sends a closed load and returns what the sink got.
func run(t *testing.T, ctx context.Context, job load.Job) ([]record.Interval, error) {
	t.Helper()
	e, err := load.New(load.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out []record.Interval
	err = e.Run(ctx, job, load.SinkFunc(func(i record.Interval) error {
		out = append(out, i)
		return nil
	}))
	return out, err
}

func closedJob(url string, users int, phases load.Phases) load.Job {
	return load.Job{Target: plan.Target{Request: plan.Request{URL: url}}, Load: record.Load{Model: record.Closed, Concurrency: users}, Phases: phases}
}

func TestEveryRequestPlannedInTheWindowEndsInOneClass(t *testing.T) {
	var served atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer srv.Close()
	ivs, err := run(t, t.Context(), closedJob(srv.URL, 20, load.Phases{Warmup: 150 * time.Millisecond, Discard: 100 * time.Millisecond,
		Window: 250 * time.Millisecond, Interval: 100 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	var planned, inside, all int64
	for _, i := range ivs {
		if i.Phase == record.Window {
			planned += i.Planned
		}
		for _, c := range i.Classes {
			all += c.Count
			if c.Inside {
				inside += c.Count
			}
		}
	}
	if planned == 0 || planned != inside {
		t.Errorf("%d planned in the window, %d ended", planned, inside)
	}
	if all != served.Load() {
		t.Errorf("%d counted, the server served %d", all, served.Load())
	}
}

func TestIntervalsFollowEachOtherAndEndOnPhaseBoundaries(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	ivs, err := run(t, t.Context(), closedJob(srv.URL, 2, load.Phases{Warmup: 150 * time.Millisecond, Discard: 100 * time.Millisecond,
		Window: 250 * time.Millisecond, Interval: 100 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	type span struct {
		phase  record.Phase
		length time.Duration
	}
	const ms = time.Millisecond
	var got []span
	for n, i := range ivs {
		if n > 0 && i.Start != ivs[n-1].End {
			t.Errorf("interval %d begins at %v, the one before ended at %v", n, i.Start, ivs[n-1].End)
		}
		if i.Phase != record.Drain {
			got = append(got, span{i.Phase, i.End - i.Start})
		}
	}
	want := []span{{record.Warmup, 100 * ms}, {record.Warmup, 50 * ms}, {record.Discard, 100 * ms}, {record.Window, 100 * ms}, {record.Window, 100 * ms},
		{record.Window, 50 * ms}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAPortThatRefusesIsUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = run(t, t.Context(), closedJob("http://"+addr, 2, load.Phases{Window: time.Minute}))
	if !errors.Is(err, load.ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
}

func TestAnInterruptCutsWhatIsInFlight(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var once atomic.Bool
	free := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if once.CompareAndSwap(false, true) {
			cancel()
		}
		<-free
	}))
	defer srv.Close()
	defer close(free)
	ivs, err := run(t, ctx, closedJob(srv.URL, 1, load.Phases{Window: time.Minute}))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	if len(ivs) != 1 || ivs[0].Planned != 1 || len(ivs[0].Classes) != 1 || ivs[0].Classes[0].Outcome != record.Cut || !ivs[0].Classes[0].Inside {
		t.Errorf("got %+v, want one interval with one request, cut", ivs)
	}
}
