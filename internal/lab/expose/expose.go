// Package expose writes Prometheus' text format, version 0.0.4, for the lab's services. Pools have the names of Micrometer's executors, bulkheads
// those of resilience4j and HikariCP; what these do not publish has names of our own, loadline_pool_… and loadline_bulkhead_….
package expose

import (
	"fmt"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/internal/buckets"
	"github.com/loadline-dev/loadline/pool"
)

// ContentType is what the text is served as.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Text is a text under way. The zero value is empty. It is for one goroutine at a time.
type Text struct{ b []byte }

// Bytes is the text.
func (t *Text) Bytes() []byte { return t.b }

// Family begins a family: its samples must follow at once.
func (t *Text) Family(name, kind, help string) {
	t.b = fmt.Appendf(t.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// Sample adds one sample; labels are in their written form, such as `name="price"`, or empty.
func (t *Text) Sample(name, labels string, value float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	t.b = fmt.Appendf(t.b, "%s%s %s\n", name, labels, strconv.FormatFloat(value, 'g', -1, 64))
}

// Histogram adds a distribution's samples with bounds that are the recorder's own, so that no count is guessed.
func (t *Text) Histogram(name, labels string, h buckets.Snapshot) {
	bounds, next, total := Bounds(), 0, uint64(0)
	line := func(bound time.Duration) {
		t.b = fmt.Appendf(t.b, "%s_bucket{%s,le=%q} %d\n", name, labels, seconds(bound), total)
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
	t.b = fmt.Appendf(t.b, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, labels, h.N())
	t.b = fmt.Appendf(t.b, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, labels, seconds(h.Sum()), name, labels, h.N())
}

// Bounds are the upper bounds of the buckets that are written, from 64 µs to 4.3 s: every eighth of the recorder's, which are four to a doubling,
// and all of them from 8 to 67 ms, where the studies' service times lie.
func Bounds() []time.Duration {
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

// figure is one family with the value that each pool or bulkhead has.
type figure[S any] struct {
	name, kind, help string
	value            func(S) float64
}

func write[S any](t *Text, families []figure[S], label func(S) string, all []S) {
	for _, f := range families {
		t.Family(f.name, f.kind, f.help)
		for _, s := range all {
			t.Sample(f.name, label(s), f.value(s))
		}
	}
}

// Pools writes how pools stand.
func (t *Text) Pools(all ...pool.Snapshot) {
	label := func(s pool.Snapshot) string { return fmt.Sprintf("name=%q", s.Name) }
	write(t, poolFigures(), label, all)
	t.Family("executor_seconds", "histogram", "Execution: how long a worker was busy with a task.")
	for _, s := range all {
		t.Histogram("executor_seconds", label(s), s.Execution)
	}
	t.Family("executor_idle_seconds", "histogram", "Queue wait: from admission to a worker.")
	for _, s := range all {
		t.Histogram("executor_idle_seconds", label(s), s.QueueWait)
	}
}

func poolFigures() []figure[pool.Snapshot] {
	type s = pool.Snapshot
	return []figure[s]{
		{"executor_pool_core_threads", "gauge", "Workers kept.", func(s s) float64 { return float64(s.Settings.Core) }},
		{"executor_pool_size_threads", "gauge", "Workers alive.", func(s s) float64 { return float64(s.Workers) }},
		{"executor_pool_max_threads", "gauge", "Most workers.", func(s s) float64 { return float64(s.Settings.Max) }},
		{"executor_active_threads", "gauge", "Workers busy.", func(s s) float64 { return float64(s.Active) }},
		{"executor_queued_tasks", "gauge", "Tasks that wait for a worker.", func(s s) float64 { return float64(s.Waiting) }},
		{"executor_queue_remaining_tasks", "gauge", "Free places in the queue.", func(s s) float64 { return float64(max(0, s.Settings.Queue-s.Waiting)) }},
		{"executor_completed_tasks_total", "counter", "Tasks that a worker has ended.", func(s s) float64 { return float64(s.Completed + s.Failed) }},
		{"loadline_pool_queue_capacity_tasks", "gauge", "Places in the queue.", func(s s) float64 { return float64(s.Settings.Queue) }},
		{"loadline_pool_active_high_threads", "gauge", "Most workers busy at once since the start.", func(s s) float64 { return float64(s.LargestActive) }},
		{"loadline_pool_queue_high_tasks", "gauge", "Most tasks waiting at once since the start.", func(s s) float64 { return float64(s.LargestWaiting) }},
		{"loadline_pool_zombie_threads", "gauge", "Workers busy for callers who have left.", func(s s) float64 { return float64(s.Zombies) }},
		{"loadline_pool_rejected_tasks_total", "counter", "Tasks refused: workers busy and queue at its threshold.", func(s s) float64 { return float64(s.Rejected.Sum()) }},
		{"loadline_pool_abandoned_tasks_total", "counter", "Tasks whose caller left before they ended.", func(s s) float64 { return float64(s.Cancelled + s.Abandoned) }},
	}
}

// Bulkheads writes how bulkheads stand.
func (t *Text) Bulkheads(all ...bulkhead.Snapshot) {
	type s = bulkhead.Snapshot
	label := func(s s) string { return fmt.Sprintf("name=%q", s.Name) }
	write(t, []figure[s]{
		{"resilience4j_bulkhead_max_allowed_concurrent_calls", "gauge", "Permits.", func(s s) float64 { return float64(s.Settings.Permits) }},
		{"resilience4j_bulkhead_available_concurrent_calls", "gauge", "Permits free.", func(s s) float64 { return float64(max(0, s.Settings.Permits-s.InUse)) }},
		{"loadline_bulkhead_active_high_calls", "gauge", "Most permits out at once since the start.", func(s s) float64 { return float64(s.LargestInUse) }},
		{"loadline_bulkhead_completed_calls_total", "counter", "Permits returned.", func(s s) float64 { return float64(s.Hold.N()) }},
		{"loadline_bulkhead_rejected_calls_total", "counter", "Calls refused: no permit.", func(s s) float64 { return float64(s.Rejected.Sum()) }},
	}, label, all)
	t.Family("loadline_bulkhead_execution_seconds", "histogram", "Execution: how long a permit was out.")
	for _, s := range all {
		t.Histogram("loadline_bulkhead_execution_seconds", label(s), s.Hold)
	}
}

// Connections writes how pools of connections stand, each a bulkhead whose callers may wait, by the names of HikariCP.
func (t *Text) Connections(all ...bulkhead.Snapshot) {
	type s = bulkhead.Snapshot
	label := func(s s) string { return fmt.Sprintf("pool=%q", s.Name) }
	write(t, []figure[s]{
		{"hikaricp_connections_max", "gauge", "Connections.", func(s s) float64 { return float64(s.Settings.Permits) }},
		{"hikaricp_connections", "gauge", "Connections open.", func(s s) float64 { return float64(s.Settings.Permits) }},
		{"hikaricp_connections_active", "gauge", "Connections in use.", func(s s) float64 { return float64(s.InUse) }},
		{"hikaricp_connections_pending", "gauge", "Callers that wait for a connection.", func(s s) float64 { return float64(s.Waiting) }},
	}, label, all)
	t.Family("hikaricp_connections_acquire_seconds", "histogram", "Wait of the callers that waited.")
	for _, s := range all {
		t.Histogram("hikaricp_connections_acquire_seconds", label(s), s.Wait)
	}
	t.Family("hikaricp_connections_usage_seconds", "histogram", "How long a connection was in use.")
	for _, s := range all {
		t.Histogram("hikaricp_connections_usage_seconds", label(s), s.Hold)
	}
}
