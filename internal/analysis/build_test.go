package analysis_test

import (
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

func ptr(v float64) *float64 { return &v }

// class is n requests of one outcome that took d each and held their users for it.
func class(outcome record.Outcome, n int64, d time.Duration) record.Class {
	h := hist.New()
	h.RecordN(d, n)
	return record.Class{Outcome: outcome, Inside: true, Answered: outcome.Answered(), Count: n, Latency: h, Held: time.Duration(n) * d}
}

// window is one second of the window, beginning at second s.
func window(s int, planned int64, classes ...record.Class) record.Interval {
	return record.Interval{Phase: record.Window, Start: time.Duration(s) * time.Second, End: time.Duration(s+1) * time.Second, Planned: planned,
		InFlight: 10, Classes: classes, Generator: record.GeneratorSample{DescriptorsFree: -1, PortsFree: -1}}
}

// steadyCell is ten equal seconds.
func steadyCell(load record.Load, classes ...record.Class) record.Cell {
	c := record.Cell{Repeat: 1, Load: load, Window: 10 * time.Second, Timeout: 5 * time.Second}
	var planned int64
	for _, k := range classes {
		planned += k.Count
	}
	for s := range 10 {
		c.Intervals = append(c.Intervals, window(s, planned, classes...))
	}
	return c
}

func closed(users int) record.Load { return record.Load{Model: record.Closed, Concurrency: users} }

// poolFigures is what a pool reports at the window's two ends, between which it did its work.
type poolFigures struct {
	kind                record.PoolKind
	core, max, capacity float64
	active, queue       float64
	completed, rejected float64
	timedOut            float64
	waitMS, executionMS float64 // means
	queueEnd            float64 // where it differs from queue
	waiting             float64
}

func (p poolFigures) samples() []record.PoolSample {
	var out []record.PoolSample
	for i := range 11 {
		share := float64(i) / 10
		queue := p.queue
		if p.queueEnd > 0 {
			queue += (p.queueEnd - p.queue) * share
		}
		n := p.completed * share
		s := record.PoolSample{Service: "order", Pool: "price", Kind: p.kind, At: time.Duration(i) * time.Second, Core: ptr(p.core), Max: ptr(p.max),
			Size: ptr(p.max), Capacity: ptr(p.capacity), Active: ptr(p.active), Queue: ptr(queue), Completed: ptr(n),
			Rejected: ptr(p.rejected * share), TimedOut: ptr(p.timedOut * share), Waiting: ptr(p.waiting),
			QueueWait: &record.Dist{Count: n, Seconds: n * p.waitMS / 1000}, Execution: &record.Dist{Count: n, Seconds: n * p.executionMS / 1000}}
		out = append(out, s)
	}
	return out
}

func run(cells ...record.Cell) record.Run {
	return record.Run{ID: "r", Name: "test", Started: time.Unix(0, 0).UTC(), Environment: record.Environment{Cores: 4}, Cells: cells}
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is unknown, want %v", what, want)
		return
	}
	if diff := *got - want; diff > 1e-8*max(1, want) || diff < -1e-8*max(1, want) {
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}

func unknown(t *testing.T, what string, got *float64) {
	t.Helper()
	if got != nil {
		t.Errorf("%s = %v, want unknown", what, *got)
	}
}

func hasFinding(c []analysis.Finding, code finding.Code) bool {
	for _, f := range c {
		if f.Code == code {
			return true
		}
	}
	return false
}

func hasCaveat(c []analysis.Caveat, code finding.Code) bool {
	for _, f := range c {
		if f.Code == code {
			return true
		}
	}
	return false
}
