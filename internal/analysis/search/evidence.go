package search

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadline-dev/loadline/internal/stat"
)

// cell is all evidence on one load.
type cell struct {
	load    float64
	rough   bool // visited to find the bracket: a rough test will do until the bracket is tight
	seconds float64
	counts  []Count
	trials  []trialEvidence
	// unproved: the load may hold, but the confirmation's budget did not suffice to prove it.
	unproved bool
	broken   map[string]int // trials that did not meet a term that no share expresses
}

// trialEvidence is one uninterrupted trial.
type trialEvidence struct {
	number  int
	count   Count // of the first constraint
	size    int64 // requests of the constraint that saw most of them
	batches []stat.Batch
	// effective is how many independent requests the trial's tell as much as; 0: not judged, too few batches or bad ones.
	effective float64
	broken    bool
}

const (
	// judgedBatches and judgedBad are the least on which a trial's design effect is judged.
	judgedBatches = 10
	judgedBad     = 5
)

func (c *cell) report(t Trial, o Observation) {
	c.seconds += o.Seconds
	for i, k := range o.Counts {
		c.counts[i].N += k.N
		c.counts[i].Bad += k.Bad
	}
	if len(c.trials) == 0 || c.trials[len(c.trials)-1].number != t.Number {
		c.trials = append(c.trials, trialEvidence{number: t.Number})
	}
	e := &c.trials[len(c.trials)-1]
	e.count.N += o.Counts[0].N
	e.count.Bad += o.Counts[0].Bad
	e.size += o.size()
	if len(o.Batches) > 0 {
		e.batches = append(e.batches, o.Batches...)
	} else {
		e.batches = append(e.batches, stat.Batch{N: o.Counts[0].N, Bad: o.Counts[0].Bad})
	}
	if len(e.batches) >= judgedBatches && e.count.Bad >= judgedBad {
		e.effective = stat.EffectiveN(e.batches)
	}
	for _, term := range o.Broken {
		if c.broken == nil {
			c.broken = map[string]int{}
		}
		if !e.broken {
			c.broken[term]++
		}
		e.broken = true
	}
}

// brokenTerm is a term that most of the cell's trials did not meet, the first by name; empty: none.
func (c *cell) brokenTerm() string {
	found := ""
	for term, n := range c.broken {
		if 2*n > len(c.trials) && (found == "" || term < found) {
			found = term
		}
	}
	return found
}

// pooledEffect is by how much correlation shrinks the evidence, at least 1: the pooled ratio of requests to effective ones over all trials
// that could be judged.
func (s *Search) pooledEffect() float64 {
	var n, effective float64
	for _, c := range s.sorted() { // in one order, so that rounding repeats itself
		for _, t := range c.trials {
			if t.effective > 0 && nearLimit(t.count, s.cfg.Constraints[0].Limit) {
				n += float64(t.count.N)
				effective += t.effective
			}
		}
	}
	if effective == 0 {
		return 1
	}
	// The effect is rounded, so that a verdict does not change its mind with every batch of another load.
	return max(1, math.Pow(effectStep, math.Round(math.Log(n/effective)/math.Log(effectStep))))
}

// effectStep is the ratio of neighbouring design effects.
const effectStep = 1.25

// effectOf is by how much correlation shrinks the evidence on one constraint at a load. Correlation is estimated from the first constraint's
// clumps. Another constraint that no request has broken shows no clumps: a p99 that comes in bursts says nothing on failures of which there are
// none.
func (s *Search) effectOf(c *cell, i int) float64 {
	if i > 0 && c.counts[i].Bad == 0 {
		return 1
	}
	return s.effect
}

// nearLimit leaves out loads so far beyond the line that they tell of another regime: a queue that grows throughout the trial.
func nearLimit(c Count, limit float64) bool {
	share := float64(c.Bad) / float64(c.N)
	return share <= 4*limit && share >= limit/10
}

// standing is what is thought of a load.
type standing uint8

const (
	open     standing = iota // not decided yet
	mayHold                  // by the coarse test
	mayBreak                 // by the coarse test
	holds                    // by the fine test
	breaks                   // by the fine test
)

func (s standing) good() bool  { return s == mayHold || s == holds }
func (s standing) bad() bool   { return s == mayBreak || s == breaks }
func (s standing) final() bool { return s == holds || s == breaks }

