package order

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// peak is a count with its high-water mark.
type peak struct {
	now     atomic.Int64
	highest atomic.Int64
}

// enter counts one more unless there are limit already.
func (p *peak) enter(limit int64) bool {
	for {
		n := p.now.Load()
		if n >= limit {
			return false
		}
		if p.now.CompareAndSwap(n, n+1) {
			p.raise(n + 1)
			return true
		}
	}
}

func (p *peak) raise(n int64) {
	for {
		h := p.highest.Load()
		if n <= h || p.highest.CompareAndSwap(h, n) {
			return
		}
	}
}

func (p *peak) leave() { p.now.Add(-1) }

func (p *peak) high() int64 { return p.highest.Load() }

// bounds of the exposed histograms. They are close together around the study's 20 ms.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	15 * time.Millisecond, 20 * time.Millisecond, 20500 * time.Microsecond, 21 * time.Millisecond, 22 * time.Millisecond, 25 * time.Millisecond, 30 * time.Millisecond,
	40 * time.Millisecond, 60 * time.Millisecond, 80 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond,
	300 * time.Millisecond, 500 * time.Millisecond, 800 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// histogram counts durations. It may be used by many goroutines; its figures are not all of one instant.
type histogram struct {
	counts [len(bounds) + 1]atomic.Uint64
	sum    atomic.Int64
}

func (h *histogram) add(d time.Duration) {
	h.sum.Add(int64(d))
	low, high := 0, len(bounds)
	for low < high {
		middle := (low + high) / 2
		if d <= bounds[middle] {
			high = middle
		} else {
			low = middle + 1
		}
	}
	h.counts[low].Add(1)
}

// exposition is the Prometheus text format under way, version 0.0.4.
type exposition []byte

func (e *exposition) family(name, kind, help string) {
	*e = fmt.Appendf(*e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (e *exposition) gauge(name, labels, help string, value int64) {
	e.family(name, "gauge", help)
	*e = fmt.Appendf(*e, "%s{%s} %d\n", name, labels, value)
}

func (e *exposition) counter(name, labels, help string, value uint64) {
	e.family(name, "counter", help)
	*e = fmt.Appendf(*e, "%s{%s} %d\n", name, labels, value)
}

func (e *exposition) histogram(name, labels, help string, h *histogram) {
	e.family(name, "histogram", help)
	total := uint64(0)
	for i, bound := range bounds {
		total += h.counts[i].Load()
		*e = fmt.Appendf(*e, "%s_bucket{%s,le=%q} %d\n", name, labels, seconds(bound), total)
	}
	total += h.counts[len(bounds)].Load()
	*e = fmt.Appendf(*e, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, labels, total)
	*e = fmt.Appendf(*e, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, labels, seconds(time.Duration(h.sum.Load())), name, labels, total)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) }

// metrics are the service's answers by class and, where there is one, the pool or bulkhead named price. Names are those of Micrometer's
// executors and of resilience4j's bulkheads; what these do not publish has names of our own, loadline_pool_… and loadline_bulkhead_….
func (s *Service) metrics() []byte {
	var e exposition
	e.family("lab_order_requests_total", "counter", "Answers by class.")
	for o := range numOutcomes {
		e = fmt.Appendf(e, "lab_order_requests_total{outcome=%q} %d\n", o.String(), s.outcomes[o].Load())
	}
	switch st := s.guard.stats(); st.kind {
	case Thread:
		e.pool(st)
	case Semaphore:
		e.bulkhead(st)
	}
	return e
}

func (e *exposition) pool(s stats) {
	const name = `name="price"`
	e.gauge("executor_pool_core_threads", name, "Workers kept.", int64(s.core))
	e.gauge("executor_pool_size_threads", name, "Workers alive.", int64(s.size))
	e.gauge("executor_pool_max_threads", name, "Most workers.", int64(s.max))
	e.gauge("executor_active_threads", name, "Workers busy.", s.active)
	e.gauge("executor_queued_tasks", name, "Tasks that wait for a worker.", s.queued)
	e.gauge("executor_queue_remaining_tasks", name, "Free places in the queue.", int64(s.capacity)-s.queued)
	e.counter("executor_completed_tasks_total", name, "Calls ended.", s.completed)
	e.histogram("executor_seconds", name, "Execution: from the worker's start to its end.", s.execution)
	e.histogram("executor_idle_seconds", name, "Queue wait: from admission to the worker's start.", s.wait)
	e.gauge("loadline_pool_queue_capacity_tasks", name, "Places in the queue.", int64(s.capacity))
	e.gauge("loadline_pool_active_high_threads", name, "Most workers busy at once since the start.", s.activeHigh)
	e.gauge("loadline_pool_queue_high_tasks", name, "Most tasks waiting at once since the start.", s.queueHigh)
	e.counter("loadline_pool_rejected_tasks_total", name, "Calls refused: workers busy and queue at its threshold.", s.rejected)
	e.counter("loadline_pool_abandoned_tasks_total", name, "Calls whose caller had left before a worker took them.", s.abandoned)
}

func (e *exposition) bulkhead(s stats) {
	const name = `name="price"`
	e.gauge("resilience4j_bulkhead_max_allowed_concurrent_calls", name, "Permits.", int64(s.max))
	e.gauge("resilience4j_bulkhead_available_concurrent_calls", name, "Permits free.", int64(s.max)-s.active)
	e.gauge("loadline_bulkhead_active_high_calls", name, "Most permits held at once since the start.", s.activeHigh)
	e.counter("loadline_bulkhead_completed_calls_total", name, "Calls ended.", s.completed)
	e.counter("loadline_bulkhead_rejected_calls_total", name, "Calls refused: no permit.", s.rejected)
	e.histogram("loadline_bulkhead_execution_seconds", name, "Execution: how long a permit was held.", s.execution)
}
