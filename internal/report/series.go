package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/stat"
)

// timeCharts draws a cell over its own clock: what the study plots, then CPU and context switches. A chart without a value is left out.
func timeCharts(cell record.Cell) []chart {
	charts := append(loadCharts(cell), poolCharts(cell)...)
	charts = append(charts, processCharts(cell)...)
	bands := phaseBands(cell)
	out := charts[:0]
	for _, c := range charts {
		if c.empty() {
			continue
		}
		c.XUnit, c.Bands, c.Height = "seconds", bands, 170
		out = append(out, c)
	}
	return out
}

// phaseBands shades what lies outside the window.
func phaseBands(cell record.Cell) []band {
	var out []band
	for _, iv := range cell.Intervals {
		if iv.Phase == record.Window {
			continue
		}
		name := iv.Phase.String()
		if n := len(out); n > 0 && out[n-1].Name == name && out[n-1].To == iv.Start.Seconds() {
			out[n-1].To = iv.End.Seconds()
			continue
		}
		out = append(out, band{From: iv.Start.Seconds(), To: iv.End.Seconds(), Name: name})
	}
	return out
}

// loadCharts are what the generator saw, interval by interval, drawn at the interval's middle.
func loadCharts(cell record.Cell) []chart {
	var success, completed, rejected, p50, p99, slowest []point
	for _, iv := range cell.Intervals {
		length := (iv.End - iv.Start).Seconds()
		if length <= 0 {
			continue
		}
		x := (iv.Start + iv.End).Seconds() / 2
		c := countsOf(iv)
		at := func(n int64) point { return point{X: x, Y: float64(n) / length} }
		success, completed, rejected = append(success, at(c.success)), append(completed, at(c.completed)), append(rejected, at(c.rejected))
		p50 = append(p50, quantilePoint(x, c.latency, 0.5))
		p99 = append(p99, quantilePoint(x, c.latency, 0.99))
		longest := point{X: x, Y: math.NaN()}
		if c.latency.Count() > 0 {
			longest.Y = c.latency.Max().Seconds() * 1000
		}
		slowest = append(slowest, longest)
	}
	throughput := chart{Title: "Throughput", Unit: "per second", Series: []series{{Name: "success", Slot: 0, Points: success}}}
	if highest(completed) <= comparable*highest(success) {
		throughput.Series = append(throughput.Series, series{Name: "completed", Slot: 1, Faint: true, Points: completed})
	}
	return []chart{
		throughput,
		{Title: "Response time of successes", Unit: "ms", Series: []series{{Name: "p99", Slot: 0, Points: p99}, {Name: "p50", Slot: 2, Points: p50},
			{Name: "slowest", Slot: 1, Faint: true, Points: slowest}}},
		{Title: "Rejections", Unit: "per second", Series: []series{{Name: "rejected", Slot: 3, Points: rejected}}},
	}
}

// comparable is how many times the successes the completions may be to share a chart: beyond it the successes would lie on its floor,
// and the chart of rejections shows the difference.
const comparable = 3

func highest(points []point) float64 {
	most := 0.0
	for _, p := range points {
		if p.Y > most {
			most = p.Y
		}
	}
	return most
}

// counts is what one interval came to.
type counts struct {
	success, completed, rejected int64
	latency                      *hist.Histogram // of successes
}

func countsOf(iv record.Interval) counts {
	c := counts{latency: hist.New()}
	for _, class := range iv.Classes {
		if class.Answered || class.Outcome.Answered() {
			c.completed += class.Count
		}
		switch class.Outcome {
		case record.Success:
			c.success += class.Count
			c.latency.Merge(class.Latency)
		case record.Rejected:
			c.rejected += class.Count
		}
	}
	return c
}

// quantilePoint leaves a gap where an interval holds too few successes for the quantile.
func quantilePoint(x float64, h *hist.Histogram, q float64) point {
	if h.Count() < stat.MinSamples(q, 0.95) {
		return point{X: x, Y: math.NaN()}
	}
	return point{X: x, Y: h.Quantile(q).Seconds() * 1000}
}

