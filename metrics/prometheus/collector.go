// Package prometheus exports what a registry keeps: pools, bulkheads, breakers and commands, with the names under which dashboards know
// such figures already (Micrometer's executors, resilience4j, Hystrix), and names of our own where none fits.
//
//	reg := prometheus.NewRegistry()
//	reg.MustRegister(loadline.New(r, loadline.Config{}))
//
// A scrape reads every member once and keeps nothing, so that two scrapers do not disturb each other. Counters are counters, waiting and
// working times are histograms of their own that can be merged over instances, and what is not known is absent rather than 0 or -1.
//
// # What stands beside the known names
//
// Micrometer publishes no refused tasks, no high-water marks and no zombies; resilience4j no refusals of bulkheads. Those begin with
// loadline_. docs/formats/metrics.md lists all.
package prometheus

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

// DefaultBuckets are the upper bounds of the histograms, in seconds: from 100 µs to 30 s, about two and a half to a decade.
var DefaultBuckets = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Config describes a collector. Its zero value is usable.
type Config struct {
	// Buckets are the upper bounds of the histograms in seconds, ascending: DefaultBuckets by default.
	Buckets []float64
	// Labels are put on every figure. None by default.
	Labels prometheus.Labels
}

// Collector is a prometheus.Collector over a registry. It is safe for concurrent use.
type Collector struct {
	registry *registry.Registry
	buckets  []float64
	d        map[string]*prometheus.Desc
}

// New returns a collector. Register it once with a prometheus.Registerer.
func New(r *registry.Registry, config Config) *Collector {
	c := &Collector{registry: r, buckets: slices.Clone(config.Buckets), d: map[string]*prometheus.Desc{}}
	if len(c.buckets) == 0 {
		c.buckets = slices.Clone(DefaultBuckets)
	}
	for _, f := range families {
		c.d[f.name] = prometheus.NewDesc(f.name, f.help, f.labels, config.Labels)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range families {
		to <- c.d[f.name]
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	s := c.registry.Snapshot()
	w := writer{c: c, to: to, seen: map[string]bool{}}
	for _, p := range s.Pools {
		w.pool(p)
	}
	for _, b := range s.Bulkheads {
		w.bulkhead(b)
	}
	for _, b := range s.Breakers {
		w.breaker(b)
	}
	for _, x := range s.Commands {
		w.command(x)
	}
	w.gauge("loadline_settings_version", float64(s.Version))
	w.gauge("loadline_pool_starvation_findings", float64(len(c.registry.Starvation())))
}

// writer sends figures of one scrape.
type writer struct {
	c    *Collector
	to   chan<- prometheus.Metric
	seen map[string]bool // breakers, which several commands may share
}

func (w writer) gauge(name string, value float64, labels ...string) {
	w.to <- prometheus.MustNewConstMetric(w.c.d[name], prometheus.GaugeValue, value, valid(labels)...)
}

func (w writer) counter(name string, value uint64, labels ...string) {
	w.to <- prometheus.MustNewConstMetric(w.c.d[name], prometheus.CounterValue, float64(value), valid(labels)...)
}

// valid makes names that are no UTF-8 such: one of them would cost the whole scrape.
func valid(labels []string) []string {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "\uFFFD")
	}
	return labels
}

// histogram folds our fine buckets into the exported ones. A fine bucket counts where all of it lies at or below the bound, so that a
// count is never too high by more than a fine bucket holds.
func (w writer) histogram(name string, h pool.Histogram, labels ...string) {
	counts := make(map[float64]uint64, len(w.c.buckets))
	for _, bound := range w.c.buckets {
		counts[bound] = 0
	}
	h.Each(func(_, high time.Duration, n uint64) {
		for _, bound := range w.c.buckets {
			if high.Seconds() <= bound {
				counts[bound] += n
			}
		}
	})
	w.to <- prometheus.MustNewConstHistogram(w.c.d[name], h.N(), h.Sum().Seconds(), counts, valid(labels)...)
}

func (w writer) pool(p pool.Snapshot) {
	n := p.Name
	w.gauge("executor_pool_size_threads", float64(p.Workers), n)
	w.gauge("executor_pool_core_threads", float64(p.Settings.Core), n)
	w.gauge("executor_pool_max_threads", float64(p.Settings.Max), n)
	w.gauge("executor_active_threads", float64(p.Active), n)
	w.gauge("executor_queued_tasks", float64(p.Waiting), n)
	if p.Settings.Queue != pool.Unbounded {
		w.gauge("executor_queue_remaining_tasks", float64(max(p.Settings.EffectiveQueue()-p.Waiting, 0)), n)
		w.gauge("loadline_pool_queue_capacity_tasks", float64(p.Settings.Queue), n)
	}
	w.counter("executor_completed_tasks_total", p.Completed+p.Failed, n)
	w.histogram("executor_seconds", p.Execution, n)
	w.histogram("executor_idle_seconds", p.QueueWait, n)
	for reason, count := range map[string]uint64{"full": p.Rejected.Full, "threshold": p.Rejected.Threshold, "timed_out": p.Rejected.TimedOut, "closed": p.Rejected.Closed} {
		w.counter("loadline_pool_rejected_tasks_total", count, n, reason)
	}
	w.counter("loadline_pool_submitted_tasks_total", p.Submitted, n)
	for outcome, count := range map[string]uint64{"completed": p.Completed, "failed": p.Failed, "cancelled": p.Cancelled, "discarded": p.Discarded} {
		w.counter("loadline_pool_ended_tasks_total", count, n, outcome)
	}
	w.counter("loadline_pool_panicked_tasks_total", p.Panicked, n)
	w.counter("loadline_pool_abandoned_tasks_total", p.Abandoned+p.Cancelled, n)
	w.gauge("loadline_pool_zombie_threads", float64(p.Zombies), n)
	w.gauge("loadline_pool_blocked_callers", float64(p.Blocked), n)
	w.gauge("loadline_pool_active_high_threads", float64(p.LargestActive), n)
	w.gauge("loadline_pool_queue_high_tasks", float64(p.LargestWaiting), n)
	w.gauge("loadline_pool_recent_max_active_threads", float64(p.RecentActive), n)
	w.gauge("loadline_pool_recent_max_queued_tasks", float64(p.RecentWaiting), n)
}

