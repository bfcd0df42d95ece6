package experiment

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/prometheus"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

const (
	// stretch is how often a trial is looked at.
	stretch = 100 * time.Millisecond
	// settle is measured apart at the start of a trial: connections open, pools fill.
	settle = 400 * time.Millisecond
	// sampleEvery is how often services are looked at: a trial lasts a second or two.
	sampleEvery = 200 * time.Millisecond
)

// trials runs what the search asks for. A trial is one uninterrupted load: its batches are cut from the same stream of intervals, and it
// ends when the search wants another load.
type trials struct {
	finder   *finder
	expanded *plan.Plan
	terms    terms
	running  *trial // nil: no load is on
}

// trial is a load that is on.
type trial struct {
	number    int
	cell      plan.Cell
	stop      context.CancelFunc
	intervals chan record.Interval
	done      chan error // the engine's end
	finish    func(error) error
	cut       *hist.Histogram // ages of what the end cut off; to be read after done
}

// cell is the cell of a trial.
func (t *trials) cell(trial search.Trial) plan.Cell {
	l := record.Load{Model: t.expanded.Load.Model, Think: t.expanded.Load.Think}
	if l.Model == record.Open {
		l.RatePerSec = trial.Load
	} else {
		l.Concurrency = int(math.Round(trial.Load))
	}
	index := t.finder.cells
	if t.running != nil && t.running.number == trial.Number {
		index = t.running.cell.Index
	}
	return plan.Cell{Index: index, Setting: settingOf(t.expanded), Repeat: 1, Load: l}
}

func settingOf(p *plan.Plan) record.Setting {
	if len(p.Vary) == 0 {
		return nil
	}
	return p.Vary[0]
}

// carries tells whether the load that a trial wants is on.
func (t *trials) carries(want search.Trial) bool {
	return t.running != nil && t.running.number == want.Number && want.Continue
}

// batch runs until as many requests have ended as the trial wants, or its time is over.
func (t *trials) batch(ctx context.Context, want search.Trial) (search.Observation, error) {
	if t.running == nil {
		if err := t.begin(ctx, want); err != nil {
			return search.Observation{}, err
		}
	}
	whole := newTally()
	var stretches []*tally
	for !enough(whole, want) {
		iv, err := t.next(ctx)
		if err != nil {
			return search.Observation{}, err
		}
		if iv.Phase != record.Window {
			continue
		}
		one := newTally()
		one.add(iv)
		whole.add(iv)
		stretches = append(stretches, one)
	}
	return t.terms.observation(whole, stretches), nil
}

// silent is how long a batch may go without any request that ended before it counts as everything bad.
const silent = 2.0

func enough(a *tally, want search.Trial) bool {
	if want.MaxSeconds > 0 && a.seconds >= want.MaxSeconds {
		return true
	}
	if a.ended == 0 {
		return a.seconds >= silent
	}
	return a.ended >= want.Requests
}

// next waits for the load's next interval.
func (t *trials) next(ctx context.Context) (record.Interval, error) {
	select {
	case iv := <-t.running.intervals:
		return iv, nil
	case err := <-t.running.done:
		t.running.done <- err // For end.
		if err == nil {
			err = errors.New("the load ended by itself")
		}
		return record.Interval{}, err
	case <-ctx.Done():
		return record.Interval{}, ctx.Err()
	}
}

// begin puts a load on.
func (t *trials) begin(ctx context.Context, want search.Trial) error {
	r := t.finder.runner
	cell := t.cell(want)
	t.finder.cells++
	origin := r.Now()
	about := cellRecord(t.expanded, cell, origin)
	about.Warmup, about.Discard, about.Window = settle, 0, record.Endless
	writer, err := r.Writer.BeginCell(about)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	watched, unwatch := r.fleet.watch(ctx)
	phases := load.Phases{Warmup: settle, Window: record.Endless, Interval: stretch}
	stopSampling := r.sample(watched, t.expanded, cell, sampled{origin: origin, phases: phases, every: sampleEvery}, writer)
	now := &trial{number: want.Number, cell: cell, stop: stop, intervals: make(chan record.Interval), done: make(chan error, 1), cut: hist.New()}
	shape := load.ShapeOf(t.expanded.Load)
	shape.Profile = nil // The search says how much load there is.
	job := load.Job{Target: t.expanded.Target, Load: cell.Load, Shape: shape, Origin: origin, Phases: phases}
	go func() { now.done <- causeOf(watched, r.Engine.Run(watched, job, now.sink(ctx, writer))) }()
	now.finish = func(err error) error {
		err = errors.Join(err, stopSampling())
		unwatch()
		end := archive.CellEnd{}
		if err != nil {
			end.Partial, end.Failure = true, err.Error()
		}
		return errors.Join(err, writer.End(end))
	}
	t.running = now
	return nil
}

// causeOf replaces the word that a context ended by why it did.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// sink hands every interval to the archive, and to the batch as long as one waits.
func (now *trial) sink(ctx context.Context, writer *archive.CellWriter) load.Sink {
	return load.SinkFunc(func(iv record.Interval) error {
		if err := writer.Interval(iv); err != nil {
			return err
		}
		for _, c := range iv.Classes {
			if c.Outcome == record.Cut && c.Inside && c.Latency != nil {
				now.cut.Merge(c.Latency)
			}
		}
		select {
		case now.intervals <- iv:
		case <-ctx.Done():
		}
		return nil
	})
}

// end takes the load off. It gives what the end cut off, and what went wrong, which a load that was taken off on purpose has not.
func (t *trials) end() (*hist.Histogram, error) {
	now := t.running
	if now == nil {
		return hist.New(), nil
	}
	t.running = nil
	now.stop()
	err := <-now.done
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return now.cut, now.finish(err)
}

// admission is how many requests a setting lets in at once.
type admission struct {
	most  float64
	known bool
}

// admits asks the services' own metrics, before any load, how many requests their pools take at once: workers and queue, or permits. The
// smallest counts; it is unknown where no pool tells.
func (r *runner) admits(ctx context.Context, expanded *plan.Plan) admission {
	var out admission
	for _, o := range expanded.Observe {
		if o.Prometheus == "" {
			continue
		}
		c, err := prometheus.New(prometheus.Config{URL: o.Prometheus, Service: o.Service})
		if err != nil {
			continue // The sampler will say so.
		}
		limited, cancel := context.WithTimeout(ctx, observe.DefaultTimeout)
		b, _ := c.Collect(limited, observe.Since(time.Now())) // Likewise.
		cancel()
		_ = c.Close() // Nothing was written.
		for _, p := range b.Pools {
			out.take(p)
		}
	}
	return out
}

// take leaves out pools of connections, which make callers wait and do not turn them away: they tell who waits or gave up waiting.
func (a *admission) take(p record.PoolSample) {
	if p.Kind == record.KindBulkhead && (p.Waiting != nil || p.TimedOut != nil) {
		return
	}
	slots := p.Max
	if slots == nil {
		slots = p.Size
	}
	if slots == nil {
		return
	}
	most := *slots
	if p.Capacity != nil {
		most += *p.Capacity
	}
	if !a.known || most < a.most {
		a.most, a.known = most, true
	}
}
