package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
)

// ladderCharts draw throughput and p99 over the load, a line for each setting. Repeats of a step are drawn as their median with the
// lowest and highest.
func ladderCharts(r *analysis.Result) []chart {
	unit := "users"
	if open(r) {
		unit = "offered per second"
	}
	success := chart{Title: "Success", Unit: "per second", XUnit: unit}
	completed := chart{Title: "Completed, refusals included", Unit: "per second", XUnit: unit}
	p99 := chart{Title: "p99 of successes", Unit: "ms", XUnit: unit, Markers: bounds(r)}
	for slot, s := range r.Settings {
		cells := cellsOf(r, s.Setting.Key())
		line := func(figure func(*analysis.CellResult) (v, low, high *float64)) series {
			// Lines that coincide are told apart by their widths: what is drawn later is thinner.
			width := max(2, 6-float64(slot)*4/float64(max(1, len(r.Settings)-1)))
			return series{Name: s.Setting.String(), Slot: slot, Width: width, Points: ladder(cells, figure)}
		}
		success.Series = append(success.Series, line(func(c *analysis.CellResult) (v, low, high *float64) { return c.Rates.Success, nil, nil }))
		completed.Series = append(completed.Series, line(func(c *analysis.CellResult) (v, low, high *float64) { return c.Rates.Completed, nil, nil }))
		p99.Series = append(p99.Series, line(func(c *analysis.CellResult) (v, low, high *float64) {
			return c.Latency.P99, c.Latency.P99Low, c.Latency.P99High
		}))
	}
	var out []chart
	for _, c := range []chart{success, completed, p99} {
		if c.empty() {
			continue
		}
		c.XTicks = steps(r)
		c.Log = len(c.XTicks) > 2 && c.XTicks[0] > 0 && c.XTicks[len(c.XTicks)-1] >= 4*c.XTicks[0]
		out = append(out, c)
	}
	return out
}

func cellsOf(r *analysis.Result, key string) []*analysis.CellResult {
	var out []*analysis.CellResult
	for i := range r.Cells {
		if r.Cells[i].Setting.Key() == key {
			out = append(out, &r.Cells[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *analysis.CellResult) int { return cmp.Compare(loadOf(a), loadOf(b)) })
	return out
}

func ladder(cells []*analysis.CellResult, figure func(*analysis.CellResult) (v, low, high *float64)) []point {
	var out []point
	for i := 0; i < len(cells); {
		j := i
		var seen []float64
		single := point{}
		for ; j < len(cells) && loadOf(cells[j]) == loadOf(cells[i]); j++ {
			v, low, high := figure(cells[j])
			if v == nil {
				continue
			}
			seen = append(seen, *v)
			if low != nil && high != nil {
				single.Low, single.High = *low, *high
			}
		}
		out = append(out, stepPoint(loadOf(cells[i]), seen, single))
		i = j
	}
	return out
}

// stepPoint is the median of a step's repeats between the lowest and the highest, or the only value with its own interval.
func stepPoint(load float64, seen []float64, single point) point {
	p := point{X: load, Y: math.NaN()}
	switch len(seen) {
	case 0:
	case 1:
		p.Y, p.Low, p.High = seen[0], single.Low, single.High
	default:
		slices.Sort(seen)
		mid := len(seen) / 2
		p.Y, p.Low, p.High = seen[mid], seen[0], seen[len(seen)-1]
		if len(seen)%2 == 0 {
			p.Y = (seen[mid-1] + seen[mid]) / 2
		}
	}
	return p
}

// steps lists the loads that occur, rising.
func steps(r *analysis.Result) []float64 {
	var out []float64
	for i := range r.Cells {
		out = append(out, loadOf(&r.Cells[i]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// bounds are the SLO's own on the p99.
func bounds(r *analysis.Result) []marker {
	if r.SLO == nil {
		return nil
	}
	asked, err := slo.Parse(*r.SLO)
	if err != nil {
		return nil // the analysis says so in every cell
	}
	var out []marker
	for _, t := range asked.Terms {
		if t.Metric == slo.Percentile && t.Name == "p99" {
			out = append(out, marker{Y: t.Time.Seconds() * 1000, Name: t.String()})
		}
	}
	return out
}
