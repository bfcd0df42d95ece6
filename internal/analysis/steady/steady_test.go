package steady

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Computed from the definition for x_i = 10·0.9^i + ((i mod 3) − 1), i = 0…99.
func TestMSERCutsTheComputedSeriesWhereTheDefinitionSays(t *testing.T) {
	x := make([]float64, 100)
	sum := 0.0
	for i := range x {
		x[i] = 10*math.Pow(0.9, float64(i)) + float64(i%3-1)
		sum += x[i]
	}
	if math.Abs(sum/100-0.989973) > 5e-7 {
		t.Fatalf("the series itself is wrong: mean %v", sum/100)
	}
	check := func(name string, got Truncation, drop int, stat, all, mean float64) {
		t.Helper()
		if got.Drop != drop || math.Abs(got.Stat-stat) > 5e-11 || math.Abs(got.StatAll-all) > 5e-9 || math.Abs(got.Mean-mean) > 5e-7 || got.TooShort {
			t.Errorf("%s: %+v, want drop %d stat %v all %v mean %v", name, got, drop, stat, all, mean)
		}
	}
	check("MSER", MSER(x), 21, 0.0090556595, 0.048128873, 0.125813)
	check("MSER-5", MSER5(x), 30, 0.0020469145, 0.20305409, 0.046235)
}

func TestAMinimumAtTheEdgeMeansTooShort(t *testing.T) {
	x := make([]float64, 60)
	for i := range x {
		x[i] = 100 - float64(i)
	}
	if got := MSER(x); !got.TooShort {
		t.Errorf("a series that falls throughout: %+v, want too short", got)
	}
	if got := MSER(nil); !got.TooShort {
		t.Errorf("an empty series: %+v, want too short", got)
	}
}

func TestALineIsFoundExactly(t *testing.T) {
	got := FitTrend([]float64{1, 3, 5, 7, 9, 11})
	if math.Abs(got.Slope-2) > 1e-12 || math.Abs(got.Relative-10.0/6) > 1e-12 {
		t.Errorf("%+v, want slope 2 and a change of 10 about a mean of 6", got)
	}
}

// mm1 is the number in system of an M/M/1 queue, mean over intervals of 100 service times, by its own event loop.
func mm1(rng *rand.Rand, rho float64, intervals, warm int) []float64 {
	const length = 100.0
	var out []float64
	n, now, area := 0, 0.0, 0.0
	end := length
	for len(out) < intervals+warm {
		rate := rho
		if n > 0 {
			rate++
		}
		next := now + rng.ExpFloat64()/rate
		for next >= end {
			area += float64(n) * (end - now)
			out = append(out, area/length)
			now, area, end = end, 0, end+length
		}
		area += float64(n) * (next - now)
		now = next
		if n == 0 || rng.Float64() < rho/rate {
			n++
		} else {
			n--
		}
	}
	return out[warm : warm+intervals]
}

func TestAQueueThatGrowsIsFoundAndOneThatDoesNotIsLeftAlone(t *testing.T) {
	const seeds = 200
	found := func(rho float64, warm int) int {
		unsteady := 0
		for seed := range uint64(seeds) {
			q := mm1(rand.New(rand.NewPCG(seed, 99)), rho, 60, warm)
			if Detect(Series{IntervalSeconds: 1, Queue: q}).Verdict == Unsteady {
				unsteady++
			}
		}
		return unsteady
	}
	for _, rho := range []float64{0.3, 0.5, 0.7, 0.8} {
		if n := found(rho, 50); n > seeds/20 {
			t.Errorf("ρ %v: %d of %d steady queues were said to grow", rho, n, seeds)
		}
	}
	if n := found(1.2, 5); n < seeds*95/100 {
		t.Errorf("ρ 1.2: only %d of %d growing queues were found", n, seeds)
	}
}

func TestAStartUpIsCutAndTheRestIsSteady(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 60)
	for i := range x {
		x[i] = 1000*(1-math.Exp(-float64(i)/4)) + 10*rng.NormFloat64()
	}
	got := Detect(Series{IntervalSeconds: 1, Throughput: x})
	if got.Verdict != Steady || got.DropSeconds < 5 || got.DropSeconds > 25 {
		t.Errorf("%+v, want steady after 5 to 25 s", got)
	}
}

func TestDriftIsNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	x := make([]float64, 60)
	for i := range x {
		x[i] = 1000 - 8*float64(i) + 10*rng.NormFloat64()
	}
	if got := Detect(Series{IntervalSeconds: 1, Throughput: x}); got.Verdict == Steady || len(got.Reasons) == 0 {
		t.Errorf("%+v, want a named drift", got)
	}
}

func TestAQueueThatDrainsDoesNotSpeakAgainstSteadyState(t *testing.T) {
	x := make([]float64, 60)
	for i := range x {
		x[i] = 40 * math.Exp(-float64(i)/3)
	}
	for i := range x {
		x[i] += 5 + 0.5*float64(i%3)
	}
	if got := Detect(Series{IntervalSeconds: 1, Queue: x}); got.Verdict != Steady {
		t.Errorf("%+v, want steady", got)
	}
}

func TestTooFewIntervalsAreSaidToBeTooFew(t *testing.T) {
	got := Detect(Series{IntervalSeconds: 1, Throughput: []float64{100, 101, 99}})
	if got.Verdict != TooShort || len(got.Reasons) != 1 {
		t.Errorf("%+v, want too short with its reason", got)
	}
}

func TestAFlatSeriesIsSteady(t *testing.T) {
	x := make([]float64, 30)
	for i := range x {
		x[i] = 500
	}
	if got := Detect(Series{IntervalSeconds: 1, Throughput: x, ResponseMS: x, Queue: x}); got.Verdict != Steady || got.DropSeconds != 0 {
		t.Errorf("%+v, want steady with nothing dropped", got)
	}
}

func BenchmarkDetect100000Intervals(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float64, 100_000)
	for i := range x {
		x[i] = 1000 + 30*rng.NormFloat64()
	}
	s := Series{IntervalSeconds: 0.1, Throughput: x, ResponseMS: x, Queue: x}
	for b.Loop() {
		Detect(s)
	}
}
