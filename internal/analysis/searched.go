package analysis

import (
	"math"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// Searched is what a search for the load line came to for one setting.
type Searched struct {
	Setting record.Setting `json:"setting"`
	search.Result
}

// SetLoadLine puts the line that a search found in the place of the one read off the cells: a search asks where the line lies, while cells
// were placed by somebody. The binding limit is what the trials above the line show.
func (r *Result) SetLoadLine(setting record.Setting, objective string, found search.Result) {
	r.Search = append(r.Search, Searched{Setting: setting, Result: found})
	i := slices.IndexFunc(r.Settings, func(s SettingResult) bool { return s.Setting.Key() == setting.Key() })
	if i < 0 {
		return
	}
	r.Settings[i].LoadLine = nil
	if found.Value != nil {
		r.Settings[i].LoadLine = r.searchedLine(setting, objective, found)
	}
	r.chooseBest()
}

func (r *Result) searchedLine(setting record.Setting, objective string, found search.Result) *LoadLine {
	line := &LoadLine{SLO: objective, Low: found.Low, High: found.High, Evidence: []Evidence{
		{Name: "p_error", Value: known(found.PError), Text: "probability that the objective does not hold at the line"},
		{Name: "trials", Value: known(float64(found.Trials)), Text: "trials of the search"},
		{Name: "requests", Value: known(float64(found.Requests)), Text: "requests of all trials"},
		{Name: "seconds", Value: known(found.Seconds), Text: "measured time of all trials"},
	}}
	if found.Headroom != nil {
		line.Evidence = append(line.Evidence, Evidence{Name: "headroom", Value: found.Headroom, Text: "line over the expected load, less 1"})
	}
	nearest := math.Inf(1)
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Setting.Key() != setting.Key() {
			continue
		}
		if c.Load.Concurrency != nil {
			users := int(math.Round(*found.Value))
			line.Concurrency = &users
		}
		if off := math.Abs(c.Load.value() - *found.Value); off <= nearest && c.Rates.Success != nil {
			nearest, line.RatePerSec = off, c.Rates.Success // The last trial there is the longest: the proof.
		}
	}
	binding, evidence := lastingLimit(r.trialsAt(setting, leastBroken(found)))
	if binding == nil { // Where refusals decide, a trial above the line is over in a moment.
		binding, evidence = lastingLimit(r.trialsAt(setting, *found.Value))
	}
	line.BindingLimit = binding
	line.Evidence = append(line.Evidence, evidence...)
	return line
}

// leastBroken is the smallest load above the line that is known to break; infinite where none is.
func leastBroken(found search.Result) float64 {
	least := math.Inf(1)
	for _, c := range found.Cells {
		if c.Load > *found.Value && c.Holds != nil && !*c.Holds {
			least = min(least, c.Load)
		}
	}
	return least
}

func (r *Result) trialsAt(setting record.Setting, load float64) []*CellResult {
	var out []*CellResult
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Setting.Key() == setting.Key() && c.Load.value() == load {
			out = append(out, c)
		}
	}
	return out
}

// lastingLimit names the limit that most of the time of a load's trials speaks of: a trial is short, and one of them may have met a bad moment.
func lastingLimit(trials []*CellResult) (*string, []Evidence) {
	whole := 0.0
	seen := map[finding.Code]float64{}
	for _, c := range trials {
		whole += c.Window.Seconds
		for _, code := range codesOf(c.Findings) {
			seen[code] += c.Window.Seconds
		}
	}
	var lasting []*CellResult
	for _, c := range trials {
		kept := *c
		kept.Findings = slices.DeleteFunc(slices.Clone(c.Findings), func(f Finding) bool { return 2*seen[f.Code] < whole })
		lasting = append(lasting, &kept)
	}
	return bindingOf(lasting)
}

// codesOf lists each code once.
func codesOf(findings []Finding) []finding.Code {
	var out []finding.Code
	for _, f := range findings {
		if !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	return out
}

// isTrial tells a cell that a search took off when it knew enough: it is whole and has no steady state or verdict of its own, since the search
// judges its trials together.
func isTrial(cell record.Cell) bool {
	return cell.Window == record.Endless && !cell.Partial && cell.Imported == nil
}

// trials gathers the trials of a search by setting and load.
type trials map[string]*together

// together are all trials at one load.
type together struct {
	cells []*CellResult
	tally tally
}

func (t trials) add(c *CellResult, one *tally) {
	key := c.Setting.Key() + " at " + c.Load.String()
	if t[key] == nil {
		t[key] = &together{tally: tallyOf(record.Cell{})}
	}
	t[key].cells = append(t[key].cells, c)
	t[key].tally.merge(one)
}

// judge gives all trials at a load the verdict that they come to together. The search itself judges better, by neighbours and by how often it
// looked; this is what the archive's facts say without it.
func (t trials) judge(w wish) {
	if !w.asked {
		return
	}
	for _, at := range t {
		var doubts []string
		if !slices.ContainsFunc(at.cells, func(c *CellResult) bool { return c.Generator.Valid }) {
			doubts = append(doubts, "the generator was at its limit")
		}
		verdict := w.evaluate(w.evidence(&at.tally), doubts, doubts)
		for _, c := range at.cells {
			c.SLO = verdict
		}
	}
}

// merge adds what another trial's tally counted in its window. What the trial's end cut off is no failure: the search wanted to know no more.
func (t *tally) merge(o *tally) {
	t.seconds += o.seconds
	t.planned += o.planned - o.inside[record.Cut]
	t.completed += o.completed
	for i := range o.inside {
		t.inside[i] += o.inside[i]
		t.ended[i] += o.ended[i]
		if o.insideBy[i] == nil {
			continue
		}
		if t.insideBy[i] == nil {
			t.insideBy[i] = hist.New()
		}
		t.insideBy[i].Merge(o.insideBy[i])
	}
	t.success.Merge(o.success)
	t.perInterval = append(t.perInterval, o.perInterval...)
}
