package exposition

import "github.com/loadline-dev/loadline/internal/record"

// connectionSources are pools of connections: permits whose holders are the callers.
func connectionSources() []*source {
	return append(javaConnections(), goConnections()...)
}

func javaConnections() []*source {
	return []*source{
		{
			id: "hikaricp", kind: record.KindBulkhead, key: []string{"pool"}, name: "hikaricp",
			rules: list(
				gauge("hikaricp_connections", size), gauge("hikaricp_connections_active", active), gauge("hikaricp_connections_idle", idle),
				gauge("hikaricp_connections_max", maximum), gauge("hikaricp_connections_pending", waiting),
				total("hikaricp_connections_timeout", timedOut), waits("hikaricp_connections_acquire"), runs("hikaricp_connections_usage"),
			),
		},
		{
			id: "datasource", kind: record.KindBulkhead, key: []string{"name"}, name: "datasource",
			rules: list(gauge("jdbc_connections_active", active), gauge("jdbc_connections_idle", idle), gauge("jdbc_connections_max", maximum)),
		},
		{
			id: "commons-pool", kind: record.KindBulkhead, key: []string{"name", "pool"}, name: "commons-pool", prefixed: true,
			// The mean wait of its MBean covers the last few borrowers only: no cumulative wait can be made of it.
			rules: list(
				gauge("commons_pool2_num_active", active), gauge("commons_pool2_num_active_objects", active),
				gauge("commons_pool2_num_idle", idle), gauge("commons_pool2_num_idle_objects", idle),
				gauge("commons_pool2_num_waiters", waiting), gauge("commons_pool2_num_waiters_threads", waiting),
				total("commons_pool2_returned", completed), total("commons_pool2_returned_objects", completed),
			),
		},
		{
			id: "httpclient", kind: record.KindBulkhead, key: []string{"httpclient"}, name: "httpclient",
			rules: list(
				gauge("httpcomponents_httpclient_pool_total_max", maximum), gauge("httpcomponents_httpclient_pool_total_pending", waiting),
				state("httpcomponents_httpclient_pool_total_connections", "state", "leased", active),
				state("httpcomponents_httpclient_pool_total_connections", "state", "available", idle),
			),
		},
		{
			id: "okhttp", kind: record.KindBulkhead, key: []string{"name"}, name: "okhttp", prefixed: true,
			rules: list(
				state("okhttp_pool_connection_count", "state", "active", active), state("okhttp_pool_connection_count_connections", "state", "active", active),
				state("okhttp_pool_connection_count", "state", "idle", idle), state("okhttp_pool_connection_count_connections", "state", "idle", idle),
			),
		},
		{
			id: "r2dbc", kind: record.KindBulkhead, key: []string{"name"}, name: "r2dbc",
			rules: list(
				gauge("r2dbc_pool_acquired_connections", active), gauge("r2dbc_pool_allocated_connections", size),
				gauge("r2dbc_pool_pending_connections", waiting), gauge("r2dbc_pool_max_allocated_connections", maximum),
				gauge("r2dbc_pool_max_pending_connections", capacity),
			),
		},
		otel("otel", "db_client_connections", "pool_name", "pool", "usage", "state"),
		otel("otel", "db_client_connection", "db_client_connection_pool_name", "pool_name", "count", "db_client_connection_state"),
	}
}

// otel is OpenTelemetry's vocabulary; it was renamed once.
func otel(id, base, poolLabel, poolLabel2, used, stateLabel string) *source {
	return &source{
		id: id, kind: record.KindBulkhead, key: []string{poolLabel, poolLabel2}, name: "connections",
		rules: list(
			state(base+"_"+used, stateLabel, "used", active), state(base+"_"+used, stateLabel, "idle", idle),
			gauge(base+"_max", maximum), gauge(base+"_pending_requests", waiting), total(base+"_timeouts", timedOut),
			waits(base+"_wait_time"), runs(base+"_use_time"),
		),
	}
}

func goConnections() []*source {
	return []*source{
		{
			id: "database/sql", kind: record.KindBulkhead, key: []string{"db_name"}, name: "database/sql",
			rules: list(
				gauge("go_sql_max_open_connections", maximum), gauge("go_sql_open_connections", size), gauge("go_sql_in_use_connections", active),
				gauge("go_sql_idle_connections", idle), total("go_sql_wait_count", waitCount), total("go_sql_wait_duration_seconds", waitSeconds),
			),
			finish: zeroMaxIsNone,
		},
		{
			id: "pgx", kind: record.KindBulkhead, key: []string{"db", "pool", "pool_name", "database", "db_name"}, name: "pgx", prefixed: true,
			rules: list(
				gauge("pgxpool_acquired_conns", active), gauge("pgxpool_total_conns", size), gauge("pgxpool_idle_conns", idle),
				gauge("pgxpool_max_conns", maximum), total("pgxpool_acquire_count", waitCount), counter("pgxpool_acquire_total", waitCount),
				rule{name: "pgxpool_acquire_duration_ns", into: waitSeconds, scale: 1e-9},
				rule{name: "pgxpool_acquire_duration_ns_total", into: waitSeconds, scale: 1e-9},
				total("pgxpool_acquire_duration_seconds", waitSeconds), total("pgxpool_canceled_acquire_count", timedOut),
			),
		},
		{
			id: "go-redis", kind: record.KindBulkhead, key: []string{"addr", "name", "db_name"}, name: "go-redis", prefixed: true,
			rules: list(
				gauge("pool_conn_total_current", size), gauge("pool_conn_idle_current", idle), counter("pool_timeout_total", timedOut),
				gauge("pool_conn_max", maximum),
			),
		},
	}
}

