package analysis

import (
	"math"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis/search"
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
	var above []*CellResult
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
		if off := math.Abs(c.Load.value() - *found.Value); off < nearest && c.Rates.Success != nil {
			nearest, line.RatePerSec = off, c.Rates.Success
		}
		if c.Load.value() > *found.Value {
			above = append(above, c)
		}
	}
	binding, evidence := bindingOf(above)
	line.BindingLimit = binding
	line.Evidence = append(line.Evidence, evidence...)
	return line
}