// standing judges a load by its pooled evidence: a load holds when every constraint does and breaks when one breaks.
func (s *Search) standing(c *cell) standing {
	if c == nil {
		return open
	}
	if c.unproved || c.brokenTerm() != "" {
		return breaks
	}
	out := holds
	for i := range s.cfg.Constraints {
		switch s.constraintStanding(c, i, s.effectOf(c, i)) {
		case breaks:
			return breaks
		case mayBreak:
			out = mayBreak
		case open:
			if out != mayBreak {
				out = open
			}
		case mayHold:
			if out == holds {
				out = mayHold
			}
		}
	}
	return out
}

func (s *Search) constraintStanding(c *cell, i int, deff float64) standing {
	k := s.cfg.Constraints[i]
	bad, all := float64(c.counts[i].Bad)/deff, float64(c.counts[i].N)/deff
	tooMany := bad > k.Limit*all
	switch s.cfg.test(k, fine).Decide(bad, all) {
	case stat.AcceptLow:
		return holds
	case stat.AcceptHigh:
		return breaks
	}
	if all >= s.cap(k) { // so near the line that the fine test does not end
		return either(tooMany, breaks, holds)
	}
	zones := []float64{coarse}
	if c.rough {
		zones = append(zones, rough)
	}
	for _, zone := range zones {
		switch s.cfg.test(k, zone).Decide(bad, all) {
		case stat.AcceptLow:
			return mayHold
		case stat.AcceptHigh:
			return mayBreak
		}
	}
	if s.cfg.Patience > 0 && c.seconds >= s.cfg.Patience && all > 0 {
		return either(tooMany, mayBreak, mayHold)
	}
	return open
}

func either(first bool, a, b standing) standing {
	if first {
		return a
	}
	return b
}

// cap is the number of independent requests after which a load's verdict no longer waits for the fine test: twice the test's mean at its
// worst, between the two shares.
func (s *Search) cap(k Constraint) float64 {
	l := s.cfg.test(k, fine).Line()
	return 2 * l.Lower * l.Upper / (l.Slope * (1 - l.Slope))
}

// wanted is how many requests would settle the load if no more of them were bad: the least that the next batch can usefully be.
func (s *Search) wanted(c *cell, zone float64) int64 {
	most := 0.0
	for i, k := range s.cfg.Constraints {
		l := s.cfg.test(k, zone).Line()
		n, deff := Count{}, 1.0
		if c != nil {
			n, deff = c.counts[i], s.effectOf(c, i)
		} else if i == 0 {
			deff = s.effect
		}
		most = max(most, deff*((float64(n.Bad)/deff+l.Lower)/l.Slope-float64(n.N)/deff))
	}
	return int64(math.Ceil(most))
}

// confidence is the one-sided confidence with which the evidence proves every constraint at a load: exact, from the load's own counts, or
// from the curve through its neighbours', whichever is more. The chance of error is multiplied by looks, since the search looks again after
// every batch and stops when it likes what it sees.
func (s *Search) confidence(c *cell) float64 {
	least := 1.0
	for i, k := range s.cfg.Constraints {
		deff := s.effectOf(c, i)
		bad, all := effectiveCount(c.counts[i], deff)
		if all < 1 {
			return 0
		}
		proof := stat.ConfidenceBelow(bad, all, k.Limit)
		if curve, ok := s.curveNear(c, i, deff); ok {
			proof = max(proof, curve.confidenceBelow(k.Limit))
		}
		least = min(least, proof)
	}
	return max(0, 1-looks*(1-least))
}

// looks is by how much repeated looking multiplies the chance of a false proof, as simulated (see the tests).
const looks = 5

// provedBroken is the first constraint that the load's evidence proves broken; empty: none.
func (s *Search) provedBroken(c *cell) string {
	if term := c.brokenTerm(); term != "" {
		return term
	}
	for i, k := range s.cfg.Constraints {
		if bad, all := effectiveCount(c.counts[i], s.effectOf(c, i)); all >= 1 && looks*(1-stat.ConfidenceAbove(bad, all, k.Limit)) <= 1-s.cfg.Confidence {
			return k.Name
		}
	}
	return ""
}

func effectiveCount(n Count, deff float64) (bad, all int64) {
	return int64(math.Round(float64(n.Bad) / deff)), int64(math.Floor(float64(n.N) / deff))
}

// chi2Tail is the probability of a chi-squared value at least as large.
func chi2Tail(x float64, degrees int) float64 {
	return distuv.ChiSquared{K: float64(degrees)}.Survival(x)
}
