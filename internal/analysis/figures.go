package analysis

import (
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// span is a stretch of a cell's clock.
type span struct{ start, end time.Duration }

// tally is what the intervals of one cell add up to.
type tally struct {
	window    span    // from the first to the last window interval
	seconds   float64 // measured inside the window
	discarded float64
	warmup    float64
	planned   int64 // in the window

	inside      Outcomes                            // planned in the window, whenever they ended
	insideBy    [record.NumOutcomes]*hist.Histogram // their latencies
	answered    *hist.Histogram                     // latencies of those answered
	codes       map[string]int64
	ended       Outcomes // ended in the window, whenever planned
	completed   int64    // answers that came in the window
	held        time.Duration
	heldN       int64
	success     *hist.Histogram   // latencies of successes that came in the window
	perInterval []*hist.Histogram // the same, interval by interval
	generator   generatorTally
}

// generatorTally sums the generator's own figures over the window.
type generatorTally struct {
	cpu, wait time.Duration
	loop      []time.Duration
	lag       *hist.Histogram
}

// tallyOf folds a cell's intervals.
func tallyOf(cell record.Cell) tally {
	t := tally{codes: map[string]int64{}, answered: hist.New(), success: hist.New()}
	for _, iv := range cell.Intervals {
		length := (iv.End - iv.Start).Seconds()
		switch iv.Phase {
		case record.Warmup:
			t.warmup += length
		case record.Discard:
			t.discarded += length
		case record.Window:
			t.addWindow(iv, length)
		}
		t.addInside(iv)
	}
	return t
}

func (t *tally) addWindow(iv record.Interval, length float64) {
	if t.seconds == 0 {
		t.window.start = iv.Start
	}
	t.window.end = iv.End
	t.seconds += length
	t.planned += iv.Planned
	for code, n := range iv.Codes {
		t.codes[code] += n
	}
	for _, c := range iv.Classes {
		t.ended[c.Outcome] += c.Count
		if c.Answered || c.Outcome.Answered() {
			t.completed += c.Count
		}
		if c.Held > 0 {
			t.held += c.Held
			t.heldN += c.Count
		}
		if c.Outcome == record.Success {
			t.success.Merge(c.Latency)
			t.perInterval = append(t.perInterval, c.Latency)
		}
	}
	t.generator.add(iv)
}

func (t *tally) addInside(iv record.Interval) {
	for _, c := range iv.Classes {
		if !c.Inside {
			continue
		}
		t.inside[c.Outcome] += c.Count
		if c.Latency == nil {
			continue
		}
		if t.insideBy[c.Outcome] == nil {
			t.insideBy[c.Outcome] = hist.New()
		}
		t.insideBy[c.Outcome].Merge(c.Latency)
		if c.Answered || c.Outcome.Answered() {
			t.answered.Merge(c.Latency)
		}
	}
}

func (g *generatorTally) add(iv record.Interval) {
	s := iv.Generator
	g.cpu += s.CPU
	g.wait += s.RunQueueWait
	for i, d := range s.LoopCPU {
		if i == len(g.loop) {
			g.loop = append(g.loop, 0)
		}
		g.loop[i] += d
	}
	if iv.Lag != nil {
		if g.lag == nil {
			g.lag = hist.New()
		}
		g.lag.Merge(iv.Lag)
	}
}

// meanHeld is the mean time for which an ended request held its user, in seconds.
func (t *tally) meanHeld() *float64 { return ratio(t.held.Seconds(), float64(t.heldN)) }

func (t *tally) perSecond(n int64) *float64 { return ratio(float64(n), t.seconds) }

func (t *tally) rates(bound time.Duration) Rates {
	r := Rates{
		Offered:   t.perSecond(t.planned),
		Completed: t.perSecond(t.completed),
		Success:   t.perSecond(t.ended[record.Success]),
		Rejected:  t.perSecond(t.ended[record.Rejected]),
	}
	if bound > 0 {
		r.Goodput = t.perSecond(t.success.CountAtOrBelow(bound))
	}
	return r
}

func (t *tally) latencyBy() map[string]Latency {
	out := map[string]Latency{}
	for class, h := range t.insideBy {
		if h.Count() > 0 {
			out[record.Outcome(class).String()] = latencyOf(h)
		}
	}
	return out
}
