package faults_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/loadline-dev/loadline/internal/lab/faults"
	"github.com/loadline-dev/loadline/internal/parse/exposition"
	"github.com/loadline-dev/loadline/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a service with a fault until the test ends.
func serve(t *testing.T, fault faults.Fault) string {
	t.Helper()
	s, err := faults.New(faults.Config{Listen: "127.0.0.1:0", Fault: fault})
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
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return "http://" + s.Addr().String()
}

// outcomes asks n times at once and counts the answers by status.
func outcomes(t *testing.T, url string, n int) map[int]int {
	t.Helper()
	var mu sync.Mutex
	out := map[int]int{}
	var users sync.WaitGroup
	for range n {
		users.Go(func() {
			r, err := http.Get(url + "/work")
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			_, _ = io.Copy(io.Discard, r.Body)
			mu.Lock()
			defer mu.Unlock()
			out[r.StatusCode]++
		})
	}
	users.Wait()
	return out
}

func pools(t *testing.T, url string) map[string]record.PoolSample {
	t.Helper()
	r, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	reading, err := exposition.Read(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]record.PoolSample{}
	for _, p := range reading.Pools {
		out[p.Pool] = p
	}
	return out
}

func TestTheHealthyServiceAnswersEveryoneAndCounts(t *testing.T) {
	url := serve(t, faults.Healthy)
	if got := outcomes(t, url, 40); got[http.StatusOK] != 40 {
		t.Errorf("answers %v, want 40 of 200", got)
	}
	p := pools(t, url)
	if *p["work"].Completed != 40 || *p["work"].Rejected != 0 || *p["database"].Completed != 40 || p["database"].Waiting == nil {
		t.Errorf("work %+v, database %+v", p["work"], p["database"])
	}
}

func TestTheRejectingServiceRefusesWhatFindsNoPlace(t *testing.T) {
	got := outcomes(t, serve(t, faults.Rejection), 40)
	if got[http.StatusServiceUnavailable] < 10 || got[http.StatusOK] < 8 {
		t.Errorf("answers %v, want those of four workers and four places, and refusals", got)
	}
}

func TestTheZombieServicesCallersLeave(t *testing.T) {
	url := serve(t, faults.Zombie)
	if got := outcomes(t, url, 30); got[http.StatusGatewayTimeout] != 10 || got[http.StatusOK] != 20 {
		t.Logf("answers %v: on a busy machine more than a third leave", got)
		if got[http.StatusGatewayTimeout] < 10 {
			t.Errorf("answers %v, want a third of them late", got)
		}
	}
}

func TestEveryFaultAnswersAtLowLoadAndEnds(t *testing.T) {
	for _, f := range faults.Faults() {
		t.Run(string(f), func(t *testing.T) {
			got := outcomes(t, serve(t, f), 2)
			if got[http.StatusOK] == 0 {
				t.Errorf("answers %v, want a success at the load at which the fault does not show", got)
			}
		})
	}
}

func TestAnUnknownFaultIsRefusedWithTheKnownOnes(t *testing.T) {
	_, err := faults.New(faults.Config{Fault: "gremlins", Listen: "x"})
	if err == nil || !strings.Contains(err.Error(), `"gremlins"`) || !strings.Contains(err.Error(), "starvation") || !strings.Contains(err.Error(), "listen") {
		t.Error(err)
	}
}
