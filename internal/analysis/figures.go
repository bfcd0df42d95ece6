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
	var sorted sortedLatencies
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
		t.addInside(iv, &sorted)
	}
	sorted.into(&t)
	return t
}

// sortedLatencies are a cell's latencies in parts that each latency belongs to one of, so that it is merged once: what is asked for are
// sums of parts.
type sortedLatencies struct {
	window  [record.NumOutcomes]*hist.Histogram // planned and ended in the window
	later   [record.NumOutcomes]*hist.Histogram // planned in the window and ended after it
	earlier *hist.Histogram                     // successes that ended in the window and were planned before it
	gateway *hist.Histogram                     // timeouts planned in the window that were answered: those of a 504
}

func merged(into **hist.Histogram, from *hist.Histogram) {
	if from.Count() == 0 {
		return
	}
	if *into == nil {
		*into = hist.New()
	}
	(*into).Merge(from)
}

func (s *sortedLatencies) add(phase record.Phase, c record.Class) {
	switch {
	case !c.Inside:
		if c.Outcome == record.Success && phase == record.Window {
			merged(&s.earlier, c.Latency)
		}
		return
	case phase == record.Window:
		merged(&s.window[c.Outcome], c.Latency)
	default:
		merged(&s.later[c.Outcome], c.Latency)
	}
	if c.Answered && !c.Outcome.Answered() {
		merged(&s.gateway, c.Latency)
	}
}

// into adds the parts up.
func (s *sortedLatencies) into(t *tally) {
	t.success.Merge(s.earlier)
	t.success.Merge(s.window[record.Success])
	t.answered.Merge(s.gateway)
	for o := range s.window {
		merged(&t.insideBy[o], s.window[o])
		merged(&t.insideBy[o], s.later[o])
		if record.Outcome(o).Answered() {
			t.answered.Merge(t.insideBy[o])
		}
	}
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
			t.perInterval = append(t.perInterval, c.Latency)
		}
	}
	t.generator.add(iv)
}

func (t *tally) addInside(iv record.Interval, sorted *sortedLatencies) {
	for _, c := range iv.Classes {
		if c.Inside {
			t.inside[c.Outcome] += c.Count
		}
		sorted.add(iv.Phase, c)
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
