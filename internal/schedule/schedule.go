// Package schedule says when requests are planned: the arrivals of the open load model. An Arrivals yields instants in rising order,
// as many as the rate over time asks for, evenly spaced, at random (a Poisson process), or as recorded. It reads no clock; it is as
// exact after a day as in the first second, because every instant is computed from its number and not from the one before.
//
// A rate that changes is a list of stages, each with a rate that rises or falls in a straight line. The n-th arrival lies where the
// integral of the rate reaches n (even) or the n-th point of a Poisson process of rate 1 (random): E. Çinlar, Introduction to Stochastic
// Processes, 1975, section 4.7, time change of a Poisson process.
package schedule

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// The bounds of a rate, in arrivals per second. A rate of 0 is allowed within a stage.
const (
	MaxRatePerSec = 10_000_000
	// MaxStages bounds a profile.
	MaxStages = 10_000
)

// Spacing says how arrivals lie about their rate.
type Spacing uint8

// The spacings.
const (
	Even    Spacing = iota // at equal distances
	Poisson                // at random, independent of each other
)

// Stage is a stretch of time in which the rate goes from From to To, in arrivals per second, in a straight line.
type Stage struct {
	From, To float64
	Length   time.Duration
}

// Config describes arrivals.
type Config struct {
	Stages  []Stage
	Spacing Spacing
	Seed    int64 // of a Poisson process: equal seeds give equal arrivals
	// Recorded are instants to be used instead of Stages, in rising order.
	Recorded []time.Duration
	// Share and Of take every Of-th arrival, beginning with number Share (0…Of-1), so that several senders share one schedule without
	// drift. Of 0: all.
	Share, Of int
}

// Validate joins all faults.
func (c Config) Validate() error {
	var faults []error
	if (len(c.Stages) == 0) == (len(c.Recorded) == 0) || len(c.Stages) > MaxStages {
		faults = append(faults, fmt.Errorf("schedule: stages: found %d and %d recorded instants, allowed: 1 to %d stages, or recorded instants, not both",
			len(c.Stages), len(c.Recorded), MaxStages))
	}
	for i, s := range c.Stages {
		if bad(s.From) || bad(s.To) || s.Length < 0 {
			faults = append(faults, fmt.Errorf("schedule: stage %d: found %v to %v per second over %v, allowed: 0 to %d over 0s and more", i+1, s.From, s.To, s.Length, MaxRatePerSec))
		}
	}
	for i, at := range c.Recorded {
		if at < 0 || i > 0 && at < c.Recorded[i-1] {
			faults = append(faults, fmt.Errorf("schedule: recorded instant %d: found %v, allowed: 0s and more, in rising order", i+1, at))
			break
		}
	}
	if c.Of < 0 || c.Share < 0 || c.Share > 0 && c.Share >= c.Of {
		faults = append(faults, fmt.Errorf("schedule: share: found %d of %d, allowed: 0 to of-1", c.Share, c.Of))
	}
	return errors.Join(faults...)
}

func bad(rate float64) bool { return !(rate >= 0 && rate <= MaxRatePerSec) }

// Arrivals yields instants. It is for one goroutine at a time.
type Arrivals struct {
	config Config
	rng    *rand.Rand
	number int64   // of the next arrival of the whole schedule
	point  float64 // where it lies on the scale of the rate's integral
	stage  int
	before float64       // the integral up to the stage
	begun  time.Duration // when the stage begins
}

// New returns the arrivals of a config.
func New(c Config) (*Arrivals, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Of = max(c.Of, 1)
	a := &Arrivals{config: c, rng: rand.New(rand.NewPCG(uint64(c.Seed), 0x6172726976616c73))}
	if c.Spacing == Poisson {
		a.point = a.rng.ExpFloat64()
	}
	return a, nil
}

// Next is the next instant, counted from the begin of the schedule; false when there are no more.
func (a *Arrivals) Next() (time.Duration, bool) {
	for a.number%int64(a.config.Of) != int64(a.config.Share) {
		a.advance()
	}
	at, ok := a.at()
	if ok {
		a.advance()
	}
	return at, ok
}

// advance moves to the next arrival of the whole schedule.
func (a *Arrivals) advance() {
	a.number++
	if a.config.Spacing == Poisson {
		a.point += a.rng.ExpFloat64()
		return
	}
	a.point = float64(a.number)
}

// at is the instant of the current arrival.
func (a *Arrivals) at() (time.Duration, bool) {
	if len(a.config.Recorded) > 0 {
		if a.number >= int64(len(a.config.Recorded)) {
			return 0, false
		}
		return a.config.Recorded[a.number], true
	}
	for a.stage < len(a.config.Stages) {
		s := a.config.Stages[a.stage]
		area := s.area()
		if a.point < a.before+area {
			at := a.begun + time.Duration(s.reach(a.point-a.before)*float64(time.Second))
			return min(at, a.begun+s.Length-1), true // Rounding must not put an arrival past its stage.
		}
		a.before += area
		a.begun += s.Length
		a.stage++
	}
	return 0, false
}

// area is how many arrivals the stage has, on average.
func (s Stage) area() float64 { return (s.From + s.To) / 2 * s.Length.Seconds() }

// reach is after how many seconds the integral of the stage's rate reaches x: the root of From·t + slope·t²/2 = x, in the form that
// loses no digits when the slope is small.
func (s Stage) reach(x float64) float64 {
	if s.From == s.To {
		return x / s.From
	}
	slope := (s.To - s.From) / s.Length.Seconds()
	root := math.Sqrt(max(0, s.From*s.From+2*slope*x))
	if s.From+root == 0 {
		return 0
	}
	return 2 * x / (s.From + root)
}