// zeroMaxIsNone: database/sql says 0 where there is no maximum.
func zeroMaxIsNone(f *figures) {
	if f.value[maximum] == 0 {
		f.forget(maximum)
	}
}

// isolationSources are libraries that isolate calls.
func isolationSources() []*source {
	return []*source{
		{
			id: "resilience4j bulkhead", kind: record.KindBulkhead, key: []string{"name"}, name: "resilience4j",
			rules: list(
				gauge("resilience4j_bulkhead_max_allowed_concurrent_calls", maximum), gauge("resilience4j_bulkhead_available_concurrent_calls", free),
				ownBulkhead(),
			),
		},
		{
			// Shares the prefix with the semaphore; refusals and times are not told by either.
			id: "resilience4j pool", kind: record.KindPool, key: []string{"name"}, name: "resilience4j",
			rules: list(
				gauge("resilience4j_bulkhead_core_thread_pool_size", core), gauge("resilience4j_bulkhead_thread_pool_size", size),
				gauge("resilience4j_bulkhead_max_thread_pool_size", maximum), gauge("resilience4j_bulkhead_active_thread_count", active),
				gauge("resilience4j_bulkhead_available_thread_count", free),
				gauge("resilience4j_bulkhead_queue_depth", queue), gauge("resilience4j_bulkhead_queue_capacity", capacity),
			),
		},
		{
			id: "concurrency-limits", kind: record.KindBulkhead, key: []string{"id"}, name: "limit",
			rules: list(
				state("limit", "id", "", maximum), state("inflight", "id", "", active),
				states("call", "status", "rejected", rejected), states("call", "status", "success|dropped|ignored", completed),
			),
		},
		{
			id: "microprofile", kind: record.KindBulkhead, key: []string{"method", "name"}, name: "microprofile", prefixed: true,
			rules: list(
				gauge("ft_bulkhead_executionsRunning", active), gauge("ft_bulkhead_executionsWaiting", queue),
				state("ft_bulkhead_calls_total", "bulkheadResult", "rejected", rejected),
				runs("ft_bulkhead_runningDuration"), waits("ft_bulkhead_waitingDuration"),
			),
		},
		{
			id: "pond", kind: record.KindPool, key: []string{"pool", "name"}, name: "pond", prefixed: true,
			rules: list(
				gauge("pool_workers_running", size), gauge("pool_tasks_waiting_total", queue), counter("pool_tasks_completed_total", completed),
			),
		},
	}
}

// sentinelSource is Alibaba's Sentinel: concurrency of a resource, and rates that are no counters.
func sentinelSource() *source {
	return &source{id: "sentinel", kind: record.KindBulkhead, key: []string{"resource"}, name: "sentinel"}
}

// meshSources are proxies in front of a service.
func meshSources() []*source {
	return []*source{
		{
			id: "envoy", kind: record.KindBulkhead, key: []string{"envoy_cluster_name"}, name: "envoy",
			rules: list(
				gauge("envoy_cluster_upstream_rq_active", active), gauge("envoy_cluster_upstream_rq_pending_active", queue),
				gauge("envoy_cluster_circuit_breakers_default_remaining_rq", free),
				gauge("envoy_cluster_circuit_breakers_default_remaining_pending", remaining),
				total("envoy_cluster_upstream_rq_pending_overflow", rejected), total("envoy_cluster_upstream_rq_timeout", timedOut),
				total("envoy_cluster_upstream_rq_completed", completed), scaledTiming("envoy_cluster_upstream_rq_time", 1e-3, runCount, runSeconds, runBucket),
			),
			finish: envoy,
		},
		{
			id: "envoy limit", kind: record.KindBulkhead, key: []string{"envoy_http_conn_manager_prefix"}, name: "envoy",
			rules: list(
				gauge("envoy_http_adaptive_concurrency_gradient_controller_concurrency_limit", maximum),
				total("envoy_http_adaptive_concurrency_gradient_controller_rq_blocked", rejected),
			),
		},
	}
}

// envoy tells what is left of its limit, and nothing unless asked to (track_remaining): then the figure stays at 0 for ever, and with
// nothing active that is no limit.
func envoy(f *figures) {
	if !f.has(active, free) || f.value[free] == 0 {
		return
	}
	f.set(maximum, f.value[active]+f.value[free])
}
