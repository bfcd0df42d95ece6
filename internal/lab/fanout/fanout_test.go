package fanout_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loadline-dev/loadline/internal/lab/fanout"
	"github.com/loadline-dev/loadline/internal/parse/exposition"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a service until the test ends.
func serve(t *testing.T, c fanout.Config) string {
	t.Helper()
	c.Listen = "127.0.0.1:0"
	s, err := fanout.New(c)
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

func get(t *testing.T, url string) (status int, outcome, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, "", ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return r.StatusCode, r.Header.Get("X-Loadline-Outcome"), string(text)
}

func TestARequestTakesItsItemsOwnCallAndBothRoundsOneAfterTheOther(t *testing.T) {
	url := serve(t, fanout.Config{})
	began := time.Now()
	status, _, body := get(t, url+"/commission")
	// 12 ms of its own, 8 ms of conversions in parallel, 12 ms of queries in parallel: no less, whatever the machine.
	if took := time.Since(began); status != http.StatusOK || !strings.Contains(body, `"items":2`) || took < 32*time.Millisecond {
		t.Errorf("status %d after %v: %s", status, took, body)
	}
	_, _, text := get(t, url+"/metrics")
	reading, err := exposition.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	// Two items, each with four conversions and two queries.
	want := map[string]float64{"common": 2, "select": 12}
	for _, p := range reading.Pools {
		if n, ok := want[p.Pool]; ok && *p.Completed == n && *p.Rejected == 0 && p.Execution.Count == n {
			delete(want, p.Pool)
		}
	}
	if len(want) > 0 {
		t.Errorf("tasks not seen: %v in\n%s", want, text)
	}
}

func TestAFullPoolRefusesTheRequest(t *testing.T) {
	url := serve(t, fanout.Config{Common: 1, Queue: 1, Items: 5})
	if status, outcome, _ := get(t, url+"/commission"); status != http.StatusServiceUnavailable || outcome != "rejected" {
		t.Errorf("5 items for one worker and one place: status %d, outcome %s", status, outcome)
	}
}

func TestAConfigIsRefusedWithEveryFault(t *testing.T) {
	_, err := fanout.New(fanout.Config{Listen: "x", Common: -1, Select: 20000, Queue: -1, Items: -1, Timeout: 1, CPU: new(time.Hour)})
	for _, field := range []string{"listen", "common", "select", "queue", "items", "timeout", "cpu"} {
		if err == nil || !strings.Contains(err.Error(), field+": found ") {
			t.Errorf("%s is not named in %v", field, err)
		}
	}
}

func TestRequestsAtOnceAreAllAnswered(t *testing.T) {
	url := serve(t, fanout.Config{Common: 4, Select: 4, Own: new(time.Millisecond), Convert: new(time.Millisecond), Query: new(time.Millisecond), CPU: new(time.Duration(0))})
	var users sync.WaitGroup
	for range 20 {
		users.Go(func() {
			if status, _, body := get(t, url+"/commission"); status != http.StatusOK {
				t.Errorf("status %d: %s", status, body)
			}
		})
	}
	users.Wait()
}
