// Package search finds the load line: the largest load at which an objective holds with stated confidence. It is a pure machine: results of
// trials go in, the next trial comes out, and it never runs anything itself.
//
// The way there:
//
//  1. Doubling from the start (or in smaller steps from a neighbour's result), by a rough test, until one load holds and one breaks.
//  2. Bisection of the bracket. Each load is sampled in small batches and judged by a sequential test on the share of bad requests, so that
//     loads far from the line cost few requests. While the bracket is wide a coarse test is enough; once it is tight its ends are tested finely.
//  3. A second, fresh trial on both sides of the line. Evidence of one load is pooled over its trials, so a wrong verdict is taken back
//     and the bracket opens again.
//  4. Confirmation: the line itself is sampled until it is proved, by the exact binomial bound of its own requests or by a curve through those
//     of its neighbours. A load that holds but cannot be proved gives way to the next smaller one.
//  5. One sweep down from overload, to show a service that does not recover at the load that it carried on the way up.
//
// Where most of a budget is gone and nothing is proved, a load well below the line is proved first: less than was sought, and more than nothing.
//
// Requests of a real run are correlated. The design effect is estimated from the batches of all trials and every count is divided by it.
//
// Sources: A. Wald, Sequential Analysis (1947); P. Shivam et al., "Cutting Corners: Workbench Automation for Server Benchmarking", USENIX ATC
// 2008 (seeding from neighbours, most cost near the line); IETF draft-ietf-bmwg-mlrsearch (reuse of old trials, reopening a lost bound).
package search

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loadline-dev/loadline/internal/stat"
)

// Kind is what is searched.
type Kind uint8

// The kinds. The zero value is Concurrency.
const (
	Concurrency Kind = iota // whole users of a closed loop
	Rate                    // arrivals per second
)

// Constraint is one term of the objective as a bound on a share of requests: p99 < 10 ms allows 0.01 of them to be slower, success > 99.9 %
// allows 0.001 to end otherwise.
type Constraint struct {
	Name  string
	Limit float64 // allowed share of bad requests, above 0 and below 0.5
}

// Config is what to search for. Zero fields take the defaults given.
type Config struct {
	Kind        Kind
	Min, Max    float64 // loads; default Min 1, Max must be given
	Start       float64 // first load; default Min, or Seed
	Seed        float64 // a neighbouring setting's load line; 0: none
	Constraints []Constraint

	Resolution float64 // relative width at which the bracket is closed; default 0.02. Concurrency also stops at 1.
	Confidence float64 // with which the line must hold; default 0.95
	ErrorRate  float64 // of each fine verdict; default 0.02

	MaxRequests int64   // budget; 0: none
	MaxSeconds  float64 // budget of measured time as reported; 0: none
	// Patience is how many seconds one load may take before the estimate decides for the time being, since a small load gives few requests;
	// default MaxSeconds/75, without a budget no bound. What decides the line is always tested to its end.
	Patience  float64
	MaxTrials int // default 400

	// Admits is the most requests that the setting under test lets in at once, workers, queue and permits together; 0: nothing bounds it.
	// AdmitsKnown says that Admits was read from the setting.
	Admits      float64
	AdmitsKnown bool
	Expected    float64 // load that the service is meant for, to state the headroom; 0: unknown
}

const (
	rough        = 4.0  // the rough test, for doubling and halving only, tells limit/4 from 4·limit
	coarse       = 2.0  // the coarse test tells limit/2 from 2·limit
	fine         = 1.25 // the fine test tells limit/1.25 from 1.25·limit
	tight        = 1.5  // bracket ratio from which on its ends are tested finely
	minBatch     = 50   // requests of a trial's smallest batch
	maxBatch     = 5000
	provable     = 0.15 // relative distance below the limit at which the confirmation's budget suffices for a proof
	sweepSteps   = 3    // loads tried below the line when it does not hold on the way down
	sweepFactor  = 0.8
	patientParts = 75 // of the budget of seconds: how long one load may take before the estimate decides for the time being
	defaultTrial = 400
	secureFrom   = 0.7 // part of the budget of seconds after which something is to be proved first
)

