package analysis

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/audit"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

// checksOf audits one cell by the laws of package audit.
func checksOf(cell record.Cell, cores int, t *tally, r *CellResult) []Check {
	c := audit.Cell{
		Row: cell.Index + 1, Scenario: cell.Setting.String() + " at " + r.Load.String(), WindowSeconds: t.seconds,
		Closed: cell.Load.Model == record.Closed, Concurrency: float64(cell.Load.Concurrency), ThinkMS: cell.Load.Think.Seconds() * 1000,
		EndedPerSec: figure(ratio(float64(t.heldN), t.seconds)), Planned: t.planned, Success: t.ended[record.Success],
		MeanMS: figure(r.Latency.Mean), MaxMS: figure(r.Latency.Max), Percentiles: percentilesOf(r.Latency),
	}
	if held := t.meanHeld(); held != nil {
		c.MeanHeldMS = audit.Known(*held * 1000)
	}
	for class, n := range t.inside {
		c.Outcomes = append(c.Outcomes, audit.Count{Name: record.Outcome(class).String(), Count: n})
	}
	c.Slots = limitsOf(cell, r.Services)
	c.Utilisation = utilisationOf(cores, r)
	return audit.CheckCell(c).Checks
}

func figure(p *float64) audit.Figure {
	if p == nil {
		return audit.Figure{}
	}
	return audit.Known(*p)
}

func percentilesOf(l Latency) []audit.Percentile {
	var out []audit.Percentile
	add := func(name string, q float64, ms *float64) {
		if ms != nil {
			out = append(out, audit.Percentile{Name: name, Q: q, MS: *ms})
		}
	}
	add("p50", 0.5, l.P50)
	add("p90", 0.9, l.P90)
	add("p95", 0.95, l.P95)
	add("p99", 0.99, l.P99)
	add("p99.9", 0.999, l.P999)
	return out
}

// limitsOf gives the limits that the plan states, each with the service time that its pool measured.
func limitsOf(cell record.Cell, services map[string]ServiceResult) []audit.SlotLimit {
	var out []audit.SlotLimit
	for _, limit := range cell.Slots {
		name, pool, ok := limited(limit, services)
		if !ok || limit.Slots < 1 || pool.Execution.Average() == nil {
			continue
		}
		out = append(out, audit.SlotLimit{Name: limit.Service + "/" + name, Slots: float64(limit.Slots), ServiceMS: *pool.Execution.Mean})
	}
	return out
}

func utilisationOf(cores int, r *CellResult) []audit.Utilisation {
	var out []audit.Utilisation
	for _, p := range observed.Pools(r.Services) {
		if slots := p.Slots(); slots != nil && p.ActiveMean != nil {
			out = append(out, audit.Utilisation{Name: p.String() + " slots", Busy: *p.ActiveMean, Capacity: *slots})
		}
	}
	if busy := coresBusy(r); busy != nil && cores > 0 {
		out = append(out, audit.Utilisation{Name: "cores", Busy: *busy, Capacity: float64(cores)})
	}
	return out
}

// coresBusy is the CPU of the generator and of every service sampled, in cores; unknown where nothing was sampled.
func coresBusy(r *CellResult) *float64 {
	sum := 0.0
	seen := false
	for _, s := range r.Services {
		if s.CPURatio != nil {
			sum, seen = sum+*s.CPURatio, true
		}
	}
	if !seen {
		return nil
	}
	return known(sum + valueOr0(r.Generator.CPURatio))
}

// limited finds the pool that a plan's limit speaks of; a limit without a pool's name means the service's only pool.
func limited(limit record.SlotLimit, services map[string]ServiceResult) (string, PoolResult, bool) {
	pools := services[limit.Service].Pools
	if limit.Pool != "" {
		p, ok := pools[limit.Pool]
		return limit.Pool, p, ok
	}
	if len(pools) != 1 {
		return "", PoolResult{}, false
	}
	for name, p := range pools {
		return name, p, true
	}
	return "", PoolResult{}, false
}

// The generator's limits.
const (
	maxCPUWait  = 0.10             // share of the window for which a sending thread may wait for a CPU
	minLagLimit = time.Millisecond // an open model's lag p99 may always be this
	maxLagShare = 0.10             // or this share of the median response
)

func generatorOf(cell record.Cell, t *tally, median *float64) Generator {
	g := Generator{CPURatio: ratio(t.generator.cpu.Seconds(), t.seconds), CPUWaitRatio: ratio(t.generator.wait.Seconds(), t.seconds)}
	for _, d := range t.generator.loop {
		g.LoopCPURatio = higher(g.LoopCPURatio, ratio(d.Seconds(), t.seconds))
	}
	if cell.Load.Model == record.Open && t.generator.lag.Count() > 0 {
		g.LagP50MS, g.LagP99MS = millis(t.generator.lag.Quantile(0.5)), millis(t.generator.lag.Quantile(0.99))
	}
	g.Why = generatorFaults(g, max(t.inside[record.ClientLimit], t.ended[record.ClientLimit]), median)
	g.Valid = len(g.Why) == 0
	return g
}

func generatorFaults(g Generator, clientLimit int64, medianMS *float64) []string {
	var why []string
	if g.CPUWaitRatio != nil && *g.CPUWaitRatio > maxCPUWait {
		why = append(why, fmt.Sprintf("its sending threads waited for a CPU %.0f %% of the window (at most %.0f %%)",
			*g.CPUWaitRatio*100, maxCPUWait*100))
	}
	if g.LagP99MS != nil {
		limit := minLagLimit.Seconds() * 1000
		if medianMS != nil {
			limit = math.Max(limit, maxLagShare**medianMS)
		}
		if *g.LagP99MS > limit {
			why = append(why, fmt.Sprintf("it sent late: lag p99 %.2f ms (at most %.2f ms)", *g.LagP99MS, limit))
		}
	}
	if clientLimit > 0 {
		why = append(why, fmt.Sprintf("it ran out of local ports or descriptors for %d requests", clientLimit))
	}
	return why
}
