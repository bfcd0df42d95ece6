// Package load sends requests and records what each came to. An Engine runs the load of one cell; which engine fits a target is chosen
// by New: the fast one, on sockets and event loops of its own, for HTTP/1.1 in clear text, the general one for everything else.
// Engines own their connections and goroutines and leave none behind when Run returns.
//
// Time. Every instant is taken in ns on the monotonic clock. Closed model: planned = sent = the moment a user becomes ready. Open
// model: planned is the instant of the schedule, whatever the service does. A request that has no answer at its timeout lets its user
// go on; its connection is watched for one more timeout, and the request is counted when its fate is known.
//
// Phases. Warm-up, discard and window are cut into intervals that begin and end on phase boundaries. Nothing is planned after the
// window; the drain lasts until the last request has ended. Of the requests planned in the window, as many are counted in
// record.Class entries marked Inside, over all intervals, as the window's intervals have planned.
package load

import (
	"context"
	"errors"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/schedule"
)

// ErrUnreachable is wrapped by what Run returns when no connection to the target could be made.
var ErrUnreachable = errors.New("target unreachable")

// ErrLimits is wrapped by what Run returns when the generator's own limits cannot carry the load. Its text says what to raise.
var ErrLimits = errors.New("the generator's limits are too low for this load")

// Engine runs the load of one cell. It may be used for several cells, one after the other.
type Engine interface {
	// Run sends the job's load until its phases are over and what is in flight has ended, at most two timeouts later, and hands every
	// interval to the sink as it ends, in order. It returns an error when the sink failed or nothing could be sent at all
	// (ErrUnreachable wraps the reason). When ctx ends early, the interval under way is delivered, what is in flight is counted as cut, and Run
	// returns ctx's error.
	Run(ctx context.Context, job Job, sink Sink) error
}

// Sink takes intervals. It is called from one goroutine; the interval belongs to the sink afterwards.
type Sink interface {
	Interval(record.Interval) error
}

// SinkFunc is a function as a Sink.
type SinkFunc func(record.Interval) error

// Interval calls the function.
func (f SinkFunc) Interval(i record.Interval) error { return f(i) }

// Job is the load of one cell.
type Job struct {
	Target plan.Target
	Load   record.Load
	Shape  Shape
	Phases Phases
	// Origin is the instant from which intervals and samples count. Its monotonic reading is used. Zero: when Run is called.
	Origin time.Time
	// Samples, where set, takes every request that ended in an interval, just before the interval goes to the sink and from the same
	// goroutine. The slice is the receiver's. An error of it ends the run like one of the sink.
	Samples func([]record.Sample) error
}

// Shape is what a plan's load says beyond the step: how times are distributed and what is bounded.
type Shape struct {
	ThinkKind string // closed: plan.ThinkConstant (default) or plan.ThinkExponential
	Arrivals  string // open: plan.ArrivalsPoisson (default) or plan.ArrivalsConstant
	Seed      int64  // of think times and arrivals
	// MaxInFlight bounds the requests in flight in the open model; what is planned beyond is dropped. 0: no bound.
	MaxInFlight int
	// Connections bounds the connections of the open model; what is planned beyond waits, and its latency counts from the planned instant. 0: no bound.
	Connections int
	// Grain moves the open model's arrivals to the multiple of it before them, so that many are sent at one wake-up. It costs less CPU at high rates
	// and makes arrivals come in batches. Latencies count from where an arrival was moved to. 0: no moving; 1 ms is a good grain.
	Grain time.Duration
	// Requests ends the window early when so many were planned in it; the load is then sent by one loop. 0: the window's length alone counts.
	Requests int64
	// Profile is a rate that changes: ramps, steps, spikes. It begins when the warm-up ends, and takes the place of the step's rate.
	Profile []schedule.Stage
	// Recorded are the instants of recorded arrivals, counted from the end of the warm-up. They take the place of the step's rate.
	Recorded []time.Duration
}

// ShapeOf takes the shape from a plan's load.
func ShapeOf(l plan.Load) Shape {
	return Shape{ThinkKind: l.ThinkKind, Arrivals: l.Arrivals, Seed: l.Seed, MaxInFlight: l.MaxInFlight, Connections: l.Connections, Profile: l.Profile}
}

// Phases are the planned lengths. Zero lengths are left out; a Window of 0 is refused.
type Phases struct {
	Warmup, Discard, Window time.Duration
	Interval                time.Duration // 0: 1 s
}
