package search

import (
	"fmt"
	"sort"
)

// sweep is the way down from overload.
type sweep struct {
	begun    bool
	over     float64 // load above the line; 0: none was found to break
	overDone bool
	line     float64
	at       float64 // load tried on the way down
	counts   []Count
	tried    int
	done     bool
	holdsAt  float64 // largest load that held on the way down; 0: none did, or not swept
	failed   bool    // the line itself did not hold on the way down
}

func newSweep(lo, hi *cell) sweep {
	w := sweep{begun: true, line: lo.load, at: lo.load}
	if hi == nil {
		w.done, w.holdsAt = true, lo.load // nothing breaks: nowhere to come down from
		return w
	}
	w.over = hi.load
	return w
}

func (w *sweep) plan(s *Search) (Trial, bool) {
	if w.done {
		return Trial{}, false
	}
	want := min(s.wanted(nil, coarse), maxBatch)
	if !w.overDone {
		return Trial{Load: w.over, Requests: want, Purpose: Overload, Continue: false}, true
	}
	return Trial{Load: w.at, Requests: want, Purpose: SweepDown, Continue: s.last.Purpose == SweepDown && s.last.Load == w.at}, true
}

// report judges the load on the way down by itself, apart from what was measured on the way up.
func (w *sweep) report(s *Search, t Trial, o Observation) {
	if t.Purpose == Overload {
		w.overDone = true
		return
	}
	if w.counts == nil {
		w.counts = make([]Count, len(o.Counts))
	}
	for i, k := range o.Counts {
		w.counts[i].N += k.N
		w.counts[i].Bad += k.Bad
	}
	st := s.standing(&cell{load: t.Load, counts: w.counts})
	switch {
	case st.good():
		w.done, w.holdsAt = true, t.Load
	case st.bad():
		w.failed = true
		w.counts = nil
		w.tried++
		w.at = s.cfg.snap(w.at * sweepFactor)
		w.done = w.tried >= sweepSteps || w.at < s.cfg.Min
	}
}

// Status is how a search ended.
type Status string

// The states.
const (
	Searching Status = "searching" // not ended
	Found     Status = "found"
	AtMax     Status = "at-max"  // the largest load allowed holds: the line lies at it or above
	None      Status = "none"    // even the smallest load breaks the objective
	Stopped   Status = "stopped" // the budget ended first; the value is what was known
)

// CellSummary is what is known of one load.
type CellSummary struct {
	Load     float64 `json:"load"`
	Requests int64   `json:"requests"`
	Bad      []int64 `json:"bad"` // for each constraint
	Trials   int     `json:"trials"`
	Holds    *bool   `json:"holds"` // nil: undecided
}

// Caveat is a reason to doubt.
type Caveat struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Result is the load line.
type Result struct {
	Status     Status        `json:"status"`
	Value      *float64      `json:"value"`      // largest load that holds with the confidence; nil: none is known, or the budget ended before one was proved
	Estimate   *float64      `json:"estimate"`   // largest load that seems to hold, proved or not; nil: none does
	Low        *float64      `json:"low"`        // largest load proved to hold
	High       *float64      `json:"high"`       // smallest load above it proved to break; nil: none was proved
	Confidence float64       `json:"confidence"` // that the objective holds at Value, 0…1
	PError     float64       `json:"p_error"`    // that it does not
	Breaks     string        `json:"breaks"`     // the term that breaks first above the line; empty: none seen
	Headroom   *float64      `json:"headroom"`   // Value over the expected load, less 1; nil: no load expected
	Trials     int           `json:"trials"`
	Requests   int64         `json:"requests"`
	Seconds    float64       `json:"seconds"`
	Effect     float64       `json:"design_effect"` // requests for one independent one
	DownTo     *float64      `json:"holds_coming_down"`
	Cells      []CellSummary `json:"cells"`
	Caveats    []Caveat      `json:"caveats"`
}

// Result is what is known so far; it is final once Next has said that the search has ended.
func (s *Search) Result() Result {
	r := Result{Status: Searching, Trials: s.opened, Requests: s.requests, Seconds: s.seconds, Effect: s.effect, Cells: s.summaries(), Caveats: []Caveat{}}
	lo, hi := s.bracket()
	s.interval(&r)
	s.value(&r, lo)
	if hi != nil {
		r.Breaks = s.breaking(hi)
	}
	if s.finished {
		r.Status = s.status(lo, hi)
	}
	if r.Value != nil && s.cfg.Expected > 0 {
		h := *r.Value/s.cfg.Expected - 1
		r.Headroom = &h
	}
	s.caveats(&r)
	return r
}