// poolCharts are the pools' own gauges.
func poolCharts(cell record.Cell) []chart {
	active, queue := chart{Title: "Active workers or permits", Unit: "at work"}, chart{Title: "Queue depth", Unit: "waiting"}
	byPool := map[string][]record.PoolSample{}
	for _, s := range cell.Pools {
		key := s.Service + "/" + s.Pool
		byPool[key] = append(byPool[key], s)
	}
	for slot, key := range sortedKeys(byPool) {
		samples := byPool[key]
		slices.SortStableFunc(samples, func(a, b record.PoolSample) int { return cmp.Compare(a.At, b.At) })
		active.Series = append(active.Series, series{Name: key, Slot: slot, Points: gauge(samples, func(s record.PoolSample) *float64 { return s.Active })})
		queue.Series = append(queue.Series, series{Name: key, Slot: slot, Points: gauge(samples, func(s record.PoolSample) *float64 { return s.Queue })})
	}
	return []chart{active, queue}
}

func gauge(samples []record.PoolSample, figure func(record.PoolSample) *float64) []point {
	var out []point
	for _, s := range samples {
		p := point{X: s.At.Seconds(), Y: math.NaN()}
		if v := figure(s); v != nil {
			p.Y = *v
		}
		out = append(out, p)
	}
	return out
}

// processCharts are what the services and the generator used.
func processCharts(cell record.Cell) []chart {
	cpu, switches := chart{Title: "CPU", Unit: "cores"}, chart{Title: "Context switches", Unit: "per second"}
	byService := map[string][]record.ProcessSample{}
	for _, s := range cell.Processes {
		byService[s.Service] = append(byService[s.Service], s)
	}
	for slot, name := range sortedKeys(byService) {
		samples := byService[name]
		slices.SortStableFunc(samples, func(a, b record.ProcessSample) int { return cmp.Compare(a.At, b.At) })
		cpu.Series = append(cpu.Series, series{Name: name, Slot: slot,
			Points: rates(samples, func(s record.ProcessSample) float64 { return (s.CPUUser + s.CPUSystem).Seconds() })})
		switches.Series = append(switches.Series,
			series{Name: name + " voluntary", Slot: slot, Points: rates(samples, func(s record.ProcessSample) float64 { return float64(s.Voluntary) })},
			series{Name: name + " involuntary", Slot: slot, Faint: true,
				Points: rates(samples, func(s record.ProcessSample) float64 { return float64(s.Involuntary) })})
	}
	if generator := generatorPoints(cell.Intervals); len(generator) > 0 {
		cpu.Series = append(cpu.Series, series{Name: "load generator", Slot: len(byService), Faint: true, Points: generator})
	}
	return []chart{cpu, switches}
}

// rates turns a cumulative figure into points per second, each at the middle of its two samples; a fall or an unknown value is a gap.
func rates(samples []record.ProcessSample, figure func(record.ProcessSample) float64) []point {
	var out []point
	for i := 1; i < len(samples); i++ {
		a, b := samples[i-1], samples[i]
		p := point{X: (a.At + b.At).Seconds() / 2, Y: math.NaN()}
		if rise := figure(b) - figure(a); figure(a) >= 0 && rise >= 0 && b.At > a.At {
			p.Y = rise / (b.At - a.At).Seconds()
		}
		out = append(out, p)
	}
	return out
}

func generatorPoints(intervals []record.Interval) []point {
	var out []point
	used := time.Duration(0)
	for _, iv := range intervals {
		used += iv.Generator.CPU
		if iv.End > iv.Start {
			out = append(out, point{X: (iv.Start + iv.End).Seconds() / 2, Y: iv.Generator.CPU.Seconds() / (iv.End - iv.Start).Seconds()})
		}
	}
	if used == 0 {
		return nil
	}
	return out
}
