package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/record"
)

//go:embed assets/report.html assets/diagnosis.html assets/style.css assets/script.js
var assets embed.FS

// page is what the template shows.
type page struct {
	Name, ID, Started, Took string
	Partial                 bool
	Style                   template.CSS
	Script                  template.JS
	Conclusions             []string
	Legend                  []legendEntry
	Ladder                  []figureView
	Table                   tableView
	Definitions             []string
	Findings, Caveats       []note
	Groups                  []groupView
	Plan                    string
	Environment             []fact
	Settings                []settingView
}

// legendEntry names a line of the ladder charts.
type legendEntry struct {
	Name  string
	Class string
}

// figureView is a chart with its legend.
type figureView struct {
	Title, Unit string
	SVG         template.HTML
	Legend      []legendEntry
}

// tableView is the study's table.
type tableView struct {
	Heads []headView
	Rows  []rowView
}

type headView struct {
	Text string
	Left bool
}

type rowView struct {
	Anchor string
	New    bool // the first of its setting
	Cells  []headView
}

// groupView is a setting with its cells.
type groupView struct {
	Setting string
	Cells   []cellView
}

// cellView is a cell with its charts.
type cellView struct {
	Anchor, Title, Summary string
	Charts                 []figureView
	Facts                  []fact
	Checks                 []checkView
}

type checkView struct{ Law, Verdict, Text string }

// settingView is a setting's own row: knee and load line.
type settingView struct {
	Setting, Knee, LoadLine string
}

// HTML writes one page that needs nothing from elsewhere: style, script and charts stand in it. The record gives the time series; the
// result must be the analysis of that record. All text is escaped.
func HTML(w io.Writer, run record.Run, r analysis.Result) error {
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return fmt.Errorf("read the page's style: %w", err)
	}
	script, err := assets.ReadFile("assets/script.js")
	if err != nil {
		return fmt.Errorf("read the page's script: %w", err)
	}
	t, err := template.ParseFS(assets, "assets/report.html")
	if err != nil {
		return fmt.Errorf("read the page's template: %w", err)
	}
	table := studyTable(&r)
	p := page{Name: r.Name, ID: r.ID, Started: r.Started.UTC().Format("2006-01-02 15:04:05 UTC"), Took: took(&r), Partial: r.Partial,
		Style: template.CSS(style), Script: template.JS(script), Conclusions: conclusions(&r), Legend: legend(&r), Ladder: figures(ladderCharts(&r), false),
		Table: tableOf(&r, table), Definitions: definitions(table), Findings: findings(&r), Caveats: caveats(&r), Groups: groups(run, &r),
		Plan: string(run.Plan), Environment: environment(&r), Settings: settings(&r)}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func took(r *analysis.Result) string {
	if r.Ended == nil {
		return ""
	}
	return r.Ended.Sub(r.Started).Round(time.Second).String()
}

func legend(r *analysis.Result) []legendEntry {
	var out []legendEntry
	for slot, s := range r.Settings {
		out = append(out, legendEntry{Name: s.Setting.String(), Class: series{Slot: slot}.class()})
	}
	return out
}

// figures draws charts; withLegend adds the names of their lines where there are several.
func figures(charts []chart, withLegend bool) []figureView {
	var out []figureView
	for i := range charts {
		v := figureView{Title: charts[i].Title, Unit: charts[i].Unit, SVG: charts[i].svg()}
		if withLegend {
			for _, s := range charts[i].Series {
				v.Legend = append(v.Legend, legendEntry{Name: s.Name, Class: s.class()})
			}
		}
		out = append(out, v)
	}
	return out
}

func tableOf(r *analysis.Result, t table) tableView {
	var v tableView
	for _, c := range t.columns {
		v.Heads = append(v.Heads, headView{Text: c.head, Left: c.left})
	}
	for i, row := range t.rows {
		line := rowView{Anchor: anchor(&r.Cells[i]), New: i > 0 && row[0] != t.rows[i-1][0]}
		for k, text := range row {
			line.Cells = append(line.Cells, headView{Text: text, Left: t.columns[k].left})
		}
		v.Rows = append(v.Rows, line)
	}
	return v
}

