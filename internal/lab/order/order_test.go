package order_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/loadline-dev/loadline/internal/lab/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// valve is a dependency that answers when it is let: every request says that it came and waits.
type valve struct {
	url  string
	came chan struct{}
	let  chan struct{} // one receive lets one answer go; closed, all
}

func newValve(t *testing.T) *valve {
	t.Helper()
	v := &valve{came: make(chan struct{}, 1000), let: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.came <- struct{}{}
		select {
		case <-v.let:
			fmt.Fprint(w, `"19.90"`)
		case <-r.Context().Done():
		}
	}))
	v.url = server.URL
	t.Cleanup(server.Close)
	return v
}

func (v *valve) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-v.came:
		case <-time.After(10 * time.Second):
			t.Fatal("the dependency was not asked")
		}
	}
}

func serve(t *testing.T, config order.Config) string {
	t.Helper()
	config.Listen = "127.0.0.1:0"
	s, err := order.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return "http://" + s.Addr().String()
}

type reply struct {
	status  int
	outcome string
	body    string
}

func get(t *testing.T, url string) reply {
	r, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return reply{}
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return reply{status: r.StatusCode, outcome: r.Header.Get("X-Loadline-Outcome"), body: string(body)}
}

// ask sends n requests at once and hands over the replies as they come.
func ask(t *testing.T, url string, n int) <-chan reply {
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	out := make(chan reply, n)
	var users sync.WaitGroup
	for range n {
		users.Go(func() { out <- get(t, url+"/api/order/detail") })
	}
	t.Cleanup(users.Wait)
	return out
}

func count(replies <-chan reply, n int) map[reply]int {
	out := map[reply]int{}
	for range n {
		r := <-replies
		r.body = ""
		out[r]++
	}
	return out
}

func metrics(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	text := get(t, url+"/metrics").body
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return families
}

// value is the figure of a family's only metric, which must belong to the pool named price.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string) float64 {
	t.Helper()
	m := families[name].GetMetric()
	if len(m) != 1 || len(m[0].GetLabel()) != 1 || m[0].GetLabel()[0].GetName() != "name" || m[0].GetLabel()[0].GetValue() != "price" {
		t.Fatalf("%s: %v, want one metric with name=price", name, m)
	}
	switch {
	case m[0].GetGauge() != nil:
		return m[0].GetGauge().GetValue()
	case m[0].GetCounter() != nil:
		return m[0].GetCounter().GetValue()
	default:
		return float64(m[0].GetHistogram().GetSampleCount())
	}
}

func hold(t *testing.T, families map[string]*dto.MetricFamily, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		if got := value(t, families, name); got != v {
			t.Errorf("%s is %v, want %v", name, got, v)
		}
	}
}

func TestAnOrderHoldsThePrice(t *testing.T) {
	v := newValve(t)
	close(v.let)
	for _, c := range []order.Config{{}, {Isolation: order.Thread, Slots: 2}, {Isolation: order.Semaphore, Slots: 2}} {
		c.Price = v.url
		url := serve(t, c)
		r := <-ask(t, url, 1)
		if r.status != http.StatusOK || r.outcome != "" || !strings.Contains(r.body, `"price":"19.90"`) {
			t.Errorf("%s: %+v", c.Isolation, r)
		}
		if r := get(t, url+"/ready"); r.status != http.StatusOK {
			t.Errorf("ready: %+v", r)
		}
	}
}

func TestWithoutIsolationAllCallsRunAtOnce(t *testing.T) {
	v := newValve(t)
	replies := ask(t, serve(t, order.Config{Price: v.url, Timeout: time.Minute}), 50)
	v.await(t, 50)
	close(v.let)
	if got := count(replies, 50); got[reply{status: 200}] != 50 {
		t.Errorf("%v", got)
	}
}

func TestAPoolRunsItsWorkersQueuesSixAndRefusesTheRest(t *testing.T) {
	v := newValve(t)
	url := serve(t, order.Config{Price: v.url, Isolation: order.Thread, Slots: 10, Timeout: time.Minute})
	replies := ask(t, url, 50)
	refused := reply{status: http.StatusServiceUnavailable, outcome: "rejected"}
	if got := count(replies, 34); got[refused] != 34 {
		t.Fatalf("before any answer: %v, want 34 refused: 10 run and 6 wait", got)
	}
	v.await(t, 10)
	families := metrics(t, url)
	hold(t, families, map[string]float64{
		"executor_pool_core_threads": 10, "executor_pool_size_threads": 10, "executor_pool_max_threads": 10, "executor_active_threads": 10,
		"executor_queued_tasks": 6, "executor_queue_remaining_tasks": 0, "executor_completed_tasks_total": 0,
		"loadline_pool_queue_capacity_tasks": 6, "loadline_pool_active_high_threads": 10, "loadline_pool_queue_high_tasks": 6,
		"loadline_pool_rejected_tasks_total": 34,
	})
	close(v.let)
	if got := count(replies, 16); got[reply{status: 200}] != 16 {
		t.Errorf("then %v, want 16 successes", got)
	}
	eventually(t, url, "executor_completed_tasks_total", 16)
	hold(t, metrics(t, url), map[string]float64{"executor_active_threads": 0, "executor_queued_tasks": 0, "executor_queue_remaining_tasks": 6,
		"executor_seconds": 16, "executor_idle_seconds": 16})
}

func eventually(t *testing.T, url, name string, want float64) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for {
		got := value(t, metrics(t, url), name)
		if got == want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s stays at %v, want %v", name, got, want)
		}
	}
}

