package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/record"
)

// value is a step's place on the load axis: users or requests per second.
func (l Load) value() float64 {
	if l.Concurrency != nil {
		return float64(*l.Concurrency)
	}
	return valueOr0(l.RatePerSec)
}

// bySetting groups cells by setting, in the order in which settings first occur, each group by rising load.
func bySetting(cells []CellResult) [][]*CellResult {
	place := map[string]int{}
	var groups [][]*CellResult
	for i := range cells {
		key := cells[i].Setting.Key()
		at, ok := place[key]
		if !ok {
			at = len(groups)
			place[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], &cells[i])
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *CellResult) int {
			return cmp.Or(cmp.Compare(a.Load.value(), b.Load.value()), cmp.Compare(a.Repeat, b.Repeat))
		})
	}
	return groups
}

// byLoad splits one setting's cells, sorted by load, into steps; the cells of a step are its repeats.
func byLoad(cells []*CellResult) [][]*CellResult {
	var steps [][]*CellResult
	for i, c := range cells {
		if i == 0 || c.Load.value() != cells[i-1].Load.value() {
			steps = append(steps, nil)
		}
		steps[len(steps)-1] = append(steps[len(steps)-1], c)
	}
	return steps
}

// compareSteps adds the findings that need a lower step of the same setting beside the cell: an execution time that grew.
func (r *Result) compareSteps() {
	for _, cells := range bySetting(r.Cells) {
		for _, c := range cells[1:] {
			c.Findings = append(c.Findings, grownExecution(cells[0], c)...)
		}
	}
}

// grownExecution compares the pools of a cell with those at the lowest step. On a machine whose CPUs are busy everything takes
// longer, so nothing is said of the dependency there.
func grownExecution(lowest, c *CellResult) []Finding {
	if c.Load.value() <= lowest.Load.value() || (c.HostCPURatio != nil && *c.HostCPURatio >= saturatedCPU) {
		return nil
	}
	var out []Finding
	for _, p := range poolList(c.Services) {
		base := lowest.Services[p.service].Pools[p.pool]
		before, now := mean(base.Execution), mean(p.Execution)
		if before == nil || now == nil || *before <= 0 || *now < slowGrowth**before {
			continue
		}
		if f := slowFinding(p, base, *before, *now); f != nil {
			f.Evidence["service"], f.Evidence["pool"] = p.service, p.pool
			out = append(out, *f)
		}
	}
	return out
}

func slowFinding(p namedPool, base PoolResult, before, now float64) *Finding {
	evidence := map[string]any{"execution_ms": now, "execution_lowest_step_ms": before}
	slots := slotsOf(p.PoolResult)
	if p.Kind == record.KindBulkhead && slots != nil && p.ActiveMean != nil && *p.ActiveMean >= busySlots**slots && positive(p.Rejected) {
		evidence["permits"], evidence["active_mean"], evidence["rejected"] = *slots, *p.ActiveMean, *p.Rejected
		return &Finding{Code: finding.PermitsHeldBySlow, Severity: finding.Warning, Evidence: evidence,
			Text: fmt.Sprintf("the permits of %s are held by calls that slowed from %.1f to %.1f ms, and the rest is refused: a semaphore has no timeout that gives them back",
				p, before, now),
			Next: "a pool with a timeout for a dependency that can slow down"}
	}
	waited := valueOr0(mean(p.QueueWait)) - valueOr0(mean(base.QueueWait))
	if waited > 0.5*(now-before) {
		return nil
	}
	evidence["queue_wait_growth_ms"] = waited
	return &Finding{Code: finding.DownstreamSlow, Severity: finding.Warning, Evidence: evidence,
		Text: fmt.Sprintf("execution in %s grew from %.1f to %.1f ms and the queue wait did not: the dependency is slow, more workers do not help",
			p, before, now),
		Next: "look at the dependency: its own pool, its connections, its CPU"}
}

// settingsOf judges every setting over its steps.
func settingsOf(cells []CellResult, w wish) []SettingResult {
	out := []SettingResult{}
	for _, group := range bySetting(cells) {
		steps := byLoad(group)
		out = append(out, SettingResult{Setting: group[0].Setting, Knee: kneeOf(steps), LoadLine: w.loadLine(steps), Findings: []Finding{}})
	}
	return out
}

// chooseBest lifts the knee and load line of the only setting, or of the best one: the highest rate at the load line where an SLO was
// asked and held, else the highest throughput at the knee.
func (r *Result) chooseBest() {
	best := -1
	score := func(s SettingResult) (float64, float64) {
		line, knee := -1.0, -1.0
		if s.LoadLine != nil {
			line = valueOr0(s.LoadLine.RatePerSec)
		}
		if s.Knee != nil {
			knee = valueOr0(s.Knee.RatePerSec)
		}
		return line, knee
	}
	for i := range r.Settings {
		if best < 0 {
			best = i
			continue
		}
		line, knee := score(r.Settings[i])
		bestLine, bestKnee := score(r.Settings[best])
		if line > bestLine || (line == bestLine && knee > bestKnee) {
			best = i
		}
	}
	if best >= 0 {
		r.Knee, r.LoadLine = r.Settings[best].Knee, r.Settings[best].LoadLine
	}
}

// bindingCodes are the findings that name a limit, what binds first standing first.
func bindingCodes() []finding.Code {
	return []finding.Code{finding.GeneratorBinding, finding.DownstreamPoolBinding, finding.SlotCeiling, finding.DownstreamSlow, finding.CPUBinding}
}

// bindingOf names the limit that a step's findings speak of; nil where none does.
func bindingOf(step []*CellResult) (*string, []Evidence) {
	for _, code := range bindingCodes() {
		for _, c := range step {
			for _, f := range c.Findings {
				if f.Code == code {
					name := limitName(f)
					return &name, evidenceOf(f)
				}
			}
		}
	}
	return nil, []Evidence{}
}

func limitName(f Finding) string {
	switch f.Code {
	case finding.GeneratorBinding:
		return "generator"
	case finding.CPUBinding:
		return "cpu"
	case finding.DownstreamSlow:
		return fmt.Sprintf("the dependency behind %v/%v", f.Evidence["service"], f.Evidence["pool"])
	default:
		return fmt.Sprintf("slots of %v/%v", f.Evidence["service"], f.Evidence["pool"])
	}
}

func evidenceOf(f Finding) []Evidence {
	out := []Evidence{{Name: string(f.Code), Text: f.Text}}
	for _, name := range sortedKeys(f.Evidence) {
		switch v := f.Evidence[name].(type) {
		case float64:
			out = append(out, Evidence{Name: name, Value: known(v)})
		case *float64:
			if v != nil {
				out = append(out, Evidence{Name: name, Value: v})
			}
		}
	}
	return out
}
