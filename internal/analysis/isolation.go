package analysis

import (
	"fmt"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
)

// The factor and its value that mark the settings without isolation, with which the others are compared.
const (
	isolationFactor = "isolation"
	isolationNone   = "none"
	// negligibleRefusals is the share of refusals up to which a setting still does the work of the one without isolation.
	negligibleRefusals = 0.01
)

// compareIsolation says what each setting's isolation costs beside the setting without any, at the highest step that both have and at
// which almost nothing was refused: with refusals the two do not do the same work, and the difference is the limit's, not the price
// of having one. Over repeats it compares medians.
func (r *Result) compareIsolation() {
	base := -1
	for i, s := range r.Settings {
		if v, ok := s.Setting.Value(isolationFactor); ok && v == isolationNone {
			base = i
			break
		}
	}
	if base < 0 {
		return
	}
	groups := bySetting(r.Cells)
	for i := range r.Settings {
		if i == base {
			continue
		}
		if f := isolationCost(byLoad(groups[base]), byLoad(groups[i])); f != nil {
			r.Settings[i].Findings = append(r.Settings[i].Findings, *f)
		}
	}
}

func isolationCost(none, isolated [][]*CellResult) *Finding {
	for _, step := range slices.Backward(isolated) {
		at := slices.IndexFunc(none, func(n []*CellResult) bool { return n[0].Load.value() == step[0].Load.value() })
		if at < 0 || refused(step) || refused(none[at]) {
			continue
		}
		with, without := medianSuccess(step), medianSuccess(none[at])
		if with == nil || without == nil || *without <= 0 {
			continue
		}
		cost := 1 - *with / *without
		f := &Finding{Code: finding.IsolationCost, Severity: finding.Info, Evidence: map[string]any{"success_per_s": *with,
			"success_without_per_s": *without, "cost_ratio": cost, "repeats": min(len(step), len(none[at])), "in_doubt": inDoubt(step) || inDoubt(none[at])}}
		f.Text = fmt.Sprintf("at %s it carries %.0f/s where no isolation carries %.0f/s: %s", step[0].Load, *with, *without, costWords(cost))
		if s := switchWords(step[0], none[at][0]); s != "" {
			f.Text += s
		}
		switch {
		case inDoubt(step) || inDoubt(none[at]):
			f.Text += "; no verdict, since the generator was at its limit in one of the two or a cell is partial"
			f.Next = "measure again while nothing else needs the CPUs, or send the load from another machine"
		case len(step) < 3 || len(none[at]) < 3:
			f.Next = "repeat at least three times, interleaved (load.repeats, load.order), before trusting a small difference"
		}
		return f
	}
	return nil
}

func costWords(cost float64) string {
	if cost < 0 {
		return fmt.Sprintf("%.1f %% more", -cost*100)
	}
	return fmt.Sprintf("it costs %.1f %%", cost*100)
}

// switchWords compares the context switches of the service that has pools.
func switchWords(with, without *CellResult) string {
	for _, name := range sortedKeys(with.Services) {
		a, b := with.Services[name].Switches, without.Services[name].Switches
		if len(with.Services[name].Pools) == 0 || a.Voluntary == nil || b.Voluntary == nil || a.Involuntary == nil || b.Involuntary == nil {
			continue
		}
		return fmt.Sprintf("; %s switches %.0f times a second against %.0f", name, *a.Voluntary+*a.Involuntary, *b.Voluntary+*b.Involuntary)
	}
	return ""
}

// inDoubt tells whether a cell of a step is kept out of verdicts.
func inDoubt(step []*CellResult) bool {
	return slices.ContainsFunc(step, func(c *CellResult) bool { return !c.Generator.Valid || c.Partial })
}

func refused(step []*CellResult) bool {
	for _, c := range step {
		if c.RejectedRatio == nil || *c.RejectedRatio > negligibleRefusals {
			return true
		}
	}
	return false
}

func medianSuccess(step []*CellResult) *float64 {
	var rates []float64
	for _, c := range step {
		if c.Rates.Success != nil {
			rates = append(rates, *c.Rates.Success)
		}
	}
	return median(rates)
}

func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	mid := len(values) / 2
	if len(values)%2 == 1 {
		return known(values[mid])
	}
	return known((values[mid-1] + values[mid]) / 2)
}
