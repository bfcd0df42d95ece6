package analysis

import (
	"cmp"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
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

// bindingOf names the limit that a step's findings speak of; nil where none does.
func bindingOf(step []*CellResult) (*string, []Evidence) {
	var all []Finding
	for _, c := range step {
		all = append(all, c.Findings...)
	}
	limit := diagnose.Binding(all)
	if limit == nil {
		return nil, []Evidence{}
	}
	return &limit.Name, evidenceOf(limit.Finding)
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
