// Package knee finds where added load stops adding throughput in proportion, by several definitions side by side, recommends one, and says
// why the others differ.
//
// Opinion: the hinge, one continuous line with one bend, is recommended: it answers the question asked, has an interval and a test, and does
// not move with the tested range as the chord methods do. The load of the largest throughput (the peak of the Universal Scalability Law) is
// another question and lies further out.
package knee

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/loadline-dev/loadline/internal/analysis/usl"
)

// MinLoads is the fewest different loads that a knee is looked for in.
const MinLoads = 5

// significance is the level of the test for a bend.
const significance = 0.05

// Point is one measured load. ResponseSec, the mean response, may be 0: unknown; then N/X stands for it, as in a closed loop without think
// time.
type Point struct {
	Concurrency      float64
	ThroughputPerSec float64
	ResponseSec      float64
}

// The methods, as they stand in results.
const (
	MethodHinge   = "hinge"
	MethodL       = "l-method"
	MethodKneedle = "kneedle"
	MethodPower   = "kleinrock-power"
	MethodPeak    = "usl-peak"
)

// Estimate is one definition's answer.
type Estimate struct {
	Method      string   `json:"method"`
	Concurrency *float64 `json:"concurrency"` // nil: this definition finds none
	Definition  string   `json:"definition"`
	Note        string   `json:"note"` // what to know of this value; empty: nothing
}

// Result is the knee and how the definitions compare.
type Result struct {
	// Concurrency is the recommended knee; nil where throughput shows no bend within the tested loads.
	Concurrency      *float64   `json:"concurrency"`
	ThroughputPerSec *float64   `json:"throughput_per_s"` // there
	Low              *float64   `json:"low"`              // 95 % interval
	High             *float64   `json:"high"`
	Method           string     `json:"method"`
	Estimates        []Estimate `json:"estimates"`
	Differ           string     `json:"differ"` // why the definitions differ, with their values
	Caveats          []string   `json:"caveats"`
	TestedLow        float64    `json:"tested_low"`
	TestedHigh       float64    `json:"tested_high"`
}

// Find looks for the knee. Points may come in any order; those at one load are averaged. It refuses fewer than MinLoads loads.
func Find(points []Point) (Result, error) {
	ps, err := prepare(points)
	if err != nil {
		return Result{}, err
	}
	x, y := make([]float64, len(ps)), make([]float64, len(ps))
	for i, p := range ps {
		x[i], y[i] = p.Concurrency, p.ThroughputPerSec
	}
	out := Result{Method: MethodHinge, Caveats: []string{}, TestedLow: x[0], TestedHigh: x[len(x)-1]}
	hinge, _ := FitHinge(x, y) // prepare has seen to the number of points
	out.recommend(hinge)
	out.Estimates = []Estimate{hingeEstimate(out), lEstimate(x, y), kneedleEstimate(x, y), powerEstimate(ps), peakEstimate(ps, &out)}
	out.Differ = differ(out.Estimates)
	return out, nil
}

