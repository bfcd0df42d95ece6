package search

import (
	"container/heap"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/stat"
)

func codes(r Result) string {
	var out []string
	for _, c := range r.Caveats {
		out = append(out, c.Code)
	}
	return strings.Join(out, ",")
}

func TestALoadLineAtTheEdgesOfTheRangeIsSaidToBeThere(t *testing.T) {
	cfg := Config{Max: 50, Constraints: p99()}
	r := run(t, cfg, rand.New(rand.NewPCG(1, 1)), independent(cliff(1000)))
	if r.Status != AtMax || r.Value == nil || *r.Value != 50 || r.High != nil || !strings.Contains(codes(r), "at-max") {
		t.Errorf("%+v, want 50 at the largest load", r)
	}
	r = run(t, cfg, rand.New(rand.NewPCG(1, 1)), independent(func(float64) float64 { return 0.5 }))
	if r.Status != None || r.Value != nil || r.Breaks != "p99" {
		t.Errorf("%+v, want none", r)
	}
	r = run(t, Config{Min: 1, Max: 1, Constraints: p99()}, rand.New(rand.NewPCG(1, 1)), independent(cliff(5)))
	if r.Status != AtMax || *r.Value != 1 {
		t.Errorf("%+v, want the only load", r)
	}
}

func TestANeighboursResultSparesRequests(t *testing.T) {
	var apart, seeded int64
	for seed := range uint64(40) {
		for _, c := range []struct {
			seed float64
			sum  *int64
		}{{0, &apart}, {150, &seeded}} {
			r := run(t, Config{Max: 1000, Seed: c.seed, Constraints: p99()}, rand.New(rand.NewPCG(seed, 3)), independent(cliff(160)))
			if r.Status != Found || math.Abs(*r.Value/160-1) > 0.05 {
				t.Fatalf("seed %v: %+v", c.seed, r)
			}
			*c.sum += r.Requests
		}
	}
	if float64(seeded) > 0.9*float64(apart) {
		t.Errorf("%d requests with a neighbour's result, %d without", seeded, apart)
	}
}

