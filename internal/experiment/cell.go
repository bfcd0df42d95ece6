package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/schedule"
)

// measure drives the load of one cell while the services are sampled on the cell's clock.
func (r *runner) measure(ctx context.Context, expanded *plan.Plan, cell plan.Cell) error {
	shape, err := r.shape(expanded)
	if err != nil {
		return err
	}
	if n := len(shape.Recorded); n > 0 {
		cell.Load.RatePerSec = float64(n) / max(shape.Recorded[n-1].Seconds(), expanded.Load.Measure.Seconds())
	}
	origin := r.Now()
	writer, err := r.Writer.BeginCell(cellRecord(expanded, cell, origin))
	if err != nil {
		return err
	}
	err = r.drive(ctx, expanded, cell, shape, origin, writer)
	end := archive.CellEnd{Partial: err != nil}
	if err != nil && ctx.Err() == nil {
		end.Failure = err.Error()
	}
	return joinNew(err, writer.End(end))
}

// joinNew joins two errors where the second is news: a writer that failed says the same to everyone.
func joinNew(err, other error) error {
	if other == nil || errors.Is(err, other) {
		return err
	}
	return errors.Join(err, other)
}

func (r *runner) drive(ctx context.Context, expanded *plan.Plan, cell plan.Cell, shape load.Shape, origin time.Time, writer *archive.CellWriter) error {
	job := load.Job{Target: expanded.Target, Load: cell.Load, Shape: shape, Phases: lengths(expanded.Load), Origin: origin}
	if r.Requests != nil {
		job.Samples = r.Requests(cellRecord(expanded, cell, origin), expanded.Target.Request.URL)
	}
	watched, unwatch := r.fleet.watch(ctx)
	defer unwatch()
	stopSampling := r.sample(watched, expanded, cell, sampled{origin: origin, phases: job.Phases}, writer)
	sink := &tap{writer: writer, tell: r.tell, cell: cell, of: job.Phases.Warmup + job.Phases.Discard + job.Phases.Window}
	err := r.Engine.Run(watched, job, sink)
	if samplingErr := stopSampling(); err == nil {
		err = samplingErr
	}
	if err != nil && watched.Err() != nil {
		return context.Cause(watched)
	}
	if err == nil && sink.unanswered() {
		return sink.silence(expanded.Target.Request)
	}
	return err
}

// tap hands intervals to the archive and tells the listener of them.
type tap struct {
	writer   *archive.CellWriter
	tell     *teller
	cell     plan.Cell
	of       time.Duration
	planned  int64
	answered int64
	ends     [record.NumOutcomes]int64 // requests that ended without an answer, by outcome
}

// Interval implements load.Sink.
func (t *tap) Interval(iv record.Interval) error {
	t.planned += iv.Planned
	for _, c := range iv.Classes {
		if c.Answered {
			t.answered += c.Count
		} else {
			t.ends[c.Outcome] += c.Count
		}
	}
	if err := t.writer.Interval(iv); err != nil {
		return err
	}
	t.tell.event(Event{Kind: Second, Cell: t.cell, Interval: iv, Of: t.of})
	return nil
}

// unanswered tells whether requests were sent and none was answered.
func (t *tap) unanswered() bool { return t.planned > 0 && t.answered == 0 }

// silence is the error of a target that answered nothing, in the words of what became of most requests.
func (t *tap) silence(request plan.Request) error {
	most := record.Timeout
	for _, o := range record.Outcomes() {
		if t.ends[o] > t.ends[most] {
			most = o
		}
	}
	e := &targetError{url: request.URL, cause: context.DeadlineExceeded, timeout: request.Timeout}
	if most != record.Timeout {
		e.cause = fmt.Errorf("none of %d requests was answered; %d ended as %s", t.planned, t.ends[most], most)
	}
	return e
}

// shape is the load's shape, with recorded arrivals read from their file.
func (r *runner) shape(expanded *plan.Plan) (load.Shape, error) {
	shape := load.ShapeOf(expanded.Load)
	if expanded.Load.Recorded == "" {
		return shape, nil
	}
	f, err := os.Open(below(r.Folder, expanded.Load.Recorded))
	if err != nil {
		return shape, fmt.Errorf("load.recorded: %w", err)
	}
	defer f.Close()
	if shape.Recorded, err = schedule.Read(f); err != nil {
		return shape, fmt.Errorf("load.recorded: %s: %w", expanded.Load.Recorded, err)
	}
	return shape, nil
}
