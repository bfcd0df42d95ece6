package usl

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func pointsOf(n, x []float64) []Point {
	out := make([]Point, len(n))
	for i := range n {
		out[i] = Point{n[i], x[i]}
	}
	return out
}

func oneTo(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i + 1)
	}
	return out
}

var (
	specN = []float64{1, 18, 36, 72, 108, 144, 216}
	// SPEC SDM91 on a SPARCcenter 2000, 1994.
	spec = pointsOf(specN, []float64{64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2})
	// MySQL on a Cisco UCS, 1 to 32 threads (B. Schwartz, Practical Scalability Analysis).
	mysql = pointsOf(oneTo(32), []float64{955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61, 8278.71, 8646.7, 9047.84, 9426.55,
		9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
		12118.04, 12140.4, 12074.39})
)

func requireNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.10g, want %.10g", what, got, want)
	}
}

func fit(t *testing.T, points []Point) Fit {
	t.Helper()
	f, err := FitPoints(points)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Published with R's package usl.
func TestSpecSDM91IsFittedAsPublished(t *testing.T) {
	f := fit(t, spec)
	requireNear(t, "α", f.Alpha.Value, 0.0277285, 6e-8)
	requireNear(t, "β", f.Beta.Value, 0.00010436548, 6e-10)
	requireNear(t, "γ", f.Gamma.Value, 89.9952, 6e-4)
	requireNear(t, "standard error of α", f.Alpha.StdError, 0.0091217, 2e-6)
	requireNear(t, "standard error of β", f.Beta.StdError, 0.0000199, 6e-8)
	requireNear(t, "standard error of γ", f.Gamma.StdError, 14.2135, 2e-3)
	requireNear(t, "residual error", f.ResidualStdError, 82.85, 0.006)
	if f.FreeDegrees != 4 || f.PeakExtrapolated {
		t.Errorf("degrees %d, extrapolated %v; want 4, false", f.FreeDegrees, f.PeakExtrapolated)
	}
	requireNear(t, "peak", f.Peak.Value, 96.51956, 1e-4)
	requireNear(t, "throughput at the peak", f.Model.ThroughputAt(f.Peak.Value), 1884, 0.5)
	requireNear(t, "ceiling", f.Model.Ceiling(), 3245.589, 2e-2)
	requireNear(t, "optimum", f.Model.OptimalConcurrency(), 36.06401, 1e-4)
	for i, want := range []float64{90, 1078, 1541, 1850, 1879, 1822, 1646} {
		requireNear(t, "fitted", f.Model.ThroughputAt(specN[i]), want, 0.51)
	}
	// The published efficiencies are measured throughputs over γN.
	for i, want := range []float64{.7211, .6148, .5100, .2860, .1882, .1370, .0876} {
		requireNear(t, "efficiency", spec[i].ThroughputPerSec/(f.Gamma.Value*specN[i]), want, 6e-5)
	}
	// Four degrees of freedom: Student's t at 97.5 % is 2.776.
	requireNear(t, "half width", (f.Alpha.High-f.Alpha.Low)/2, 2.776445*f.Alpha.StdError, 1e-8)
}

// Published with codahale/usl, whose accuracy is 1e-5.
func TestIntegersOfSpecAndMySQLAreFittedAsPublished(t *testing.T) {
	f := fit(t, pointsOf(specN, []float64{65, 996, 1652, 1853, 1829, 1775, 1702}))
	requireNear(t, "α", f.Alpha.Value, 0.0277299, 1e-6)
	requireNear(t, "β", f.Beta.Value, 0.000104343, 1e-8)
	requireNear(t, "γ", f.Gamma.Value, 89.9878, 1e-3)
	for n, want := range map[float64]float64{10: 714.778987, 50: 1721.000603, 100: 1883.278957, 300: 1447.463805} {
		requireNear(t, "X", f.Model.ThroughputAt(n), want, 2e-5*want)
	}
	m := fit(t, mysql)
	requireNear(t, "α", m.Alpha.Value, 0.02671591, 1e-7)
	requireNear(t, "β", m.Beta.Value, 7.690945e-4, 1e-9)
	requireNear(t, "γ", m.Gamma.Value, 995.6486, 1e-3)
	peak := math.Floor(m.Peak.Value)
	if peak != 35 || !m.PeakExtrapolated {
		t.Errorf("peak %v extrapolated %v, want 35 beyond the 32 tested", peak, m.PeakExtrapolated)
	}
	requireNear(t, "X at the peak", m.Model.ThroughputAt(peak), 12341.745415, 0.05)
	requireNear(t, "X(20)", m.Model.ThroughputAt(20), 11063.633126, 0.05)
	for n, want := range map[float64]float64{1: .00100437, 20: .00180772, 35: .00283590} {
		requireNear(t, "R", m.Model.ResponseAt(n), want, 6e-9)
	}
	// The published load at 11048/s takes contention alone.
	n, ok := Model{Alpha: m.Model.Alpha, Gamma: m.Model.Gamma}.ConcurrencyAtThroughput(11048)
	if !ok {
		t.Fatal("11048/s is below the ceiling")
	}
	requireNear(t, "N at 11048/s", n, 15.350435, 2e-5)
}

func TestTenPointsOverstateThePeakAndSaySo(t *testing.T) {
	f := fit(t, mysql[:10])
	requireNear(t, "α", f.Alpha.Value, 0.01700277, 2e-7)
	requireNear(t, "β", f.Beta.Value, 4.4653917e-4, 2e-9)
	requireNear(t, "γ", f.Gamma.Value, 938.37927, 1e-3)
	requireNear(t, "peak", f.Peak.Value, 46.9, 0.05)
	if !f.PeakExtrapolated || !strings.Contains(strings.Join(f.Caveats, " "), "extrapolated") {
		t.Errorf("the peak from 10 points must be flagged: %v", f.Caveats)
	}
	for r, want := range map[float64]float64{.0012: 7.230629, .0016: 20.251064, .0020: 29.888894} {
		n, ok := f.Model.ConcurrencyAtResponse(r)
		if !ok {
			t.Fatal("above R(1)")
		}
		requireNear(t, "N(R)", n, want, 2e-4)
	}
}

func TestTheModelsAlgebraIsThePublishedOne(t *testing.T) {
	m := Model{Alpha: 0.06, Beta: 0.06, Gamma: 40}
	for r, want := range map[float64]float64{.03: 69.388867, .04: 82.915620, .05: 84.063468} {
		x, ok := m.ThroughputAtResponse(r)
		if !ok {
			t.Fatal("above R(1)")
		}
		requireNear(t, "X(R)", x, want, 6e-7)
	}
	for x, want := range map[float64]float64{400: .05875, 500: .094, 600: .235} {
		r, ok := m.ResponseAtThroughput(x)
		if !ok {
			t.Fatal("below the ceiling")
		}
		requireNear(t, "R(X)", r, want, 1e-12)
	}
}

// raytracer of R's package usl (11 processors counts). Unbounded, it has a negative coherency.
var raytracer = pointsOf([]float64{1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64}, []float64{20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310})

func TestAnUnboundedFitMayLeaveTheLawAndTheBoundedOneMayNot(t *testing.T) {
	c, ok := leastSquares(raytracer, math.NaN(), math.NaN())
	if !ok {
		t.Fatal("no solution")
	}
	requireNear(t, "unbounded α", c.model.Alpha, 0.0781, 6e-5)
	requireNear(t, "unbounded β", c.model.Beta, -2.01e-4, 6e-7)
	requireNear(t, "unbounded γ", c.model.Gamma, 24.77, 6e-3)
	f := fit(t, raytracer)
	if f.Beta.Value != 0 || f.Peak != nil || !strings.Contains(strings.Join(f.Caveats, " "), "bound 0") {
		t.Errorf("bounded: β %v, peak %v, caveats %v; want 0, none, and said so", f.Beta.Value, f.Peak, f.Caveats)
	}
}

func TestInversesInvert(t *testing.T) {
	for _, m := range []Model{{0.03, 0.0001, 90}, {0.03, 0, 90}, {0, 0.0001, 90}, {0.0267, 7.69e-4, 995}} {
		for _, n := range []float64{1, 2, 10, 30} {
			got, ok := m.ConcurrencyAtThroughput(m.ThroughputAt(n))
			if !ok {
				t.Fatalf("%+v: X(%v) is not reached", m, n)
			}
			requireNear(t, "N(X)", got, n, 1e-6*n)
			if got, ok = m.ConcurrencyAtResponse(m.ResponseAt(n)); !ok {
				t.Fatalf("%+v: R(%v) is not reached", m, n)
			}
			requireNear(t, "N(R)", got, n, 1e-6*n)
		}
		if _, ok := m.ConcurrencyAtResponse(m.ResponseAt(1) / 2); ok {
			t.Errorf("%+v: half of R(1) cannot be reached", m)
		}
	}
	if _, ok := (Model{0.03, 0.0001, 90}).ConcurrencyAtThroughput(1e6); ok {
		t.Error("a throughput above the peak was reached")
	}
	if _, ok := (Model{0, 0, 90}).ConcurrencyAtResponse(1); ok {
		t.Error("perfect scaling has one response at all loads")
	}
}

func TestKnownParametersAreRecoveredFromNoise(t *testing.T) {
	truth := Model{Alpha: 0.05, Beta: 0.0005, Gamma: 100}
	held, seeds := 0, 200
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var points []Point
		for _, n := range []float64{1, 2, 4, 8, 16, 24, 32, 48, 64} {
			points = append(points, Point{n, truth.ThroughputAt(n) + 10*rng.NormFloat64()})
		}
		f := fit(t, points)
		if f.Beta.Low <= truth.Beta && truth.Beta <= f.Beta.High {
			held++
		}
	}
	if held < seeds*90/100 {
		t.Errorf("the 95 %% interval of β held the truth in %d of %d", held, seeds)
	}
}

func TestPointsThatCannotBeFittedAreRefusedWithTheReason(t *testing.T) {
	for says, points := range map[string][]Point{
		"at least 4":           spec[:3],
		"point 2: concurrency": {{1, 1}, {0, 1}, {2, 2}, {3, 3}, {4, 4}},
		"point 1: throughput":  {{1, -1}, {5, 1}, {2, 2}, {3, 3}, {4, 4}},
		"no throughput":        {{1, 0}, {5, 0}, {2, 0}, {3, 0}},
		"3 different loads":    {{1, 1}, {1, 1}, {2, 2}, {3, 3}},
	} {
		if _, err := FitPoints(points); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", points, err, says)
		}
	}
}

func BenchmarkFit32Points(b *testing.B) {
	for b.Loop() {
		if _, err := FitPoints(mysql); err != nil {
			b.Fatal(err)
		}
	}
}
