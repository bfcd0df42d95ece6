package analysis

import (
	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// Of computes everything that is said of a run from its facts. It is pure: the same record gives the same Result.
func Of(run record.Run) Result {
	r := Result{Schema: Schema, ID: run.ID, Name: run.Name, Started: run.Started, Partial: run.Partial, Interrupted: run.Interrupted,
		Environment: run.Environment, Plan: planObject(run.Plan)}
	if !run.Ended.IsZero() {
		ended := run.Ended
		r.Ended = &ended
	}
	if run.SLO != "" {
		slo := run.SLO
		r.SLO = &slo
	}
	wish := wishOf(run.SLO)
	under := r.examine(run, wish)
	under.judge(wish)
	r.Settings = settingsOf(r.Cells, wish)
	r.compareIsolation()
	r.chooseBest()
	return r
}

// examine computes the cells of a run with their findings.
func (r *Result) examine(run record.Run, wish wish) examined {
	under := examined{}
	r.Cells = make([]CellResult, len(run.Cells))
	for i, cell := range run.Cells {
		var e examination
		r.Cells[i], e = cellOf(cell, run.Environment.Cores, wish)
		under[&r.Cells[i]] = e
	}
	r.diagnose(under)
	return under
}

// examination is what is known of a cell beside its result.
type examination struct {
	scene *diagnose.Scene // nil where nothing was measured
	tally *tally
	trial bool // of a search, which judges its trials together
}

// examined are the cells whose findings and verdicts are to come. Findings need a cell's neighbours, and verdicts look at findings.
type examined map[*CellResult]examination

func (e examined) judge(w wish) {
	together := trials{}
	for c, of := range e {
		if of.trial {
			together.add(c, of.tally)
			continue
		}
		c.SLO = w.judge(c, of.tally)
	}
	together.judge(w)
}

// cellOf computes one cell but for its findings and verdict.
func cellOf(cell record.Cell, cores int, wish wish) (CellResult, examination) {
	t := tallyOf(cell)
	r := CellResult{Index: cell.Index, Setting: cell.Setting, Repeat: cell.Repeat, Load: loadOf(cell.Load), Partial: cell.Partial, Failure: cell.Failure,
		Window:  Window{Seconds: t.seconds, DiscardedSeconds: t.discarded, WarmupSeconds: t.warmup},
		Planned: t.planned, Outcomes: t.inside, Codes: t.codes, Rates: t.rates(wish.bound),
		Latency: latencyOf(t.insideBy[record.Success]), LatencyAll: latencyOf(t.answered), LatencyBy: t.latencyBy(),
		RejectedRatio: ratio(float64(t.ended[record.Rejected]), float64(t.completed)), Services: observed.Of(cell, observed.Span{Start: t.window.start, End: t.window.end})}
	if r.Setting == nil {
		r.Setting = record.Setting{}
	}
	if cell.Imported != nil && cell.Imported.Summary != nil {
		return summarised(*cell.Imported, r), examination{tally: &tally{success: hist.New()}}
	}
	r.Generator = generatorOf(cell, &t, r.Latency.P50)
	r.HostCPURatio = hostCPU(cell, t.window, cores, &r)
	if !isTrial(cell) {
		r.Steady = steadyOf(cell)
	}
	r.Checks = checksOf(cell, cores, &t, &r)
	r.Findings = []Finding{}
	r.Caveats = caveatsOf(cell, &r)
	r.Caveats = append(r.Caveats, importCaveats(cell.Imported)...)
	return r, examination{sceneOf(cell, cores, &t, &r), &t, isTrial(cell)}
}

func loadOf(l record.Load) Load {
	out := Load{Model: l.Model}
	if l.Model == record.Open {
		out.RatePerSec = known(l.RatePerSec)
		return out
	}
	users := l.Concurrency
	out.Concurrency, out.ThinkMS = &users, millis(l.Think)
	return out
}

// hostCPU is the mean use of the whole machine: the host's own series where one was sampled, else what the generator and the sampled
// services used of its cores.
func hostCPU(cell record.Cell, window span, cores int, r *CellResult) *float64 {
	if own := hostSeries(cell, window); own != nil {
		return own
	}
	busy := coresBusy(r)
	if busy == nil {
		return nil
	}
	return ratio(*busy, float64(cores))
}

// hostSeries is the busy share of the CPU time that the kernel counted over all cores between the samples nearest the window's edges.
// Waiting for a disk is not busy.
func hostSeries(cell record.Cell, window span) *float64 {
	within := observed.Span{Start: window.start, End: window.end}
	var busy, idle counter
	for _, s := range cell.Series {
		if s.Source != "host" || !within.Contains(s.At) {
			continue
		}
		switch s.Name {
		case "cpu_user_seconds_total", "cpu_system_seconds_total", "cpu_irq_seconds_total", "cpu_softirq_seconds_total", "cpu_steal_seconds_total":
			busy.add(s)
		case "cpu_idle_seconds_total", "cpu_iowait_seconds_total":
			idle.add(s)
		}
	}
	return ratio(busy.grown(), busy.grown()+idle.grown())
}

// counter sums by how much cumulative series grew from their first to their last sample.
type counter struct{ first, last map[string]float64 }

func (c *counter) add(s record.SeriesSample) {
	if c.first == nil {
		c.first, c.last = map[string]float64{}, map[string]float64{}
	}
	if _, seen := c.first[s.Name]; !seen {
		c.first[s.Name] = s.Value
	}
	c.last[s.Name] = s.Value
}

func (c *counter) grown() float64 {
	var sum float64
	for name, first := range c.first {
		sum += max(0, c.last[name]-first)
	}
	return sum
}