func anchor(c *analysis.CellResult) string { return fmt.Sprintf("cell-%d", c.Index) }

func groups(run record.Run, r *analysis.Result) []groupView {
	byIndex := map[int]record.Cell{}
	for _, c := range run.Cells {
		byIndex[c.Index] = c
	}
	var out []groupView
	place := map[string]int{}
	for i := range r.Cells {
		c := &r.Cells[i]
		key := c.Setting.Key()
		at, seen := place[key]
		if !seen {
			at = len(out)
			place[key] = at
			out = append(out, groupView{Setting: c.Setting.String()})
		}
		out[at].Cells = append(out[at].Cells, cellOf(byIndex[c.Index], c, repeated(r)))
	}
	return out
}

func cellOf(cell record.Cell, c *analysis.CellResult, repeats bool) cellView {
	v := cellView{Anchor: anchor(c), Title: c.Load.String(), Charts: figures(timeCharts(cell), true), Facts: cellFacts(c)}
	if repeats {
		v.Title += fmt.Sprintf(", repeat %d", c.Repeat)
	}
	v.Summary = fmt.Sprintf("%s successes/s, p99 %s ms, %s %% rejected", number(c.Rates.Success), number(c.Latency.P99), percent(c.RejectedRatio))
	for _, check := range c.Checks {
		v.Checks = append(v.Checks, checkView{Law: check.Law, Verdict: check.Verdict.String(), Text: check.Text})
	}
	return v
}

// cellFacts are the figures that the table has no room for.
func cellFacts(c *analysis.CellResult) []fact {
	out := []fact{{"window", numeral(c.Window.Seconds) + " s"}}
	for class, n := range c.Outcomes {
		if n > 0 {
			out = append(out, fact{record.Outcome(class).String(), fmt.Sprint(n)})
		}
	}
	l := c.Latency
	out = append(out, fact{"latency of successes, ms", fmt.Sprintf("mean %s, p50 %s, p90 %s, p95 %s, p99 %s (%s), p99.9 %s, slowest %s", number(l.Mean),
		number(l.P50), number(l.P90), number(l.P95), number(l.P99), interval(l.P99Low, l.P99High), number(l.P999), number(l.Max))})
	out = append(out, fact{"load generator", fmt.Sprintf("%s cores, waited for a CPU %s %% of the window, lag p99 %s ms", number(c.Generator.CPURatio),
		percent(c.Generator.CPUWaitRatio), number(c.Generator.LagP99MS))})
	for _, service := range sortedKeys(c.Services) {
		s := c.Services[service]
		out = append(out, fact{service, fmt.Sprintf("%s cores, %s threads, %s MiB", number(s.CPURatio), whole(s.Threads), mebibytes(s.RSSBytes))})
		for _, pool := range sortedKeys(s.Pools) {
			out = append(out, fact{service + "/" + pool, poolFacts(s.Pools[pool])})
		}
	}
	for _, code := range sortedKeys(c.Codes) {
		out = append(out, fact{code, fmt.Sprint(c.Codes[code])})
	}
	return out
}

func poolFacts(p analysis.PoolResult) string {
	mean := func(t *analysis.Timing) *float64 {
		if t == nil {
			return nil
		}
		return t.Mean
	}
	return fmt.Sprintf("core %s, max %s, queue of %s; active %s, queue %s; %s completed, %s rejected; mean queue wait %s ms, mean execution %s ms", whole(p.Core),
		whole(p.Max), whole(p.Capacity), pair(p.ActiveMean, p.ActiveMax), pair(p.QueueMean, p.QueueMax), whole(p.Completed), whole(p.Rejected),
		number(mean(p.QueueWait)), number(mean(p.Execution)))
}

func mebibytes(bytes *float64) string {
	if bytes == nil {
		return unknown
	}
	return numeral(*bytes / (1 << 20))
}

func settings(r *analysis.Result) []settingView {
	var out []settingView
	for _, s := range r.Settings {
		v := settingView{Setting: s.Setting.String(), Knee: unknown, LoadLine: unknown}
		if s.Knee != nil {
			v.Knee = s.Knee.Text
		}
		if r.SLO != nil {
			v.LoadLine = loadLineText(r, s)
		}
		out = append(out, v)
	}
	return out
}
