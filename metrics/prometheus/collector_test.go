package prometheus_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/internal/parse/exposition"
	"github.com/loadline-dev/loadline/internal/record"
	export "github.com/loadline-dev/loadline/metrics/prometheus"
	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

func must[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// populated is a registry with one member of each kind and some work done: three tasks of which one fails, two rejections of the
// bulkhead, four calls of which one fails.
func populated(t *testing.T) *registry.Registry {
	t.Helper()
	r, err := registry.New(registry.Config{})
	must(t, r, err)
	p, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 2, Max: 4, Queue: 7, Threshold: 5}})
	must(t, p, err)
	t.Cleanup(func() { p.Close() })
	for i := range 3 {
		_ = p.Do(t.Context(), func(context.Context) error {
			if i == 0 {
				return errors.New("no")
			}
			return nil
		})
	}
	h, err := bulkhead.New(bulkhead.Config{Name: "db", Settings: bulkhead.Settings{Permits: 1}})
	must(t, h, err)
	permit, err := h.TryAcquire()
	must(t, 0, err)
	t.Cleanup(permit.Release)
	for range 2 {
		if _, err := h.TryAcquire(); err == nil {
			t.Fatal("a second permit of one")
		}
	}
	b, err := breaker.New(breaker.Config{Name: "shared"})
	must(t, b, err)
	b.Trip()
	_, _ = b.Allow()
	c, err := command.New(command.Config[int]{Name: "price", Group: "orders"})
	must(t, c, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	for i := range 4 {
		_, _ = c.Do(t.Context(), func(context.Context) (int, error) {
			if i == 0 {
				return 0, errors.New("no")
			}
			return 1, nil
		})
	}
	must(t, 0, r.Add(h, b, c))
	return r
}

func TestFiguresHaveTheNamesThatDashboardsKnow(t *testing.T) {
	c := export.New(populated(t), export.Config{})
	for _, want := range []string{
		`executor_pool_core_threads{name="biz"} 2`, `executor_pool_max_threads{name="biz"} 4`, `executor_queued_tasks{name="biz"} 0`,
		`executor_queue_remaining_tasks{name="biz"} 5`, `executor_completed_tasks_total{name="biz"} 3`,
		`loadline_pool_ended_tasks_total{name="biz",outcome="failed"} 1`, `loadline_pool_submitted_tasks_total{name="biz"} 3`,
		`resilience4j_bulkhead_available_concurrent_calls{name="db"} 0`, `resilience4j_bulkhead_max_allowed_concurrent_calls{name="db"} 1`,
		`loadline_bulkhead_rejected_calls_total{name="db",reason="full"} 2`, `loadline_bulkhead_granted_calls_total{name="db"} 1`,
		`resilience4j_circuitbreaker_state{name="shared",state="open"} 1`, `resilience4j_circuitbreaker_state{name="shared",state="closed"} 0`,
		`resilience4j_circuitbreaker_not_permitted_calls_total{kind="not_permitted",name="shared"} 1`,
		`hystrix_execution_total{event="SUCCESS",group="orders",key="price",terminal="true"} 3`,
		`hystrix_execution_total{event="FAILURE",group="orders",key="price",terminal="false"} 1`,
		`loadline_command_calls_total{group="orders",key="price",outcome="failure"} 1`, `hystrix_circuit_breaker_open{group="orders",key="price"} 0`,
	} {
		name, _, _ := strings.Cut(want, "{")
		if got := text(t, c, name); !slices.Contains(strings.Split(got, "\n"), want) {
			t.Errorf("want %s, got\n%s", want, got)
		}
	}
}

func text(t *testing.T, c prometheus.Collector, name string) string {
	t.Helper()
	out, err := testutil.CollectAndFormat(c, expfmt.TypeTextPlain, name)
	must(t, 0, err)
	return string(out)
}

func gather(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	must(t, 0, reg.Register(c))
	all, err := reg.Gather()
	must(t, 0, err)
	out := map[string]*dto.MetricFamily{}
	for _, f := range all {
		out[f.GetName()] = f
	}
	return out
}

func TestEveryFamilyIsConsistentAndListedInTheDocument(t *testing.T) {
	got := gather(t, export.New(populated(t), export.Config{Labels: prometheus.Labels{"app": "order"}}))
	document, err := os.ReadFile("../../docs/formats/metrics.md")
	must(t, 0, err)
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|").FindAllStringSubmatch(string(document), -1) {
		listed = append(listed, m[1])
	}
	descriptions := make(chan *prometheus.Desc, 100)
	export.New(populated(t), export.Config{}).Describe(descriptions)
	close(descriptions)
	n := 0
	for d := range descriptions {
		name := regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]
		if !slices.Contains(listed, name) {
			t.Errorf("%s is not in docs/formats/metrics.md", name)
		}
		n++
	}
	if n != len(listed) {
		t.Errorf("%d families, %d in the document", n, len(listed))
	}
	for name, f := range got {
		if f.GetMetric()[0].GetLabel()[0].GetName() != "app" {
			t.Errorf("%s: the label for all is missing", name)
		}
	}
}

