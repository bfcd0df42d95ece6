package compare

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/stat"
)

// OfRun takes what can be compared from a run and its analysis. A cell that ended early, or whose generator was at its limit, is compared and not
// judged. Trials of a search are left out: each lasted until the search knew enough, and their loads are its own.
func OfRun(name string, run record.Run, result analysis.Result) Run {
	out := Run{Name: name, Environment: environmentOf(run.Environment)}
	trials := 0
	for i, c := range result.Cells {
		cell := run.Cells[i]
		if cell.Window == record.Endless && cell.Imported == nil {
			trials++
			continue
		}
		out.Samples = append(out.Samples, sampleOf(cell, c))
	}
	if trials > 0 {
		out.LeftOut = fmt.Sprintf("%d trials of a search are left out: compare runs of a plan", trials)
	}
	return out
}

// environmentOf is what the figures of a machine depend on. The versions of Loadline and of Go are not part of it: releases are what is compared.
func environmentOf(e record.Environment) map[string]string {
	if e.Cores == 0 && e.OS == "" && e.CPUModel == "" {
		return nil
	}
	return map[string]string{"os": e.OS, "kernel": e.Kernel, "cpu": e.CPUModel, "cores": strconv.Itoa(e.Cores), "cgroup_cpu": e.Limits["cgroup_cpu"]}
}

func sampleOf(cell record.Cell, c analysis.CellResult) Sample {
	s := Sample{Setting: c.Setting.String(), Load: loadText(c.Load), Values: map[Metric]float64{}, Within: map[Metric]stat.Interval{}}
	if c.Load.RatePerSec != nil {
		s.RatePerSec = *c.Load.RatePerSec
	}
	set := func(m Metric, v *float64) {
		if v != nil {
			s.Values[m] = *v
		}
	}
	set(Throughput, c.Rates.Completed)
	set(Success, c.Rates.Success)
	set(Goodput, c.Rates.Goodput)
	set(P50, c.Latency.P50)
	set(P99, c.Latency.P99)
	set(Rejected, c.RejectedRatio)
	cpu, switches := used(c)
	set(CPUPerRequest, cpu)
	set(SwitchesPerRequest, switches)
	s.within(cell, c)
	switch {
	case c.Partial:
		s.Doubt = "the cell ended before its time"
	case !c.Generator.Valid:
		s.Doubt = "the generator was at its limit"
	}
	return s
}

// loadText is what cells match by.
func loadText(l analysis.Load) string {
	text := l.String()
	if l.ThinkMS != nil && *l.ThinkMS > 0 {
		text += fmt.Sprintf(", think %g ms", *l.ThinkMS)
	}
	return text
}

// used is what the services that were sampled used for one answer: CPU in ms, and context switches. Nil where none was sampled.
func used(c analysis.CellResult) (cpuMS, switches *float64) {
	if c.Rates.Completed == nil || *c.Rates.Completed <= 0 {
		return nil, nil
	}
	add := func(sum **float64, v *float64, scale float64) {
		if v == nil {
			return
		}
		if *sum == nil {
			*sum = new(float64)
		}
		**sum += *v * scale / *c.Rates.Completed
	}
	for _, s := range c.Services {
		add(&cpuMS, s.CPURatio, 1000)
		add(&switches, s.Switches.Voluntary, 1)
		add(&switches, s.Switches.Involuntary, 1)
	}
	return cpuMS, switches
}

// level of the intervals within a run.
const level = 0.95

// within adds the intervals that one run knows of its own figures: order statistics for percentiles, and for rates the spread of its intervals.
func (s *Sample) within(cell record.Cell, c analysis.CellResult) {
	if c.Latency.P99Low != nil && c.Latency.P99High != nil {
		s.Within[P99] = stat.Interval{Low: *c.Latency.P99Low, High: *c.Latency.P99High, Level: level}
	}
	successes := hist.New()
	var all, good rates
	for _, iv := range cell.Intervals {
		var answered, success int64
		for _, class := range iv.Classes {
			if class.Answered {
				answered += class.Count
			}
			if class.Outcome == record.Success {
				success += class.Count
				if class.Inside && class.Latency != nil {
					successes.Merge(class.Latency)
				}
			}
		}
		if iv.Phase == record.Window {
			all.add(answered, iv)
			good.add(success, iv)
		}
	}
	if ranks := stat.QuantileRanks(successes.Count(), 0.5, level); ranks.Lower > 0 && ranks.Upper > 0 && ranks.Upper <= successes.Count() {
		ms := func(rank int64) float64 { return float64(successes.AtRank(rank)) / 1e6 }
		s.Within[P50] = stat.Interval{Low: ms(ranks.Lower), High: ms(ranks.Upper), Level: level}
	}
	for m, r := range map[Metric]rates{Throughput: all, Success: good} {
		if i, ok := r.interval(); ok {
			s.Within[m] = i
		}
	}
}

// rates are those of a window's intervals.
type rates []float64

func (r *rates) add(n int64, iv record.Interval) {
	if length := (iv.End - iv.Start).Seconds(); length > 0 {
		*r = append(*r, float64(n)/length)
	}
}

// interval is that of the mean rate by batch means: Student's t over the window's intervals, fewer by their correlation time (B. Schmeiser, Batch
// size effects in the analysis of simulation output, Operations Research 30, 1982). ok is false below ten intervals.
func (r rates) interval() (stat.Interval, bool) {
	const fewest = 10
	n := float64(len(r))
	if len(r) < fewest {
		return stat.Interval{}, false
	}
	mean, squares := stat.Mean(r), 0.0
	for _, v := range r {
		squares += (v - mean) * (v - mean)
	}
	effective := max(2, n/max(1, stat.CorrelationTime(r)))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: effective - 1}.Quantile(1-(1-level)/2) * math.Sqrt(squares/(n-1)/effective)
	return stat.Interval{Low: mean - half, High: mean + half, Level: level}, true
}
