// Package loadtest is the acceptance suite of load engines: what every load.Engine must do, whatever it is built on. Each case runs an
// engine against a server that follows a script on real sockets of the loopback and compares what the engine counted with what the
// server did. A case names the rule it holds, so that a failure says what is broken.
package loadtest

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// Features tells the suite what an engine is made for.
type Features struct {
	Redirects   bool // follows redirects when asked to
	MaxRequests bool // counts the requests of a connection
}

// Run holds an engine to the suite.
func Run(t *testing.T, engine load.Engine, f Features) {
	t.Helper()
	for _, group := range [][]rule{answers(), faults(), timeouts(), closedModel(), openModel(), redirects(f), connections(f)} {
		for _, r := range group {
			t.Run(r.name, func(t *testing.T) {
				t.Log(r.explanation)
				before := runtime.NumGoroutine()
				t.Cleanup(func() { leavesNothing(t, before) }) // After the case's server has ended, whose clean-up comes first.
				r.hold(t, engine)
			})
		}
	}
}

// rule is one thing that an engine must do.
type rule struct {
	name        string
	explanation string
	hold        func(t *testing.T, e load.Engine)
}

// leavesNothing checks that the goroutines of an engine end with Run; those of the runtime's timers and of sockets take a moment.
func leavesNothing(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 64<<10)
			t.Fatalf("an engine leaves no goroutine behind: %d before, %d after\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
}

// result is what an engine's run came to.
type result struct {
	intervals []record.Interval
	err       error
	planned   int64 // in the window
	sent      int64 // planned in all phases
	inside    [record.NumOutcomes]int64
	all       [record.NumOutcomes]int64
	codes     map[string]int64
	samples   []record.Sample
}

// run runs a job and holds its result to what is true of every result.
func run(ctx context.Context, t *testing.T, e load.Engine, job load.Job) *result {
	t.Helper()
	r := &result{codes: map[string]int64{}}
	job.Samples = func(s []record.Sample) error {
		r.samples = append(r.samples, s...)
		return nil
	}
	r.err = e.Run(ctx, job, load.SinkFunc(func(i record.Interval) error {
		r.intervals = append(r.intervals, i)
		return nil
	}))
	for n, i := range r.intervals {
		r.add(t, i)
		if i.End < i.Start || n > 0 && i.Start != r.intervals[n-1].End {
			t.Errorf("intervals follow each other: number %d is %v to %v", n, i.Start, i.End)
		}
		if n > 0 && i.Phase < r.intervals[n-1].Phase {
			t.Errorf("phases come in their order: %v after %v", i.Phase, r.intervals[n-1].Phase)
		}
	}
	if got := sum(r.inside); got != r.planned {
		t.Errorf("every request planned in the window ends in one class: %d planned, %d ended: %v, codes %v", r.planned, got, r.inside, r.codes)
	}
	if got := sum(r.all); got != r.sent {
		t.Errorf("every request planned ends in one class: %d planned, %d ended", r.sent, got)
	}
	r.checkSamples(t)
	return r
}

// checkSamples holds the single requests to the sums.
func (r *result) checkSamples(t *testing.T) {
	t.Helper()
	var all, inside [record.NumOutcomes]int64
	for _, s := range r.samples {
		all[s.Outcome]++
		if s.Inside {
			inside[s.Outcome]++
		}
		if s.Done < s.Planned || s.Sent >= 0 && (s.Sent < s.Planned || s.Done < s.Sent) || (s.Sent < 0) != (s.Outcome == record.Dropped) {
			t.Errorf("planned, sent and done come in this order: %+v", s)
		}
	}
	if all != r.all || inside != r.inside {
		t.Errorf("samples are the same requests: %s, intervals have %s", describe(all), describe(r.all))
	}
}

func (r *result) add(t *testing.T, i record.Interval) {
	t.Helper()
	r.sent += i.Planned
	if i.Phase == record.Window {
		r.planned += i.Planned
	}
	if i.Phase == record.Drain && i.Planned != 0 {
		t.Errorf("nothing is planned after the window: %d", i.Planned)
	}
	for code, n := range i.Codes {
		r.codes[code] += n
	}
	for _, c := range i.Classes {
		r.all[c.Outcome] += c.Count
		if c.Inside {
			r.inside[c.Outcome] += c.Count
		}
		checkClass(t, c)
	}
}

func checkClass(t *testing.T, c record.Class) {
	t.Helper()
	if c.Outcome == record.Dropped {
		if c.Latency != nil {
			t.Error("what was never sent has no latency")
		}
		return
	}
	if c.Latency.Count() != c.Count {
		t.Errorf("every %v has a latency: %d of %d", c.Outcome, c.Latency.Count(), c.Count)
	}
	if c.Outcome.Answered() && !c.Answered {
		t.Errorf("a %v was answered", c.Outcome)
	}
	if c.Response != nil && c.Response.Count() != c.Count {
		t.Errorf("every %v of the open model has a response time: %d of %d", c.Outcome, c.Response.Count(), c.Count)
	}
}

func sum(counts [record.NumOutcomes]int64) int64 {
	var n int64
	for _, c := range counts {
		n += c
	}
	return n
}

// only tells whether all requests ended in one class, as many as wanted.
func (r *result) only(t *testing.T, o record.Outcome, n int64) {
	t.Helper()
	if r.err != nil {
		t.Errorf("Run: %v", r.err)
	}
	if r.all[o] != n || sum(r.all) != n {
		t.Errorf("got %s, want %d %v and nothing else; codes %v", describe(r.all), n, o, r.codes)
	}
}

func describe(counts [record.NumOutcomes]int64) string {
	var out []string
	for o, n := range counts {
		if n > 0 {
			out = append(out, record.Outcome(o).String()+" "+itoa(n))
		}
	}
	return strings.Join(out, ", ")
}

// class finds the requests of one class over all intervals.
func (r *result) class(o record.Outcome) (out []record.Class) {
	for _, i := range r.intervals {
		for _, c := range i.Classes {
			if c.Outcome == o {
				out = append(out, c)
			}
		}
	}
	return out
}

// job is a closed load of some users and so many requests; the window is longer than they should need.
func job(s *server, users int, requests int64) load.Job {
	return load.Job{
		Target: plan.Target{Request: plan.Request{URL: s.url("/"), Timeout: 5 * time.Second}},
		Load:   record.Load{Model: record.Closed, Concurrency: users},
		Shape:  load.Shape{Requests: requests},
		Phases: load.Phases{Window: time.Minute, Interval: 100 * time.Millisecond},
	}
}