// Validate joins all faults and changes nothing.
func (c Config) Validate() error {
	var faults []error
	fault := func(ok bool, field string, found any, allowed string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s = %v: allowed is %s", field, found, allowed))
		}
	}
	d := c.withDefaults()
	fault(c.Kind <= Rate, "Kind", c.Kind, "Concurrency or Rate")
	fault(d.Min > 0 && !math.IsInf(d.Min, 0), "Min", c.Min, "above 0")
	fault(d.Max >= d.Min && !math.IsInf(d.Max, 0), "Max", c.Max, fmt.Sprintf("at least Min = %v", d.Min))
	fault(c.Kind != Concurrency || (d.Min == math.Trunc(d.Min) && d.Max == math.Trunc(d.Max)), "Min and Max", []float64{d.Min, d.Max}, "whole users")
	fault(c.Start == 0 || (c.Start >= d.Min && c.Start <= d.Max), "Start", c.Start, "0 for the default, or Min to Max")
	fault(c.Seed >= 0 && !math.IsInf(c.Seed, 0), "Seed", c.Seed, "0 for none, or a load")
	fault(len(c.Constraints) > 0, "Constraints", len(c.Constraints), "1 or more")
	for _, k := range c.Constraints {
		fault(k.Limit > 0 && k.Limit < 0.5, "Limit of "+k.Name, k.Limit, "above 0 and below 0.5")
	}
	fault(d.Resolution > 0 && d.Resolution <= 0.5, "Resolution", c.Resolution, "above 0 and at most 0.5")
	fault(d.Confidence > 0.5 && d.Confidence < 1, "Confidence", c.Confidence, "above 0.5 and below 1")
	fault(d.ErrorRate > 0 && d.ErrorRate < 0.5, "ErrorRate", c.ErrorRate, "above 0 and below 0.5")
	fault(c.MaxRequests >= 0, "MaxRequests", c.MaxRequests, "0 for no budget, or more")
	fault(c.MaxSeconds >= 0, "MaxSeconds", c.MaxSeconds, "0 for no budget, or more")
	fault(c.Patience >= 0, "Patience", c.Patience, "0 for the default, or more")
	fault(c.MaxTrials >= 0, "MaxTrials", c.MaxTrials, "0 for the default, or more")
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	setDefault(&c.Min, 1)
	setDefault(&c.Resolution, 0.02)
	setDefault(&c.Confidence, 0.95)
	setDefault(&c.ErrorRate, 0.02)
	if c.MaxTrials == 0 {
		c.MaxTrials = defaultTrial
	}
	setDefault(&c.Patience, c.MaxSeconds/patientParts)
	if c.Start == 0 {
		c.Start = c.Min
		if c.Seed > 0 {
			c.Start = c.snap(min(max(c.Seed, c.Min), c.Max))
		}
	}
	return c
}

func setDefault(v *float64, to float64) {
	if *v == 0 {
		*v = to
	}
}

// snap makes a load one that can be run.
func (c Config) snap(load float64) float64 {
	if c.Kind == Concurrency {
		return math.Round(load)
	}
	return load
}

// test is the sequential test of a constraint at a zone: limit/zone against limit·zone.
func (c Config) test(k Constraint, zone float64) stat.SPRT {
	return stat.SPRT{P0: k.Limit / zone, P1: min(k.Limit*zone, 0.9), Alpha: c.ErrorRate, Beta: c.ErrorRate}
}

// Purpose says why a trial is wanted.
type Purpose string

// The purposes.
const (
	Bracket   Purpose = "bracket"   // doubling or halving until one load holds and one breaks
	Bisect    Purpose = "bisect"    // between them
	Refine    Purpose = "refine"    // an end of a tight bracket, tested finely
	Retest    Purpose = "retest"    // the same load again, afresh
	Confirm   Purpose = "confirm"   // the line itself, until it is proved
	Secure    Purpose = "secure"    // a smaller load, so that something is proved before the budget ends
	Overload  Purpose = "overload"  // above the line, before the sweep down
	SweepDown Purpose = "sweepdown" // the line again, coming from above
)

// Trial is what to run next.
type Trial struct {
	Number   int // 1…, the same for all batches of one uninterrupted trial
	Load     float64
	Requests int64 // wanted in this batch; a few more or fewer do no harm
	// MaxSeconds is when to end the batch with what it has; 0: when its requests are done.
	MaxSeconds float64
	Purpose    Purpose
	// Continue says that the load is on already: go on without ramp or warm-up.
	Continue bool
}

// Count is the result for one constraint.
type Count struct{ N, Bad int64 }

