package price_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/loadline-dev/loadline/internal/lab/price"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a price service and returns its base URL.
func serve(t *testing.T, config price.Config) string {
	t.Helper()
	config.Listen = "127.0.0.1:0"
	s, err := price.New(config)
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

// user is a client with one kept connection.
func user(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func TestAPriceTakesTwentyMillisecondsAndHardlyMore(t *testing.T) {
	base, c := serve(t, price.Config{}), user(t)
	get(t, c, base+"/ready")
	var took []time.Duration
	for range 50 {
		sent := time.Now()
		status, body := get(t, c, base+"/circuit/price")
		took = append(took, time.Since(sent))
		if status != http.StatusOK || !strings.Contains(body, `"price"`) {
			t.Fatalf("%d %s", status, body)
		}
	}
	slices.Sort(took)
	// The bound above is wide, for a machine that compiles meanwhile; the median of an idle one is 20.2 ms.
	if took[0] < price.DefaultSleep || took[len(took)/2] > price.DefaultSleep+5*time.Millisecond {
		t.Errorf("least %v, median %v; want from 20 ms to 25 ms", took[0], took[len(took)/2])
	}
}

func TestTheSleepCanBeChosen(t *testing.T) {
	base, c := serve(t, price.Config{Sleep: new(time.Duration(0))}), user(t)
	sent := time.Now()
	for range 10 {
		get(t, c, base+"/circuit/price?sku=1")
	}
	if took := time.Since(sent); took > 150*time.Millisecond {
		t.Errorf("ten prices without a sleep took %v", took)
	}
}

func TestOtherPathsAndMethodsAreRefused(t *testing.T) {
	base, c := serve(t, price.Config{}), user(t)
	if status, _ := get(t, c, base+"/nothing"); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
	r, err := c.Post(base+"/circuit/price", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("status %d", r.StatusCode)
	}
}

func TestMetricsCountPricesAndHowLateTheyWere(t *testing.T) {
	base, c := serve(t, price.Config{Sleep: new(time.Millisecond)}), user(t)
	for range 7 {
		get(t, c, base+"/circuit/price")
	}
	_, text := get(t, c, base+"/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if n := families["lab_price_requests_total"].GetMetric()[0].GetCounter().GetValue(); n != 7 {
		t.Errorf("%v requests, want 7", n)
	}
	if n := families["lab_price_waiting"].GetMetric()[0].GetGauge().GetValue(); n != 0 {
		t.Errorf("%v waiting, want 0", n)
	}
	h := families["lab_price_late_seconds"].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 7 || h.GetSampleSum() < 0 || h.GetSampleSum() > 7 {
		t.Errorf("lateness: %v", h)
	}
	if v := families["lab_price_sleep_seconds"].GetMetric()[0].GetGauge().GetValue(); v != 0.001 {
		t.Errorf("sleep %s", strconv.FormatFloat(v, 'g', -1, 64))
	}
}

func TestFaultsOfTheConfigurationAreToldAtOnce(t *testing.T) {
	err := price.Config{Listen: "nowhere", Sleep: new(-time.Second)}.Validate()
	if err == nil || !strings.Contains(err.Error(), `listen: found "nowhere"`) || !strings.Contains(err.Error(), "sleep: found -1s, want 0 to 1m0s") {
		t.Errorf("found %v", err)
	}
	if err := price.Run(t.Context(), price.Config{Listen: "nowhere"}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("run: %v", err)
	}
	if err := (price.Config{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}