func prepare(points []Point) ([]Point, error) {
	type sum struct {
		p Point
		n float64
	}
	at := map[float64]*sum{}
	var faults []error
	for i, p := range points {
		if !(p.Concurrency > 0) || !(p.ThroughputPerSec >= 0) || !(p.ResponseSec >= 0) || math.IsInf(p.Concurrency+p.ThroughputPerSec+p.ResponseSec, 0) {
			faults = append(faults, fmt.Errorf("point %d: %+v: allowed are a concurrency above 0 and figures of 0 or more", i+1, p))
			continue
		}
		s := at[p.Concurrency]
		if s == nil {
			s = &sum{p: Point{Concurrency: p.Concurrency}}
			at[p.Concurrency] = s
		}
		s.p.ThroughputPerSec += p.ThroughputPerSec
		s.p.ResponseSec += p.ResponseSec
		s.n++
	}
	if len(at) < MinLoads && len(faults) == 0 {
		faults = append(faults, fmt.Errorf("%d different loads: a knee needs at least %d", len(at), MinLoads))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	out := make([]Point, 0, len(at))
	for _, s := range at {
		s.p.ThroughputPerSec /= s.n
		s.p.ResponseSec /= s.n
		out = append(out, s.p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Concurrency < out[j].Concurrency })
	return out, nil
}

// recommend takes the hinge where it bends downwards and better than a straight line with noise would.
func (r *Result) recommend(h Hinge) {
	if h.BendP > significance || h.SlopeAfter >= h.SlopeBefore || h.SlopeBefore <= 0 {
		r.Caveats = append(r.Caveats, fmt.Sprintf("throughput shows no bend up to %s: load further to find the knee", num(r.TestedHigh)))
		return
	}
	at := h.At(h.Bend)
	r.Concurrency, r.ThroughputPerSec, r.Low, r.High = &h.Bend, &at, &h.Low, &h.High
	if h.SlopeAfter > h.SlopeBefore/2 {
		r.Caveats = append(r.Caveats, fmt.Sprintf("beyond the bend throughput still grows at %.0f %% of its first slope", 100*h.SlopeAfter/h.SlopeBefore))
	}
}

func hingeEstimate(r Result) Estimate {
	e := Estimate{Method: MethodHinge, Concurrency: r.Concurrency, Definition: "bend of one continuous line through the throughputs"}
	if r.Concurrency == nil {
		e.Note = "a straight line fits as well"
	}
	return e
}

func lEstimate(x, y []float64) Estimate {
	e := Estimate{Method: MethodL, Definition: "crossing of two independent lines"}
	l, ok := FitLMethod(x, y)
	if ok && !math.IsNaN(l.Crossing) && l.Crossing >= x[0] && l.Crossing <= x[len(x)-1] {
		e.Concurrency = &l.Crossing
	}
	if ok {
		e.Note = fmt.Sprintf("lines part between %s and %s", num(l.Left), num(l.Right))
	}
	return e
}

func kneedleEstimate(x, y []float64) Estimate {
	e := Estimate{Method: MethodKneedle, Definition: "tested load farthest above the chord from the first to the last", Note: "moves with the tested range"}
	if k, ok := Kneedle(x, y, ConcaveIncreasing, 1, First); ok {
		e.Concurrency = &k
	}
	return e
}

// powerEstimate is the tested load with the largest throughput over response.
//
// Source: L. Kleinrock, "Power and Deterministic Rules of Thumb for Probabilistic Problems in Computer Communications", ICC 1979.
func powerEstimate(ps []Point) Estimate {
	e := Estimate{Method: MethodPower, Definition: "tested load with the largest throughput over response", Note: "leaves capacity unused to keep responses short"}
	best := 0.0
	for _, p := range ps {
		response := p.ResponseSec
		if response == 0 && p.ThroughputPerSec > 0 {
			response = p.Concurrency / p.ThroughputPerSec
		}
		if power := p.ThroughputPerSec / response; response > 0 && power > best {
			at := p.Concurrency
			best, e.Concurrency = power, &at
		}
	}
	return e
}

func peakEstimate(ps []Point, out *Result) Estimate {
	e := Estimate{Method: MethodPeak, Definition: "load of the largest throughput by the Universal Scalability Law"}
	points := make([]usl.Point, len(ps))
	for i, p := range ps {
		points[i] = usl.Point{Concurrency: p.Concurrency, ThroughputPerSec: p.ThroughputPerSec}
	}
	fit, err := usl.FitPoints(points)
	switch {
	case err != nil:
		e.Note = "no fit: " + err.Error()
	case fit.Peak == nil:
		e.Note = "no coherency: throughput does not fall"
	default:
		e.Concurrency = &fit.Peak.Value
		if fit.PeakExtrapolated {
			e.Note = "extrapolated beyond the tested loads"
			out.Caveats = append(out.Caveats, fmt.Sprintf("the peak at %s lies beyond the tested %s", num(fit.Peak.Value), num(out.TestedHigh)))
		}
	}
	return e
}

// differ names the spread and its reason.
func differ(es []Estimate) string {
	low, high := math.Inf(1), 0.0
	var lowest, highest Estimate
	for _, e := range es {
		if e.Concurrency == nil {
			continue
		}
		if *e.Concurrency < low {
			low, lowest = *e.Concurrency, e
		}
		if *e.Concurrency > high {
			high, highest = *e.Concurrency, e
		}
	}
	switch {
	case high == 0:
		return "no definition finds a knee"
	case high <= 1.25*low:
		return fmt.Sprintf("the definitions agree: %s to %s", num(low), num(high))
	default:
		return fmt.Sprintf("%s (%s) and %s (%s) ask different questions: %s, and %s", num(low), lowest.Method, num(high), highest.Method, lowest.Definition, highest.Definition)
	}
}

// num writes a load for a reader.
func num(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// PowerOptimum is the utilisation at which an M/G/1 station has its largest power, 1/(1 + √((1+c²)/2)) for a squared coefficient of
// variation c² of its service; there is then one request in the system on average, whatever c² is.
//
// Source: L. Kleinrock, ICC 1979 (see powerEstimate).
func PowerOptimum(scv float64) float64 { return 1 / (1 + math.Sqrt((1+scv)/2)) }
