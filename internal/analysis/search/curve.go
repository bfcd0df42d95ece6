package search

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// curve is ln(share of bad requests) = a + b·ln(load) near one load, fitted to the counts of the loads around it: neighbours tell of each
// other, and the sum of their requests proves what a single load would need many times more of its own for.
type curve struct {
	a, b          float64
	vaa, vab, vbb float64 // covariance
}

const (
	curveReach  = 1.35 // loads within this factor
	curveShares = 4.0  // and with shares within this factor of the limit take part: a straight line holds only locally
	curveCells  = 4    // fewest loads
	curveFit    = 0.05 // level of the test that the line fits; a cliff does not and has no curve
)

// curvePoint is one load's part in a curve.
type curvePoint struct{ x, bad, all float64 }

// curveNear fits the curve around a load for one constraint. ok is false where too few loads take part, the line does not fit, or it falls.
func (s *Search) curveNear(c *cell, i int, deff float64) (k curve, ok bool) {
	limit := s.cfg.Constraints[i].Limit
	var points []curvePoint
	for _, other := range s.sorted() {
		n := other.counts[i]
		far := other.load > c.load*curveReach || other.load < c.load/curveReach
		share := float64(n.Bad) / max(1, float64(n.N))
		if far || n.Bad < judgedBad || share > limit*curveShares || share < limit/curveShares {
			continue
		}
		points = append(points, curvePoint{math.Log(other.load / c.load), float64(n.Bad) / deff, float64(n.N) / deff})
	}
	if len(points) < curveCells {
		return curve{}, false
	}
	k, ok = fitCurve(points)
	return k, ok && k.b > 0 && k.fits(points)
}

// fitCurve maximises the Poisson likelihood of the counts by iterated weighted least squares (P. McCullagh and J. A. Nelder, Generalized
// Linear Models, 1989, section 2.5).
func fitCurve(points []curvePoint) (curve, bool) {
	var bad, all float64
	for _, p := range points {
		bad, all = bad+p.bad, all+p.all
	}
	k := curve{a: math.Log(bad / all)}
	for range 50 {
		var w, wx, wxx, r, rx float64
		for _, p := range points {
			mu := p.all * math.Exp(k.a+k.b*p.x)
			w, wx, wxx = w+mu, wx+mu*p.x, wxx+mu*p.x*p.x
			r, rx = r+p.bad-mu, rx+(p.bad-mu)*p.x
		}
		det := w*wxx - wx*wx
		if !(det > 1e-12) {
			return curve{}, false
		}
		da, db := (wxx*r-wx*rx)/det, (w*rx-wx*r)/det
		k.a, k.b = k.a+da, k.b+db
		k.vaa, k.vab, k.vbb = wxx/det, -wx/det, w/det
		if math.Abs(da)+math.Abs(db) < 1e-9 {
			return k, true
		}
	}
	return curve{}, false
}

// fits is Pearson's test of the line.
func (k curve) fits(points []curvePoint) bool {
	chi2 := 0.0
	for _, p := range points {
		mu := p.all * math.Exp(k.a+k.b*p.x)
		chi2 += (p.bad - mu) * (p.bad - mu) / mu
	}
	return chi2Tail(chi2, len(points)-2) >= curveFit
}

// confidenceBelow is the confidence that the share at the curve's own load (x = 0) is below a limit.
func (k curve) confidenceBelow(limit float64) float64 {
	return distuv.UnitNormal.CDF((math.Log(limit) - k.a) / math.Sqrt(k.vaa))
}
