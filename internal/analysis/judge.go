package analysis

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/knee"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/analysis/steady"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/stat"
)

// wish is the SLO asked of a run.
type wish struct {
	asked bool
	text  string
	slo   slo.SLO
	bound time.Duration // above which a success is not good; 0 where nothing was asked
}

// wishOf reads the SLO kept with a run. The plan's reader refuses a faulty one, so that one here comes from a foreign record: it is shown
// and judged as one that no evidence can meet.
func wishOf(text string) wish {
	if text == "" {
		return wish{}
	}
	w := wish{asked: true, text: text, bound: math.MaxInt64}
	parsed, err := slo.Parse(text)
	if err != nil {
		return w
	}
	w.slo = parsed
	if bound, ok := parsed.LatencyBound(); ok {
		w.bound = bound
	}
	return w
}

// judge holds a cell against the SLO. An invalid generator withholds every verdict. Without a steady state, and where refused users
// storm, the latency of what succeeded says nothing about the load that was meant, so that verdicts on it are withheld; the shares are
// judged all the same.
func (w wish) judge(r *CellResult, t *tally) *Verdict {
	if !w.asked {
		return nil
	}
	var every, latency []string
	if !r.Generator.Valid {
		every = append(every, "the generator was at its limit")
	}
	if r.Partial {
		every = append(every, "the cell ended before its time")
	}
	if r.Steady == nil || !r.Steady.Reached {
		latency = append(latency, "no steady state")
	}
	if has(r.Findings, finding.RetryStorm) {
		latency = append(latency, "a retry storm")
	}
	return w.evaluate(w.evidence(t), every, append(every[:len(every):len(every)], latency...))
}

// evidence is what a tally shows.
func (w wish) evidence(t *tally) slo.Evidence {
	e := slo.Evidence{Seconds: t.seconds, Planned: t.planned, Success: t.inside[record.Success], Completed: t.completed,
		Rejected: t.ended[record.Rejected], Good: t.success.CountAtOrBelow(w.bound), Latency: t.insideBy[record.Success],
		MeanSD: deviation(t.insideBy[record.Success]), EffectiveRatio: t.effectiveRatio(w.bound)}
	if t.insideBy[record.Success] == nil {
		e.Latency = hist.New()
	}
	return e
}

func (w wish) evaluate(e slo.Evidence, every, latency []string) *Verdict {
	out := Verdict{Verdict: slo.Pass, Terms: []slo.TermResult{}, Doubts: append([]string{}, latency...)}
	if len(w.slo.Terms) == 0 {
		out.Verdict = slo.NoEvidence
	}
	for _, term := range w.slo.Terms {
		e.Doubts = latency
		if term.Metric == slo.Success || term.Metric == slo.Rejected {
			e.Doubts = every
		}
		one := slo.Evaluate(slo.SLO{Terms: []slo.Term{term}}, e)
		out.Terms = append(out.Terms, one.Terms...)
		out.Verdict = joined(out.Verdict, one.Verdict)
	}
	return &out
}

// joined is the verdict on two: a fail stands against everything, a pass only beside passes.
func joined(a, b slo.Verdict) slo.Verdict {
	switch {
	case a == slo.Fail || b == slo.Fail:
		return slo.Fail
	case a == slo.NoEvidence || b == slo.NoEvidence:
		return slo.NoEvidence
	default:
		return slo.Pass
	}
}

// deviation is the standard deviation, each value taken as the middle of its cell.
func deviation(h *hist.Histogram) time.Duration {
	n := float64(h.Count())
	if n < 2 {
		return 0
	}
	mean, sum := float64(h.Mean()), 0.0
	for _, b := range h.Buckets() {
		middle := float64(b.From+b.To) / 2
		sum += float64(b.Count) * (middle - mean) * (middle - mean)
	}
	return time.Duration(math.Sqrt(sum / (n - 1)))
}

