package knee

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/queueing"
)

func oneTo(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i + 1)
	}
	return out
}

// The three data sets of the USL literature.
var (
	specN  = []float64{1, 18, 36, 72, 108, 144, 216}
	specX  = []float64{64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2}
	rayN   = []float64{1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64}
	rayX   = []float64{20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310}
	mysqlN = oneTo(32)
	mysqlX = []float64{955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61, 8278.71, 8646.7, 9047.84, 9426.55,
		9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
		12118.04, 12140.4, 12074.39}
)

func requireNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %.8g, want %.8g", what, got, want)
	}
}

func TestKneedleFindsTheKneesOfThePaperAndItsPorts(t *testing.T) {
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	tests := []struct {
		name  string
		y     []float64
		shape Shape
		want  float64
	}{
		{"concave increasing", []float64{0, 60, 80, 85, 90, 95, 96, 97, 98, 99}, ConcaveIncreasing, 2},
		{"concave decreasing", []float64{99, 98, 97, 96, 95, 90, 85, 80, 60, 0}, ConcaveDecreasing, 7},
		{"convex increasing", []float64{1, 2, 3, 4, 5, 10, 15, 20, 40, 100}, ConvexIncreasing, 7},
		{"convex decreasing", []float64{100, 40, 20, 15, 10, 5, 4, 3, 2, 1}, ConvexDecreasing, 2},
	}
	for _, tt := range tests {
		if got, ok := Kneedle(x, tt.y, tt.shape, 1, First); !ok || got != tt.want {
			t.Errorf("%s: %v %v, want %v", tt.name, got, ok, tt.want)
		}
	}
	// Figure 2 of the paper: y = 5 − 1/(x + 0.1) at ten points on 0…1.
	fx, fy := make([]float64, 10), make([]float64, 10)
	for i := range fx {
		fx[i] = float64(i) / 9
		fy[i] = 5 - 1/(fx[i]+0.1)
	}
	got, ok := Kneedle(fx, fy, ConcaveIncreasing, 1, First)
	if !ok {
		t.Fatal("no knee in figure 2")
	}
	requireNear(t, "figure 2", got, 0.2222, 5e-5)
	// The C# port's vector.
	cy := []float64{1, 1, .894, .864, .859, .856, .852, .851, .849, .848, .847, .845}
	if got, ok := Kneedle(oneTo(12), cy, ConvexDecreasing, 1, First); !ok || got != 4 {
		t.Errorf("C# vector: %v %v, want 4", got, ok)
	}
}

func TestKneedleFindsNoKneeWhereThereIsNone(t *testing.T) {
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	if got, ok := Kneedle(x, x, ConcaveIncreasing, 1, First); ok {
		t.Errorf("a straight line has its knee at %v", got)
	}
	short := []float64{1, 2, 3}
	decay := []float64{math.Exp(-.1), math.Exp(-.2), math.Exp(-.3)}
	if got, ok := Kneedle(short, decay, ConvexDecreasing, 1, First); ok {
		t.Errorf("three points of a slow decay have a knee at %v", got)
	}
	if _, ok := Kneedle(x, make([]float64, 10), ConcaveIncreasing, 1, First); ok {
		t.Error("a flat line has a knee")
	}
	if _, ok := Kneedle(x[:2], x[:2], ConcaveIncreasing, 1, First); ok {
		t.Error("two points have a knee")
	}
}

// On R = 1/(1−ρ) the method gives the chord's tangent point: a property of the range swept, not of the server.
func TestKneedleOnAResponseCurveMovesWithTheRange(t *testing.T) {
	for most, want := range map[float64]float64{0.80: 0.555, 0.90: 0.685, 0.95: 0.778, 0.99: 0.9005} {
		const n = 4000
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = 0.01 + (most-0.01)*float64(i)/(n-1)
			y[i] = 1 / (1 - x[i])
		}
		got, ok := Kneedle(x, y, ConvexIncreasing, 1, First)
		if !ok {
			t.Fatal("no knee")
		}
		requireNear(t, "tangent point", got, 1-math.Sqrt(0.99*(1-most)), 1e-3)
		requireNear(t, "computed", got, want, 1e-3)
	}
}

