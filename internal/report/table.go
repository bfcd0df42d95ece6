package report

import (
	"strconv"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/record"
)

// column is one column of the study's table.
type column struct {
	head  string
	left  bool // aligned left; figures are aligned right
	keep  int  // columns of the lowest value go first where the terminal is too narrow; 0: never
	shown func(*analysis.CellResult) string
}

// table is what the study prints: a row for each cell.
type table struct {
	columns []column
	rows    [][]string
	subject string // the service whose switches and CPU are shown; empty: all services together
}

// studyTable builds the table of a run.
func studyTable(r *analysis.Result) table {
	t := table{subject: subjectOf(r)}
	t.columns = columns(r, t.subject)
	for i := range r.Cells {
		row := make([]string, len(t.columns))
		for k, c := range t.columns {
			row[k] = c.shown(&r.Cells[i])
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func columns(r *analysis.Result, subject string) []column {
	out := []column{settingColumn(r), loadColumn(r)}
	if repeated(r) {
		out = append(out, column{head: "repeat", shown: func(c *analysis.CellResult) string { return strconv.Itoa(c.Repeat) }})
	}
	out = append(out, figureColumns()...)
	if observed(r) {
		out = append(out, serviceColumns(subject)...)
	}
	if r.SLO != nil {
		out = append(out, column{head: "SLO", left: true, shown: verdict})
	}
	return out
}

func settingColumn(r *analysis.Result) column {
	head := "setting"
	if len(r.Cells) > 0 {
		head = names(r.Cells[0].Setting)
	}
	same := true
	for i := range r.Cells {
		same = same && names(r.Cells[i].Setting) == head
	}
	if !same {
		return column{head: "setting", left: true, shown: func(c *analysis.CellResult) string { return Plain(c.Setting.String()) }}
	}
	return column{head: head, left: true, shown: func(c *analysis.CellResult) string { return values(c.Setting) }}
}

func loadColumn(r *analysis.Result) column {
	if open(r) {
		return column{head: "rate/s", shown: func(c *analysis.CellResult) string { return loadNumber(loadOf(c)) }}
	}
	return column{head: "users", shown: func(c *analysis.CellResult) string {
		if c.Load.Concurrency == nil {
			return unknown
		}
		return strconv.Itoa(*c.Load.Concurrency)
	}}
}

// figureColumns are what the load generator saw.
func figureColumns() []column {
	return []column{
		{head: "completed/s", shown: func(c *analysis.CellResult) string { return number(c.Rates.Completed) }},
		{head: "success/s", shown: func(c *analysis.CellResult) string { return number(c.Rates.Success) }},
		{head: "p50 ms", keep: 4, shown: func(c *analysis.CellResult) string { return number(c.Latency.P50) }},
		{head: "p99 ms", shown: func(c *analysis.CellResult) string { return number(c.Latency.P99) }},
		{head: "p99 95 %", keep: 3, shown: func(c *analysis.CellResult) string { return interval(c.Latency.P99Low, c.Latency.P99High) }},
		{head: "n", keep: 2, shown: func(c *analysis.CellResult) string { return strconv.FormatInt(c.Latency.N, 10) }},
		{head: "rejected %", shown: func(c *analysis.CellResult) string { return percent(c.RejectedRatio) }},
	}
}

// serviceColumns are what the services reported.
func serviceColumns(subject string) []column {
	return []column{
		{head: "active", keep: 7, shown: func(c *analysis.CellResult) string {
			p := busiest(c, subject)
			return pair(p.ActiveMean, p.ActiveMax)
		}},
		{head: "queue", keep: 6, shown: func(c *analysis.CellResult) string {
			p := busiest(c, subject)
			return pair(p.QueueMean, p.QueueMax)
		}},
		{head: "switches/s", keep: 6, shown: func(c *analysis.CellResult) string {
			s := usage(c, subject).Switches
			if s.Voluntary == nil && s.Involuntary == nil {
				return unknown
			}
			return whole(s.Voluntary) + "+" + whole(s.Involuntary)
		}},
		{head: "CPU", keep: 5, shown: func(c *analysis.CellResult) string { return number(usage(c, subject).CPURatio) }},
		{head: "host %", keep: 1, shown: func(c *analysis.CellResult) string { return percent(c.HostCPURatio) }},
	}
}

func verdict(c *analysis.CellResult) string {
	if c.SLO == nil {
		return unknown
	}
	return c.SLO.Verdict.String()
}

func repeated(r *analysis.Result) bool {
	for i := range r.Cells {
		if r.Cells[i].Repeat > 1 {
			return true
		}
	}
	return false
}

func observed(r *analysis.Result) bool {
	for i := range r.Cells {
		if len(r.Cells[i].Services) > 0 {
			return true
		}
	}
	return false
}

func open(r *analysis.Result) bool { return len(r.Cells) > 0 && r.Cells[0].Load.Model == record.Open }

// subjectOf is the service under test: the one that has pools, in any cell; the first by name where several have. Without pools all
// services are shown together.
func subjectOf(r *analysis.Result) string {
	subject := ""
	for i := range r.Cells {
		for name, s := range r.Cells[i].Services {
			if len(s.Pools) > 0 && (subject == "" || name < subject) {
				subject = name
			}
		}
	}
	return subject
}

// usage is what the subject used, or all services together.
func usage(c *analysis.CellResult, subject string) analysis.ServiceResult {
	if subject != "" {
		return c.Services[subject]
	}
	var sum analysis.ServiceResult
	for _, s := range c.Services {
		sum.CPURatio = add(sum.CPURatio, s.CPURatio)
		sum.Switches.Voluntary = add(sum.Switches.Voluntary, s.Switches.Voluntary)
		sum.Switches.Involuntary = add(sum.Switches.Involuntary, s.Switches.Involuntary)
	}
	return sum
}

func add(a, b *float64) *float64 {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	sum := *a + *b
	return &sum
}

// busiest is the subject's pool with the most at work; the zero result where there is none.
func busiest(c *analysis.CellResult, subject string) analysis.PoolResult {
	var found analysis.PoolResult
	most := -1.0
	for _, name := range sortedKeys(c.Services[subject].Pools) {
		p := c.Services[subject].Pools[name]
		active := 0.0
		if p.ActiveMean != nil {
			active = *p.ActiveMean
		}
		if active > most {
			found, most = p, active
		}
	}
	return found
}

// definitions say what the columns mean, as the study does.
func definitions(t table) []string {
	out := []string{
		"completed/s: answers of any kind that came in the window, per second; success/s: those answered as wished",
		"p50, p99: over successes only, a refusal never enters them; n: how many; 95 %: the true p99 lies in it with that confidence",
		"rejected %: refused for capacity, of the completed",
	}
	for _, c := range t.columns {
		if c.head != "active" {
			continue
		}
		whose := "all services together"
		if t.subject != "" {
			whose = t.subject
		}
		out = append(out, "active, queue: mean/most, by the pool's own counters, of its busiest pool; switches/s: voluntary+involuntary; CPU in cores; both of all threads of "+whose+
			"; host %: all its cores, the generator included")
	}
	return append(out, unknown+": unknown, or too few samples")
}