func (w writer) bulkhead(b bulkhead.Snapshot) {
	n := b.Name
	w.gauge("resilience4j_bulkhead_available_concurrent_calls", float64(max(b.Settings.Permits-b.InUse, 0)), n)
	w.gauge("resilience4j_bulkhead_max_allowed_concurrent_calls", float64(b.Settings.Permits), n)
	w.gauge("loadline_bulkhead_queued_calls", float64(b.Waiting), n)
	if b.Settings.MaxWaiting != bulkhead.Unbounded {
		w.gauge("loadline_bulkhead_queue_capacity_calls", float64(b.Settings.MaxWaiting), n)
	}
	w.gauge("loadline_bulkhead_active_high_calls", float64(b.LargestInUse), n)
	w.counter("loadline_bulkhead_completed_calls_total", b.Granted-min(uint64(b.InUse), b.Granted), n)
	w.counter("loadline_bulkhead_granted_calls_total", b.Granted, n)
	for reason, count := range map[string]uint64{"full": b.Rejected.Full, "timed_out": b.Rejected.TimedOut, "too_heavy": b.Rejected.TooHeavy} {
		w.counter("loadline_bulkhead_rejected_calls_total", count, n, reason)
	}
	w.histogram("loadline_bulkhead_wait_seconds", b.Wait, n)
	if b.Hold.N() > 0 {
		w.histogram("loadline_bulkhead_execution_seconds", b.Hold, n)
	}
}

// states are resilience4j's names of what a breaker may be.
var states = []string{"closed", "open", "half_open", "forced_open", "disabled"}

func stateOf(b breaker.Snapshot) string {
	switch {
	case b.Settings.Force == breaker.ForcedOpen:
		return "forced_open"
	case b.Settings.Force == breaker.Disabled:
		return "disabled"
	case b.State == breaker.Open:
		return "open"
	case b.State == breaker.HalfOpen:
		return "half_open"
	default:
		return "closed"
	}
}

func (w writer) breaker(b breaker.Snapshot) {
	n, now := b.Name, stateOf(b)
	if w.seen[n] {
		return
	}
	w.seen[n] = true
	for _, state := range states {
		is := 0.0
		if state == now {
			is = 1
		}
		w.gauge("resilience4j_circuitbreaker_state", is, n, state)
	}
	w.gauge("resilience4j_circuitbreaker_buffered_calls", float64(b.Window.Failures), n, "failed")
	w.gauge("resilience4j_circuitbreaker_buffered_calls", float64(b.Window.Calls-b.Window.Failures), n, "successful")
	if b.Window.Calls >= uint64(b.Settings.MinVolume) { // Below it there is no rate, and resilience4j's -1 spoils every sum.
		w.gauge("resilience4j_circuitbreaker_failure_rate", 100*float64(b.Window.Failures)/float64(b.Window.Calls), n)
		w.gauge("resilience4j_circuitbreaker_slow_call_rate", 100*float64(b.Window.Slow)/float64(b.Window.Calls), n)
	}
	w.counter("resilience4j_circuitbreaker_not_permitted_calls_total", b.Refused, n, "not_permitted")
	w.counter("loadline_breaker_trips_total", b.Trips, n)
	w.counter("loadline_breaker_expired_probes_total", b.ProbesExpired, n)
}

// terminal tells whether an event ends a call, as Hystrix' metrics say.
func terminal(e command.Event) string {
	if slices.Contains([]command.Event{command.EventFailure, command.EventTimeout, command.EventShortCircuited, command.EventThreadPoolRejected,
		command.EventSemaphoreRejected, command.EventExceptionThrown}, e) {
		return "false"
	}
	return "true"
}

func (w writer) command(x registry.CommandSnapshot) {
	for i, count := range x.Events {
		e := command.Event(i)
		w.counter("hystrix_execution_total", count, x.Group, x.Name, e.String(), terminal(e))
	}
	w.gauge("hystrix_concurrent_execution_current", float64(x.Active+x.Zombies), x.Group, x.Name)
	open := 0.0
	if x.Breaker.Refusing || x.Breaker.State != breaker.Closed {
		open = 1
	}
	w.gauge("hystrix_circuit_breaker_open", open, x.Group, x.Name)
	var execution command.Histogram
	execution.Merge(x.Execution)
	execution.Merge(x.Unsuccessful)
	w.histogram("hystrix_latency_execution_seconds", execution, x.Group, x.Name)
	w.histogram("hystrix_latency_total_seconds", x.Total, x.Group, x.Name)
	w.histogram("loadline_command_wait_seconds", x.Wait, x.Group, x.Name)
	for i, count := range x.Outcomes {
		w.counter("loadline_command_calls_total", count, x.Group, x.Name, command.Outcome(i).String())
	}
	w.gauge("loadline_command_zombies", float64(x.Zombies), x.Group, x.Name)
	w.breaker(x.Breaker)
}
