package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadline-dev/loadline/internal/queueing"
)

// service answers a batch at a load: how many of n were slow.
type service func(rng *rand.Rand, load float64, n int64) int64

// independent draws each request's fate apart, slow with the share that the load has.
func independent(share func(load float64) float64) service {
	return func(rng *rand.Rand, load float64, n int64) int64 {
		return int64(distuv.Binomial{N: float64(n), P: share(load), Src: rng}.Rand())
	}
}

// mmc is the share of responses above 10 ms of an M/M/c queue with a service of 1 ms.
func mmc(servers int) func(float64) float64 {
	return func(rate float64) float64 {
		q := queueing.MMc{ArrivalPerSec: rate, ServiceSec: 0.001, Servers: servers}
		if q.Utilisation() >= 1 {
			return 1
		}
		return q.ResponseTail(0.010)
	}
}

// pool is the share of responses above the bound, in service times, of a closed loop without think time on m exponential workers: who
// arrives finds all others there, waits for n−m completions of rate m, and is served.
func pool(workers int, bound float64) func(float64) float64 {
	return func(users float64) float64 {
		n, m := int(users), float64(workers)
		waits := max(0, n-workers)
		if waits == 0 {
			return math.Exp(-bound)
		}
		// P(Erlang(k, m) + Exp(1) > t) by numerical integration over the Erlang part.
		erlang := distuv.Gamma{Alpha: float64(waits), Beta: m}
		sum, steps := 0.0, 1000
		for i := range steps {
			x := bound * (float64(i) + 0.5) / float64(steps)
			sum += erlang.Prob(x) * math.Exp(-(bound - x)) * bound / float64(steps)
		}
		return sum + erlang.Survival(bound)
	}
}

// remembered keeps the shares that were computed.
func remembered(share func(float64) float64) func(float64) float64 {
	known := map[float64]float64{}
	return func(load float64) float64 {
		v, ok := known[load]
		if !ok {
			v = share(load)
			known[load] = v
		}
		return v
	}
}

// run lets a search run against a service and gives its result.
func run(t *testing.T, cfg Config, rng *rand.Rand, sv service) Result {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 100_000 {
		trial, ok := s.Next()
		if !ok {
			return s.Result()
		}
		bad := sv(rng, trial.Load, trial.Requests)
		if err := s.Report(trial, Observation{Counts: []Count{{trial.Requests, bad}}, Seconds: 1}); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the search does not end")
	return Result{}
}

// fixed is the number of requests with which one fixed-size test tells limit/1.25 from limit·1.25 with the same error probability on
// both sides: what every step of a full ladder would need.
func fixed(limit, errorRate float64) float64 {
	z := distuv.UnitNormal.Quantile(1 - errorRate)
	p0, p1 := limit/fine, limit*fine
	root := z * (math.Sqrt(p0*(1-p0)) + math.Sqrt(p1*(1-p1))) / (p1 - p0)
	return root * root
}

func p99() []Constraint { return []Constraint{{Name: "p99", Limit: 0.01}} }

// cliff holds easily up to a load and breaks plainly above it.
func cliff(at float64) func(float64) float64 {
	return func(load float64) float64 {
		if load <= at {
			return 0.001
		}
		return 0.2
	}
}

// largest is the largest whole load whose share is within the limit.
func largest(share func(float64) float64, limit, most float64) float64 {
	n := 1.0
	for n < most && share(n+1) <= limit {
		n++
	}
	return n
}

func TestTheLineIsFoundWithinFivePercentForAQuarterOfALadder(t *testing.T) {
	rateLine := func(servers int) float64 {
		v, err := queueing.MaxRateWithin(servers, 0.001, 0.99, 0.010)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	tests := []struct {
		name  string
		cfg   Config
		share func(float64) float64
		truth float64
	}{
		{"rate on one server", Config{Kind: Rate, Min: 1, Max: 1000}, mmc(1), rateLine(1)},
		{"rate on four servers", Config{Kind: Rate, Min: 1, Max: 6000}, mmc(4), rateLine(4)},
		{"rate on sixteen servers", Config{Kind: Rate, Min: 1, Max: 20000}, mmc(16), rateLine(16)},
		{"users of a pool of 4", Config{Max: 200}, pool(4, 12), largest(pool(4, 12), 0.01, 200)},
		{"users of a pool of 16", Config{Max: 200}, pool(16, 8), largest(pool(16, 8), 0.01, 200)},
		{"a cliff at 24 of 200 users", Config{Max: 200}, cliff(24), 24},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Constraints = p99()
			share := remembered(tt.share)
			ladder := tt.cfg.Max * fixed(0.01, 0.02)
			right, above, most := 0, 0, int64(0)
			var worst float64
			for seed := range uint64(100) {
				r := run(t, tt.cfg, rand.New(rand.NewPCG(seed, 11)), independent(share))
				most = max(most, r.Requests)
				if r.Status != Found || r.Value == nil {
					t.Errorf("seed %d: %+v", seed, r)
					continue
				}
				off := *r.Value/tt.truth - 1
				if off > 0 {
					above++
				}
				if math.Abs(off) > math.Abs(worst) {
					worst = off
				}
				if math.Abs(off) <= 0.05 {
					right++
				}
			}
			t.Logf("truth %.4g: right in %d of 100, above in %d, worst %+.1f %%, at most %d requests = %.3f of a ladder", tt.truth, right, above, worst*100, most, float64(most)/ladder)
			if above > 5 {
				t.Errorf("%d of 100 values lie above the line, though each is stated with 95 %% confidence", above)
			}
			if right < 95 {
				t.Errorf("right in %d of 100", right)
			}
			if float64(most) > ladder/4 {
				t.Errorf("%d requests are more than a quarter of a ladder's %.0f", most, ladder)
			}
		})
	}
}
