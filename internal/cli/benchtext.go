package cli

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/report"
)

// printBench writes the summary of one load.
func printBench(w io.Writer, title string, cell record.Cell, r analysis.Result, style report.Style) error {
	out := bufio.NewWriter(w)
	c := r.Cells[0]
	fmt.Fprintf(out, "%s, %.3g s measured\n\n", title, c.Window.Seconds)
	fmt.Fprintf(out, "rates        %s offered/s, %s completed/s, %s success/s", rate(c.Rates.Offered), rate(c.Rates.Completed), rate(c.Rates.Success))
	if c.Rates.Goodput != nil {
		fmt.Fprintf(out, ", %s goodput/s", rate(c.Rates.Goodput))
	}
	fmt.Fprintln(out)
	benchLatency(out, c)
	benchOutcomes(out, c)
	benchGenerator(out, cell, c)
	if h := successes(cell); h.Count() > 0 {
		benchHistogram(out, h, style)
	}
	benchVerdict(out, c)
	benchNotes(out, c)
	return out.Flush()
}

func benchLatency(out io.Writer, c analysis.CellResult) {
	l := c.Latency
	fmt.Fprintf(out, "latency      of %d successes", l.N)
	if c.Load.Model == record.Open {
		fmt.Fprint(out, ", from the planned instant")
	}
	fmt.Fprintln(out)
	for _, row := range []struct {
		name  string
		value *float64
	}{{"mean", l.Mean}, {"p50", l.P50}, {"p90", l.P90}, {"p95", l.P95}, {"p99", l.P99}, {"p99.9", l.P999}, {"max", l.Max}} {
		note := ""
		switch {
		case row.value == nil:
			note = "not enough samples"
		case row.name == "p99" && l.P99Low != nil && l.P99High != nil:
			note = fmt.Sprintf("  95 %%: %.4g…%.4g", *l.P99Low, *l.P99High)
		}
		fmt.Fprintf(out, "    %-8s %s%s\n", row.name, ms(row.value), note)
	}
}

func benchOutcomes(out io.Writer, c analysis.CellResult) {
	fmt.Fprintf(out, "outcomes     of %d planned\n", c.Planned)
	for _, o := range record.Outcomes() {
		n := c.Outcomes.Of(o)
		if n == 0 {
			continue
		}
		fmt.Fprintf(out, "    %-15s %10d  %6.2f %%\n", o, n, 100*float64(n)/float64(max(c.Planned, 1)))
	}
	codes := make([]string, 0, len(c.Codes))
	for code := range c.Codes {
		codes = append(codes, code)
	}
	slices.SortFunc(codes, func(a, b string) int { return int(c.Codes[b] - c.Codes[a]) })
	for _, code := range codes[:min(len(codes), 10)] {
		fmt.Fprintf(out, "        %-20s %8d\n", code, c.Codes[code])
	}
}

func benchGenerator(out io.Writer, cell record.Cell, c analysis.CellResult) {
	var sent, read int64
	connect := hist.New()
	for _, iv := range cell.Intervals {
		sent += iv.BytesSent
		read += iv.BytesRead
		connect.Merge(iv.Connect)
	}
	fmt.Fprintf(out, "transfer     %s sent, %s read", bytes(sent), bytes(read))
	if connect.Count() > 0 {
		fmt.Fprintf(out, "; %d connections, p50 %.3g ms to connect", connect.Count(), float64(connect.Quantile(0.5))/1e6)
	}
	g := c.Generator
	fmt.Fprintf(out, "\ngenerator    %s cores", two(g.CPURatio))
	if g.LagP99MS != nil {
		fmt.Fprintf(out, ", lag p50 %s, p99 %s", ms(g.LagP50MS), ms(g.LagP99MS))
	}
	if g.CPUWaitRatio != nil {
		fmt.Fprintf(out, ", waited for a CPU %.1f %% of the window", 100**g.CPUWaitRatio)
	}
	if !g.Valid {
		fmt.Fprintf(out, "\n    NOT VALID: %s", strings.Join(g.Why, "; "))
	}
	fmt.Fprintln(out)
}

// successes merges the latencies of what was planned inside and succeeded.
func successes(cell record.Cell) *hist.Histogram {
	h := hist.New()
	for _, iv := range cell.Intervals {
		for _, class := range iv.Classes {
			if class.Inside && class.Outcome == record.Success {
				h.Merge(class.Latency)
			}
		}
	}
	return h
}

