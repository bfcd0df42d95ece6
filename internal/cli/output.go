package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/report"
)

// outputs are the forms in which a verb writes a result besides the table on stdout.
type outputs struct {
	json, html, markdown, csv string
}

// flags adds the flags; html is the default of --html.
func (o *outputs) flags(cmd *cobra.Command, html string) {
	f := cmd.Flags()
	f.StringVar(&o.json, "json", "", "write loadline.run/1 to this `FILE` (- for stdout, which then carries nothing else)")
	f.StringVar(&o.html, "html", html, "write the report as one HTML page to this `FILE`; empty: none")
	f.StringVar(&o.markdown, "markdown", "", "write the table as Markdown to this `FILE` (- for stdout)")
	f.StringVar(&o.csv, "csv", "", "write one row a cell to this `FILE` (- for stdout)")
}

// named are the files of all forms, empty where a form is not wanted, with their flags.
func (o *outputs) named() []struct{ flag, file string } {
	return []struct{ flag, file string }{{"--json", o.json}, {"--markdown", o.markdown}, {"--csv", o.csv}, {"--html", o.html}}
}

// writable tells before a long run what cannot be written after it.
func (o *outputs) writable(env Env) error {
	for _, form := range o.named() {
		if form.file == "" || form.file == "-" {
			continue
		}
		if err := canWrite(env, form.file); err != nil {
			return fail(Usage, fmt.Errorf("%s %s cannot be written: %w", form.flag, form.file, err), "name a file in a folder that exists and can be written")
		}
	}
	return nil
}

func canWrite(env Env, name string) error {
	path := env.path(name)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("it is a folder")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// validate refuses two forms on one stdout.
func (o *outputs) validate() error {
	taken := ""
	for _, form := range o.named() {
		if form.file != "-" {
			continue
		}
		if taken != "" {
			return usagef("write one of them to a file", "%s and %s both go to stdout", taken, form.flag)
		}
		taken = form.flag
	}
	return nil
}

// toStdout tells whether a form takes stdout for itself.
func (o *outputs) toStdout() bool {
	return slices.Contains([]string{o.json, o.html, o.markdown, o.csv}, "-")
}

// write writes the result in every form that was asked for, and the table to stdout unless a form took it. One that cannot be written
// does not keep the others from it.
func (o *outputs) write(env Env, run record.Run, result analysis.Result) error {
	err := o.writeForms(env, run, result)
	if o.toStdout() {
		return err
	}
	return errors.Join(err, report.Terminal(env.Stdout, result, env.style()))
}

// writeForms writes the forms that were asked for.
func (o *outputs) writeForms(env Env, run record.Run, result analysis.Result) error {
	var faults []error
	for _, form := range []struct {
		file  string
		write func(io.Writer) error
	}{
		{o.json, func(w io.Writer) error { return report.JSON(w, result) }},
		{o.markdown, func(w io.Writer) error { return report.Markdown(w, result) }},
		{o.csv, func(w io.Writer) error { return report.CSV(w, result) }},
		{o.html, func(w io.Writer) error { return report.HTML(w, run, result) }},
	} {
		if form.file == "" {
			continue
		}
		faults = append(faults, writeTo(env, form.file, form.write))
	}
	return errors.Join(faults...)
}

// writeTo writes to a file, or to stdout for «-». A file appears whole or not at all.
func writeTo(env Env, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(env.Stdout)
	}
	path := env.path(name)
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fail(Usage, fmt.Errorf("write %s: %w", name, err), "name a file in a folder that exists and can be written")
	}
	defer os.Remove(f.Name()) // After the rename there is nothing left of that name.
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fail(Usage, fmt.Errorf("write %s: %w", name, err), "name a file, not a folder")
	}
	return nil
}

// writeJSON writes any value as indented JSON.
func writeJSON(env Env, name string, value any) error {
	return writeTo(env, name, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(value)
	})
}

// style is what stdout can show.
func (e Env) style() report.Style {
	f, ok := e.Stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return report.Style{}
	}
	s := report.Style{Color: report.ColorWanted(e.variable, true)}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.Width = w
	}
	return s
}
