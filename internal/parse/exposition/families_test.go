package exposition_test

import "github.com/loadline-dev/loadline/internal/record"

// families are the texts in testdata, written from the exporters' documents, with what a reader who knows the exporter says they mean.
func families() map[string]map[string]want {
	out := map[string]map[string]want{}
	for _, part := range []map[string]map[string]want{javaFamilies(), hystrixFamilies(), connectionFamilies(), otherFamilies()} {
		for name, pools := range part {
			out[name] = pools
		}
	}
	return out
}

type m = map[string]float64

func pool(f m) want     { return want{record.KindPool, f} }
func bulkhead(f m) want { return want{record.KindBulkhead, f} }

func javaFamilies() map[string]map[string]want {
	return map[string]map[string]want{
		"tomcat": {
			"http-nio-8080 (tomcat)":             pool(m{"max": 200, "active": 17, "size": 25, "completed": 40, "run n": 40, "run s": 0.9}),
			"http-nio-8080 (tomcat connections)": bulkhead(m{"max": 8192, "active": 31}),
			"http-nio-8443":                      pool(m{"active": 2, "size": 10}), // An executor of the user's: max -1 is unknown.
		},
		"jetty": {"jetty": pool(m{"core": 8, "max": 200, "active": 9, "queue": 4, "size": 40})},
		"executor": {
			"applicationTaskExecutor": pool(m{"core": 8, "size": 8, "max": 2147483647, "active": 8, "queue": 5, "capacity": 2147483647, "completed": 1000,
				"wait n": 1005, "wait s": 20.5, "run n": 1000, "run s": 18}),
			"commonPool": pool(m{"max": 3, "active": 1, "queue": 0}),
		},
		"vertx": {
			"vert.x-worker-thread": pool(m{"active": 3, "size": 20, "max": 20, "completed": 80, "rejected": 2, "queue": 1, "wait n": 83, "wait s": 0.25, "run n": 80, "run s": 1.5}),
		},
		"dynamic-tp": {
			"orders": pool(m{"core": 4, "max": 8, "size": 6, "active": 5, "queue": 10, "capacity": 100, "completed": 5000, "rejected": 3}),
		},
		"hippo4j": {
			"message-consume": pool(m{"core": 4, "max": 8, "size": 6, "active": 5, "queue": 10, "capacity": 1024, "completed": 5000, "rejected": 0}),
		},
		"lab-order": {
			"price": pool(m{"core": 10, "size": 10, "max": 10, "active": 9, "queue": 2, "capacity": 6, "completed": 700, "rejected": 50, "timed out": 1,
				"wait n": 702, "wait s": 3.5, "run n": 700, "run s": 14.2}),
		},
	}
}

func hystrixFamilies() map[string]map[string]want {
	return map[string]map[string]want{
		"hystrix-micrometer": {
			"Price":    pool(m{"core": 10, "size": 10, "max": 10, "active": 7, "queue": 3, "capacity": 5, "completed": 200, "rejected": 12}),
			"Stock":    pool(m{"core": 4, "capacity": 0}), // -1: handed to a waiting worker or refused; the threshold is not asked.
			"GetPrice": bulkhead(m{"active": 7, "active max": 10, "rejected": 12, "timed out": 4, "completed": 204, "run n": 204, "run s": 4.5, "wait n": 206, "wait s": 0.75}),
		},
		"hystrix-publisher-gauges": {
			"Price":    pool(m{"active": 7, "queue": 3, "completed": 200, "active max": 9, "core": 10, "capacity": 5}),
			"GetPrice": bulkhead(m{"active": 2, "rejected": 13, "timed out": 4, "max": 10}),
		},
		"hystrix-publisher-histograms": {
			"GetPrice": bulkhead(m{"active": 2, "rejected": 12, "timed out": 4, "completed": 204, "run n": 204, "run s": 4.5, "wait n": 206, "wait s": 0.75}),
		},
	}
}

func connectionFamilies() map[string]map[string]want {
	return map[string]map[string]want{
		"hikaricp": {
			"HikariPool-1": bulkhead(m{"size": 10, "active": 10, "max": 10, "waiting": 14, "timed out": 2, "completed": 500, "wait n": 502, "wait s": 9, "run n": 500, "run s": 6}),
		},
		"datasource":   {"dataSource": bulkhead(m{"active": 3, "size": 8, "max": 20})},
		"commons-pool": {"jedis": bulkhead(m{"active": 8, "size": 8, "waiting": 5, "completed": 900})},
		"httpclient":   {"stock": bulkhead(m{"max": 20, "waiting": 2, "active": 20, "size": 23})},
		"okhttp":       {"default": bulkhead(m{"active": 2, "size": 5})},
		"r2dbc":        {"connectionFactory": bulkhead(m{"active": 9, "size": 10, "waiting": 3, "max": 10, "capacity": 100})},
		"otel": {
			"orders": bulkhead(m{"active": 4, "size": 10, "max": 10, "waiting": 1, "timed out": 0, "completed": 90, "wait n": 91, "wait s": 0.125, "run n": 90, "run s": 2.5}),
			"stock":  bulkhead(m{"active": 6, "size": 7, "max": 8, "wait n": 10, "wait s": 0.5}),
		},
		"go-sql": {
			"orders": bulkhead(m{"max": 25, "size": 25, "active": 25, "wait n": 300, "wait s": 12.5}),
			"stock":  bulkhead(m{"size": 4, "active": 1, "wait n": 0, "wait s": 0}), // 0 is no maximum.
		},
		"pgx": {
			"orders": bulkhead(m{"max": 10, "size": 10, "active": 8, "timed out": 1, "wait n": 4000, "wait s": 2.5}),
			"app":    bulkhead(m{"max": 4, "active": 4, "wait n": 10, "wait s": 0.25}),
		},
		"go-redis": {
			"app_redis":      bulkhead(m{"size": 10, "active": 7, "timed out": 3}),
			"127.0.0.1:6379": bulkhead(m{"size": 5, "active": 5, "max": 50, "timed out": 0}),
		},
	}
}

func otherFamilies() map[string]map[string]want {
	return map[string]map[string]want{
		"resilience4j": {
			"price (resilience4j bulkhead)": bulkhead(m{"max": 25, "active": 5}),
			"price (resilience4j pool)":     pool(m{"core": 3, "size": 4, "max": 4, "active": 4, "queue": 7, "capacity": 100}),
		},
		"concurrency-limits": {"price": bulkhead(m{"max": 20, "active": 12, "rejected": 4, "completed": 105})},
		"microprofile": {
			"shop.Prices.get": bulkhead(m{"active": 10, "queue": 6, "rejected": 5, "completed": 70, "run n": 70, "run s": 1.5, "wait n": 76, "wait s": 0.25}),
		},
		"pond":     {"app": pool(m{"size": 4, "queue": 11, "completed": 90})},
		"sentinel": {"GET:/orders": bulkhead(m{"active": 6})},
		"envoy": {
			"price": bulkhead(m{"active": 6, "max": 1024, "queue": 2, "capacity": 1024, "rejected": 3, "timed out": 1, "completed": 900, "run n": 900, "run s": 18}),
			"stock": bulkhead(m{"active": 6}), // remaining_rq 0 without track_remaining is no limit.
			"edge":  bulkhead(m{"max": 40, "rejected": 8}),
		},
	}
}
