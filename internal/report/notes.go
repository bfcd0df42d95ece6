package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
)

// note is one finding or caveat, said once for all cells that carry it.
type note struct {
	Code     string
	Severity finding.Severity // empty for a caveat
	Text     string           // of the cell with the highest load
	Next     string
	Where    string // the cells, by setting
	Count    int    // of cells; 0: of a setting as a whole
}

// findings gathers the run's findings: those of settings, then those of cells, the gravest first.
func findings(r *analysis.Result) []note {
	g := newGathering()
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, f := range c.Findings {
			g.add(string(f.Code), c, note{Severity: f.Severity, Text: f.Text, Next: f.Next})
		}
	}
	out := g.notes(r)
	for _, s := range r.Settings {
		for _, f := range s.Findings {
			out = append(out, note{Code: string(f.Code), Severity: f.Severity, Text: f.Text, Next: f.Next, Where: s.Setting.String()})
		}
	}
	rank := map[finding.Severity]int{finding.Critical: 0, finding.Warning: 1, finding.Info: 2}
	slices.SortStableFunc(out, func(a, b note) int { return cmp.Compare(rank[a.Severity], rank[b.Severity]) })
	return out
}

// caveats gathers the reasons to doubt.
func caveats(r *analysis.Result) []note {
	g := newGathering()
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, v := range c.Caveats {
			g.add(string(v.Code), c, note{Text: v.Text})
		}
	}
	return g.notes(r)
}

// gathering collects the cells of each code, in the order in which codes first occur.
type gathering struct {
	order []string
	cells map[string][]*analysis.CellResult
	worst map[string]note
	loads map[string]float64
}

func newGathering() *gathering {
	return &gathering{cells: map[string][]*analysis.CellResult{}, worst: map[string]note{}, loads: map[string]float64{}}
}

func (g *gathering) add(code string, c *analysis.CellResult, n note) {
	load := loadOf(c)
	if _, seen := g.worst[code]; !seen {
		g.order = append(g.order, code)
	}
	if held, seen := g.worst[code]; !seen || load > g.loads[code] {
		n.Severity = graver(n.Severity, held.Severity)
		g.worst[code], g.loads[code] = n, load
	}
	if list := g.cells[code]; len(list) == 0 || list[len(list)-1] != c {
		g.cells[code] = append(list, c)
	}
}

func graver(a, b finding.Severity) finding.Severity {
	if a == finding.Critical || b == finding.Critical {
		return finding.Critical
	}
	if a == "" {
		return b
	}
	return a
}

func (g *gathering) notes(r *analysis.Result) []note {
	var out []note
	for _, code := range g.order {
		n := g.worst[code]
		n.Code, n.Count = code, len(g.cells[code])
		n.Where = where(g.cells[code], len(r.Cells))
		out = append(out, n)
	}
	return out
}

// where lists cells by setting: «thread 10 at 100, 200, 400 users; thread 30 at 400 users».
func where(cells []*analysis.CellResult, all int) string {
	if all == 1 {
		return ""
	}
	if len(cells) == all {
		return "every cell"
	}
	var order []string
	steps := map[string][]string{}
	unit := " users"
	for _, c := range cells {
		key := c.Setting.String()
		if len(c.Setting) > 0 {
			key = values(c.Setting)
		}
		if _, seen := steps[key]; !seen {
			order = append(order, key)
		}
		step := loadNumber(loadOf(c))
		if c.Load.Concurrency == nil {
			unit = "/s"
		}
		if !slices.Contains(steps[key], step) {
			steps[key] = append(steps[key], step)
		}
	}
	parts := make([]string, len(order))
	for i, key := range order {
		parts[i] = key + " at " + strings.Join(steps[key], ", ") + unit
	}
	return strings.Join(parts, "; ")
}

// loadOf is a cell's place on the load axis.
func loadOf(c *analysis.CellResult) float64 {
	switch {
	case c.Load.Concurrency != nil:
		return float64(*c.Load.Concurrency)
	case c.Load.RatePerSec != nil:
		return *c.Load.RatePerSec
	default:
		return 0
	}
}

// conclusions are the lines above everything: the SLO's verdict, load line and knee.
func conclusions(r *analysis.Result) []string {
	var out []string
	if r.Partial {
		line := "partial: the run did not come to its end"
		if r.Interrupted != "" {
			line += " (" + r.Interrupted + ")"
		}
		out = append(out, line)
	}
	if r.SLO != nil {
		out = append(out, "SLO "+*r.SLO)
	}
	for _, s := range r.Settings {
		prefix := ""
		if len(r.Settings) > 1 {
			prefix = s.Setting.String() + ": "
		}
		if r.SLO != nil {
			out = append(out, prefix+loadLineText(r, s))
		}
		if s.Knee != nil {
			out = append(out, prefix+"knee: "+s.Knee.Text)
		}
	}
	return out
}

func loadLineText(r *analysis.Result, s analysis.SettingResult) string {
	line := s.LoadLine
	if line == nil {
		return "load line unknown: the SLO was shown to hold at no step"
	}
	unit := "/s"
	if line.Concurrency != nil {
		unit = " users"
	}
	text := fmt.Sprintf("load line %s%s, %s successes/s", stepText(line.Low), unit, number(line.RatePerSec))
	if line.High != nil {
		text += fmt.Sprintf("; it fails at %s%s", stepText(line.High), unit)
	} else {
		text += "; no step failed, so it may lie higher"
	}
	if line.BindingLimit != nil {
		text += "; binding limit: " + *line.BindingLimit
	}
	return text
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// loadNumber shows a load with the digits it was planned with.
func loadNumber(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func stepText(p *float64) string {
	if p == nil {
		return unknown
	}
	return loadNumber(*p)
}
