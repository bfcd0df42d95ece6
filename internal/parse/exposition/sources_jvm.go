package exposition

import "github.com/loadline-dev/loadline/internal/record"

// ownPool is what Loadline's services tell of a pool beyond Micrometer's names; it belongs to the pool of that name.
func ownPool() []rule {
	return list(
		gauge("loadline_pool_queue_capacity_tasks", capacity), gauge("loadline_pool_active_high_threads", activeEver),
		gauge("loadline_pool_queue_high_tasks", queueEver), counter("loadline_pool_rejected_tasks_total", rejected),
		counter("loadline_pool_abandoned_tasks_total", timedOut),
	)
}

// ownBulkhead is what they tell of a bulkhead beyond resilience4j's names.
func ownBulkhead() []rule {
	return list(
		gauge("loadline_bulkhead_active_high_calls", activeEver), gauge("loadline_bulkhead_queued_calls", queue),
		gauge("loadline_bulkhead_queue_capacity_calls", capacity),
		counter("loadline_bulkhead_completed_calls_total", completed), counter("loadline_bulkhead_rejected_calls_total", rejected),
		waits("loadline_bulkhead_wait"), runs("loadline_bulkhead_execution"),
	)
}

// containerSources are the thread pools of servlet containers.
func containerSources() []*source {
	return []*source{
		{
			id: "tomcat", kind: record.KindPool, key: []string{"name"}, name: "tomcat",
			// Tomcat tells neither its queue nor refusals; its maximum is -1 with an executor of the user's or virtual threads.
			rules: list(
				gauge("tomcat_threads_config_max_threads", maximum), gauge("tomcat_threads_busy_threads", active),
				gauge("tomcat_threads_current_threads", size), runs("tomcat_global_request"),
			),
		},
		{
			id: "tomcat connections", kind: record.KindBulkhead, key: []string{"name"}, name: "tomcat",
			rules: list(
				gauge("tomcat_connections_config_max_connections", maximum), gauge("tomcat_connections_current_connections", active),
			),
		},
		{
			id: "jetty", kind: record.KindPool, key: []string{"name"}, name: "jetty",
			rules: list(
				gauge("jetty_threads_config_min", core), gauge("jetty_threads_config_max", maximum), gauge("jetty_threads_busy", active),
				gauge("jetty_threads_jobs", queue), gauge("jetty_threads_current", size),
			),
		},
		{
			id: "vertx", kind: record.KindPool, key: []string{"pool_name"}, name: "vertx",
			rules: list(
				gauge("worker_pool_active", active), gauge("worker_pool_idle", idle), total("worker_pool_completed", completed),
				total("worker_pool_rejected", rejected), gauge("worker_pool_queue_size", queue),
				waits("worker_pool_queue_delay"), runs("worker_pool_usage"),
			),
			finish: vertx,
		},
	}
}

// vertx: what is idle are the free places up to the pool's maximum, so that both together are the maximum.
func vertx(f *figures) {
	if f.has(active, idle) {
		f.set(maximum, f.value[active]+f.value[idle])
	}
}

// executorSources are Java's executors and the products that watch them.
func executorSources() []*source {
	micrometer := &source{
		id: "executor", kind: record.KindPool, key: []string{"name"}, name: "executor", prefixed: true,
		rules: list(
			gauge("executor_pool_core_threads", core), gauge("executor_pool_size_threads", size), gauge("executor_pool_max_threads", maximum),
			gauge("executor_parallelism_threads", maximum), gauge("executor_active_threads", active), gauge("executor_queued_tasks", queue),
			gauge("executor_queue_remaining_tasks", remaining), counter("executor_completed_tasks_total", completed),
			// Despite its name «idle» is the time that tasks waited in the queue. Plain executors tell «execution» instead.
			waits("executor_idle"), runs("executor"), runs("executor_execution"), ownPool(),
		),
	}
	// Everything is a gauge here, cumulative figures included. Its task times are waiting and running together and are reset by
	// every reader, so that they are neither.
	dynamicTP := &source{
		id: "dynamic-tp", kind: record.KindPool, key: []string{"thread_pool_alias", "thread_pool_name"}, name: "dynamic-tp",
		rules: list(
			gauge("thread_pool_core_size", core), gauge("thread_pool_maximum_size", maximum), gauge("thread_pool_current_size", size),
			gauge("thread_pool_active_count", active), gauge("thread_pool_queue_size", queue), gauge("thread_pool_queue_capacity", capacity),
			gauge("thread_pool_completed_task_count", completed), gauge("thread_pool_reject_count", rejected),
		),
	}
	hippo := &source{
		id: "hippo4j", kind: record.KindPool, key: []string{"dynamic_thread_pool_id"}, name: "hippo4j",
		rules: list(
			gauge("dynamic_thread_pool_core_size", core), gauge("dynamic_thread_pool_maximum_size", maximum),
			gauge("dynamic_thread_pool_current_size", size), gauge("dynamic_thread_pool_active_size", active),
			gauge("dynamic_thread_pool_queue_size", queue), gauge("dynamic_thread_pool_queue_capacity", capacity),
			gauge("dynamic_thread_pool_completed_task_count", completed), gauge("dynamic_thread_pool_reject_count", rejected),
		),
	}
	return []*source{micrometer, dynamicTP, hippo}
}

