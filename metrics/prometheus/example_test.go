package prometheus_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/loadline-dev/loadline/bulkhead"
	loadline "github.com/loadline-dev/loadline/metrics/prometheus"
	"github.com/loadline-dev/loadline/registry"
)

func ExampleNew() {
	r, err := registry.New(registry.Config{})
	if err != nil {
		panic(err)
	}
	db, err := bulkhead.New(bulkhead.Config{Name: "db", Settings: bulkhead.Settings{Permits: 30}})
	if err != nil {
		panic(err)
	}
	if err := r.Add(db); err != nil {
		panic(err)
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(loadline.New(r, loadline.Config{}))

	n, err := testutil.GatherAndCount(metrics, "resilience4j_bulkhead_max_allowed_concurrent_calls")
	fmt.Println(n, err)
	// Output:
	// 1 <nil>
}
