package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/golang"
	"github.com/loadline-dev/loadline/internal/observe/jvm"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

const (
	// affordable is the share of the window that a dump inside it may cost: below what its p99 could show.
	affordable = 0.01
	// longestDump bounds one dump.
	longestDump = 10 * time.Second
	// lateInWindow is where the second dump under load falls: far from the first, so that growth shows.
	lateInWindow = 0.9
)

// dumping takes the dumps of one cell.
type dumping struct {
	running sync.WaitGroup
}

// wait returns when no dump is under way any more. The context given to dump must have ended.
func (d *dumping) wait() { d.running.Wait() }

// dump begins to take the dumps that the plan asks for, each service's on a goroutine of its own, until ctx ends.
func (r *runner) dump(ctx context.Context, expanded *plan.Plan, cell plan.Cell, origin time.Time, keep *keeper) *dumping {
	out := &dumping{}
	phases := lengths(expanded.Load)
	place := placeOf(expanded, cell)
	var watchers []*watcher
	for _, o := range expanded.Observe {
		if o.Dumps == "" {
			continue
		}
		dumper, err := r.dumper(o)
		if err != nil {
			keep.dumped(record.Dump{}, err)
			continue
		}
		fired, err := observe.NewFired(max(phases.Window/3, time.Millisecond), 0)
		if err != nil {
			keep.dumped(record.Dump{}, err)
			continue
		}
		t := &taker{dumper: dumper, service: o.Service, clock: observe.Since(origin), keep: keep, window: phases.Window}
		w := &watcher{service: o.Service, fired: fired, from: phases.Warmup + phases.Discard, every: phases.Window / perWindow, fire: make(chan string, 1)}
		watchers = append(watchers, w)
		out.running.Go(func() { t.run(ctx, moments(place), w.fire) })
	}
	if len(watchers) > 0 {
		keep.watch = func(b observe.Batch) {
			for _, w := range watchers {
				w.look(b)
			}
		}
	}
	return out
}

func (r *runner) dumper(o plan.Observe) (observe.Dumper, error) {
	process, isJVM := strings.CutPrefix(o.Dumps, plan.JVMDumps)
	if !isJVM {
		return golang.Profile{URL: o.Dumps}, nil
	}
	pid, err := r.pid(process)
	if err != nil {
		return nil, err
	}
	return jvm.Attach{PID: pid}, nil
}

// placeOf tells where a cell's step stands among those of its setting, by rising load.
func placeOf(expanded *plan.Plan, cell plan.Cell) observe.Place {
	p := lengths(expanded.Load)
	steps := expanded.Load.Steps()
	size := func(l record.Load) float64 { return l.RatePerSec + float64(l.Concurrency) }
	below := 0
	for _, s := range steps {
		if size(s) < size(cell.Load) {
			below++
		}
	}
	return observe.Place{Warmup: p.Warmup, Discard: p.Discard, Window: p.Window, Step: below, Steps: len(steps)}
}

// moments adds to those before the window one late in it.
func moments(p observe.Place) []observe.Moment {
	out := observe.Moments(p)
	last := out[len(out)-1]
	if last.Inside {
		return out
	}
	at := p.Warmup + p.Discard + time.Duration(lateInWindow*float64(p.Window))
	return append(out, observe.Moment{At: at, Why: last.Why, Inside: true})
}

// album keeps dumps, and tells why there are none.
type album interface {
	dumped(record.Dump, error)
	say(error)
}

// taker takes the dumps of one service.
type taker struct {
	dumper  observe.Dumper
	service string
	clock   observe.Clock
	keep    album
	window  time.Duration
	cost    time.Duration // of the last dump; 0: none was taken yet
}

// run takes a dump at every moment and whenever one is fired.
func (t *taker) run(ctx context.Context, moments []observe.Moment, fire <-chan string) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		var due <-chan time.Time
		if len(moments) > 0 {
			timer.Reset(moments[0].At - t.clock())
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
			t.take(ctx, moments[0])
			moments = moments[1:]
		case why := <-fire:
			t.take(ctx, observe.Moment{Why: why, Inside: true})
		}
	}
}

// take leaves out a dump inside the window whose pause would show in the percentiles, and says so.
func (t *taker) take(ctx context.Context, m observe.Moment) {
	if m.Inside && float64(t.cost) > affordable*float64(t.window) {
		t.keep.say(fmt.Errorf("%s is not dumped inside the window (%s): the last dump took %v, more than %.3g %% of it, and would show in the percentiles",
			t.service, m.Why, t.cost.Round(100*time.Microsecond), affordable*100))
		return
	}
	limited, cancel := context.WithTimeout(ctx, longestDump)
	defer cancel()
	d, err := observe.Take(limited, t.dumper, t.service, m.Why, t.clock)
	if err != nil && ctx.Err() != nil {
		return // The cell is over.
	}
	if err == nil {
		t.cost = d.Cost
	}
	t.keep.dumped(d, err)
}

// watcher diagnoses a service while it is sampled, and asks for a dump when a finding first fires. It is called under the keeper's lock.
type watcher struct {
	service string
	fired   *observe.Fired
	from    time.Duration // findings before it, when the load has not settled, count for nothing
	every   time.Duration
	looked  time.Duration
	seen    record.Cell // samples since from
	fire    chan string
}

// look takes a batch in.
func (w *watcher) look(b observe.Batch) {
	if b.At < w.from {
		return
	}
	of := func(service string) bool { return service == w.service }
	for _, s := range b.Processes {
		if of(s.Service) {
			w.seen.Processes = append(w.seen.Processes, s)
		}
	}
	for _, s := range b.Pools {
		if of(s.Service) {
			w.seen.Pools = append(w.seen.Pools, s)
		}
	}
	for _, s := range b.Series {
		if of(s.Source) {
			w.seen.Series = append(w.seen.Series, s)
		}
	}
	if b.At-w.looked < w.every {
		return
	}
	w.looked = b.At
	services := observed.Of(w.seen, observed.Span{Start: w.from, End: b.At})
	for _, f := range diagnose.Of(diagnose.Scene{From: w.from, To: b.At, Services: services}) {
		if f.Severity == finding.Info {
			continue
		}
		w.ask(string(f.Code), b.At)
	}
	w.forget()
}

// ask fires unless a dump was asked for already and is not taken yet.
func (w *watcher) ask(code string, now time.Duration) {
	if len(w.fire) > 0 {
		return
	}
	if why, ok := w.fired.Allow(code, now); ok {
		w.fire <- why // There is room: nobody else sends.
	}
}

// mostSamples bounds what is kept of each kind.
const mostSamples = 10_000

func (w *watcher) forget() {
	w.seen.Processes = newest(w.seen.Processes)
	w.seen.Pools = newest(w.seen.Pools)
	w.seen.Series = newest(w.seen.Series)
}

func newest[S any](list []S) []S {
	if len(list) <= mostSamples {
		return list
	}
	return slices.Clone(list[len(list)/2:])
}