func TestTheReferenceDataHaveTheirComputedKnees(t *testing.T) {
	tests := []struct {
		name                                               string
		n, x                                               []float64
		kneedle, left, right, crossing, hinge, power, peak float64
	}{
		{"specsdm91", specN, specX, 36, 36, 72, 40.16, 40.18, 36, 96.5},
		{"raytracer", rayN, rayX, 32, 8, 12, 10.94, 12.88, 12, math.NaN()},
		{"mysql", mysqlN, mysqlX, 14, 11, 12, 11.67, 11.67, 14, 35.6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, ok := FitLMethod(tt.n, tt.x)
			if !ok || l.Left != tt.left || l.Right != tt.right {
				t.Errorf("L-method %+v, want a cut between %v and %v", l, tt.left, tt.right)
			}
			requireNear(t, "crossing", l.Crossing, tt.crossing, 6e-3)
			h, ok := FitHinge(tt.n, tt.x)
			if !ok || !(h.Low <= h.Bend && h.Bend <= h.High) {
				t.Errorf("hinge %+v", h)
			}
			// The computed bends come from a grid of loads.
			requireNear(t, "hinge", h.Bend, tt.hinge, 0.03)
			r := find(t, tt.n, tt.x)
			for method, want := range map[string]float64{MethodKneedle: tt.kneedle, MethodPower: tt.power, MethodPeak: tt.peak, MethodHinge: tt.hinge, MethodL: tt.crossing} {
				got := estimate(r, method)
				if math.IsNaN(want) != (got == nil) {
					t.Errorf("%s: %v, want %v", method, got, want)
				} else if got != nil {
					requireNear(t, method, *got, want, 0.06)
				}
			}
			if r.Concurrency == nil || *r.Concurrency != h.Bend {
				t.Errorf("recommended %v, want the hinge", r.Concurrency)
			}
		})
	}
	if got, ok := Kneedle(mysqlN, mysqlX, ConcaveIncreasing, 1, Last); !ok || got != 22 {
		t.Errorf("MySQL, points arriving one by one: %v, want 22", got)
	}
}

func find(t *testing.T, n, x []float64) Result {
	t.Helper()
	points := make([]Point, len(n))
	for i := range n {
		points[i] = Point{Concurrency: n[i], ThroughputPerSec: x[i]}
	}
	r, err := Find(points)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func estimate(r Result, method string) *float64 {
	for _, e := range r.Estimates {
		if e.Method == method {
			return e.Concurrency
		}
	}
	return nil
}

// A pool of m workers without think time is a straight line to m and flat beyond: the knee is m.
func TestThePoolsSizeIsTheKneeOfAPool(t *testing.T) {
	for _, m := range []int{10, 30} {
		held := 0
		for seed := range uint64(50) {
			rng := rand.New(rand.NewPCG(seed, 5))
			var n, x []float64
			for _, c := range []float64{1, 2, 5, 8, 12, 16, 20, 25, 35, 40, 50, 75, 100} {
				n = append(n, c)
				x = append(x, min(c, float64(m))/0.02*(1+0.01*rng.NormFloat64()))
			}
			r := find(t, n, x)
			if r.Concurrency == nil {
				t.Fatalf("no knee: %+v", r)
			}
			if math.Abs(*r.Concurrency-float64(m)) > 0.1*float64(m) {
				t.Errorf("m %d: knee %v", m, *r.Concurrency)
			}
			if *r.Low <= float64(m) && float64(m) <= *r.High {
				held++
			}
		}
		if held < 42 {
			t.Errorf("m %d: the interval held the truth in %d of 50", m, held)
		}
	}
}

func TestAStraightLineHasNoKnee(t *testing.T) {
	found := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var n, x []float64
		for c := 5.0; c <= 60; c += 5 {
			n = append(n, c)
			x = append(x, 50*c+10*rng.NormFloat64())
		}
		r := find(t, n, x)
		if r.Concurrency != nil && !strings.Contains(strings.Join(r.Caveats, " "), "still grows") {
			found++
		}
		if r.Concurrency == nil && !strings.Contains(r.Caveats[0], "load further") {
			t.Errorf("caveats %v", r.Caveats)
		}
	}
	if found > 0 {
		t.Errorf("%d of 100 straight lines have a knee without a caveat", found)
	}
}

func TestPointsAtOneLoadAreAveragedInAnyOrder(t *testing.T) {
	points := []Point{{100, 500, 0}, {1, 50, 0}, {2, 90, 0}, {2, 110, 0}, {5, 250, 0}, {8, 400, 0}, {20, 500, 0}, {50, 500, 0}, {12, 500, 0}}
	r, err := Find(points)
	if err != nil {
		t.Fatal(err)
	}
	if r.Concurrency == nil || math.Abs(*r.Concurrency-10) > 0.5 || r.TestedLow != 1 || r.TestedHigh != 100 {
		t.Errorf("%+v, want a knee at 10 within 1…100", r)
	}
}

func TestTooFewLoadsAndBadFiguresAreRefused(t *testing.T) {
	for says, points := range map[string][]Point{
		"at least 5": {{1, 1, 0}, {2, 2, 0}, {3, 3, 0}, {4, 4, 0}, {4, 5, 0}},
		"point 2":    {{1, 1, 0}, {-2, 2, 0}, {3, 3, 0}, {4, 4, 0}, {5, 5, 0}, {6, 5, 0}},
	} {
		if _, err := Find(points); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", points, err, says)
		}
	}
}

func TestPowerHasItsOptimumAtOneInTheSystem(t *testing.T) {
	for scv, want := range map[float64]float64{0: 0.585786, 0.5: 0.535898, 1: 0.5, 4: 0.387426} {
		rho := PowerOptimum(scv)
		requireNear(t, "ρ*", rho, want, 6e-7)
		requireNear(t, "L*", rho*queueing.MG1{ArrivalPerSec: rho, ServiceSec: 1, SCV: scv}.ResponseSec(), 1, 1e-9)
	}
}
