package search

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// plan chooses the next batch from the evidence alone; nothing is remembered between calls but what was measured.
func (s *Search) plan() (Trial, bool) {
	if s.sweep.begun {
		return s.sweep.plan(s)
	}
	if c := s.cells[s.last.Load]; c != nil && s.standing(c) == open && s.secure(nil) == nil {
		return s.more(c, zoneOf(s.last.Purpose), s.last.Purpose), true
	}
	lo, hi := s.bracket()
	if c := s.secure(hi); c != nil {
		return s.more(c, fine, Secure), true
	}
	switch {
	case lo == nil && hi == nil:
		return s.fresh(s.cfg.Start, Bracket), true
	case hi == nil:
		return s.grow(lo)
	case lo == nil:
		return s.shrink(hi)
	default:
		return s.close(lo, hi)
	}
}

// secure is a load to prove while there is time, where most of the budget of seconds is gone and nothing is proved yet: the largest that is
// well within every limit, which takes the fewest requests. Nil: no need, or no such load.
func (s *Search) secure(hi *cell) *cell {
	if s.cfg.MaxSeconds == 0 || s.seconds < secureFrom*s.cfg.MaxSeconds {
		return nil
	}
	var found *cell
	for _, c := range s.sorted() {
		if s.confidence(c) >= s.cfg.Confidence && c.brokenTerm() == "" {
			return nil
		}
		if (hi == nil || c.load < hi.load) && !s.standing(c).bad() && s.wellWithin(c) {
			found = c
		}
	}
	return found
}

// wellWithin tells whether less than half of what each constraint allows was bad.
func (s *Search) wellWithin(c *cell) bool {
	for i, k := range s.cfg.Constraints {
		if float64(c.counts[i].Bad) > k.Limit*float64(c.counts[i].N)/2 {
			return false
		}
	}
	return true
}

// bracket is the smallest load that breaks and the largest below it that holds.
func (s *Search) bracket() (lo, hi *cell) {
	for _, c := range s.sorted() {
		st := s.standing(c)
		if st.bad() {
			return lo, c
		}
		if st.good() {
			lo = c
		}
	}
	return lo, nil
}

// grow doubles, from a neighbour's result in smaller steps first. At the largest load allowed there is nothing more to find.
func (s *Search) grow(lo *cell) (Trial, bool) {
	if lo.load >= s.cfg.Max {
		if !s.standing(lo).final() {
			return s.more(lo, fine, Refine), true
		}
		return s.settle(lo, nil)
	}
	next := s.cfg.snap(min(s.cfg.Max, max(lo.load*s.stepFactor(), s.above(lo.load))))
	return s.visit(next, Bracket), true
}

// shrink halves. Where even the smallest load breaks there is no load line.
func (s *Search) shrink(hi *cell) (Trial, bool) {
	if hi.load <= s.cfg.Min {
		if !s.standing(hi).final() {
			return s.more(hi, fine, Refine), true
		}
		return Trial{}, false
	}
	next := s.cfg.snap(max(s.cfg.Min, min(hi.load/s.stepFactor(), s.below(hi.load))))
	return s.visit(next, Bracket), true
}

// stepFactor is 2, and less for the first steps from a neighbour's load line.
func (s *Search) stepFactor() float64 {
	if s.cfg.Seed > 0 {
		switch len(s.cells) {
		case 0, 1:
			return 1.15
		case 2:
			return 1.4
		}
	}
	return 2
}

// above and below are the neighbouring loads at the search's resolution.
func (s *Search) above(load float64) float64 {
	if s.cfg.Kind == Concurrency {
		return max(load+1, math.Floor(load*(1+s.cfg.Resolution)))
	}
	return load * (1 + s.cfg.Resolution)
}

func (s *Search) below(load float64) float64 {
	if s.cfg.Kind == Concurrency {
		return min(load-1, math.Ceil(load/(1+s.cfg.Resolution)))
	}
	return load / (1 + s.cfg.Resolution)
}

// close narrows the bracket, tests its ends finely and afresh, and settles.
func (s *Search) close(lo, hi *cell) (Trial, bool) {
	if hi.load <= lo.load*tight || s.adjacent(lo.load, hi.load) {
		for _, end := range []*cell{lo, hi} {
			if !s.standing(end).final() {
				return s.more(end, fine, Refine), true
			}
		}
	}
	if !s.adjacent(lo.load, hi.load) {
		return s.visit(s.middle(lo.load, hi.load), Bisect), true
	}
	return s.settle(lo, hi)
}

