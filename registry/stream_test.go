package registry_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

// The keys without which the dashboard's script leaves a circuit or a pool out, as its validation lists them.
const (
	circuitKeys = `type name group isCircuitBreakerOpen errorPercentage errorCount requestCount rollingCountCollapsedRequests rollingCountExceptionsThrown
		rollingCountFailure rollingCountFallbackFailure rollingCountFallbackRejection rollingCountFallbackSuccess rollingCountResponsesFromCache
		rollingCountSemaphoreRejected rollingCountShortCircuited rollingCountSuccess rollingCountThreadPoolRejected rollingCountTimeout
		currentConcurrentExecutionCount latencyExecute_mean latencyExecute latencyTotal_mean latencyTotal propertyValue_circuitBreakerRequestVolumeThreshold
		propertyValue_circuitBreakerSleepWindowInMilliseconds propertyValue_circuitBreakerErrorThresholdPercentage propertyValue_circuitBreakerForceOpen
		propertyValue_executionIsolationStrategy propertyValue_executionIsolationThreadTimeoutInMilliseconds
		propertyValue_executionIsolationThreadInterruptOnTimeout propertyValue_executionIsolationSemaphoreMaxConcurrentRequests
		propertyValue_fallbackIsolationSemaphoreMaxConcurrentRequests propertyValue_requestCacheEnabled propertyValue_requestLogEnabled
		propertyValue_metricsRollingStatisticalWindowInMilliseconds reportingHosts`
	poolKeys = `type name currentActiveCount currentCompletedTaskCount currentCorePoolSize currentLargestPoolSize currentMaximumPoolSize currentPoolSize
		currentQueueSize currentTaskCount rollingCountThreadsExecuted rollingMaxActiveThreads reportingHosts propertyValue_queueSizeRejectionThreshold
		propertyValue_metricsRollingStatisticalWindowInMilliseconds`
)

// events reads the stream until n events have come.
func events(t *testing.T, url string, n int) []map[string]any {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream;charset=UTF-8" {
		t.Errorf("content type: got %q", got)
	}
	var out []map[string]any
	for lines := bufio.NewScanner(answer.Body); len(out) < n && lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		e := map[string]any{}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		out = append(out, e)
	}
	return out
}

func server(t *testing.T, r *registry.Registry) string {
	t.Helper()
	s := httptest.NewServer(r.HystrixStream())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	return s.URL
}

func TestTheStreamHasEveryKeyThatTheDashboardNeeds(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "price", pool.Settings{Core: 10, Max: 10, Queue: 50, Threshold: 6})
	c, err := command.New(command.Config[int]{Name: "price", Group: "orders", Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 30}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	if err := r.Add(c); err != nil {
		t.Fatal(err)
	}
	url := server(t, r) + "/hystrix.stream?delay=100"
	got := events(t, url, 2)
	for i, want := range []string{circuitKeys, poolKeys} {
		for _, key := range strings.Fields(want) {
			if _, ok := got[i][key]; !ok {
				t.Errorf("%s: %s is missing", got[i]["type"], key)
			}
		}
	}
	if got[0]["group"] != "orders" || got[0]["propertyValue_executionIsolationSemaphoreMaxConcurrentRequests"] != 30.0 || got[1]["propertyValue_queueSizeRejectionThreshold"] != 6.0 {
		t.Errorf("got %v", got)
	}
	for range 3 {
		if _, err := c.Do(t.Context(), func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Do(t.Context(), func(context.Context) (int, error) { return 0, errors.New("no") }); err == nil {
		t.Fatal("no error")
	}
	if err := p.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	got = events(t, url, 2)
	for key, want := range map[string]any{"rollingCountSuccess": 3.0, "rollingCountFailure": 1.0, "rollingCountFallbackMissing": 1.0,
		"rollingCountExceptionsThrown": 1.0, "requestCount": 4.0, "errorCount": 1.0, "errorPercentage": 25.0, "isCircuitBreakerOpen": false} {
		if got[0][key] != want {
			t.Errorf("%s: got %v, want %v", key, got[0][key], want)
		}
	}
	if got[1]["rollingCountThreadsExecuted"] != 1.0 {
		t.Errorf("pool: got %v", got[1])
	}
}

// Three calls of 20 ms succeed and one of 4 ms fails; 6 s later one of 40 ms succeeds. Every event tells of those that its window of 10 s
// holds, however often it was asked before.
func TestLatenciesAreThoseOfTheWindowInEveryEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, registry.Config{})
		c, err := command.New(command.Config[int]{Name: "price"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		if err := r.Add(c); err != nil {
			t.Fatal(err)
		}
		call := func(d time.Duration, err error) {
			_, _ = c.Do(t.Context(), func(context.Context) (int, error) { time.Sleep(d); return 0, err })
		}
		ctx, cancel := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		done := make(chan bool)
		go func() {
			r.HystrixStream().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
			close(done)
		}()
		synctest.Wait()
		for range 3 {
			call(20*time.Millisecond, nil)
		}
		call(4*time.Millisecond, errors.New("no"))
		time.Sleep(6 * time.Second)
		call(40*time.Millisecond, nil)
		time.Sleep(7 * time.Second)
		cancel()
		<-done
		checkWindows(t, w.Body.String())
	})
}

// checkWindows looks at each event by how many successes it tells: 3 at first, then 4, at last 1.
func checkWindows(t *testing.T, stream string) {
	t.Helper()
	seen := map[float64]int{}
	for _, line := range strings.Split(stream, "\n") {
		text, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		e := map[string]any{}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		successes := e["rollingCountSuccess"].(float64)
		seen[successes]++
		want := map[float64][3]float64{0: {}, 3: {16, 20, 20}, 4: {20.8, 20, 40}, 1: {40, 40, 40}}[successes] // mean, median, longest
		execute := e["latencyExecute"].(map[string]any)
		for i, got := range []float64{e["latencyExecute_mean"].(float64), execute["50"].(float64), execute["100"].(float64)} {
			if got < want[i]-1 || got > want[i]+1 {
				t.Errorf("%v successes: got mean %v and %v, want %v", successes, e["latencyExecute_mean"], execute, want)
				break
			}
		}
	}
	if seen[3] < 5 || seen[4] < 2 || seen[1] < 2 {
		t.Errorf("events by successes told: %v", seen)
	}
}

func TestTheSixthStreamIsRefused(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	url := server(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 6 {
		q, err := http.NewRequestWithContext(ctx, "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if want := 200 + 303*(i/5); answer.StatusCode != want {
			t.Errorf("stream %d: got %d, want %d", i+1, answer.StatusCode, want)
		}
	}
}

func TestAStreamWithNothingToTellPings(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	r.HystrixStream().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	if w.Body.String() != "ping: \n\n" {
		t.Errorf("got %q", w.Body.String())
	}
	w = httptest.NewRecorder()
	r.HystrixStream().ServeHTTP(w, httptest.NewRequest("GET", "/?delay=1", nil))
	if w.Code != 400 {
		t.Errorf("delay of 1 ms: got %d", w.Code)
	}
}

func TestAServerThatShutsDownEndsItsStreams(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	server := httptest.NewServer(r.HystrixStream())
	defer server.Close()
	for range 2 {
		response, err := http.Get(server.URL + "?delay=60000")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := response.Body.Read(make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Errorf("the streams hold the server up: %v", err)
	}
}
