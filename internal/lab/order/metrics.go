package order

import (
	"fmt"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/buckets"
)

// exposition is the Prometheus text format under way, version 0.0.4.
type exposition struct {
	text []byte
	// label belongs to every figure of a pool.
	label string
}

func (e *exposition) family(name, kind, help string) {
	e.text = fmt.Appendf(e.text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (e *exposition) gauge(name, help string, value int) {
	e.family(name, "gauge", help)
	e.text = fmt.Appendf(e.text, "%s{%s} %d\n", name, e.label, value)
}

func (e *exposition) counter(name, help string, value uint64) {
	e.family(name, "counter", help)
	e.text = fmt.Appendf(e.text, "%s{%s} %d\n", name, e.label, value)
}

// histogram writes a distribution with the bounds of the recorder's own buckets, so that no count is guessed.
func (e *exposition) histogram(name, help string, h buckets.Snapshot) {
	e.family(name, "histogram", help)
	bounds, next, total := exposedBounds(), 0, uint64(0)
	line := func(bound time.Duration) {
		e.text = fmt.Appendf(e.text, "%s_bucket{%s,le=%q} %d\n", name, e.label, seconds(bound), total)
	}
	h.Each(func(_, high time.Duration, n uint64) {
		for ; next < len(bounds) && bounds[next] < high; next++ {
			line(bounds[next])
		}
		total += n
	})
	for _, bound := range bounds[next:] {
		line(bound)
	}
	e.text = fmt.Appendf(e.text, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, e.label, h.N())
	e.text = fmt.Appendf(e.text, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, e.label, seconds(h.Sum()), name, e.label, h.N())
}

// exposedBounds are upper bounds of buckets from 64 µs to 4.3 s: every eighth, which are four to a doubling, and all of them from 8 to 67 ms,
// where the study's service time lies.
func exposedBounds() []time.Duration {
	const least, most = 60 * time.Microsecond, 4300 * time.Millisecond
	const fineFrom, fineTo = 8 * time.Millisecond, 68 * time.Millisecond
	var out []time.Duration
	for i := range buckets.Count {
		_, high := buckets.Bounds(i)
		if high < least || high > most || i%8 != 7 && (high < fineFrom || high > fineTo) {
			continue
		}
		out = append(out, high)
	}
	return out
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) }

// metrics are the service's answers by class and, where there is one, the pool or bulkhead named price. Names are those of Micrometer's
// executors and of resilience4j's bulkheads; what these do not publish has names of our own, loadline_pool_… and loadline_bulkhead_….
func (s *Service) metrics() []byte {
	e := exposition{label: fmt.Sprintf("name=%q", dependencyName)}
	e.family("lab_order_requests_total", "counter", "Answers by class.")
	for o := range numOutcomes {
		e.text = fmt.Appendf(e.text, "lab_order_requests_total{outcome=%q} %d\n", o.String(), s.outcomes[o].Load())
	}
	s.guard.expose(&e)
	return e.text
}

func (w *workers) expose(e *exposition) {
	s := w.pool.Snapshot()
	e.gauge("executor_pool_core_threads", "Workers kept.", s.Settings.Core)
	e.gauge("executor_pool_size_threads", "Workers alive.", s.Workers)
	e.gauge("executor_pool_max_threads", "Most workers.", s.Settings.Max)
	e.gauge("executor_active_threads", "Workers busy.", s.Active)
	e.gauge("executor_queued_tasks", "Calls that wait for a worker.", s.Waiting)
	e.gauge("executor_queue_remaining_tasks", "Free places in the queue.", max(0, s.Settings.Queue-s.Waiting))
	e.counter("executor_completed_tasks_total", "Calls that a worker has ended.", s.Completed+s.Failed)
	e.histogram("executor_seconds", "Execution: how long a worker was busy with a call.", s.Execution)
	e.histogram("executor_idle_seconds", "Queue wait: from admission to a worker.", s.QueueWait)
	e.gauge("loadline_pool_queue_capacity_tasks", "Places in the queue.", s.Settings.Queue)
	e.gauge("loadline_pool_active_high_threads", "Most workers busy at once since the start.", s.LargestActive)
	e.gauge("loadline_pool_queue_high_tasks", "Most calls waiting at once since the start.", s.LargestWaiting)
	e.gauge("loadline_pool_zombie_threads", "Workers busy for callers who have left.", s.Zombies)
	e.counter("loadline_pool_rejected_tasks_total", "Calls refused: workers busy and queue at its threshold.", s.Rejected.Sum())
	e.counter("loadline_pool_abandoned_tasks_total", "Calls whose caller left before they ended.", s.Cancelled+s.Abandoned)
}

func (p *permits) expose(e *exposition) {
	s := p.bulkhead.Snapshot()
	e.gauge("resilience4j_bulkhead_max_allowed_concurrent_calls", "Permits.", s.Settings.Permits)
	e.gauge("resilience4j_bulkhead_available_concurrent_calls", "Permits free.", max(0, s.Settings.Permits-s.InUse))
	e.gauge("loadline_bulkhead_active_high_calls", "Most permits out at once since the start.", s.LargestInUse)
	e.counter("loadline_bulkhead_completed_calls_total", "Permits returned.", s.Hold.N())
	e.counter("loadline_bulkhead_rejected_calls_total", "Calls refused: no permit.", s.Rejected.Full+s.Rejected.TimedOut+s.Rejected.TooHeavy)
	e.histogram("loadline_bulkhead_execution_seconds", "Execution: how long a permit was out.", s.Hold)
}
