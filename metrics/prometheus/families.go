package prometheus

// family is one metric: its name, what it is, its labels.
type family struct {
	name, help string
	labels     []string
}

var (
	byName    = []string{"name"}
	byCommand = []string{"group", "key"}
)

// families is the table of all metrics. A test holds docs/formats/metrics.md to it.
var families = []family{
	{"executor_pool_size_threads", "Workers alive.", byName},
	{"executor_pool_core_threads", "Core workers in the settings in force.", byName},
	{"executor_pool_max_threads", "The most workers in the settings in force.", byName},
	{"executor_active_threads", "Workers running a task, zombies among them.", byName},
	{"executor_queued_tasks", "Tasks waiting in the queue.", byName},
	{"executor_queue_remaining_tasks", "Tasks that may still wait, by capacity and threshold; absent where the queue is unbounded.", byName},
	{"executor_completed_tasks_total", "Tasks that ran to their end, failed ones among them.", byName},
	{"executor_seconds", "How long tasks ran.", byName},
	{"executor_idle_seconds", "How long tasks waited in the queue (Micrometer's name; it is no worker's idleness).", byName},
	{"loadline_pool_rejected_tasks_total", "Tasks refused, by reason.", []string{"name", "reason"}},
	{"loadline_pool_queue_capacity_tasks", "Capacity of the queue; absent where it is unbounded.", byName},
	{"loadline_pool_submitted_tasks_total", "Tasks submitted: the sum of ended, rejected, waiting and running.", byName},
	{"loadline_pool_ended_tasks_total", "Tasks by how they ended, refused ones apart.", []string{"name", "outcome"}},
	{"loadline_pool_panicked_tasks_total", "Tasks that panicked; they are among the failed.", byName},
	{"loadline_pool_abandoned_tasks_total", "Tasks whose caller left before they ended.", byName},
	{"loadline_pool_zombie_threads", "Workers busy for a caller who has left.", byName},
	{"loadline_pool_blocked_callers", "Callers waiting for room (policy block).", byName},
	{"loadline_pool_active_high_threads", "The most workers busy at once since the start.", byName},
	{"loadline_pool_queue_high_tasks", "The most tasks waiting at once since the start.", byName},
	{"loadline_pool_recent_max_active_threads", "The most workers busy within the last 10 s: bursts between scrapes show here.", byName},
	{"loadline_pool_recent_max_queued_tasks", "The most tasks waiting within the last 10 s.", byName},

	{"resilience4j_bulkhead_available_concurrent_calls", "Permits free.", byName},
	{"resilience4j_bulkhead_max_allowed_concurrent_calls", "Permits in the settings in force.", byName},
	{"loadline_bulkhead_queued_calls", "Callers waiting for a permit.", byName},
	{"loadline_bulkhead_queue_capacity_calls", "Callers that may wait; absent where any number may.", byName},
	{"loadline_bulkhead_active_high_calls", "The most permits out at once since the start.", byName},
	{"loadline_bulkhead_completed_calls_total", "Calls that are over; one under way with several permits counts as several.", byName},
	{"loadline_bulkhead_granted_calls_total", "Permits granted.", byName},
	{"loadline_bulkhead_rejected_calls_total", "Callers refused, by reason.", []string{"name", "reason"}},
	{"loadline_bulkhead_wait_seconds", "How long callers waited for a permit.", byName},
	{"loadline_bulkhead_execution_seconds", "How long permits were out; absent unless the bulkhead measures it.", byName},

	{"resilience4j_circuitbreaker_state", "1 for the state that the breaker is in.", []string{"name", "state"}},
	{"resilience4j_circuitbreaker_buffered_calls", "Results in the window.", []string{"name", "kind"}},
	{"resilience4j_circuitbreaker_failure_rate", "Failures in the window in percent; absent below the minimum volume.", byName},
	{"resilience4j_circuitbreaker_slow_call_rate", "Slow calls in the window in percent; absent below the minimum volume.", byName},
	{"resilience4j_circuitbreaker_not_permitted_calls_total", "Calls refused by the breaker.", []string{"name", "kind"}},
	{"loadline_breaker_trips_total", "How often the breaker opened.", byName},
	{"loadline_breaker_expired_probes_total", "Probes that never came back in time.", byName},

	{"hystrix_execution_total", "Events of commands, by Hystrix' names.", []string{"group", "key", "event", "terminal"}},
	{"hystrix_concurrent_execution_current", "Calls under way.", byCommand},
	{"hystrix_circuit_breaker_open", "1 while the command's breaker is not closed.", byCommand},
	{"hystrix_latency_execution_seconds", "How long executions took, waiting apart.", byCommand},
	{"hystrix_latency_total_seconds", "Waiting and execution together.", byCommand},
	{"loadline_command_wait_seconds", "How long executions waited for a permit or a worker.", byCommand},
	{"loadline_command_calls_total", "Calls by outcome.", []string{"group", "key", "outcome"}},
	{"loadline_command_zombies", "Calls over time that still run.", byCommand},

	{"loadline_settings_version", "Version of the settings: one more with each change.", nil},
	{"loadline_pool_starvation_findings", "Pools and circles of pools that were seen to wait on themselves.", nil},
}
