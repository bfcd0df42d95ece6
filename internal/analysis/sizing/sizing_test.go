package sizing

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/analysis/slo"
)

func size(t *testing.T, in Input) Result {
	t.Helper()
	r, err := Size(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func objective(t *testing.T, text string) slo.SLO {
	t.Helper()
	s, err := slo.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func codes(r Result) string {
	var out []string
	for _, c := range r.Caveats {
		out = append(out, c.Code)
	}
	return strings.Join(out, ",")
}

func requireStep(t *testing.T, r Result, says string) {
	t.Helper()
	if !strings.Contains(strings.Join(r.Steps, "\n"), says) {
		t.Errorf("no step says %q:\n%s", says, strings.Join(r.Steps, "\n"))
	}
}

func requireCaveat(t *testing.T, r Result, code, says string) {
	t.Helper()
	for _, c := range r.Caveats {
		if c.Code == code && strings.Contains(c.Text, says) {
			return
		}
	}
	t.Errorf("no caveat %s says %q: %+v", code, says, r.Caveats)
}

const msec = time.Millisecond

// The rules drawn by the published studies: 3000/s × 0.02 s = 60, times 1.5 to 2.
func TestWorkersFollowTheStudysRule(t *testing.T) {
	r := size(t, Input{RatePerSec: 3000, ServiceTime: 20 * msec})
	if r.Workers.Minimum != 60 || r.Workers.Recommended != 90 || r.Schema != "loadline.size/1" {
		t.Errorf("%+v, want 60 and 90", r.Workers)
	}
	requireStep(t, r, "3000/s × 20 ms = 60 busy")
	requireStep(t, r, "90 to 120) = 90")
	r = size(t, Input{RatePerSec: 3000, ServiceTime: 20 * msec, Safety: 2})
	if r.Workers.Recommended != 120 {
		t.Errorf("%+v, want 120", r.Workers)
	}
}

func TestTheSLOIsMetByTheFewestWorkersOrSaidToBeInfeasible(t *testing.T) {
	// M/M/c, S = 1 ms, p99 <= 10 ms: 4 servers carry 3500.9034/s and 8 carry 7490.3593/s.
	for rate, want := range map[float64]int{3500: 4, 3501: 5, 7490: 8, 7491: 9, 539: 1, 540: 2} {
		r := size(t, Input{RatePerSec: rate, ServiceTime: msec, SLO: objective(t, "p99<10ms")})
		if r.Objective == nil || !r.Objective.Feasible || *r.Objective.Workers != want {
			t.Errorf("%v/s: %+v, want %d workers", rate, r.Objective, want)
		}
	}
	r := size(t, Input{RatePerSec: 1, ServiceTime: 2200 * time.Microsecond, SLO: objective(t, "p99<10ms")})
	if r.Objective.Feasible || r.Objective.Workers != nil {
		t.Errorf("2.2 ms: %+v, want infeasible at any size", r.Objective)
	}
	requireCaveat(t, r, "slo-infeasible", "10.1 ms at p99")
}

func TestTheDownstreamCapsTheWorkersOfAllReplicas(t *testing.T) {
	r := size(t, Input{RatePerSec: 3000, ServiceTime: 20 * msec, Downstream: 40})
	if *r.WorkersCap != 40 || r.Workers.Recommended != 40 || r.Workers.Minimum != 60 {
		t.Errorf("%+v cap %v, want 40 of at least 60", r.Workers, *r.WorkersCap)
	}
	requireCaveat(t, r, "downstream-too-small", "at most 2000/s (40 / 20 ms)")
	r = size(t, Input{RatePerSec: 3000, ServiceTime: 20 * msec, Downstream: 80, Replicas: 2})
	if *r.WorkersCap != 40 || r.Workers.Minimum != 30 || r.Workers.Recommended != 40 {
		t.Errorf("two replicas: %+v cap %v, want 30 to 40", r.Workers, *r.WorkersCap)
	}
	// A connection held for 11 of 18 ms: 40 connections keep 65 workers busy.
	r = size(t, Input{RatePerSec: 2500, ServiceTime: 18 * msec, Downstream: 40, DownstreamTime: 11 * msec})
	if *r.WorkersCap != 65 || r.Workers.Minimum != 45 || r.Workers.Recommended != 65 {
		t.Errorf("18 ms of which 11: %+v cap %v, want 45 to 65", r.Workers, *r.WorkersCap)
	}
	r = size(t, Input{RatePerSec: 10, ServiceTime: 20 * msec, Downstream: 3, Replicas: 5})
	requireCaveat(t, r, "downstream-too-small", "none for each of 5 replicas")
	if r.Workers.Recommended > 1 {
		t.Errorf("%+v", r.Workers)
	}
}

func TestTheQueueHoldsWhatTheBudgetLeaves(t *testing.T) {
	// 10 workers, constant service of 20 ms, budget 120 ms: 100 ms of waiting × 10 / 20 ms = 50 places.
	r := size(t, Input{RatePerSec: 500 / 1.5, ServiceTime: 20 * msec, ServiceP99: 20 * msec, LatencyBudget: 120 * msec})
	if r.Workers.Recommended != 10 || r.Queue != 50 {
		t.Errorf("%+v queue %d, want 10 and 50", r.Workers, r.Queue)
	}
	if r.TimeoutMS != 120 {
		t.Errorf("timeout %v ms, want 20 + 100", r.TimeoutMS)
	}
	requireStep(t, r, "execution p99 20 ms (given) + queue wait 100 ms = 120 ms")
	r = size(t, Input{RatePerSec: 100, ServiceTime: 20 * msec, ServiceP99: 200 * msec, LatencyBudget: 100 * msec})
	if r.Queue != 0 {
		t.Errorf("queue %d, want none", r.Queue)
	}
	requireCaveat(t, r, "budget-below-execution", "100 ms lies below")
}

func TestInputsThatContradictEachOtherAreNamed(t *testing.T) {
	r := size(t, Input{RatePerSec: 500, ServiceTime: 20 * msec, ServiceP99: 20 * msec, LatencyBudget: 200 * msec, Timeout: 100 * msec})
	requireCaveat(t, r, "timeout-below-wait", "100ms ends before")
	r = size(t, Input{RatePerSec: 500, ServiceTime: 20 * msec, ServiceP99: 20 * msec, LatencyBudget: 100 * msec, Timeout: 800 * msec})
	requireCaveat(t, r, "timeout-above-budget", "800ms lies above")
	r = size(t, Input{RatePerSec: 1, ServiceTime: 20 * msec, BreakerVolume: 20})
	requireCaveat(t, r, "breaker-never-opens", "wants 20 requests in 10s and sees 10")
	r = size(t, Input{RatePerSec: 3, ServiceTime: 20 * msec, BreakerVolume: 20})
	if !r.Breaker.Reached || strings.Contains(codes(r), "breaker") {
		t.Errorf("30 requests against 20: %+v", r)
	}
	r = size(t, Input{RatePerSec: 3000, ServiceTime: 20 * msec, Cores: 4, CPUTime: 2 * msec})
	requireCaveat(t, r, "cores-too-few", "at most 2000/s (4 / 2 ms)")
	r = size(t, Input{RatePerSec: 1600, ServiceTime: 20 * msec, Cores: 4, CPUTime: 2 * msec})
	requireCaveat(t, r, "cpu-nearly-full", "3.2 of 4 cores")
	r = size(t, Input{RatePerSec: 100, ServiceTime: 20 * msec, Cores: 4, CPUTime: 30 * msec})
	requireCaveat(t, r, "cpu-above-service", "30 ms in a service time of 20 ms")
	r = size(t, Input{RatePerSec: 100, ServiceTime: 20 * msec, Downstream: 5, DownstreamTime: 30 * msec})
	requireCaveat(t, r, "downstream-above-service", "30 ms")
	r = size(t, Input{RatePerSec: 100, ServiceTime: 20 * msec, SLO: objective(t, "goodput>200/s")})
	requireCaveat(t, r, "slo-infeasible", "100/s that arrive")
	r = size(t, Input{RatePerSec: 3500, ServiceTime: msec, SLO: objective(t, "p99<10ms"), Downstream: 3})
	requireCaveat(t, r, "slo-above-cap", "needs 4 workers and the caps leave 3")
	r = size(t, Input{RatePerSec: 100, ServiceTime: 20 * msec, Safety: 1})
	requireCaveat(t, r, "safety-low", "busy on average")
}

func TestCoresDecideWhereTheSearchStarts(t *testing.T) {
	r := size(t, Input{RatePerSec: 1000, ServiceTime: 20 * msec, Cores: 4})
	if *r.Start != 8 {
		t.Errorf("waiting work starts at %d, want 2N = 8", *r.Start)
	}
	requireStep(t, r, "4 cores allow 4 ms of CPU a request")
	r = size(t, Input{RatePerSec: 100, ServiceTime: 20 * msec, Cores: 4, Kind: CPU})
	if *r.Start != 4 || *r.CoresNeed != 2 || r.Workers.Recommended != 3 {
		t.Errorf("start %d cores %v workers %+v, want 4, 2 and 3", *r.Start, *r.CoresNeed, r.Workers)
	}
	r = size(t, Input{RatePerSec: 180, ServiceTime: 20 * msec, Cores: 4, Kind: CPU, Safety: 2})
	if r.Workers.Recommended != 5 {
		t.Errorf("%+v, want cores + 1", r.Workers)
	}
}

func TestFaultsOfTheInputAreNamedTogether(t *testing.T) {
	_, err := Size(Input{RatePerSec: -1, Safety: 0.5, Kind: "gpu", Replicas: -2})
	for _, says := range []string{"rate = -1", "service time = 0s", "safety = 0.5", "kind = gpu", "replicas = -2"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if _, err := Size(Input{RatePerSec: math.NaN(), ServiceTime: msec}); err == nil {
		t.Error("a rate that is no number was accepted")
	}
	if _, err := Size(Input{RatePerSec: 1e9, ServiceTime: time.Hour}); err == nil {
		t.Error("more workers than can be searched were accepted")
	}
}

func TestAnySizeIsWholeAndConsistent(t *testing.T) {
	bounds := objective(t, "p99<50ms,success>99%")
	rapid.Check(t, func(t *rapid.T) {
		in := Input{
			RatePerSec:  rapid.Float64Range(0.1, 20000).Draw(t, "rate"),
			ServiceTime: time.Duration(rapid.IntRange(1, 50000).Draw(t, "service µs")) * time.Microsecond,
			Cores:       float64(rapid.IntRange(0, 64).Draw(t, "cores")),
			Replicas:    rapid.IntRange(0, 9).Draw(t, "replicas"),
			Downstream:  rapid.IntRange(0, 200).Draw(t, "downstream"),
			SLO:         bounds,
		}
		r, err := Size(in)
		if err != nil {
			t.Fatal(err)
		}
		if r.Workers.Minimum < 1 || r.Workers.Recommended < 0 || r.Queue < 0 || r.TimeoutMS <= 0 || len(r.Steps) < 3 {
			t.Fatalf("%+v", r)
		}
		if r.WorkersCap != nil && r.Workers.Recommended > max(1, *r.WorkersCap) {
			t.Fatalf("%d workers above the cap %d", r.Workers.Recommended, *r.WorkersCap)
		}
		if r.Objective.Feasible && r.Objective.Workers != nil && r.Objective.Predicted != nil && *r.Objective.Predicted > 50.001 {
			t.Fatalf("said to be feasible at p99 %v ms", *r.Objective.Predicted)
		}
	})
}
