package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/record"
)

// CSV writes a line for each cell with the figures as they are, unrounded: a column for each factor (setting_NAME), the load, every
// outcome, rates, latencies in ms, and the figures of every service (SERVICE_…) and pool (SERVICE_POOL_…). An unknown figure is empty.
// Columns are the same for every line of a file; which there are depends on the run.
func CSV(w io.Writer, r analysis.Result) error {
	columns := csvColumns(&r)
	out := csv.NewWriter(w)
	head := make([]string, len(columns))
	for k, c := range columns {
		head[k] = c.head
	}
	// The writer keeps its first error and Error gives it.
	_ = out.Write(head)
	for i := range r.Cells {
		row := make([]string, len(columns))
		for k, c := range columns {
			row[k] = c.shown(&r.Cells[i])
		}
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}

func csvColumns(r *analysis.Result) []column {
	var out []column
	text := func(head string, of func(*analysis.CellResult) string) {
		out = append(out, column{head: head, shown: of})
	}
	figure := func(head string, of func(*analysis.CellResult) *float64) {
		text(head, func(c *analysis.CellResult) string { return raw(of(c)) })
	}
	for _, name := range factors(r) {
		text("setting_"+name, func(c *analysis.CellResult) string {
			v, ok := c.Setting.Value(name)
			if !ok {
				return ""
			}
			return display(v)
		})
	}
	text("repeat", func(c *analysis.CellResult) string { return strconv.Itoa(c.Repeat) })
	text("model", func(c *analysis.CellResult) string { return string(c.Load.Model) })
	text("concurrency", func(c *analysis.CellResult) string {
		if c.Load.Concurrency == nil {
			return ""
		}
		return strconv.Itoa(*c.Load.Concurrency)
	})
	figure("rate_per_s", func(c *analysis.CellResult) *float64 { return c.Load.RatePerSec })
	figure("window_s", func(c *analysis.CellResult) *float64 { return &c.Window.Seconds })
	text("planned", func(c *analysis.CellResult) string { return strconv.FormatInt(c.Planned, 10) })
	for _, class := range record.Outcomes() {
		text(class.String(), func(c *analysis.CellResult) string { return strconv.FormatInt(c.Outcomes.Of(class), 10) })
	}
	figure("offered_per_s", func(c *analysis.CellResult) *float64 { return c.Rates.Offered })
	figure("completed_per_s", func(c *analysis.CellResult) *float64 { return c.Rates.Completed })
	figure("success_per_s", func(c *analysis.CellResult) *float64 { return c.Rates.Success })
	figure("goodput_per_s", func(c *analysis.CellResult) *float64 { return c.Rates.Goodput })
	figure("rejected_ratio", func(c *analysis.CellResult) *float64 { return c.RejectedRatio })
	out = append(out, csvLatency()...)
	figure("generator_cpu_ratio", func(c *analysis.CellResult) *float64 { return c.Generator.CPURatio })
	text("generator_valid", func(c *analysis.CellResult) string { return strconv.FormatBool(c.Generator.Valid) })
	figure("host_cpu_ratio", func(c *analysis.CellResult) *float64 { return c.HostCPURatio })
	out = append(out, csvServices(r)...)
	text("slo_verdict", func(c *analysis.CellResult) string {
		if c.SLO == nil {
			return ""
		}
		return c.SLO.Verdict.String()
	})
	text("caveats", func(c *analysis.CellResult) string {
		return joinedCodes(len(c.Caveats), func(i int) string { return string(c.Caveats[i].Code) })
	})
	text("findings", func(c *analysis.CellResult) string {
		return joinedCodes(len(c.Findings), func(i int) string { return string(c.Findings[i].Code) })
	})
	return out
}

func csvLatency() []column {
	out := []column{{head: "latency_n", shown: func(c *analysis.CellResult) string { return strconv.FormatInt(c.Latency.N, 10) }}}
	figure := func(head string, of func(*analysis.Latency) *float64) {
		out = append(out, column{head: head, shown: func(c *analysis.CellResult) string { return raw(of(&c.Latency)) }})
	}
	figure("mean_ms", func(l *analysis.Latency) *float64 { return l.Mean })
	figure("p50_ms", func(l *analysis.Latency) *float64 { return l.P50 })
	figure("p90_ms", func(l *analysis.Latency) *float64 { return l.P90 })
	figure("p95_ms", func(l *analysis.Latency) *float64 { return l.P95 })
	figure("p99_ms", func(l *analysis.Latency) *float64 { return l.P99 })
	figure("p99_low_ms", func(l *analysis.Latency) *float64 { return l.P99Low })
	figure("p99_high_ms", func(l *analysis.Latency) *float64 { return l.P99High })
	figure("p999_ms", func(l *analysis.Latency) *float64 { return l.P999 })
	figure("max_ms", func(l *analysis.Latency) *float64 { return l.Max })
	return out
}

// csvServices lists the columns of every service and pool that any cell has.
func csvServices(r *analysis.Result) []column {
	services := map[string]map[string]bool{}
	for i := range r.Cells {
		for name, s := range r.Cells[i].Services {
			if services[name] == nil {
				services[name] = map[string]bool{}
			}
			for pool := range s.Pools {
				services[name][pool] = true
			}
		}
	}
	var out []column
	for _, service := range sortedKeys(services) {
		figure := func(head string, of func(analysis.ServiceResult) *float64) {
			out = append(out, column{head: service + "_" + head, shown: func(c *analysis.CellResult) string { return raw(of(c.Services[service])) }})
		}
		figure("cpu_ratio", func(s analysis.ServiceResult) *float64 { return s.CPURatio })
		figure("threads", func(s analysis.ServiceResult) *float64 { return s.Threads })
		figure("rss_bytes", func(s analysis.ServiceResult) *float64 { return s.RSSBytes })
		figure("voluntary_per_s", func(s analysis.ServiceResult) *float64 { return s.Switches.Voluntary })
		figure("involuntary_per_s", func(s analysis.ServiceResult) *float64 { return s.Switches.Involuntary })
		for _, pool := range sortedKeys(services[service]) {
			out = append(out, csvPool(service, pool)...)
		}
	}
	return out
}

func csvPool(service, pool string) []column {
	var out []column
	figure := func(head string, of func(analysis.PoolResult) *float64) {
		out = append(out, column{head: service + "_" + pool + "_" + head,
			shown: func(c *analysis.CellResult) string { return raw(of(c.Services[service].Pools[pool])) }})
	}
	mean := func(t *analysis.Timing) *float64 {
		if t == nil {
			return nil
		}
		return t.Mean
	}
	figure("max", func(p analysis.PoolResult) *float64 { return p.Max })
	figure("capacity", func(p analysis.PoolResult) *float64 { return p.Capacity })
	figure("active_mean", func(p analysis.PoolResult) *float64 { return p.ActiveMean })
	figure("active_max", func(p analysis.PoolResult) *float64 { return p.ActiveMax })
	figure("queue_mean", func(p analysis.PoolResult) *float64 { return p.QueueMean })
	figure("queue_max", func(p analysis.PoolResult) *float64 { return p.QueueMax })
	figure("completed", func(p analysis.PoolResult) *float64 { return p.Completed })
	figure("rejected", func(p analysis.PoolResult) *float64 { return p.Rejected })
	figure("queue_wait_mean_ms", func(p analysis.PoolResult) *float64 { return mean(p.QueueWait) })
	figure("execution_mean_ms", func(p analysis.PoolResult) *float64 { return mean(p.Execution) })
	return out
}

// factors lists the names of the varied values, in the order in which they first occur.
func factors(r *analysis.Result) []string {
	var out []string
	seen := map[string]bool{}
	for i := range r.Cells {
		for _, f := range r.Cells[i].Setting {
			if !seen[f.Name] {
				seen[f.Name] = true
				out = append(out, f.Name)
			}
		}
	}
	return out
}

// raw writes a figure with all its digits, nothing for an unknown one.
func raw(p *float64) string {
	if p == nil {
		return ""
	}
	return strconv.FormatFloat(*p, 'g', -1, 64)
}

func joinedCodes(n int, at func(int) string) string {
	out := ""
	for i := range n {
		if i > 0 {
			out += " "
		}
		out += at(i)
	}
	return out
}
