// Package observed turns samples of services into figures over a span of time: rates of counters, means and maxima of gauges, cumulative
// distributions as the difference of their ends. It judges nothing. A nil figure is unknown.
package observed

import (
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/record"
)

// Service is what one service used inside the window.
type Service struct {
	CPURatio *float64        `json:"cpu_ratio"` // 1.0 = one core
	Threads  *float64        `json:"threads"`   // most seen
	RSSBytes *float64        `json:"rss_bytes"` // most seen
	Switches Switches        `json:"context_switches_per_s"`
	Pools    map[string]Pool `json:"pools"`
	// What the runtime or the control group told; left out where nothing did.
	GCRatio        *float64 `json:"gc_ratio,omitempty"`         // share of the time in which a collection stopped the service
	MutexWait      *float64 `json:"mutex_wait_ratio,omitempty"` // Go: time that goroutines waited for mutexes, 1.0 = one of them all the time
	ThrottledRatio *float64 `json:"throttled_ratio,omitempty"`  // share of the control group's periods in which it was throttled
	CPULimitCores  *float64 `json:"cpu_limit_cores,omitempty"`  // of the control group
	RetriedPerSec  *float64 `json:"retried_per_s,omitempty"`    // calls made again
	ThreadGrowth   *Growth  `json:"-"`
}

// Switches are context switches per second.
type Switches struct {
	Voluntary   *float64 `json:"voluntary"`
	Involuntary *float64 `json:"involuntary"`
}

// Pool is one pool or bulkhead inside the window, by its own counters.
type Pool struct {
	Kind       record.PoolKind `json:"kind"`
	Core       *float64        `json:"core"`
	Size       *float64        `json:"size"`
	Max        *float64        `json:"max"`
	Capacity   *float64        `json:"capacity"`
	Completed  *float64        `json:"completed"`
	Rejected   *float64        `json:"rejected"`
	TimedOut   *float64        `json:"timed_out"`
	ActiveMean *float64        `json:"active_mean"`
	ActiveMax  *float64        `json:"active_max"`
	QueueMean  *float64        `json:"queue_mean"`
	QueueMax   *float64        `json:"queue_max"`
	Waiting    *float64        `json:"waiting_mean"`
	QueueWait  *Timing         `json:"queue_wait_ms"`
	Execution  *Timing         `json:"execution_ms"`

	QueueStart float64 `json:"-"` // mean queue depth in the first third of the samples
	QueueEnd   float64 `json:"-"` // and in the last
	Start      Part    `json:"-"` // the first third
	End        Part    `json:"-"` // the last
}

// Timing is a distribution as a service exposes it: percentiles are interpolated within its buckets.
type Timing struct {
	N    float64  `json:"n"`
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
}

// Part is a pool over a part of the span.
type Part struct {
	Active, Queue   *float64
	CompletedPerSec *float64
}

// Slots is how many requests the pool can work on at once: a bulkhead's permits, a pool's maximum, else its size.
func (p Pool) Slots() *float64 {
	for _, f := range []*float64{p.Max, p.Size, p.Core} {
		if f != nil && *f > 0 {
			return f
		}
	}
	return nil
}

// SlotsInForce is Slots, but core where a pool never grew beyond it.
func (p Pool) SlotsInForce() *float64 {
	if p.Kind == record.KindPool && p.Core != nil && p.ActiveMax != nil && *p.ActiveMax <= *p.Core && *p.Core > 0 {
		return p.Core
	}
	return p.Slots()
}

// Average is the mean in ms; nil where nothing is known.
func (t *Timing) Average() *float64 {
	if t == nil {
		return nil
	}
	return t.Mean
}

// Worst is the p99 in ms where it is known, else the mean.
func (t *Timing) Worst() *float64 {
	if t != nil && t.P99 != nil {
		return t.P99
	}
	return t.Average()
}

// Named is a pool with its names.
type Named struct {
	Service, Name string
	Pool
}

// String is «service/pool».
func (n Named) String() string { return n.Service + "/" + n.Name }

// Pools lists all pools in the order of their names.
func Pools(services map[string]Service) []Named {
	var out []Named
	for service, s := range services {
		for name, p := range s.Pools {
			out = append(out, Named{service, name, p})
		}
	}
	slices.SortFunc(out, func(a, b Named) int {
		if a.Service != b.Service {
			return strings.Compare(a.Service, b.Service)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}
