package sleep_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/lab/sleep"
)

// serve runs a service and returns its base URL.
func serve(t *testing.T, config sleep.Config) string {
	t.Helper()
	config.Listen = "127.0.0.1:0"
	s, err := sleep.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return "http://" + s.Addr().String()
}

// ask returns status and body.
func ask(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestAnAnswerNeverComesBeforeItsTime(t *testing.T) {
	url := serve(t, sleep.Config{})
	for path, want := range map[string]time.Duration{"/sleep/20": 20 * time.Millisecond, "/sleep/0.5": 500 * time.Microsecond, "/sleep/0": 0, "/ready": 0} {
		for range 5 {
			begun := time.Now()
			code, _ := ask(t, url+path)
			// A busy machine may delay an answer by much; a second is a fault.
			if took := time.Since(begun); code != 200 || took < want || took > want+time.Second {
				t.Errorf("%s: status %d after %v", path, code, took)
			}
		}
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	url := serve(t, sleep.Config{})
	for _, path := range []string{"/", "/sleep/", "/sleep/x", "/sleep/-1", "/sleep/60001", "/sleep/NaN", "/sleep/1e300"} {
		if code, _ := ask(t, url+path); code != 404 {
			t.Errorf("%s: got status %d, want 404", path, code)
		}
	}
}

func TestAFaultyAddressIsRefused(t *testing.T) {
	if _, err := sleep.New(sleep.Config{Listen: "nowhere"}); err == nil {
		t.Error("an address without a port was accepted")
	}
}