// benchHistogram draws the latencies between the smallest and p99.9 in steps of equal ratio, since latencies spread over decades.
func benchHistogram(out io.Writer, h *hist.Histogram, style report.Style) {
	const rows = 12
	width := 50
	if style.Width > 0 {
		width = max(10, min(60, style.Width-30))
	}
	bounds := ratioBounds(h.Min(), max(h.Quantile(0.999), h.Min()+1), rows)
	counts := make([]int64, len(bounds)+1)
	for b := range h.All() {
		i, _ := slices.BinarySearch(bounds, b.To)
		counts[i] += b.Count
	}
	most := max(slices.Max(counts), 1)
	fmt.Fprintln(out, "histogram    of successes, up to")
	for i, n := range counts {
		upper := "more"
		if i < len(bounds) {
			upper = fmt.Sprintf("%.3g ms", float64(bounds[i])/1e6)
		} else if n == 0 {
			continue
		}
		bar := strings.Repeat("█", int((n*int64(width)+most/2)/most))
		fmt.Fprintf(out, "    %10s %9d %s\n", upper, n, bar)
	}
}

// ratioBounds are rising bounds of equal ratio from low to high.
func ratioBounds(low, high time.Duration, n int) []time.Duration {
	low = max(low, 1)
	var out []time.Duration
	step := root(float64(high)/float64(low), n)
	at := float64(low)
	for range n {
		at *= step
		if d := time.Duration(at); len(out) == 0 || d > out[len(out)-1] {
			out = append(out, d)
		}
	}
	return out
}

func benchVerdict(out io.Writer, c analysis.CellResult) {
	if c.SLO == nil {
		return
	}
	fmt.Fprintf(out, "SLO          %s\n", c.SLO.Verdict)
	for _, t := range c.SLO.Terms {
		fmt.Fprintf(out, "    %s: %s: %s\n", t.Term, t.Verdict, t.Text)
	}
	for _, d := range c.SLO.Doubts {
		fmt.Fprintf(out, "    withheld: %s\n", d)
	}
}

func benchNotes(out io.Writer, c analysis.CellResult) {
	for _, f := range c.Findings {
		fmt.Fprintf(out, "finding      %s: %s\n", f.Code, f.Text)
		if f.Next != "" {
			fmt.Fprintf(out, "    → %s\n", f.Next)
		}
	}
	for _, v := range c.Caveats {
		fmt.Fprintf(out, "caveat       %s: %s\n", v.Code, v.Text)
	}
}

// writeIntervals writes one row an interval: what ended in it, whatever it was planned in.
func writeIntervals(w io.Writer, cell record.Cell) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "start_s,end_s,phase,planned,in_flight,completed_per_s,success_per_s,p50_ms,p99_ms,max_ms")
	for _, o := range record.Outcomes() {
		fmt.Fprintf(out, ",%s", o)
	}
	fmt.Fprintln(out)
	for _, iv := range cell.Intervals {
		writeInterval(out, iv)
	}
	return out.Flush()
}

func writeInterval(out io.Writer, iv record.Interval) {
	var counts [record.NumOutcomes]int64
	var answered int64
	h := hist.New()
	for _, c := range iv.Classes {
		counts[c.Outcome] += c.Count
		if c.Answered {
			answered += c.Count
		}
		if c.Outcome == record.Success {
			h.Merge(c.Latency)
		}
	}
	seconds := (iv.End - iv.Start).Seconds()
	per := func(n int64) float64 {
		if seconds <= 0 {
			return 0
		}
		return float64(n) / seconds
	}
	fmt.Fprintf(out, "%.3f,%.3f,%s,%d,%d,%.1f,%.1f,", iv.Start.Seconds(), iv.End.Seconds(), iv.Phase, iv.Planned, iv.InFlight, per(answered), per(counts[record.Success]))
	if h.Count() > 0 {
		fmt.Fprintf(out, "%.4g,%.4g,%.4g", float64(h.Quantile(0.5))/1e6, float64(h.Quantile(0.99))/1e6, float64(h.Max())/1e6)
	} else {
		fmt.Fprint(out, ",,") // No success: no latency.
	}
	for _, n := range counts {
		fmt.Fprintf(out, ",%d", n)
	}
	fmt.Fprintln(out)
}

func rate(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.5g", *v)
}

func ms(v *float64) string {
	if v == nil {
		return "–  "
	}
	return fmt.Sprintf("%.4g ms", *v)
}

func two(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f", *v)
}

func bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	v := float64(n)
	i := 0
	for v >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return fmt.Sprintf("%.3g %s", v, units[i])
}
