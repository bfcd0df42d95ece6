package load_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// Of a load at a constant rate over 30 times the length of one freeze, a thirtieth waits uniformly from 0 to that length: the chance of
// more than x of it is (1 - x)/30, so that p99 is 0.7 and p99.9 is 0.97 of the freeze. Engines that send the next request only when the
// last was answered hide this.
func TestAFreezeShowsInTheTailAsTheoryHasIt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s an engine")
	}
	const freeze, rate = 200 * time.Millisecond, 1000
	for _, kind := range []load.Kind{load.Fast, load.General} {
		t.Run(string(kind), func(t *testing.T) {
			var once sync.Once
			var begin time.Time
			srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				once.Do(func() { begin = time.Now().Add(time.Second) })
				if now := time.Now(); now.After(begin) && now.Before(begin.Add(freeze)) {
					<-time.After(begin.Add(freeze).Sub(now))
				}
			}))
			defer srv.Close()
			latency := hist.New()
			job := load.Job{
				Target: plan.Target{Request: plan.Request{URL: srv.URL}},
				Load:   record.Load{Model: record.Open, RatePerSec: rate},
				Shape:  load.Shape{Arrivals: plan.ArrivalsConstant},
				Phases: load.Phases{Window: 30 * freeze},
			}
			err := engine(t, load.Config{Kind: kind}).Run(t.Context(), job, load.SinkFunc(func(i record.Interval) error {
				for _, c := range i.Classes {
					if c.Inside && c.Outcome == record.Success {
						latency.Merge(c.Latency)
					}
				}
				return nil
			}))
			if err != nil || latency.Count() != 30*rate*int64(freeze)/int64(time.Second) {
				t.Fatalf("%d successes: %v", latency.Count(), err)
			}
			check := func(q, share float64) {
				t.Helper()
				want := time.Duration(share * float64(freeze))
				// A busy machine adds delays of its own, and never takes some away.
				if got := latency.Quantile(q); got < want-want/20 || got > want+freeze/2 {
					t.Errorf("p%g is %v, want %v", 100*q, got, want)
				}
			}
			check(0.99, 0.70)
			check(0.999, 0.97)
		})
	}
}
