package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// key names the measurements of one tool at one number of connections.
type key struct {
	tool  string
	conns int
}

// report prints medians, and the median of the ratios to wrk, each taken within a round so that what drifts on the machine meets both.
func report(out io.Writer, o options, tools []tool, results map[key][]sample) {
	fmt.Fprintf(out, "CPU µs a request of the generator, %s, %d s, medians of %d rounds (ratio to wrk of the same round; MiB at most)\n\n| tool |", o.target, o.seconds, o.rounds)
	for _, c := range o.connections {
		fmt.Fprintf(out, " %d |", c)
	}
	fmt.Fprint(out, "\n|---|")
	for range o.connections {
		fmt.Fprint(out, "---|")
	}
	fmt.Fprintln(out)
	for _, t := range tools {
		fmt.Fprintf(out, "| %s |", t.name)
		for _, c := range o.connections {
			fmt.Fprintf(out, " %s |", cell(results[key{t.name, c}], results[key{"wrk", c}]))
		}
		fmt.Fprintln(out)
	}
}

func cell(own, wrk []sample) string {
	text := fmt.Sprintf("%.2f", median(own, func(s sample) float64 { return s.perRequest }))
	if len(wrk) == len(own) {
		var ratios []sample
		for i := range own {
			ratios = append(ratios, sample{perRequest: own[i].perRequest / wrk[i].perRequest})
		}
		text += fmt.Sprintf(" (%.2f", median(ratios, func(s sample) float64 { return s.perRequest }))
	} else {
		text += " (-"
	}
	return text + fmt.Sprintf("; %.0f)", median(own, func(s sample) float64 { return float64(s.rss) / (1 << 20) }))
}

func median(samples []sample, of func(sample) float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(samples), func(a, b sample) int { return cmp.Compare(of(a), of(b)) })
	return of(sorted[len(sorted)/2])
}
