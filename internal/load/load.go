// Package load sends requests and records what each came to. An Engine runs the load of one cell; which engine fits a job is chosen
// by New. Engines own their connections and goroutines and leave none behind when Run returns.
package load

import (
	"context"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// Engine runs the load of one cell.
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

// Job is the load of one cell.
type Job struct {
	Target plan.Target
	Load   record.Load
	Phases Phases
	// Origin is the instant from which intervals and samples count. Its monotonic reading is used.
	Origin time.Time
}

// Phases are the planned lengths. Zero lengths are left out; a Window of 0 is refused.
type Phases struct {
	Warmup, Discard, Window time.Duration
	Interval                time.Duration // 0: 1 s
}
