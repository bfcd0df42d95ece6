package command

import (
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/internal/buckets"
)

// meters are a command's counters. An execution that succeeded is counted by its histogram alone.
type meters struct {
	outcomes    [NumOutcomes]atomic.Uint64 // Success left out
	refusals    [numRefusals]atomic.Uint64 // of Rejected
	fallbacks   [numFallbacks]atomic.Uint64
	fallingBack atomic.Int64
	late        atomic.Uint64
	aborted     atomic.Uint64

	// Executions that did not wait, and those that did with what they waited and what both took together. Most commands fill one row.
	quick  [2]recorder
	waited [2]recorder
	waits  recorder
	totals recorder
}

// Rows of the histograms of executions.
const (
	succeeded = iota
	unsuccessful
)

// Who refused for want of capacity.
const (
	byBulkhead = iota
	byPool
	byClosing
	numRefusals
)

// How fallbacks ended.
const (
	fallbackSucceeded = iota
	fallbackFailed
	fallbackRejected
	fallbackDisabled
	fallbackMissing
	numFallbacks
)

// ended counts an execution that the watch has not counted.
func (m *meters) ended(outcome Outcome, err error) {
	if outcome == Success {
		return // its histogram counts
	}
	m.outcomes[outcome].Add(1)
	if outcome == Timeout && err == nil {
		m.late.Add(1)
	}
}

// executed records an execution that waited before it began.
func (m *meters) executed(outcome Outcome, wait, execution time.Duration) {
	row := succeeded
	if outcome != Success {
		row = unsuccessful
	}
	if wait == 0 {
		m.quick[row].record(execution)
		return
	}
	m.waited[row].record(execution)
	m.waits.record(wait)
	m.totals.record(wait + execution)
}

// recorder makes its histogram when the first duration comes.
type recorder struct {
	made atomic.Pointer[buckets.Recorder]
}

func (r *recorder) record(d time.Duration) {
	if h := r.made.Load(); h != nil {
		h.Record(d)
		return
	}
	r.first(d)
}

func (r *recorder) first(d time.Duration) {
	r.made.CompareAndSwap(nil, new(buckets.Recorder))
	r.made.Load().Record(d)
}

func (r *recorder) snapshot() Histogram {
	if h := r.made.Load(); h != nil {
		return h.Snapshot()
	}
	return Histogram{}
}