func TestEveryConstraintCountsAndTheBreakingOneIsNamed(t *testing.T) {
	s, err := New(Config{Max: 100, Constraints: []Constraint{{"p99", 0.01}, {"success", 0.001}}})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for {
		trial, ok := s.Next()
		if !ok {
			break
		}
		n := trial.Requests
		// Latency would hold to 60 users, success only to 30.
		o := Observation{Counts: []Count{{n, independent(cliff(60))(rng, trial.Load, n)}, {n, 0}}}
		if trial.Load > 30 {
			o.Counts[1].Bad = n / 50
		}
		if err := s.Report(trial, o); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Result()
	if r.Status != Found || *r.Value != 30 || r.Breaks != "success" {
		t.Errorf("%+v, want 30, broken by success", r)
	}
	if r.Confidence < 0.95 || math.Abs(r.Confidence+r.PError-1) > 1e-12 || r.Low == nil || *r.Low != 30 || r.High == nil || *r.High != 31 {
		t.Errorf("confidence %v, error %v, interval %v…%v; want a proof of 30 and of 31", r.Confidence, r.PError, r.Low, r.High)
	}
}

func TestTermsThatNoShareExpressesBreakALoad(t *testing.T) {
	s, err := New(Config{Max: 100, Constraints: p99()})
	if err != nil {
		t.Fatal(err)
	}
	for {
		trial, ok := s.Next()
		if !ok {
			break
		}
		o := Observation{Counts: []Count{{trial.Requests, 0}}}
		if trial.Load > 40 {
			o.Broken = []string{"goodput"}
		}
		if err := s.Report(trial, o); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.Result(); r.Status != Found || *r.Value != 40 || r.Breaks != "goodput" {
		t.Errorf("%+v, want 40, broken by goodput", r)
	}
}

func TestAServiceThatAnswersNothingBreaks(t *testing.T) {
	s, err := New(Config{Max: 64, Constraints: p99()})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		trial, ok := s.Next()
		if !ok {
			break
		}
		o := Observation{Counts: []Count{{trial.Requests, 0}}}
		switch {
		case trial.Load > 30:
			o.Counts = nil
		case trial.Load > 8:
			o.Counts[0].N = 0
		}
		if err := s.Report(trial, o); err != nil {
			t.Fatal(err)
		}
		if i > 1000 {
			t.Fatal("the search does not end")
		}
	}
	if r := s.Result(); r.Status != Found || *r.Value != 8 {
		t.Errorf("%+v, want 8", r)
	}
}

func TestAServiceThatDoesNotRecoverIsShownByTheSweepDown(t *testing.T) {
	overloaded := false
	sticky := func(rng *rand.Rand, load float64, n int64) int64 {
		limit := 40.0
		if load > 60 {
			overloaded = true
		}
		if overloaded {
			limit = 30
		}
		return independent(cliff(limit))(rng, load, n)
	}
	s, err := New(Config{Max: 45, Constraints: p99()})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	for {
		trial, ok := s.Next()
		if !ok {
			break
		}
		if trial.Purpose == Overload {
			overloaded = true
		}
		if err := s.Report(trial, Observation{Counts: []Count{{trial.Requests, sticky(rng, trial.Load, trial.Requests)}}}); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Result()
	if r.Status != Found || *r.Value != 40 || !strings.Contains(codes(r), "hysteresis") || r.DownTo == nil || *r.DownTo >= 40 || *r.DownTo > 30 {
		t.Errorf("%+v, want 40 on the way up and at most 30 on the way down", r)
	}
	if r := run(t, Config{Max: 45, Constraints: p99()}, rand.New(rand.NewPCG(4, 4)), independent(cliff(40))); strings.Contains(codes(r), "hysteresis") || *r.DownTo != 40 {
		t.Errorf("%+v, want no hysteresis", r)
	}
}

func TestABudgetEndsTheSearchWithWhatIsKnown(t *testing.T) {
	for name, cfg := range map[string]Config{
		"requests": {Max: 1000, MaxRequests: 2000, Constraints: p99()},
		"seconds":  {Max: 1000, MaxSeconds: 7, Constraints: p99()},
		"trials":   {Max: 1000, MaxTrials: 6, Constraints: p99()},
	} {
		r := run(t, cfg, rand.New(rand.NewPCG(2, 2)), independent(cliff(700)))
		if r.Status != Stopped || r.Estimate == nil || *r.Estimate > 700 || (r.Value != nil && (r.Low == nil || *r.Value > *r.Low)) || !strings.Contains(codes(r), "search-stopped") {
			t.Errorf("%s: %+v, want a stopped search with a load that seems to hold, and none that was not proved", name, r)
		}
		if name == "requests" && r.Requests > 2000+maxBatch {
			t.Errorf("%d requests of 2000", r.Requests)
		}
	}
}

// Slow requests come in bursts of a second whatever the load, so that near the line no proof comes in time: a load well below is proved instead.
func TestSomethingIsProvedBeforeTheBudgetEnds(t *testing.T) {
	for seed := range uint64(20) {
		s, err := New(Config{Max: 400, MaxSeconds: 24, Constraints: []Constraint{{"p99", 0.01}, {"success", 0.001}}})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 77))
		for {
			trial, ok := s.Next()
			if !ok {
				break
			}
			const perSec = 4000.0
			n := max(50, min(trial.Requests, int64(trial.MaxSeconds*perSec)))
			o := Observation{Counts: []Count{{N: n}, {N: n}}, Seconds: float64(n) / perSec}
			for left := n; left > 0; left -= 400 {
				b := stat.Batch{N: min(400, left)}
				if rng.Float64() < 0.25 { // All that is bad comes in a quarter of the stretches.
					b.Bad = int64(float64(b.N) * min(1, 0.04*trial.Load/40))
				}
				o.Counts[0].Bad += b.Bad
				o.Batches = append(o.Batches, b)
			}
			if err := s.Report(trial, o); err != nil {
				t.Fatal(err)
			}
		}
		// The share of slow requests is 0.01 at 40 users.
		if r := s.Result(); r.Low == nil || r.Value == nil || *r.Low > 46 {
			t.Errorf("seed %d: %s, low %v, estimate %v after %.0f s", seed, r.Status, r.Low, r.Estimate, r.Seconds)
		}
	}
}

