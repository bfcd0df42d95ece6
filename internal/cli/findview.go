package cli

import (
	"fmt"
	"io"
	"strconv"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/experiment"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// showLines puts the lines that were found into the result and writes it in every form that was asked for.
func showLines(env Env, p *plan.Plan, lines []experiment.Line, run record.Run, result analysis.Result, out outputs) error {
	for _, line := range lines {
		result.SetLoadLine(line.Setting, p.SLO, line.Result)
	}
	if err := out.write(env, run, result); err != nil || out.toStdout() {
		return err
	}
	printLines(env.Stdout, p, lines)
	return nil
}

func unitOf(model record.Model) string {
	if model == record.Open {
		return "requests/s"
	}
	return "users"
}

// printLines says what was found for each setting.
func printLines(w io.Writer, p *plan.Plan, lines []experiment.Line) {
	for _, l := range lines {
		fmt.Fprintf(w, "\n%s: %s\n", l.Setting, lineText(l.Result, p.SLO, unitOf(p.Load.Model)))
		for _, c := range l.Result.Caveats {
			fmt.Fprintf(w, "  %s: %s\n", c.Code, c.Text)
		}
	}
}

// lineText is the answer of one search in a sentence.
func lineText(r search.Result, objective, unit string) string {
	effort := fmt.Sprintf("%d trials, %d requests, %.0f s measured", r.Trials, r.Requests, r.Seconds)
	switch {
	case r.Status == search.None:
		return fmt.Sprintf("no load line: even the smallest load breaks %s (%s; %s)", objective, r.Breaks, effort)
	case r.Value == nil:
		return fmt.Sprintf("nothing was proved about %s within the budget (%s)", objective, effort)
	}
	interval := fmt.Sprintf("%s proved to hold", amount(r.Low))
	if r.High != nil {
		interval += fmt.Sprintf(", %s proved to break", amount(r.High))
	}
	text := fmt.Sprintf("load line at %s %s for %s (%s; p(error) %.2g; %s)", amount(r.Value), unit, objective, interval, r.PError, effort)
	if r.Breaks != "" {
		text += "; above it " + r.Breaks + " breaks first"
	}
	if r.Headroom != nil {
		text += fmt.Sprintf("; headroom %+.0f %%", 100**r.Headroom)
	}
	return text
}

func amount(v *float64) string {
	if v == nil {
		return "nothing"
	}
	return strconv.FormatFloat(*v, 'g', 5, 64)
}

// searched tells of a trial: the live line on a terminal, a plain line for each new trial elsewhere.
func (p *progress) searched(e experiment.Event) {
	text := fmt.Sprintf("%s: trial %d (%s), %s in %d requests so far", label(e), e.Trial.Number, e.Trial.Purpose, bracketText(e.Line), e.Line.Requests)
	if p.live {
		p.rewrite(text)
		return
	}
	if cell := e.Cell.Index + 1; cell != p.trial {
		p.line(text)
		p.trial = cell
	}
}

func bracketText(r search.Result) string {
	low, high := "nothing holds yet", "nothing breaks yet"
	if r.Estimate != nil {
		low = amount(r.Estimate) + " holds"
	}
	for _, c := range r.Cells {
		if c.Holds != nil && !*c.Holds && (r.Estimate == nil || c.Load > *r.Estimate) {
			high = amount(&c.Load) + " breaks"
			break
		}
	}
	return low + ", " + high
}