// value is the line. A search that was stopped has proved its line up to the largest proved load only; what lies above is an estimate.
func (s *Search) value(r *Result, lo *cell) {
	if lo == nil {
		return
	}
	r.Estimate = &lo.load
	if s.stopped != "" && s.confidence(lo) < s.cfg.Confidence {
		if r.Low == nil {
			return
		}
		lo = s.cells[*r.Low]
	}
	r.Value, r.Confidence = &lo.load, s.confidence(lo)
	r.PError = 1 - r.Confidence
}

func (s *Search) status(lo, hi *cell) Status {
	switch {
	case s.stopped != "":
		return Stopped
	case lo == nil:
		return None
	case hi == nil:
		return AtMax
	default:
		return Found
	}
}

// interval is the largest load proved to hold and the smallest above it proved to break.
func (s *Search) interval(r *Result) {
	for _, c := range s.sorted() {
		if s.confidence(c) >= s.cfg.Confidence && c.brokenTerm() == "" {
			r.Low, r.High = &c.load, nil
			continue
		}
		if r.High == nil && s.provedBroken(c) != "" {
			r.High = &c.load
		}
	}
}

// breaking names the constraint that is worst against its limit.
func (s *Search) breaking(c *cell) string {
	if term := c.brokenTerm(); term != "" {
		return term
	}
	worst, name := 0.0, ""
	for i, k := range s.cfg.Constraints {
		if share := float64(c.counts[i].Bad) / max(1, float64(c.counts[i].N)) / k.Limit; share > worst {
			worst, name = share, k.Name
		}
	}
	return name
}

func (s *Search) sorted() []*cell {
	out := make([]*cell, 0, len(s.cells))
	for _, c := range s.cells {
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].load < out[j].load })
	return out
}

func (s *Search) summaries() []CellSummary {
	out := []CellSummary{}
	for _, c := range s.sorted() {
		sum := CellSummary{Load: c.load, Requests: c.counts[0].N, Trials: len(c.trials)}
		for _, k := range c.counts {
			sum.Bad = append(sum.Bad, k.Bad)
		}
		if st := s.standing(c); st != open && !c.unproved {
			good := st.good()
			sum.Holds = &good
		}
		out = append(out, sum)
	}
	return out
}

// seems tells the estimate where it is more than what was proved.
func seems(r *Result) string {
	if r.Estimate == nil || (r.Value != nil && *r.Value >= *r.Estimate) {
		return ""
	}
	return fmt.Sprintf("; the trials suggest that %g holds", *r.Estimate)
}

func (s *Search) caveats(r *Result) {
	add := func(code, format string, args ...any) {
		r.Caveats = append(r.Caveats, Caveat{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if s.stopped != "" {
		add("search-stopped", "%s before the line was proved%s", s.stopped, seems(r))
	}
	if r.Status == AtMax {
		add("at-max", "the largest load allowed, %g, still holds: the line lies at it or above", s.cfg.Max)
	}
	if r.Effect > 1.5 {
		add("correlated", "slow requests come in clumps: %.1f of them tell as much as one independent one", r.Effect)
	}
	if s.sweep.failed {
		add("hysteresis", "coming down from %g the service does not hold %g, which it held on the way up", s.sweep.over, s.sweep.line)
	}
	if s.sweep.holdsAt > 0 {
		r.DownTo = &s.sweep.holdsAt
	}
	if r.Value != nil && r.Status == Found && s.cfg.AdmitsKnown && (s.cfg.Admits == 0 || s.cfg.Admits > *r.Value) {
		admitted := "any number of requests"
		if s.cfg.Admits > 0 {
			admitted = fmt.Sprintf("%g", s.cfg.Admits)
		}
		add("unbounded", "nothing stops the next user: the setting admits %s where %g hold the objective", admitted, *r.Value)
	}
	for _, c := range s.sorted() {
		if s.contradicts(c) {
			add("drift", "trials at %g contradict each other beyond chance: the service or its surroundings changed between them", c.load)
		}
	}
}

// contradicts tells whether a load's trials differ beyond chance: a test of equal shares at 99 %.
func (s *Search) contradicts(c *cell) bool {
	deff := s.effect
	var n, bad float64
	for _, t := range c.trials {
		n, bad = n+float64(t.count.N), bad+float64(t.count.Bad)
	}
	p := bad / max(1, n)
	if len(c.trials) < 2 || p == 0 || p == 1 || bad/deff < 10 {
		return false
	}
	chi2 := 0.0
	for _, t := range c.trials {
		d := float64(t.count.Bad) - float64(t.count.N)*p
		if t.count.N > 0 {
			chi2 += d * d / (float64(t.count.N) * p * (1 - p)) / deff
		}
	}
	return chi2Tail(chi2, len(c.trials)-1) < 0.01
}
