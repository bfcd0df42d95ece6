package interchange

import (
	"errors"
	"slices"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// maxSlices bounds the memory of a fold whatever the length of the imported run: when it is passed, neighbours are merged and a slice
// lasts twice as long.
const maxSlices = 512

// minLevel is how many slices a level of users must last to become a cell of its own.
const minLevel = 5

// sample is one request of an imported file.
type sample struct {
	start   int64 // ns since the epoch of the file's own clock
	latency time.Duration
	outcome record.Outcome
	code    []byte // sub-code of what was not a success; borrowed
	users   int    // users at work when it ended; 0 unknown
}

// slice is what ended within one span of time.
type slice struct {
	classes            [record.NumOutcomes]*hist.Histogram
	started            int64
	usersMin, usersMax int
}

// fold gathers samples in any order into slices of time.
type fold struct {
	origin int64 // start of slice 0, ns
	width  int64 // ns
	slices []slice
	codes  map[string]int64
	first  int64 // earliest start
	last   int64 // latest end
	count  int64
}

func newFold() *fold {
	return &fold{width: int64(time.Second), codes: map[string]int64{}}
}

// farthest bounds instants and latencies (ns), about 73 years: what lies beyond is no time of a test, and would overflow.
const farthest = 1 << 61

// errTime says that a sample lies beyond what a clock of our century shows.
var errTime = errors.New("a time beyond the range of a clock: check its unit")

// add takes a sample, or says that its times are none.
func (f *fold) add(s sample) error {
	if s.start < 0 || s.start > farthest || s.latency < 0 || s.latency > farthest/2 {
		return errTime
	}
	end := s.start + int64(s.latency)
	if f.count == 0 {
		f.first, f.last = s.start, end
		f.origin = s.start
	}
	f.first, f.last = min(f.first, s.start), max(f.last, end)
	f.count++
	f.at(s.start).started++
	at := f.at(end)
	if at.classes[s.outcome] == nil {
		at.classes[s.outcome] = hist.New()
	}
	at.classes[s.outcome].Record(s.latency)
	if s.users > 0 {
		if at.usersMax == 0 {
			at.usersMin = s.users
		}
		at.usersMin, at.usersMax = min(at.usersMin, s.users), max(at.usersMax, s.users)
	}
	if len(s.code) > 0 && s.outcome != record.Success {
		f.countCode(s.code)
	}
	return nil
}

// maxCodes bounds the memory that distinct error texts take.
const maxCodes = 1000

func (f *fold) countCode(code []byte) {
	if n, ok := f.codes[string(code)]; ok { // no allocation for a code seen before
		f.codes[string(code)] = n + 1
		return
	}
	if len(f.codes) >= maxCodes {
		f.codes["other"]++
		return
	}
	f.codes[string(code)] = 1
}

// at finds the slice of an instant, growing or coarsening as needed. A file begins with its earliest sample or close to it; what comes
// before the origin widens the fold at its front.
func (f *fold) at(ns int64) *slice {
	for ns < f.origin {
		missing := (f.origin - ns + f.width - 1) / f.width
		if int64(len(f.slices))+missing > maxSlices {
			f.coarsen()
			continue
		}
		f.slices = append(make([]slice, missing), f.slices...)
		f.origin -= missing * f.width
	}
	for {
		i := (ns - f.origin) / f.width
		if i < maxSlices {
			if int(i) >= len(f.slices) {
				f.slices = append(f.slices, make([]slice, int(i)+1-len(f.slices))...)
			}
			return &f.slices[i]
		}
		f.coarsen()
	}
}

// coarsen doubles the width of the slices.
func (f *fold) coarsen() {
	half := make([]slice, (len(f.slices)+1)/2)
	for i := range f.slices {
		half[i/2].merge(&f.slices[i])
	}
	f.slices = half
	f.width *= 2
}

func (s *slice) merge(from *slice) {
	s.started += from.started
	for i, h := range from.classes {
		if h == nil {
			continue
		}
		if s.classes[i] == nil {
			s.classes[i] = h
			continue
		}
		s.classes[i].Merge(h)
	}
	switch {
	case from.usersMax == 0:
	case s.usersMax == 0:
		s.usersMin, s.usersMax = from.usersMin, from.usersMax
	default:
		s.usersMin, s.usersMax = min(s.usersMin, from.usersMin), max(s.usersMax, from.usersMax)
	}
}

// cells turns the slices into cells: one for every level of users that lasted, where the file shows several, else one.
func (f *fold) cells(about record.Imported) []record.Cell {
	if f.count == 0 {
		return nil
	}
	levels := f.levels()
	if len(levels) > 1 {
		var out []record.Cell
		for _, l := range levels {
			out = append(out, f.cell(len(out), l.from, l.to, l.users, about))
		}
		return out
	}
	users := 0
	for i := range f.slices {
		users = max(users, f.slices[i].usersMax)
	}
	c := f.cell(0, 0, len(f.slices), users, about)
	return []record.Cell{c}
}

// level is a stretch of slices with a constant number of users.
type level struct{ from, to, users int }

func (f *fold) levels() []level {
	var out []level
	for i := 0; i < len(f.slices); {
		users, steady := f.slices[i].usersMax, f.slices[i].usersMax > 0 && f.slices[i].usersMin == f.slices[i].usersMax
		j := i + 1
		for steady && j < len(f.slices) && f.slices[j].usersMin == users && f.slices[j].usersMax == users {
			j++
		}
		if steady && j-i >= minLevel {
			out = append(out, level{i, j, users})
		}
		i = j
	}
	if distinct(out) < 2 {
		return nil
	}
	return out
}

func distinct(levels []level) int {
	var users []int
	for _, l := range levels {
		if !slices.Contains(users, l.users) {
			users = append(users, l.users)
		}
	}
	return len(users)
}

func (f *fold) cell(index, from, to, users int, about record.Imported) record.Cell {
	start := f.origin + int64(from)*f.width
	end := min(f.origin+int64(to)*f.width, f.last)
	if from == 0 {
		start = f.first
	}
	model := record.Closed
	if users == 0 {
		model = record.Open
	}
	c := record.Cell{Index: index, Repeat: 1, Load: record.Load{Model: model, Concurrency: users}, Started: time.Unix(0, start).UTC(),
		Window: time.Duration(end - start), Imported: &about}
	for i := from; i < to; i++ {
		at := f.origin + int64(i)*f.width
		c.Intervals = append(c.Intervals, f.slices[i].interval(max(at, start)-start, min(at+f.width, end)-start))
	}
	if model == record.Open && c.Window > 0 {
		var planned int64
		for _, iv := range c.Intervals {
			planned += iv.Planned
		}
		c.Load.RatePerSec = float64(planned) / c.Window.Seconds()
	}
	if index == 0 && len(f.codes) > 0 && len(c.Intervals) > 0 {
		c.Intervals[0].Codes = f.codes
	}
	return c
}

// interval renders a slice. Every request that ended counts as planned inside: an imported file knows no warm-up of ours.
func (s *slice) interval(start, end int64) record.Interval {
	iv := record.Interval{Phase: record.Window, Start: time.Duration(start), End: time.Duration(end)}
	for o, h := range s.classes {
		if h == nil {
			continue
		}
		outcome := record.Outcome(o)
		iv.Classes = append(iv.Classes, record.Class{Outcome: outcome, Inside: true, Answered: outcome.Answered(), Count: h.Count(), Latency: h, Held: h.Sum()})
		iv.Planned += h.Count()
	}
	return iv
}
