package exposition

import (
	"math"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/record"
)

// seriesRules are figures that are no pool's.
func seriesRules() []rule {
	plain := func(name, series string) rule { return rule{name: name, series: series, into: none} }
	by := func(name, series, label string) rule { return rule{name: name, series: series, by: label, into: none} }
	when := func(name, series, label, values string) rule {
		return rule{name: name, series: series, label: label, values: values, into: none}
	}
	scaled := func(name, series, label string, scale float64) rule {
		return rule{name: name, series: series, by: label, scale: scale, into: none}
	}
	return []rule{
		plain("jvm_threads_live_threads", "jvm_threads"), plain("jvm_threads_daemon_threads", "jvm_daemon_threads"),
		plain("jvm_threads_peak_threads", "jvm_peak_threads"), by("jvm_threads_states_threads", "jvm_threads_state", "state"),
		plain("jvm_threads_virtual_live_threads", "jvm_virtual_threads"), plain("jvm_threads_virtual_parallelism", "jvm_carriers_max"),
		plain("jvm_threads_virtual_pool_size", "jvm_carriers"),
		plain("jvm_threads_virtual_pinned_seconds_count", "jvm_virtual_pinned_total"),
		plain("jvm_threads_virtual_pinned_seconds_sum", "jvm_virtual_pinned_seconds_total"),
		plain("jvm_threads_virtual_submit_failed_total", "jvm_virtual_submit_failed_total"),
		when("jvm_memory_used_bytes", "jvm_heap_used_bytes", "area", "heap"), when("jvm_memory_max_bytes", "jvm_heap_max_bytes", "area", "heap"),
		plain("jvm_gc_pause_seconds_count", "jvm_gc_pause_total"), plain("jvm_gc_pause_seconds_sum", "jvm_gc_pause_seconds_total"),
		plain("go_goroutines", "go_goroutines"), plain("go_threads", "go_threads"),
		plain("go_sched_gomaxprocs_threads", "go_gomaxprocs"),
		plain("go_sched_goroutines_runnable_goroutines", "go_goroutines_runnable"),
		plain("go_sched_goroutines_running_goroutines", "go_goroutines_running"),
		plain("go_sched_goroutines_waiting_goroutines", "go_goroutines_waiting"),
		plain("go_sched_goroutines_not_in_go_goroutines", "go_goroutines_not_in_go"),
		plain("go_sched_goroutines_created_goroutines_total", "go_goroutines_created_total"),
		plain("go_sched_latencies_seconds_count", "go_sched_latency_total"), plain("go_sched_latencies_seconds_sum", "go_sched_latency_seconds_total"),
		plain("go_sync_mutex_wait_total_seconds_total", "go_mutex_wait_seconds_total"),
		plain("go_gc_duration_seconds_count", "go_gc_total"), plain("go_gc_duration_seconds_sum", "go_gc_pause_seconds_total"),
		plain("go_memstats_heap_inuse_bytes", "go_heap_inuse_bytes"),
		by("hystrix_circuit_breaker_open", "breaker_open", "key"), by("hystrix_command_is_circuit_breaker_open", "breaker_open", "command_name"),
		{name: "resilience4j_circuitbreaker_state", label: "state", values: "open", by: "name", series: "breaker_open", into: none},
		scaled("resilience4j_circuitbreaker_failure_rate", "breaker_failure_ratio", "name", 0.01),
		scaled("resilience4j_circuitbreaker_slow_call_rate", "breaker_slow_ratio", "name", 0.01),
		by("resilience4j_circuitbreaker_not_permitted_calls_total", "breaker_not_permitted_total", "name"),
		by("resilience4j_ratelimiter_available_permissions", "ratelimiter_permits", "name"),
		by("resilience4j_ratelimiter_waiting_threads", "ratelimiter_waiting", "name"),
		{name: "resilience4j_retry_calls_total", label: "kind", values: "successful_with_retry|failed_with_retry", by: "name", series: "retried_total", into: none},
		{name: "resilience4j_timelimiter_calls_total", label: "kind", values: "timeout", by: "name", series: "timelimiter_timeout_total", into: none},
		by("thread_pool_run_timeout_count", "pool_run_timeout_total", "thread_pool_name"),
		by("thread_pool_queue_timeout_count", "pool_queue_timeout_total", "thread_pool_name"),
		scaled("thread_pool_completed_task_time_avg", "pool_task_mean_seconds", "thread_pool_name", 1e-3),
		scaled("thread_pool_completed_task_time_tp99", "pool_task_p99_seconds", "thread_pool_name", 1e-3),
		scaled("commons_pool2_mean_borrow_wait", "pool_borrow_wait_mean_seconds", "name", 1e-3),
		plain("tomcat_connections_keepalive_current_connections", "tomcat_keepalive_connections"),
		by("envoy_cluster_upstream_cx_overflow", "envoy_connection_overflow_total", "envoy_cluster_name"),
		by("envoy_cluster_upstream_rq_retry_overflow", "envoy_retry_overflow_total", "envoy_cluster_name"),
		scaled("envoy_http_adaptive_concurrency_gradient_controller_sample_rtt_msecs", "envoy_sample_rtt_seconds", "envoy_http_conn_manager_prefix", 1e-3),
		scaled("envoy_http_adaptive_concurrency_gradient_controller_min_rtt_msecs", "envoy_min_rtt_seconds", "envoy_http_conn_manager_prefix", 1e-3),
		scaled("envoy_http_adaptive_concurrency_gradient_controller_gradient", "envoy_gradient_ratio", "envoy_http_conn_manager_prefix", 1e-3),
		scaled("min_rtt", "limit_min_rtt_seconds", "id", 1e-9),
	}
}

// note keeps a sample of a series. Samples of one series are parts of it and are summed.
func (b *builder) note(s sample, r rule) {
	v := r.scaled(s.value)
	if math.IsNaN(v) || v < 0 {
		return
	}
	name := r.series
	if r.by != "" {
		label := s.label(r.by)
		if label == "" {
			return
		}
		name += "{" + label + "}"
	}
	if b.others == nil {
		b.others = map[string]float64{}
	}
	b.others[name] += v
}

func (b *builder) series() []record.SeriesSample {
	out := make([]record.SeriesSample, 0, len(b.others))
	for name, v := range b.others {
		out = append(out, record.SeriesSample{Name: name, Value: v})
	}
	slices.SortFunc(out, func(a, b record.SeriesSample) int { return strings.Compare(a.Name, b.Name) })
	return out
}