func (s *Search) adjacent(lo, hi float64) bool {
	return hi <= s.above(lo)*(1+1e-12)
}

// middle is the geometric middle of the bracket, or an undecided load inside it, whose evidence is not to be wasted.
func (s *Search) middle(lo, hi float64) float64 {
	mid := s.cfg.snap(math.Sqrt(lo * hi))
	if mid <= lo || mid >= hi {
		mid = s.cfg.snap((lo + hi) / 2)
	}
	best, distance := mid, math.Inf(1)
	for _, c := range s.sorted() {
		if c.load > lo && c.load < hi && s.standing(c) == open && math.Abs(c.load-mid) < distance {
			best, distance = c.load, math.Abs(c.load-mid)
		}
	}
	return best
}

// settle tests both sides of the line once more, proves the line and sweeps down.
func (s *Search) settle(lo, hi *cell) (Trial, bool) {
	for _, end := range []*cell{lo, hi} {
		if end != nil && !end.unproved && !s.retested(end) {
			return s.again(end), true
		}
	}
	if s.confidence(lo) < s.cfg.Confidence {
		if s.confirmable(lo) {
			return s.more(lo, fine, Confirm), true
		}
		lo.unproved = true
		return s.plan()
	}
	s.sweep = newSweep(lo, s.overload(lo, hi))
	return s.sweep.plan(s)
}

// overload is the smallest load above the line that is proved to break, or at least seems to.
func (s *Search) overload(lo, hi *cell) *cell {
	for _, c := range s.sorted() {
		if c.load > lo.load && s.provedBroken(c) != "" {
			return c
		}
	}
	return hi
}

// retested tells whether the load has two separate trials of some size.
func (s *Search) retested(c *cell) bool {
	big := 0
	for _, t := range c.trials {
		if t.size >= s.retestSize(c) {
			big++
		}
	}
	return big >= 2
}

// retestSize is the least that a second trial must have: what would let the coarse test accept, or find a load that clearly breaks.
func (s *Search) retestSize(c *cell) int64 {
	if s.standing(c).bad() {
		return minBatch
	}
	return min(s.wanted(nil, coarse), maxBatch)
}

// again opens a second trial of a load, or goes on with it.
func (s *Search) again(c *cell) Trial {
	size := s.retestSize(c)
	if s.last.Load == c.load && s.last.Purpose == Retest {
		done := c.trials[len(c.trials)-1].size
		return Trial{Load: c.load, Requests: size - done, Purpose: Retest, Continue: true}
	}
	return Trial{Load: c.load, Requests: size, Purpose: Retest}
}

// confirmable tells whether the confirmation's budget still gives hope of a proof. The budget suffices for a share 15 % below its limit.
func (s *Search) confirmable(c *cell) bool {
	miss := (1 - s.cfg.Confidence) / looks
	z := distuv.UnitNormal.Quantile(1 - miss)
	for i, k := range s.cfg.Constraints {
		all := float64(c.counts[i].N) / s.effectOf(c, i)
		share := float64(c.counts[i].Bad) / max(1, float64(c.counts[i].N))
		budget := max(2*z*z/(provable*provable*k.Limit), -2*math.Log(miss)/k.Limit)
		if all >= budget {
			return s.confidence(c) >= s.cfg.Confidence
		}
		if room := k.Limit - share; all > budget/3 && (room <= 0 || z*z*share*(1-share)/(room*room) > 2*budget) {
			return false
		}
	}
	return true
}

// visit goes to a load: on with what is there, or afresh.
func (s *Search) visit(load float64, p Purpose) Trial {
	if c := s.cells[load]; c != nil {
		return s.more(c, zoneOf(p), p)
	}
	return s.fresh(load, p)
}

func (s *Search) fresh(load float64, p Purpose) Trial {
	return Trial{Load: load, Requests: s.wanted(nil, zoneOf(p)), Purpose: p}
}

// zoneOf is the test that a purpose aims at.
func zoneOf(p Purpose) float64 {
	switch p {
	case Bracket:
		return rough
	case Refine, Confirm, Secure:
		return fine
	default:
		return coarse
	}
}

// more goes on with a load: in the same trial where it is the last one run.
func (s *Search) more(c *cell, zone float64, p Purpose) Trial {
	want := s.wanted(c, zone)
	if p == Confirm {
		want = max(want, c.counts[0].N/4)
	}
	return Trial{Load: c.load, Requests: want, Purpose: p, Continue: s.last.Load == c.load && s.last.Purpose != SweepDown}
}
