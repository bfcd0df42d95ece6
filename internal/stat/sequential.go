package stat

import (
	"errors"
	"fmt"
	"math"
)

// Decision is what a sequential test says so far. The zero value is Undecided.
type Decision uint8

// The decisions.
const (
	Undecided  Decision = iota
	AcceptLow           // the share is at most P0
	AcceptHigh          // the share is at least P1
)

// String names the decision.
func (d Decision) String() string {
	switch d {
	case AcceptLow:
		return "low"
	case AcceptHigh:
		return "high"
	default:
		return "undecided"
	}
}

// SPRT is Wald's sequential probability ratio test of a share: P0 against P1 > P0, wrong with probability at most about Alpha when the
// share is P0 and Beta when it is P1. Between them it may say either, at the cost of the most samples.
//
// Source: A. Wald, Sequential Analysis (1947), chapters 3 and 5.
type SPRT struct {
	P0, P1      float64 // 0 < P0 < P1 < 1
	Alpha, Beta float64 // 0 < both < 0.5
}

// Validate joins all faults.
func (t SPRT) Validate() error {
	var faults []error
	if !(t.P0 > 0 && t.P0 < t.P1 && t.P1 < 1) {
		faults = append(faults, fmt.Errorf("shares P0 = %v, P1 = %v: allowed are 0 < P0 < P1 < 1", t.P0, t.P1))
	}
	if !(t.Alpha > 0 && t.Alpha < 0.5) {
		faults = append(faults, fmt.Errorf("error probability Alpha = %v: allowed is 0 < Alpha < 0.5", t.Alpha))
	}
	if !(t.Beta > 0 && t.Beta < 0.5) {
		faults = append(faults, fmt.Errorf("error probability Beta = %v: allowed is 0 < Beta < 0.5", t.Beta))
	}
	return errors.Join(faults...)
}

// Line is the test as two parallel lines over the number of samples n: at or above slope·n + Upper bad ones the share is high, at or below
// slope·n − Lower it is low.
type Line struct{ Slope, Lower, Upper float64 }

// Line solves Wald's bounds on the log likelihood ratio for the number of bad samples.
func (t SPRT) Line() Line {
	step := math.Log(t.P1/t.P0) + math.Log((1-t.P0)/(1-t.P1))
	return Line{
		Slope: math.Log((1-t.P0)/(1-t.P1)) / step,
		Upper: math.Log((1-t.Beta)/t.Alpha) / step,
		Lower: math.Log((1-t.Alpha)/t.Beta) / step,
	}
}

// Decide looks at bad of n samples.
func (t SPRT) Decide(bad, n float64) Decision {
	l := t.Line()
	switch {
	case bad >= l.Slope*n+l.Upper:
		return AcceptHigh
	case bad <= l.Slope*n-l.Lower:
		return AcceptLow
	default:
		return Undecided
	}
}

// MeanSamples is Wald's approximation of the mean number of samples to a decision when the share is P0, and when it is P1.
func (t SPRT) MeanSamples() (atP0, atP1 float64) {
	up, down := math.Log((1-t.Beta)/t.Alpha), math.Log(t.Beta/(1-t.Alpha))
	bad, good := math.Log(t.P1/t.P0), math.Log((1-t.P1)/(1-t.P0))
	atP0 = (t.Alpha*up + (1-t.Alpha)*down) / (t.P0*bad + (1-t.P0)*good)
	atP1 = ((1-t.Beta)*up + t.Beta*down) / (t.P1*bad + (1-t.P1)*good)
	return atP0, atP1
}