// effectiveRatio is how many independent requests one is worth, by how the slow ones are spread over the intervals.
func (t *tally) effectiveRatio(bound time.Duration) float64 {
	var batches []stat.Batch
	n := int64(0)
	for _, h := range t.perInterval {
		count := h.Count()
		n += count
		batches = append(batches, stat.Batch{N: count, Bad: count - h.CountAtOrBelow(bound)})
	}
	if n == 0 {
		return 1
	}
	return stat.EffectiveN(batches) / float64(n)
}

// steadyOf judges whether the window stood still, by the rate of success, its mean response and what was in flight in each interval.
// Intervals cut short, at most half as long as the longest, are left out. Nil: there is no interval to judge.
func steadyOf(cell record.Cell) *Steady {
	longest := time.Duration(0)
	for _, iv := range cell.Intervals {
		if iv.Phase == record.Window {
			longest = max(longest, iv.End-iv.Start)
		}
	}
	s := steady.Series{IntervalSeconds: longest.Seconds()}
	for _, iv := range cell.Intervals {
		length := iv.End - iv.Start
		if iv.Phase != record.Window || length <= longest/2 {
			continue
		}
		n, sum := successesOf(iv)
		s.Throughput = append(s.Throughput, float64(n)/length.Seconds())
		s.ResponseMS = append(s.ResponseMS, valueOr0(ratio(sum.Seconds()*1000, float64(n))))
		s.Queue = append(s.Queue, float64(iv.InFlight))
	}
	if len(s.Throughput) == 0 {
		return nil
	}
	found := steady.Detect(s)
	return &Steady{Reached: found.Verdict == steady.Steady, Verdict: found.Verdict.String(), Reasons: append([]string{}, found.Reasons...)}
}

func successesOf(iv record.Interval) (n int64, sum time.Duration) {
	for _, c := range iv.Classes {
		if c.Outcome == record.Success {
			n += c.Count
			sum += c.Latency.Sum()
		}
	}
	return n, sum
}

// loadLine is the largest step whose SLO held in every repeat, below the first that failed. Nil where none held.
func (w wish) loadLine(steps [][]*CellResult) *LoadLine {
	if !w.asked {
		return nil
	}
	var held, failed []*CellResult
	for _, step := range steps {
		switch stepVerdict(step) {
		case slo.Pass:
			held = step
		case slo.Fail:
			failed = step
		}
		if failed != nil {
			break
		}
	}
	if held == nil {
		return nil
	}
	line := &LoadLine{SLO: w.text, Concurrency: held[0].Load.Concurrency, RatePerSec: medianSuccess(held), Low: known(held[0].Load.value())}
	limits := held
	if failed != nil {
		line.High, limits = known(failed[0].Load.value()), failed
	}
	line.BindingLimit, line.Evidence = bindingOf(limits)
	return line
}

func stepVerdict(step []*CellResult) slo.Verdict {
	out := slo.Pass
	for _, c := range step {
		out = joined(out, c.SLO.Verdict)
	}
	return out
}

// kneeOf finds where added load stops adding successes in proportion; nil where there are too few steps to tell.
func kneeOf(steps [][]*CellResult) *Knee {
	var points []knee.Point
	for _, step := range steps {
		for _, c := range step {
			if c.Rates.Success == nil || c.Load.value() <= 0 {
				continue
			}
			points = append(points, knee.Point{Concurrency: c.Load.value(), ThroughputPerSec: *c.Rates.Success, ResponseSec: valueOr0(c.Latency.Mean) / 1000})
		}
	}
	found, err := knee.Find(points)
	if err != nil || found.Concurrency == nil {
		return nil
	}
	k := &Knee{Load: *found.Concurrency, RatePerSec: found.ThroughputPerSec, Low: found.Low, High: found.High, Method: found.Method,
		Estimates: found.Estimates, Differ: found.Differ, Caveats: found.Caveats}
	unit := "/s"
	if steps[0][0].Load.Concurrency != nil {
		k.Concurrency, unit = found.Concurrency, " users"
	}
	k.Text = fmt.Sprintf("%.4g%s, %.4g successes/s", k.Load, unit, valueOr0(k.RatePerSec))
	if k.Low != nil && k.High != nil {
		k.Text += fmt.Sprintf(" (95 %%: %.4g…%.4g)", *k.Low, *k.High)
	}
	return k
}
