package knee

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// line is y = a + b·x by least squares, with its sum of squares.
type line struct{ a, b, sse float64 }

func fitLine(x, y []float64) line {
	n := float64(len(x))
	var mx, my float64
	for i := range x {
		mx, my = mx+x[i]/n, my+y[i]/n
	}
	var sxx, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	l := line{a: my}
	if sxx > 0 {
		l.b = sxy / sxx
		l.a = my - l.b*mx
	}
	for i := range x {
		d := y[i] - l.a - l.b*x[i]
		l.sse += d * d
	}
	return l
}

// LMethod is the best cut of a curve into two independent straight lines.
type LMethod struct {
	Left, Right float64 // the loads on both sides of the cut
	Crossing    float64 // where the two lines meet; NaN where they are parallel
}

// FitLMethod tries every cut with at least two points a side and weighs the two root mean square errors by their points. It needs four
// points with rising x.
//
// Source: S. Salvador and P. Chan, "Determining the Number of Clusters/Segments in Hierarchical Clustering/Segmentation Algorithms", ICTAI
// 2004.
func FitLMethod(x, y []float64) (LMethod, bool) {
	n := len(x)
	if n < 4 || len(y) != n {
		return LMethod{}, false
	}
	best, bestErr := LMethod{}, math.Inf(1)
	for c := 2; c <= n-2; c++ {
		l, r := fitLine(x[:c], y[:c]), fitLine(x[c:], y[c:])
		left, right := float64(c), float64(n-c)
		e := (left*math.Sqrt(l.sse/left) + right*math.Sqrt(r.sse/right)) / float64(n)
		if e < bestErr {
			bestErr = e
			best = LMethod{Left: x[c-1], Right: x[c], Crossing: (r.a - l.a) / (l.b - r.b)}
			if l.b == r.b {
				best.Crossing = math.NaN()
			}
		}
	}
	return best, true
}

// Hinge is one continuous line with one bend, y = a + b·x + c·max(0, x−Bend).
type Hinge struct {
	Bend        float64
	Low, High   float64 // 95 % profile interval of the bend, within the tested loads
	SlopeBefore float64
	SlopeAfter  float64
	Intercept   float64
	SSE         float64
	LineSSE     float64 // of the straight line without a bend
	// BendP is the probability of so good a bend from a straight line with noise (F test, two parameters); 1 where no degree is left.
	BendP float64
}

// At is the hinge's value.
func (h Hinge) At(x float64) float64 {
	return h.Intercept + h.SlopeBefore*x + (h.SlopeAfter-h.SlopeBefore)*max(0, x-h.Bend)
}

// FitHinge finds the bend by least squares. It needs five points with rising x.
func FitHinge(x, y []float64) (Hinge, bool) {
	n := len(x)
	if n < 5 || len(y) != n {
		return Hinge{}, false
	}
	sse := func(k float64) float64 { return bendAt(x, y, k).SSE }
	best, bestSSE := x[1], math.Inf(1)
	// The sum of squares is smooth between two neighbouring loads and may have a minimum in each such piece.
	for i := 1; i+2 < n; i++ {
		k := goldenMin(x[i], x[i+1], sse)
		for _, c := range []float64{x[i], k, x[i+1]} {
			if s := sse(c); s < bestSSE {
				best, bestSSE = c, s
			}
		}
	}
	h := bendAt(x, y, best)
	h.LineSSE = fitLine(x, y).sse
	h.BendP = bendP(h, n)
	h.Low, h.High = profile(x, h, sse)
	return h, true
}

// bendP is an F test of the bend: two more parameters than the line. The bend's place makes it approximate.
func bendP(h Hinge, n int) float64 {
	free := float64(n - 4)
	if free < 1 {
		return 1
	}
	if h.SSE <= 0 {
		if h.LineSSE <= 0 {
			return 1
		}
		return 0
	}
	f := (h.LineSSE - h.SSE) / 2 / (h.SSE / free)
	return distuv.F{D1: 2, D2: free}.Survival(max(0, f))
}

// profile is the range of bends around the best whose sum of squares is not significantly above it.
func profile(x []float64, h Hinge, sse func(float64) float64) (low, high float64) {
	n := len(x)
	free := float64(n - 4)
	if free < 1 {
		return x[0], x[n-1]
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Quantile(0.975)
	limit := h.SSE * (1 + t*t/free)
	return crossing(h.Bend, x[0], limit, sse), crossing(h.Bend, x[n-1], limit, sse)
}

// crossing walks from the best bend towards an end until the sum of squares passes the limit, and then halves the last step. It is the end
// where the limit is not passed.
func crossing(from, end, limit float64, sse func(float64) float64) float64 {
	const steps = 200
	inside := from
	for i := 1; i <= steps; i++ {
		k := from + (end-from)*float64(i)/steps
		if sse(k) <= limit {
			inside = k
			continue
		}
		outside := k
		for range 30 {
			mid := (inside + outside) / 2
			if sse(mid) <= limit {
				inside = mid
			} else {
				outside = mid
			}
		}
		return inside
	}
	return end
}

// bendAt solves the linear problem for a given bend by projecting out the line from the bend's column.
func bendAt(x, y []float64, k float64) Hinge {
	bent := make([]float64, len(x))
	for i, v := range x {
		bent[i] = max(0, v-k)
	}
	ly, lb := fitLine(x, y), fitLine(x, bent)
	var cross, own float64
	for i := range x {
		rb := bent[i] - lb.a - lb.b*x[i]
		cross += rb * (y[i] - ly.a - ly.b*x[i])
		own += rb * rb
	}
	c := 0.0
	if own > 1e-12*(1+k*k) {
		c = cross / own
	}
	h := Hinge{Bend: k, SlopeBefore: ly.b - c*lb.b, Intercept: ly.a - c*lb.a}
	h.SlopeAfter = h.SlopeBefore + c
	for i := range x {
		d := y[i] - h.At(x[i])
		h.SSE += d * d
	}
	return h
}

// goldenMin is the golden section search for the minimum of a function with one on lo…hi.
func goldenMin(lo, hi float64, f func(float64) float64) float64 {
	const ratio = 0.6180339887498949
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := f(a), f(b)
	for range 40 {
		if fa < fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = f(b)
		}
	}
	return (lo + hi) / 2
}
