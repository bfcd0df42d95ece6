package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis/compare"
	"github.com/loadline-dev/loadline/internal/archive"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	archive, baseline, failOn, json string
	force                           bool
}

func compareVerb(env Env) *cobra.Command {
	var opt compareOptions
	cmd := &cobra.Command{
		Use:   "compare A B…",
		Short: "Runs side by side, with what is noise and what is change",
		Long: `Sets the first run against each of the others, cell by cell, matched by setting and load: throughput, goodput, p50 and p99 with
intervals, refusals, CPU and context switches for each request. A difference counts where repeated cells (load.repeats, four and
more) prove it by a rank test that allows for all comparisons; a cell that ran once is compared by its own spread.

A run is an id, its beginning, a baseline's name or «latest» of the archive; FILE.db is another archive's latest run, and
FILE.db#RUN one of its runs. With --baseline NAME that run comes first. Runs of unlike machines are refused unless --force.

With --fail-on: exit 5 where a condition failed beyond noise, 6 where one could be judged in no cell.`,
		Example: `  loadline compare 20261201-0915 latest
  loadline compare --baseline release-1.4 latest --fail-on 'p99>+10%,throughput<-5%'
  loadline compare before.db after.db --json comparison.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			least := 2
			if opt.baseline != "" {
				least = 1
			}
			if len(args) < least {
				return usagef("see 'loadline compare --help'", "loadline compare: found %d runs, want at least %d", len(args), least)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return compareRuns(cmd.Context(), env, args, opt) },
	}
	f := cmd.Flags()
	archiveFlag(cmd, &opt.archive)
	f.StringVar(&opt.baseline, "baseline", "", "compare with the run kept under this `NAME` ('loadline runs RUN --baseline NAME' keeps one)")
	f.StringVar(&opt.failOn, "fail-on", "", "`CONDITIONS` such as 'p99>+10%,throughput<-5%'")
	f.BoolVar(&opt.force, "force", false, "compare runs of unlike machines")
	f.StringVar(&opt.json, "json", "", "write loadline.compare/1 to this `FILE` (- for stdout)")
	return cmd
}

func compareRuns(ctx context.Context, env Env, args []string, opt compareOptions) error {
	conditions, err := failConditions(opt.failOn)
	if err != nil {
		return err
	}
	if opt.baseline != "" {
		args = append([]string{opt.baseline}, args...)
	}
	var runs []compare.Run
	for _, what := range args {
		r, err := comparedRun(ctx, env, opt.archive, what)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	// The seed is fixed, so that the same runs give the same answer.
	result, err := compare.Compare(runs, compare.Config{Force: opt.force, FailOn: conditions}, rand.New(rand.NewPCG(1, 1)))
	var unlike *compare.UnlikeError
	if errors.As(err, &unlike) {
		return fail(Usage, err, "--force compares them all the same; the difference is then mostly that of the machines")
	}
	if err != nil {
		return err
	}
	if opt.json != "" {
		if err := writeJSON(env, opt.json, result); err != nil {
			return err
		}
	}
	if opt.json != "-" {
		if err := printComparison(env.Stdout, result); err != nil {
			return err
		}
	}
	return exitWith(comparisonCode(result))
}

func failConditions(text string) ([]compare.Condition, error) {
	if text == "" {
		return nil, nil
	}
	conditions, err := compare.ParseFailOn(text)
	if err != nil {
		return nil, fail(Usage, fmt.Errorf("--fail-on: %w", err), "write it like 'p99>+10%,throughput<-5%'")
	}
	return conditions, nil
}

// comparedRun finds a run: in the archive, or in a file of its own.
func comparedRun(ctx context.Context, env Env, archiveFile, what string) (compare.Run, error) {
	file, id, named := strings.Cut(what, "#")
	if _, err := os.Stat(env.path(file)); err == nil && (named || strings.HasSuffix(file, ".db")) {
		if !named {
			id = archive.Latest
		}
		archiveFile = file
	} else {
		id = what
	}
	a, err := readArchive(ctx, env, archiveFile)
	if err != nil {
		return compare.Run{}, err
	}
	defer a.Close()
	run, result, err := loadRun(ctx, a, id)
	if err != nil {
		return compare.Run{}, err
	}
	name := what
	if name != run.ID {
		name = fmt.Sprintf("%s (%s)", what, run.ID)
	}
	return compare.OfRun(name, run, result), nil
}

// comparisonCode judges by the conditions asked: 6 where one could not be judged or nothing was there to compare, else 5 where one failed.
func comparisonCode(r compare.Result) Code {
	failed := false
	for _, p := range r.Pairs {
		if len(p.Cells) == 0 {
			return NoEvidence
		}
		for _, c := range p.FailOn {
			if c.Evaluated == 0 {
				return NoEvidence
			}
			failed = failed || c.Failed
		}
	}
	if failed {
		return Missed
	}
	return Done
}

func printComparison(w io.Writer, r compare.Result) error {
	for i, p := range r.Pairs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "A  %s\nB  %s\n", p.A, p.B)
		if err := printCells(w, p.Cells); err != nil {
			return err
		}
		printList(w, "Only on one side", p.Unmatched)
		printConditions(w, p.FailOn)
		printList(w, "Caveats", p.Caveats)
	}
	return nil
}

func printCells(w io.Writer, cells []compare.CellComparison) error {
	if len(cells) == 0 {
		fmt.Fprintln(w, "\nno cell is the same in both")
		return nil
	}
	for _, c := range cells {
		fmt.Fprintf(w, "\n%s at %s\n", c.Setting, c.Load)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, m := range c.Metrics {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", m.Metric, sideText(m.A), sideText(m.B), changeText(m), verdictText(m))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func sideText(s compare.Side) string {
	text := fmt.Sprintf("%.4g", s.Median)
	if s.Low != nil && s.High != nil {
		text += fmt.Sprintf(" (%.4g…%.4g)", *s.Low, *s.High)
	}
	if s.N > 1 {
		text += fmt.Sprintf(" of %d", s.N)
	}
	return text
}

func changeText(m compare.Comparison) string {
	if m.Change == nil {
		return "from 0"
	}
	unit := "%"
	if m.Metric == compare.Rejected {
		unit = "points"
	}
	text := fmt.Sprintf("%+.1f %s", *m.Change*100, unit)
	if m.ChangeLow != nil && m.ChangeHigh != nil {
		text += fmt.Sprintf(" (%+.1f…%+.1f)", *m.ChangeLow*100, *m.ChangeHigh*100)
	}
	return text
}

// verdictText is the verdict with what stands behind it, as the comparison's own text ends.
func verdictText(m compare.Comparison) string {
	at := strings.LastIndex(m.Text, ": ")
	text := m.Text[at+2:]
	if m.PAdjusted != nil {
		text += fmt.Sprintf(", p %.2g", *m.PAdjusted)
	}
	return text
}

func printConditions(w io.Writer, conditions []compare.ConditionResult) {
	if len(conditions) > 0 {
		fmt.Fprintln(w, "\nConditions")
	}
	for _, c := range conditions {
		switch {
		case c.Failed:
			fmt.Fprintf(w, "  failed: %s\n", c.Condition)
		case c.Evaluated == 0:
			fmt.Fprintf(w, "  no evidence: %s: no cell in which it is known on both sides and can be judged\n", c.Condition)
		default:
			fmt.Fprintf(w, "  holds: %s, in %d cells\n", c.Condition, c.Evaluated)
		}
		for _, cell := range c.Cells {
			fmt.Fprintf(w, "    %s\n", cell)
		}
	}
}

func printList(w io.Writer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, item := range items {
		fmt.Fprintf(w, "  %s\n", item)
	}
}
