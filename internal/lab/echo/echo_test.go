package echo_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/lab/echo"
)

// serve runs a service and returns its base URL.
func serve(t *testing.T, config echo.Config) string {
	t.Helper()
	config.Listen = "127.0.0.1:0"
	s, err := echo.New(config)
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

func TestEveryRequestIsAnsweredAtOnceWithABodyOfTheSize(t *testing.T) {
	for _, size := range []int{0, 2, 100_000} {
		url := serve(t, echo.Config{Size: &size})
		if code, body := ask(t, url+"/any?thing"); code != 200 || body != strings.Repeat(".", size) {
			t.Errorf("size %d: got status %d with %d bytes", size, code, len(body))
		}
		if _, metrics := ask(t, url+"/metrics"); !strings.Contains(metrics, "lab_echo_requests_total 1\n") {
			t.Errorf("one request was answered, the metrics say:\n%s", metrics)
		}
	}
}

func TestFaultyConfigsAreRefused(t *testing.T) {
	large := echo.MaxSize + 1
	for _, c := range []echo.Config{{Listen: "nowhere"}, {Size: &large}} {
		if _, err := echo.New(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}
