package load

import (
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// DefaultInterval is the length of an interval unless the job says otherwise.
const DefaultInterval = time.Second

// edge is the end of an interval and the phase that the interval belongs to.
type edge struct {
	at    int64 // ns since the origin
	phase record.Phase
}

// timeline is a cell cut into intervals.
type timeline struct {
	start, windowStart, windowEnd int64 // ns since the origin
	step                          int64 // length of an interval
	edges                         []edge
}

func (p Phases) validate() error {
	if p.Window <= 0 {
		return fmt.Errorf("phases: window: found %v, allowed: more than 0", p.Window)
	}
	if p.Warmup < 0 || p.Discard < 0 || p.Interval < 0 {
		return fmt.Errorf("phases: found warmup %v, discard %v, interval %v, allowed: 0 and more", p.Warmup, p.Discard, p.Interval)
	}
	return nil
}

// timelineOf cuts the phases, the first of which begins at start, into intervals.
func timelineOf(p Phases, start time.Duration) timeline {
	t := timeline{start: int64(start), step: int64(p.Interval)}
	if t.step == 0 {
		t.step = int64(DefaultInterval)
	}
	at := t.start
	for _, part := range []struct {
		phase  record.Phase
		length time.Duration
	}{{record.Warmup, p.Warmup}, {record.Discard, p.Discard}, {record.Window, p.Window}} {
		if part.phase == record.Window {
			t.windowStart = at
		}
		end := at + int64(part.length)
		for at < end {
			at = min(at+t.step, end)
			t.edges = append(t.edges, edge{at: at, phase: part.phase})
		}
	}
	t.windowEnd = at
	return t
}

// edge gives the i-th interval; those after the window are the drain's.
func (t *timeline) edge(i int) edge {
	if i < len(t.edges) {
		return t.edges[i]
	}
	return edge{at: t.windowEnd + int64(i-len(t.edges)+1)*t.step, phase: record.Drain}
}

// inside tells whether an instant lies in the window.
func (t *timeline) inside(at int64) bool { return at >= t.windowStart && at < t.windowEnd }

// curtail ends the window at an instant in its i-th interval.
func (t *timeline) curtail(i int, at int64) {
	t.edges = t.edges[:i+1]
	t.edges[i].at = at
	t.windowEnd = at
}