func TestQueueAndThresholdCanBeChosen(t *testing.T) {
	v := newValve(t)
	url := serve(t, order.Config{Price: v.url, Isolation: order.Thread, Slots: 2, Queue: new(10), Threshold: new(3), Timeout: time.Minute})
	replies := ask(t, url, 20)
	if got := count(replies, 15); got[reply{status: 503, outcome: "rejected"}] != 15 {
		t.Errorf("%v, want 15 refused: 2 run and 3 wait", got)
	}
	hold(t, metrics(t, url), map[string]float64{"executor_queued_tasks": 3, "loadline_pool_queue_capacity_tasks": 10})
	close(v.let)
	count(replies, 5)
}

func TestASemaphoreRefusesAtOnceWhatHasNoPermit(t *testing.T) {
	v := newValve(t)
	url := serve(t, order.Config{Price: v.url, Isolation: order.Semaphore, Slots: 10, Timeout: time.Minute})
	replies := ask(t, url, 50)
	if got := count(replies, 40); got[reply{status: 503, outcome: "rejected"}] != 40 {
		t.Errorf("%v, want 40 refused", got)
	}
	hold(t, metrics(t, url), map[string]float64{"resilience4j_bulkhead_max_allowed_concurrent_calls": 10, "resilience4j_bulkhead_available_concurrent_calls": 0,
		"loadline_bulkhead_rejected_calls_total": 40, "loadline_bulkhead_active_high_calls": 10})
	v.await(t, 10)
	close(v.let)
	if got := count(replies, 10); got[reply{status: 200}] != 10 {
		t.Errorf("then %v", got)
	}
	eventually(t, url, "loadline_bulkhead_completed_calls_total", 10)
	hold(t, metrics(t, url), map[string]float64{"resilience4j_bulkhead_available_concurrent_calls": 10, "loadline_bulkhead_execution_seconds": 10})
}

func TestASlowCallEndsAtTheTimeoutAndGivesItsSlotBack(t *testing.T) {
	for _, c := range []order.Config{{}, {Isolation: order.Thread, Slots: 1}, {Isolation: order.Semaphore, Slots: 1}} {
		t.Run(string(c.Isolation), func(t *testing.T) {
			v := newValve(t)
			c.Price, c.Timeout = v.url, 50*time.Millisecond
			url := serve(t, c)
			asked := time.Now()
			if r := <-ask(t, url, 1); r.status != http.StatusGatewayTimeout || r.outcome != "timeout" || time.Since(asked) < c.Timeout {
				t.Errorf("%+v after %v", r, time.Since(asked))
			}
			close(v.let)
			if r := <-ask(t, url, 1); r.status != http.StatusOK {
				t.Errorf("the next call: %+v", r)
			}
			if c.Isolation == order.Thread {
				eventually(t, url, "executor_completed_tasks_total", 2)
				hold(t, metrics(t, url), map[string]float64{"loadline_pool_abandoned_tasks_total": 1, "loadline_pool_zombie_threads": 0})
			}
		})
	}
}

func TestADependencyThatIsNotThereIsAFailure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r := <-ask(t, serve(t, order.Config{Price: "http://" + l.Addr().String() + "/"}), 1)
	if r.status != http.StatusBadGateway || r.outcome != "failure" || !strings.Contains(r.body, "refused") {
		t.Errorf("%+v", r)
	}
}

func TestTheSwitchGives500AsJavaDid(t *testing.T) {
	v := newValve(t)
	url := serve(t, order.Config{Price: v.url, Isolation: order.Semaphore, Slots: 1, Timeout: time.Minute, Status500: true})
	replies := ask(t, url, 2)
	if r := <-replies; r.status != http.StatusInternalServerError || r.outcome != "rejected" {
		t.Errorf("%+v", r)
	}
	v.await(t, 1)
	close(v.let)
	<-replies
}

func TestEveryAnswerIsCountedByItsClass(t *testing.T) {
	v := newValve(t)
	url := serve(t, order.Config{Price: v.url, Isolation: order.Semaphore, Slots: 1, Timeout: time.Minute})
	replies := ask(t, url, 3)
	count(replies, 2)
	close(v.let)
	<-replies
	got := map[string]float64{}
	for _, m := range metrics(t, url)["lab_order_requests_total"].GetMetric() {
		got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	if got["success"] != 1 || got["rejected"] != 2 || got["timeout"] != 0 || len(got) != 5 {
		t.Errorf("%v", got)
	}
}

func TestFaultsOfTheConfigurationAreToldAtOnce(t *testing.T) {
	err := order.Config{Listen: "x", Price: "ftp://y", Isolation: "fibre", Queue: new(-1), Timeout: time.Nanosecond}.Validate()
	for _, want := range []string{`listen: found x`, "price: found ftp://y", "isolation: found fibre, want none, thread or semaphore", "queue: found -1, want 0 to 1000000",
		"timeout: found 1ns, want 1ms to 1h"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	for _, c := range []order.Config{{Slots: 3}, {Isolation: order.Thread}, {Isolation: order.Semaphore, Slots: 1, Queue: new(1)},
		{Isolation: order.Thread, Slots: 1, Queue: new(2), Threshold: new(3)}} {
		if c.Validate() == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	for _, c := range []order.Config{{}, {Isolation: order.Thread, Slots: 1}, {Isolation: order.Semaphore, Slots: 1}} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestATakenPortIsTold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := order.Run(t.Context(), order.Config{Listen: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "address already in use") || errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
}