func TestHistogramsCountWhatTheSnapshotHoldsAndNeverTooMuch(t *testing.T) {
	r, err := registry.New(registry.Config{})
	must(t, r, err)
	p, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 1}})
	must(t, p, err)
	defer p.Close()
	for range 5 {
		must(t, 0, p.Do(t.Context(), func(context.Context) error {
			for end := time.Now().Add(2 * time.Millisecond); time.Now().Before(end); {
			}
			return nil
		}))
	}
	h := gather(t, export.New(r, export.Config{Buckets: []float64{0.001, 1}}))["executor_seconds"].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 5 || h.GetBucket()[0].GetCumulativeCount() != 0 || h.GetBucket()[1].GetCumulativeCount() != 5 {
		t.Errorf("got %v", h)
	}
	execution := p.Snapshot().Execution
	if want := execution.Sum().Seconds(); h.GetSampleSum() != want || want < 0.01 {
		t.Errorf("sum: got %v, want %v", h.GetSampleSum(), want)
	}
}

func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	r, err := registry.New(registry.Config{})
	must(t, r, err)
	p, err := r.NewPool(pool.Fixed("open", 1))
	must(t, p, err)
	defer p.Close()
	b, err := breaker.New(breaker.Config{Name: "quiet"})
	must(t, b, err)
	must(t, 0, r.Add(b))
	got := gather(t, export.New(r, export.Config{}))
	for _, name := range []string{"executor_queue_remaining_tasks", "loadline_pool_queue_capacity_tasks", "resilience4j_circuitbreaker_failure_rate"} {
		if got[name] != nil {
			t.Errorf("%s: got %v", name, got[name])
		}
	}
}

// The reader of loadline's own observer is the independent judge of the names.
func TestTheObserverReadsPoolsAndBulkheadsBack(t *testing.T) {
	var out bytes.Buffer
	for _, f := range gather(t, export.New(populated(t), export.Config{})) {
		_, err := expfmt.MetricFamilyToText(&out, f)
		must(t, 0, err)
	}
	reading, err := exposition.Read(&out)
	must(t, 0, err)
	found := map[string]record.PoolSample{}
	for _, p := range reading.Pools {
		found[p.Pool] = p
	}
	check := func(pool, what string, got *float64, want float64) {
		t.Helper()
		if got == nil || *got != want {
			t.Errorf("%s %s: got %v, want %v", pool, what, got, want)
		}
	}
	biz, db := found["biz"], found["db"]
	check("biz", "core", biz.Core, 2)
	check("biz", "max", biz.Max, 4)
	check("biz", "capacity", biz.Capacity, 7)
	check("biz", "completed", biz.Completed, 3)
	check("biz", "rejected", biz.Rejected, 0)
	check("db", "max", db.Max, 1)
	check("db", "active", db.Active, 1)
	check("db", "rejected", db.Rejected, 2)
	if biz.Execution == nil || biz.Execution.Count != 3 || biz.QueueWait == nil {
		t.Errorf("distributions: got %+v and %+v", biz.Execution, biz.QueueWait)
	}
}

func TestABreakerThatCommandsShareIsExportedOnce(t *testing.T) {
	r, err := registry.New(registry.Config{})
	must(t, r, err)
	b, err := breaker.New(breaker.Config{Name: "db"})
	must(t, b, err)
	must(t, 0, r.Add(b))
	for _, name := range []string{"read", "write"} {
		c, err := command.New(command.Config[int]{Name: name, Breaker: b})
		must(t, c, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		must(t, 0, r.Add(c))
	}
	if got := gather(t, export.New(r, export.Config{}))["loadline_breaker_trips_total"].GetMetric(); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestANameThatIsNoTextDoesNotCostTheScrape(t *testing.T) {
	r, err := registry.New(registry.Config{})
	must(t, r, err)
	p, err := r.NewPool(pool.Config{Name: "a\xffb", Settings: pool.Settings{Core: 1}})
	must(t, p, err)
	t.Cleanup(func() { p.Close() })
	reg := prometheus.NewRegistry()
	reg.MustRegister(export.New(r, export.Config{}))
	families, err := reg.Gather()
	must(t, families, err)
	for _, f := range families {
		if f.GetName() == "executor_pool_core_threads" && f.Metric[0].Label[0].GetValue() == "a\uFFFDb" {
			return
		}
	}
	t.Error("the pool is not in the scrape")
}
