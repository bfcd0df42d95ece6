package observe

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Why a dump is taken, as record.Dump says it. One that a finding fires is «finding:CODE».
const (
	WhyStart      = "start"       // one minute after the beginning of a setting, or scaled
	WhySteady     = "steady"      // in a steady state of every step
	WhyBeforePeak = "before-peak" // in that of the step below the highest
	WhyPeak       = "peak"        // in that of the highest step
)

// Place says where a cell stands in a run.
type Place struct {
	Warmup, Discard, Window time.Duration // as planned
	Step, Steps             int           // 0…Steps-1, rising load, of one setting
}

// Moment is when to take a dump.
type Moment struct {
	At     time.Duration // since the cell's origin
	Why    string
	Inside bool // in the window: the dump's pause is part of its percentiles
}

// startAfter is the study's one minute: by then pools have grown and code is compiled.
const startAfter = time.Minute

// Moments are the dumps of one cell, in order. They fall before the window where there is room: a JVM stands still while it is dumped, which
// would else be in the percentiles. Without a warm-up and discarded time the dump is taken at nine tenths of the window and says so.
func Moments(p Place) []Moment {
	var out []Moment
	before := p.Warmup + p.Discard
	settled := Moment{At: before * 9 / 10, Why: why(p)}
	if before == 0 {
		settled.At, settled.Inside = p.Window*9/10, true
	}
	if p.Step == 0 && before > 0 {
		// A cell too short for the full minute is dumped after half of its settling.
		start := Moment{At: min(startAfter, before/2), Why: WhyStart}
		out = append(out, start)
	}
	return append(out, settled)
}

func why(p Place) string {
	switch {
	case p.Steps > 1 && p.Step == p.Steps-1:
		return WhyPeak
	case p.Steps > 1 && p.Step == p.Steps-2:
		return WhyBeforePeak
	}
	return WhySteady
}

// Fired bounds the dumps that findings ask for: at most one for each code of a cell, so far apart, and so many in all. It may be used from
// several goroutines. The zero value allows none; use NewFired.
type Fired struct {
	apart time.Duration
	most  int

	mu   sync.Mutex // guards what follows
	last time.Duration
	seen []string
}

// Defaults of NewFired.
const (
	DefaultApart = 30 * time.Second
	DefaultMost  = 3
)

// NewFired makes the bound of one cell. Apart 0: 30 s; most 0: 3.
func NewFired(apart time.Duration, most int) (*Fired, error) {
	if apart < 0 || most < 0 {
		return nil, fmt.Errorf("dumps on findings: found %v apart and at most %d, allowed 0 (defaults) or more", apart, most)
	}
	if apart == 0 {
		apart = DefaultApart
	}
	if most == 0 {
		most = DefaultMost
	}
	return &Fired{apart: apart, most: most}, nil
}

// Allow tells whether a dump for a finding may be taken now, and why it is taken; it counts those it allows.
func (f *Fired) Allow(code string, now time.Duration) (reason string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) >= f.most || slices.Contains(f.seen, code) || len(f.seen) > 0 && now-f.last < f.apart {
		return "", false
	}
	f.seen, f.last = append(f.seen, code), now
	return "finding:" + code, true
}