// One user of a 20 ms service gives 50 requests a second: a search must not wait there for proofs that only the line needs.
func TestASlowServiceIsSearchedWithinItsBudgetOfSeconds(t *testing.T) {
	const budget = 150
	for seed := range uint64(20) {
		s, err := New(Config{Max: 400, MaxSeconds: budget, Constraints: []Constraint{{"p99", 0.01}, {"success", 0.001}}})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 31))
		slow := independent(cliff(60))
		for {
			trial, ok := s.Next()
			if !ok {
				break
			}
			perSec := min(trial.Load, 30) / 0.020
			n := max(1, min(trial.Requests, int64(trial.MaxSeconds*perSec)))
			o := Observation{Counts: []Count{{n, slow(rng, trial.Load, n)}, {n, 0}}, Seconds: float64(n) / perSec}
			if err := s.Report(trial, o); err != nil {
				t.Fatal(err)
			}
		}
		r := s.Result()
		if r.Status != Found || *r.Value != 60 || r.Seconds > budget {
			t.Errorf("seed %d: %s, %v after %.0f s of %d", seed, r.Status, *r.Value, r.Seconds, budget)
		}
	}
}

func TestAWrongVerdictIsTakenBack(t *testing.T) {
	// The first trial at each load up to 16 users lies: a burst from outside makes it slow.
	s, err := New(Config{Max: 200, Constraints: p99()})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	lied := false
	for {
		trial, ok := s.Next()
		if !ok {
			break
		}
		bad := independent(cliff(100))(rng, trial.Load, trial.Requests)
		if trial.Load == 32 && !lied {
			bad, lied = trial.Requests/40, true
		}
		if err := s.Report(trial, Observation{Counts: []Count{{trial.Requests, bad}}}); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.Result(); !lied || r.Status != Found || math.Abs(*r.Value/100-1) > 0.05 {
		t.Errorf("%+v, want 100 in spite of one lie at 32", r)
	}
}

func TestNothingStopsTheNextUserIsSaidWhereItIsSo(t *testing.T) {
	for _, tt := range []struct {
		admits float64
		known  bool
		want   bool
	}{{0, true, true}, {200, true, true}, {24, true, false}, {0, false, false}} {
		cfg := Config{Max: 200, Constraints: p99(), Admits: tt.admits, AdmitsKnown: tt.known, Expected: 20}
		r := run(t, cfg, rand.New(rand.NewPCG(1, 2)), independent(cliff(24)))
		if got := strings.Contains(codes(r), "unbounded"); got != tt.want {
			t.Errorf("admits %v known %v: said %v, want %v", tt.admits, tt.known, got, tt.want)
		}
		if r.Headroom == nil || math.Abs(*r.Headroom-0.2) > 1e-12 {
			t.Errorf("headroom %v, want 0.2", r.Headroom)
		}
	}
}

func TestTheSameResultsGiveTheSameSearch(t *testing.T) {
	trace := func() (trials []Trial, r Result) {
		s, err := New(Config{Kind: Rate, Max: 5000, Constraints: p99()})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(6, 6))
		for {
			trial, ok := s.Next()
			if again, _ := s.Next(); again != trial {
				t.Fatalf("asked twice: %+v and %+v", trial, again)
			}
			if !ok {
				return trials, s.Result()
			}
			trials = append(trials, trial)
			bad := independent(mmc(4))(rng, trial.Load, trial.Requests)
			if err := s.Report(trial, Observation{Counts: []Count{{trial.Requests, bad}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, ra := trace()
	b, rb := trace()
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(ra, rb) {
		t.Error("two searches with the same results differ")
	}
	for i, trial := range a {
		if trial.Continue && (i == 0 || trial.Load != a[i-1].Load || trial.Number != a[i-1].Number) {
			t.Errorf("trial %d goes on with another load: %+v after %+v", i, trial, a[i-1])
		}
	}
}

// loop is a closed loop of users on m exponential workers with one queue, event by event: its consecutive responses are correlated.
type loop struct {
	rng     *rand.Rand
	now     float64
	waiting []float64 // arrival times, first come first served
	served  ends
}

type ends []struct{ at, arrived float64 }

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at < e[j].at }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(struct{ at, arrived float64 })) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newLoop(rng *rand.Rand, users, workers int) *loop {
	l := &loop{rng: rng}
	for i := range users {
		if i < workers {
			heap.Push(&l.served, struct{ at, arrived float64 }{rng.ExpFloat64(), 0})
		} else {
			l.waiting = append(l.waiting, 0)
		}
	}
	l.responses(20 * users) // start-up
	return l
}

// responses runs until n requests have ended.
func (l *loop) responses(n int) []float64 {
	out := make([]float64, 0, n)
	for range n {
		e := heap.Pop(&l.served).(struct{ at, arrived float64 })
		l.now = e.at
		out = append(out, e.at-e.arrived)
		l.waiting = append(l.waiting, l.now)
		next := l.waiting[0]
		l.waiting = l.waiting[1:]
		heap.Push(&l.served, struct{ at, arrived float64 }{l.now + l.rng.ExpFloat64(), next})
	}
	return out
}

func TestCorrelatedResponsesOfARealQueueDoNotMislead(t *testing.T) {
	const workers, bound, seeds = 8, 8.0, 40
	truth := largest(pool(workers, bound), 0.01, 200)
	right := 0
	for seed := range uint64(seeds) {
		s, err := New(Config{Max: 200, Constraints: p99()})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 21))
		var l *loop
		for {
			trial, ok := s.Next()
			if !ok {
				break
			}
			if !trial.Continue {
				l = newLoop(rng, int(trial.Load), workers)
			}
			if err := s.Report(trial, observe(l.responses(int(trial.Requests)), bound)); err != nil {
				t.Fatal(err)
			}
		}
		r := s.Result()
		if r.Value != nil && math.Abs(*r.Value-truth) <= max(1, 0.05*truth) {
			right++
		} else {
			t.Logf("seed %d: %v of %v, effect %.2f, %s", seed, *r.Value, truth, r.Effect, r.Status)
		}
	}
	if right < seeds*95/100 {
		t.Errorf("right in %d of %d", right, seeds)
	}
}

func observe(responses []float64, bound float64) Observation {
	o := Observation{Counts: []Count{{N: int64(len(responses))}}}
	for i, r := range responses {
		if i%50 == 0 {
			o.Batches = append(o.Batches, stat.Batch{})
		}
		b := &o.Batches[len(o.Batches)-1]
		b.N++
		if r > bound {
			b.Bad++
			o.Counts[0].Bad++
		}
	}
	return o
}

func TestFaultsOfTheConfigurationAndOfReportsAreNamed(t *testing.T) {
	_, err := New(Config{Min: 2.5, Max: 1, Start: -1, Seed: -1, Constraints: []Constraint{{"p99", 0}}, Resolution: 2, Confidence: 0.2, ErrorRate: 0.7, MaxRequests: -1})
	for _, says := range []string{"Max = 1", "whole users", "Start = -1", "Seed = -1", "Limit of p99 = 0", "Resolution = 2", "Confidence = 0.2", "ErrorRate = 0.7", "MaxRequests = -1"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if _, err := New(Config{Max: 10}); err == nil || !strings.Contains(err.Error(), "Constraints = 0") {
		t.Errorf("no constraints: %v", err)
	}
	s, err := New(Config{Max: 10, Constraints: p99()})
	if err != nil {
		t.Fatal(err)
	}
	trial, _ := s.Next()
	for _, bad := range []error{s.Report(trial, Observation{Counts: make([]Count, 2)}), s.Report(trial, Observation{Counts: []Count{{5, 6}}}), s.Report(Trial{}, Observation{Counts: []Count{{5, 1}}})} {
		if bad == nil {
			t.Error("a faulty report was accepted")
		}
	}
	if errors.Is(err, nil) && s.Result().Requests != 0 {
		t.Error("a refused report left a trace")
	}
}

// BenchmarkThought is what the search adds to a batch: question and report together.
func BenchmarkThought(b *testing.B) {
	share := independent(remembered(pool(16, 8)))
	batches := 0
	for b.Loop() {
		s, err := New(Config{Max: 200, Constraints: []Constraint{{"p99", 0.01}, {"success", 0.001}}})
		if err != nil {
			b.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 3))
		for {
			trial, ok := s.Next()
			if !ok {
				break
			}
			b.StopTimer()
			o := Observation{Counts: []Count{{trial.Requests, share(rng, trial.Load, trial.Requests)}, {trial.Requests, 0}}}
			for left := trial.Requests; left > 0; left -= 50 {
				o.Batches = append(o.Batches, stat.Batch{N: 50, Bad: int64(rng.IntN(2))})
			}
			b.StartTimer()
			if err := s.Report(trial, o); err != nil {
				b.Fatal(err)
			}
			batches++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(batches), "µs/batch")
}
