package prometheus_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/prometheus"
)

func collect(t *testing.T, ctx context.Context, handler http.HandlerFunc) (observe.Batch, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := prometheus.New(prometheus.Config{Service: "order", URL: server.URL + "/metrics", Header: http.Header{"Authorization": {"Bearer x"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.Collect(ctx, observe.Since(time.Now().Add(-time.Second)))
}

func TestPoolsAndSeriesCarryTheServiceAndTheTime(t *testing.T) {
	b, err := collect(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" || !strings.Contains(r.Header.Get("Accept"), "0.0.4") {
			t.Errorf("headers %v", r.Header)
		}
		_, _ = w.Write([]byte("executor_active_threads{name=\"price\"} 3\ngo_goroutines 12\n"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Pools) != 1 || len(b.Series) != 1 {
		t.Fatalf("batch %+v", b)
	}
	p, s := b.Pools[0], b.Series[0]
	if p.Service != "order" || p.Pool != "price" || *p.Active != 3 || p.At < time.Second {
		t.Errorf("pool %+v", p)
	}
	if s.Source != "order" || s.Name != "go_goroutines" || s.Value != 12 || s.At < time.Second {
		t.Errorf("series %+v", s)
	}
}

func TestAnEndpointThatHangsEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := collect(t, ctx, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want a timeout", err)
	}
}

func TestAnAnswerThatIsNotMetricsIsAnErrorWithWhatWasFound(t *testing.T) {
	_, err := collect(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v, want the status", err)
	}
	_, err = collect(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	if err == nil {
		t.Error("HTML was taken for metrics")
	}
}

func TestAConfigNamesEveryFault(t *testing.T) {
	_, err := prometheus.New(prometheus.Config{URL: "ftp://x"})
	if err == nil || !strings.Contains(err.Error(), "Service") || !strings.Contains(err.Error(), `URL: found "ftp://x"`) {
		t.Errorf("error %v", err)
	}
}
