// Package experiment carries out a plan: it starts and stops the services, drives the load cell by cell while everything is sampled on
// one clock, and hands all of it to the archive as it happens. It judges nothing; analysis does, from what was recorded.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// Config says what to run and where facts go. All fields but Listener are needed.
type Config struct {
	Plan    *plan.Plan
	Folder  string // where the plan's relative paths begin
	Self    string // the program that «loadline» in a command means
	Environ []string
	Writer  *archive.Writer // of the run; the caller ends it with the RunEnd that Run returns
	Now     func() time.Time
	// Engine drives the load of every cell.
	Engine load.Engine
	// Requests gives, for a cell about to begin and its target, what takes every single request of it. Nil, or a nil result: they are folded
	// into histograms and kept no further.
	Requests func(cell record.Cell, target string) func([]record.Sample) error
	// Listener is told of progress, one event at a time; it must not block. Nil: nobody is told.
	Listener func(Event)
}

// Validate joins all faults of the configuration.
func (c Config) Validate() error {
	var faults []error
	need := func(ok bool, field string) {
		if !ok {
			faults = append(faults, fmt.Errorf("experiment: %s is needed", field))
		}
	}
	need(c.Plan != nil, "Plan")
	need(c.Writer != nil, "Writer")
	need(c.Now != nil, "Now")
	need(c.Engine != nil, "Engine")
	need(c.Self != "", "Self")
	return errors.Join(faults...)
}

// Run carries out the plan. It returns how the run ended together with the error that ended it early, if one did; what was measured until
// then is with the Writer. When it returns, every service it started is gone.
func Run(ctx context.Context, cfg Config) (archive.RunEnd, error) {
	if err := cfg.Validate(); err != nil {
		return archive.RunEnd{}, err
	}
	cells, err := cfg.Plan.Cells()
	if err != nil {
		return archive.RunEnd{}, err
	}
	r := &runner{Config: cfg, tell: newTeller(cfg.Listener)}
	err = r.all(ctx, cells)
	// Services end even when the user has lost patience: their grace is bounded by the plan.
	if stopErr := r.fleet.stopAll(context.WithoutCancel(ctx)); err == nil {
		err = stopErr
	}
	end := archive.RunEnd{Ended: cfg.Now()}
	if err != nil {
		end.Partial = true
		end.Interrupted = reason(ctx, err)
	}
	return end, err
}

// reason says in a line why a run ended early.
func reason(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "interrupted by the user"
	}
	return err.Error()
}

// runner is one execution of a plan.
type runner struct {
	Config
	fleet   fleet
	tell    *teller
	applied string // key of the setting in force; meaningful once prepared
	ready   bool
	noted   once // what observers had to say, each source once
}

func (r *runner) all(ctx context.Context, cells []plan.Cell) error {
	for i, cell := range cells {
		r.tell.event(Event{Kind: CellBegins, Cell: cell, Done: i, Total: len(cells)})
		if err := r.one(ctx, cell); err != nil {
			return err
		}
		r.tell.event(Event{Kind: CellEnds, Cell: cell, Done: i + 1, Total: len(cells)})
		if i == len(cells)-1 {
			return nil
		}
		if err := r.rest(ctx, cell); err != nil {
			return err
		}
	}
	return nil
}

// one measures one cell with the services of its setting.
func (r *runner) one(ctx context.Context, cell plan.Cell) error {
	expanded, err := r.Plan.ForSetting(cell.Setting)
	if err != nil {
		return err
	}
	if err := r.prepare(ctx, expanded, cell); err != nil {
		return err
	}
	return r.measure(ctx, expanded, cell)
}

// prepare brings the services and the target into the setting.
func (r *runner) prepare(ctx context.Context, expanded *plan.Plan, cell plan.Cell) error {
	if r.ready && r.applied == cell.Setting.Key() && r.fleet.alive() == nil {
		return nil
	}
	r.tell.event(Event{Kind: Preparing, Cell: cell})
	if err := r.fleet.bring(ctx, r.specs(expanded)); err != nil {
		return err
	}
	if err := r.apply(ctx, expanded.Apply); err != nil {
		return err
	}
	if err := probe(ctx, expanded.Target.Request, r.Folder); err != nil {
		return err
	}
	r.applied, r.ready = cell.Setting.Key(), true
	return nil
}

// rest leaves the machine alone, so that sockets and threads are returned.
func (r *runner) rest(ctx context.Context, cell plan.Cell) error {
	d := r.Plan.Load.Rest
	if d <= 0 {
		return ctx.Err()
	}
	r.tell.event(Event{Kind: Resting, Cell: cell, For: d})
	ctx, done := r.fleet.watch(ctx)
	defer done()
	if err := pause(ctx, d); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// perWindow is how many intervals a window holds at least: steady state is judged by them.
const perWindow = 10

// lengths are the phases of every cell.
func lengths(l plan.Load) load.Phases {
	window := l.Measure - l.Discard
	return load.Phases{Warmup: l.Warmup, Discard: l.Discard, Window: window, Interval: min(load.DefaultInterval, window/perWindow)}
}

// cellRecord is what is known of a cell before it is measured.
func cellRecord(expanded *plan.Plan, cell plan.Cell, started time.Time) record.Cell {
	p := lengths(expanded.Load)
	return record.Cell{Index: cell.Index, Setting: cell.Setting, Repeat: cell.Repeat, Load: cell.Load, Started: started,
		Warmup: p.Warmup, Discard: p.Discard, Window: p.Window, Timeout: expanded.Target.Request.Timeout, Slots: slotLimits(expanded, cell.Setting)}
}

// slotLimits is what the varied value named slots says, by the convention of docs/formats/plan.md: it bounds the pool that the observed
// service shows. Several observed services leave it open whose pool is meant.
func slotLimits(expanded *plan.Plan, setting record.Setting) []record.SlotLimit {
	value, _ := setting.Value("slots")
	slots, ok := value.(int64)
	if !ok || slots < 1 {
		return nil
	}
	var services []string
	for _, o := range expanded.Observe {
		if o.Prometheus != "" && !slices.Contains(services, o.Service) {
			services = append(services, o.Service)
		}
	}
	if len(services) != 1 {
		return nil
	}
	return []record.SlotLimit{{Service: services[0], Slots: int(slots)}}
}