// hystrixSources are three routes by which Hystrix' figures reach Prometheus: Micrometer, and two lineages of one publisher, the later
// of which writes counters and histograms where the former wrote gauges.
func hystrixSources() []*source {
	pools := &source{
		id: "hystrix pool", kind: record.KindPool, key: []string{"key"}, name: "hystrix",
		rules: list(
			gauge("hystrix_threadpool_threads_core_pool_current_size", core), gauge("hystrix_threadpool_threads_pool_current_size", size),
			gauge("hystrix_threadpool_threads_max_pool_current_size", maximum), gauge("hystrix_threadpool_threads_active_current_count", active),
			gauge("hystrix_threadpool_queue_current_size", queue),
			rule{name: "hystrix_threadpool_queue_max_size", into: capacity, handOff: true},
			gauge("hystrix_threadpool_queue_rejection_threshold_size", threshold),
			states("hystrix_threadpool_threads_cumulative_count", "type", "rejected", rejected),
			states("hystrix_threadpool_tasks_cumulative_count", "type", "completed", completed),
		),
		finish: hystrixQueue,
	}
	commands := &source{
		id: "hystrix command", kind: record.KindBulkhead, key: []string{"key"}, name: "hystrix",
		rules: list(
			gauge("hystrix_concurrent_execution_current", active), gauge("hystrix_concurrent_execution_rolling_max", activeMax),
			states("hystrix_execution", "event", "thread_pool_rejected|semaphore_rejected", rejected),
			states("hystrix_execution", "event", "timeout", timedOut),
			runs("hystrix_latency_execution"), totals("hystrix_latency_total"),
		),
	}
	return []*source{pools, commands, publisherPools(), publisherCommands()}
}

func publisherPools() *source {
	return &source{
		id: "hystrix pool", kind: record.KindPool, key: []string{"pool_name"}, name: "hystrix", prefixed: true,
		rules: list(
			gauge("hystrix_thread_pool_thread_active_count", active), gauge("hystrix_thread_pool_queue_size", queue),
			gauge("hystrix_thread_pool_rolling_active_threads_max", activeMax), gauge("hystrix_thread_pool_rolling_max_active_threads", activeMax),
			gauge("hystrix_thread_pool_completed_task_count", completed),
			gauge("hystrix_thread_pool_property_value_core_pool_size", core),
			rule{name: "hystrix_thread_pool_property_value_max_queue_size", into: capacity, handOff: true},
			gauge("hystrix_thread_pool_property_value_queue_size_rejection_threshold", threshold),
		),
		finish: hystrixQueue,
	}
}

func publisherCommands() *source {
	return &source{
		id: "hystrix command", kind: record.KindBulkhead, key: []string{"command_name"}, name: "hystrix", prefixed: true,
		rules: list(
			gauge("hystrix_command_execution_semaphore_permits_in_use", active),
			states("hystrix_command_event", "event", "thread_pool_rejected|semaphore_rejected", rejected),
			states("hystrix_command_event", "event", "timeout", timedOut),
			gauge("hystrix_command_count_thread_pool_rejected", rejected), gauge("hystrix_command_count_semaphore_rejected", rejected),
			gauge("hystrix_command_count_timeout", timedOut),
			gauge("hystrix_command_property_value_execution_isolation_semaphore_max_concurrent_requests", maximum),
			runs("hystrix_command_latency_execute"), totals("hystrix_command_latency_total"),
		),
	}
}

// hystrixQueue: a queue of no size is a hand-off, where the threshold is not asked; otherwise the smaller of both refuses.
func hystrixQueue(f *figures) {
	if f.has(capacity, threshold) && f.value[capacity] > 0 {
		f.value[capacity] = min(f.value[capacity], f.value[threshold])
	}
}

// states is a counter split by a label, with or without the ending _total.
func states(name, label, values string, into field) []rule {
	return []rule{state(name, label, values, into), state(name+"_total", label, values, into)}
}
