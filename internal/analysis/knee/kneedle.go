package knee

import "math"

// Shape is how a curve runs. A curve is brought to the first form by reflection.
type Shape uint8

// The shapes.
const (
	ConcaveIncreasing Shape = iota // throughput over load
	ConcaveDecreasing
	ConvexIncreasing // response over load
	ConvexDecreasing
)

// Mode says which of several declared knees is taken.
type Mode uint8

// The modes.
const (
	First Mode = iota // the first one, as for a curve that is known whole
	Last              // the one that later points leave standing, as when points arrive one by one
)

// Kneedle finds the point farthest from the chord of the normalised curve. Sensitivity is how many flat points must follow before a maximum
// is declared: 1 is usual, smaller is more eager. The x must rise; ok is false where no knee is declared.
//
// The result is a property of the range that was swept: on 1/(1−ρ) it is the chord's tangent point 1 − √((1−ρ_min)(1−ρ_max)).
//
// Source: V. Satopää, J. Albrecht, D. Irwin and B. Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS Workshops 2011.
func Kneedle(x, y []float64, shape Shape, sensitivity float64, mode Mode) (knee float64, ok bool) {
	if len(x) < 3 || len(x) != len(y) {
		return 0, false
	}
	gap, flipped := differences(x, y, shape)
	if gap == nil {
		return 0, false
	}
	at, ok := declared(gap, sensitivity/float64(len(x)-1), mode)
	if !ok {
		return 0, false
	}
	if flipped {
		at = len(x) - 1 - at
	}
	return x[at], true
}

// differences are the heights of the normalised, concave and increasing curve above its chord. flipped says that they run from the last x
// to the first. A curve without extent gives nil.
func differences(x, y []float64, shape Shape) (gap []float64, flipped bool) {
	n := len(x)
	width := x[n-1] - x[0]
	lo, hi := y[0], y[0]
	for _, v := range y {
		lo, hi = min(lo, v), max(hi, v)
	}
	if !(width > 0) || !(hi > lo) {
		return nil, false
	}
	flipped = shape == ConcaveDecreasing || shape == ConvexIncreasing
	upsideDown := shape == ConvexIncreasing || shape == ConvexDecreasing
	gap = make([]float64, n)
	for i := range gap {
		px, py := (x[i]-x[0])/width, (y[i]-lo)/(hi-lo)
		if upsideDown {
			py = 1 - py
		}
		at := i
		if flipped {
			px, at = 1-px, n-1-i
		}
		gap[at] = py - px
	}
	return gap, flipped
}

// flatness is the height below which a difference is rounding, not shape.
const flatness = 1e-9

// declared walks along the differences: each local maximum sets a threshold, a local minimum clears it to zero, and the maximum is declared
// a knee when a later difference falls below the threshold.
func declared(gap []float64, slack float64, mode Mode) (knee int, ok bool) {
	threshold, candidate := math.Inf(-1), -1
	for i := 1; i+1 < len(gap); i++ {
		before, here, after := gap[i-1], gap[i], gap[i+1]
		switch {
		case here >= before && here >= after && here > flatness:
			threshold, candidate = here-slack, i
		case candidate >= 0 && here <= before && here <= after:
			threshold = 0
		}
		if candidate >= 0 && after < threshold-flatness {
			knee, ok = candidate, true
			if mode == First {
				return knee, ok
			}
		}
	}
	return knee, ok
}