// Observation is what a batch gave.
type Observation struct {
	Counts  []Count // one for each constraint, in their order
	Seconds float64 // measured
	// Batches cut the first constraint's count into consecutive stretches, to judge correlation. Empty: the observation is one stretch.
	Batches []stat.Batch
	// Broken names terms that no share expresses, such as goodput, and that this batch did not meet.
	Broken []string
}

// size is the number of requests that the observation is made of.
func (o Observation) size() int64 {
	most := int64(0)
	for _, c := range o.Counts {
		most = max(most, c.N)
	}
	return most
}

// Search is the machine. Make one with New. Not safe for concurrent use.
type Search struct {
	cfg    Config
	cells  map[float64]*cell
	last   Trial
	opened int // trials begun

	requests int64
	batches  int
	seconds  float64

	effect   float64 // by how much correlation shrinks all evidence, at least 1
	sweep    sweep
	stopped  string // why the search ended before its end; empty: it did not
	finished bool
}

// New returns a search at its start.
func New(cfg Config) (*Search, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Search{cfg: cfg.withDefaults(), cells: map[float64]*cell{}, effect: 1}, nil
}

// Next gives the next batch to run; ok is false when the search has ended and Result is final. Asking twice gives the same answer.
func (s *Search) Next() (t Trial, ok bool) {
	if s.finished {
		return Trial{}, false
	}
	if reason := s.exhausted(); reason != "" {
		s.stopped, s.finished = reason, true
		return Trial{}, false
	}
	t, ok = s.plan()
	if !ok {
		s.finished = true
		return Trial{}, false
	}
	t.Number = s.opened + 1
	if t.Continue {
		t.Number = s.opened
	}
	t.Requests = min(max(t.Requests, minBatch), maxBatch)
	t.MaxSeconds = s.cfg.Patience
	return t, true
}

// Stop ends a search from outside, for the reason given: what is known so far is the answer. It does nothing to one that has ended.
func (s *Search) Stop(reason string) {
	if !s.finished {
		s.stopped, s.finished = reason, true
	}
}

func (s *Search) exhausted() string {
	switch {
	case s.cfg.MaxRequests > 0 && s.requests >= s.cfg.MaxRequests:
		return fmt.Sprintf("the budget of %d requests is used up", s.cfg.MaxRequests)
	case s.cfg.MaxSeconds > 0 && s.seconds >= s.cfg.MaxSeconds:
		return fmt.Sprintf("the budget of %g s is used up", s.cfg.MaxSeconds)
	case s.opened >= s.cfg.MaxTrials:
		return fmt.Sprintf("%d trials are used up", s.cfg.MaxTrials)
	default:
		return ""
	}
}

// Report takes the result of the batch that Next asked for. An observation without any request, or without counts, says that nothing was
// answered: everything was bad.
func (s *Search) Report(t Trial, o Observation) error {
	if len(o.Counts) == 0 {
		o.Counts = make([]Count, len(s.cfg.Constraints))
	}
	if len(o.Counts) != len(s.cfg.Constraints) {
		return fmt.Errorf("observation has %d counts: allowed is one for each of the %d constraints", len(o.Counts), len(s.cfg.Constraints))
	}
	for i, c := range o.Counts {
		if c.N < 0 || c.Bad < 0 || c.Bad > c.N {
			return fmt.Errorf("count of %s: %d bad of %d: allowed is 0 to all of them", s.cfg.Constraints[i].Name, c.Bad, c.N)
		}
	}
	if t.Load <= 0 {
		return fmt.Errorf("load %v: report the trial that Next gave", t.Load)
	}
	if !t.Continue {
		s.opened++
	}
	s.last = t
	s.batches++
	s.seconds += o.Seconds
	s.requests += o.size()
	if o.size() == 0 { // nothing was answered
		o.Counts = slices.Repeat([]Count{{N: minBatch, Bad: minBatch}}, len(o.Counts))
	}
	if t.Purpose == Overload || t.Purpose == SweepDown {
		s.sweep.report(s, t, o)
		return nil
	}
	c := s.cells[t.Load]
	if c == nil {
		c = &cell{load: t.Load, rough: t.Purpose == Bracket, counts: make([]Count, len(s.cfg.Constraints))}
		s.cells[t.Load] = c
	}
	c.report(t, o)
	s.effect = s.pooledEffect()
	return nil
}
