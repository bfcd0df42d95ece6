package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/interchange"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/report"
)

// exportOptions are the flags of export.
type exportOptions struct {
	archive, out, table string
	cell                int // -1: the only one
}

// exported is what a form is made from.
type exported struct {
	run    record.Run
	result analysis.Result
	opt    exportOptions
}

// exporter writes one form.
type exporter struct {
	name, what string
	write      func(w io.Writer, e exported) error
}

func exporters() []exporter {
	return []exporter{
		{"json", "loadline.run/1, as docs/formats/run.md has it", func(w io.Writer, e exported) error { return report.JSON(w, e.result) }},
		{"csv", "one row a cell, unrounded", func(w io.Writer, e exported) error { return report.CSV(w, e.result) }},
		{"markdown", "the table, findings and caveats", func(w io.Writer, e exported) error { return report.Markdown(w, e.result) }},
		{"html", "the report as one page", func(w io.Writer, e exported) error { return report.HTML(w, e.run, e.result) }},
		{"hdr", "HdrHistogram's interval log of one cell", oneCell(interchange.WriteHlog)},
		{"ab", "ApacheBench's report of one cell", oneCell(nil)},
		{"prometheus", "Prometheus text, one sample a cell", func(w io.Writer, e exported) error { return interchange.WritePrometheus(w, e.result) }},
		{"parquet", "one row a cell, or with --table intervals a row for each interval", writeTable},
	}
}

func exportVerb(env Env) *cobra.Command {
	var opt exportOptions
	var forms []string
	for _, e := range exporters() {
		forms = append(forms, fmt.Sprintf("  %-11s %s", e.name, e.what))
	}
	cmd := &cobra.Command{
		Use:   "export FORMAT RUN",
		Short: "Write a run of the archive in another form",
		Long: `Writes RUN, which is an id, its beginning, a baseline's name or «latest», in a form that other programs read:
` + strings.Join(forms, "\n"),
		Example: `  loadline export json latest
  loadline export parquet release-1.4 --out run.parquet --table intervals
  loadline export hdr latest --cell 3 --out run.hlog`,
		Args: exactly("FORMAT", "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return export(cmd.Context(), env, args[0], args[1], opt)
		},
	}
	f := cmd.Flags()
	archiveFlag(cmd, &opt.archive)
	f.StringVarP(&opt.out, "out", "o", "-", "write to this `FILE` (- for stdout)")
	f.IntVar(&opt.cell, "cell", -1, "hdr, ab: which cell, by its index (default: the only one)")
	f.StringVar(&opt.table, "table", "cells", "parquet: cells or intervals")
	return cmd
}

func export(ctx context.Context, env Env, format, what string, opt exportOptions) error {
	all := exporters()
	at := slices.IndexFunc(all, func(e exporter) bool { return e.name == format })
	if at < 0 {
		var names []string
		for _, e := range all {
			names = append(names, e.name)
		}
		return usagef("see 'loadline export --help'", "unknown format %q: one of %s", format, strings.Join(names, ", "))
	}
	if opt.table != "cells" && opt.table != "intervals" {
		return usagef("see 'loadline export --help'", "--table: found %q, allowed: cells, intervals", opt.table)
	}
	a, err := readArchive(ctx, env, opt.archive)
	if err != nil {
		return err
	}
	defer a.Close()
	run, result, err := loadRun(ctx, a, what)
	if err != nil {
		return err
	}
	return writeTo(env, opt.out, func(w io.Writer) error { return all[at].write(w, exported{run, result, opt}) })
}

// oneCell writes the cell that was asked for; without a writer, in ab's form, which needs the target's URL.
func oneCell(write func(io.Writer, record.Cell) error) func(io.Writer, exported) error {
	return func(w io.Writer, e exported) error {
		cell, err := e.chosen()
		if err != nil {
			return err
		}
		if write != nil {
			return write(w, cell)
		}
		return interchange.WriteAb(w, cell, interchange.AbTarget{URL: targetOf(e.run)})
	}
}

// chosen is the cell by its index, or the only one.
func (e exported) chosen() (record.Cell, error) {
	if e.opt.cell < 0 && len(e.run.Cells) == 1 {
		return e.run.Cells[0], nil
	}
	var list []string
	for _, c := range e.result.Cells {
		if c.Index == e.opt.cell {
			at := slices.IndexFunc(e.run.Cells, func(r record.Cell) bool { return r.Index == c.Index })
			if i := e.run.Cells[at].Imported; i != nil && i.Summary != nil {
				return record.Cell{}, fail(Invalid, fmt.Errorf("cell %d holds another tool's aggregates only: there is nothing to make this form from", c.Index), "")
			}
			return e.run.Cells[at], nil
		}
		list = append(list, fmt.Sprintf("%d (%s at %s)", c.Index, c.Setting, c.Load))
	}
	found := "none"
	if e.opt.cell >= 0 {
		found = fmt.Sprint(e.opt.cell)
	}
	return record.Cell{}, usagef("name one with --cell", "--cell: found %s, the run has %s", found, strings.Join(list, ", "))
}

// targetOf is the address that a run's plan names; an imported run knows none.
func targetOf(run record.Run) string {
	p, err := plan.Parse(commandLine, run.Plan)
	if err != nil {
		return ""
	}
	return p.Target.Request.URL
}

func writeTable(w io.Writer, e exported) error {
	if e.opt.table == "intervals" {
		return interchange.WriteParquetIntervals(w, e.run)
	}
	return interchange.WriteParquetCells(w, e.result)
}
