package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/report"
)

// archiveFlag adds --archive to a verb.
func archiveFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "archive", "", "archive `FILE` (default: loadline/archive.db in the user's data folder)")
}

// archivePath is the file that a flag means.
func archivePath(env Env, flag string) (string, error) {
	if flag != "" {
		return env.path(flag), nil
	}
	path, err := archive.DefaultPath(env.variable)
	return path, fail(Usage, err, "name a file with --archive")
}

// openArchive opens an archive for writing, creating it where needed.
func openArchive(ctx context.Context, env Env, flag string) (*archive.Archive, error) {
	path, err := archivePath(env, flag)
	if err != nil {
		return nil, err
	}
	a, err := archive.Open(ctx, path)
	return a, archiveFault(err)
}

// readArchive opens an archive that must be there.
func readArchive(ctx context.Context, env Env, flag string) (*archive.Archive, error) {
	path, err := archivePath(env, flag)
	if err != nil {
		return nil, err
	}
	a, err := archive.OpenExisting(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(BadArchive, fmt.Errorf("archive %s does not exist", path), "run a plan first, or name another file with --archive")
	}
	return a, archiveFault(err)
}

// archiveFault gives an archive's error its exit code.
func archiveFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, archive.ErrNoRun), errors.Is(err, archive.ErrAmbiguous), errors.Is(err, archive.ErrNoBaseline), errors.Is(err, archive.ErrName):
		return fail(Usage, err, "'loadline runs' lists the runs of an archive")
	default:
		return fail(BadArchive, err, "")
	}
}

// loadRun reads one run and what analysis says of it.
func loadRun(ctx context.Context, a *archive.Archive, what string) (record.Run, analysis.Result, error) {
	run, err := a.Load(ctx, what)
	if err != nil {
		return record.Run{}, analysis.Result{}, archiveFault(err)
	}
	return run, analysis.Of(run), nil
}

func runsVerb(env Env) *cobra.Command {
	var file, remove, baseline string
	var out outputs
	cmd := &cobra.Command{
		Use:   "runs [RUN]",
		Short: "List the runs of an archive, or show one again",
		Long: `Without RUN: lists the archive's runs, the latest first. With RUN, which is an id, its beginning, a baseline's name or
«latest»: shows the run's table, findings and caveats again, computed anew from the facts.`,
		Example: `  loadline runs
  loadline runs latest --html report.html
  loadline runs 20261201 --json -
  loadline runs latest --baseline release-1.4`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("see 'loadline runs --help'", "loadline runs: at most one RUN, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRuns(cmd, args); err != nil {
				return err
			}
			a, err := openForRuns(cmd.Context(), env, file, cmd.Flags().Changed("delete") || cmd.Flags().Changed("baseline"))
			if err != nil {
				return err
			}
			defer a.Close()
			switch {
			case cmd.Flags().Changed("delete"):
				return removeRun(cmd.Context(), env, a, remove)
			case len(args) == 0:
				return listRuns(cmd.Context(), env, a, out.json)
			}
			if cmd.Flags().Changed("baseline") {
				if err := a.SetBaseline(cmd.Context(), baseline, args[0], env.Now()); err != nil {
					return archiveFault(err)
				}
				fmt.Fprintf(env.Stderr, "kept as baseline %s\n", baseline)
			}
			run, result, err := loadRun(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			return out.write(env, run, result)
		},
	}
	archiveFlag(cmd, &file)
	out.flags(cmd, "")
	cmd.Flags().StringVar(&remove, "delete", "", "remove the run `ID` (whole) with all that belongs to it")
	cmd.Flags().StringVar(&baseline, "baseline", "", "keep RUN under this `NAME` for comparison")
	return cmd
}

// checkRuns refuses flags that would do nothing.
func checkRuns(cmd *cobra.Command, args []string) error {
	const help = "see 'loadline runs --help'"
	given := func(names ...string) string {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return name
			}
		}
		return ""
	}
	if given("delete") != "" {
		if flag := given("baseline", "json", "html", "markdown", "csv"); flag != "" || len(args) > 0 {
			return usagef(help, "--delete removes the run it names and shows nothing: use it alone")
		}
		return nil
	}
	if len(args) > 0 {
		return nil
	}
	if given("baseline") != "" {
		return usagef("loadline runs latest --baseline NAME", "--baseline needs the RUN to keep under that name")
	}
	if flag := given("html", "markdown", "csv"); flag != "" {
		return usagef(fmt.Sprintf("loadline runs latest --%s FILE", flag), "--%s needs the RUN to write", flag)
	}
	return nil
}

func openForRuns(ctx context.Context, env Env, file string, writes bool) (*archive.Archive, error) {
	if writes {
		return openArchive(ctx, env, file)
	}
	return readArchive(ctx, env, file)
}

func removeRun(ctx context.Context, env Env, a *archive.Archive, id string) error {
	if err := a.Delete(ctx, id); err != nil {
		return archiveFault(err)
	}
	fmt.Fprintf(env.Stderr, "removed %s\n", id)
	return nil
}

// listedRun is a run in the list's JSON.
type listedRun struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Started     time.Time  `json:"started"`
	Ended       *time.Time `json:"ended"`
	Partial     bool       `json:"partial"`
	Interrupted string     `json:"interrupted,omitempty"`
	Cells       int        `json:"cells"`
	Baselines   []string   `json:"baselines"`
}

func listRuns(ctx context.Context, env Env, a *archive.Archive, jsonFile string) error {
	list, err := a.List(ctx)
	if err != nil {
		return archiveFault(err)
	}
	if jsonFile != "" {
		rows := []listedRun{}
		for _, s := range list {
			r := listedRun{ID: s.ID, Name: s.Name, Started: s.Started, Partial: s.Partial, Interrupted: s.Interrupted, Cells: s.Cells,
				Baselines: append([]string{}, s.Baselines...)}
			if !s.Ended.IsZero() {
				r.Ended = &s.Ended
			}
			rows = append(rows, r)
		}
		if err := writeJSON(env, jsonFile, map[string]any{"schema": "loadline.runs/1", "runs": rows}); err != nil || jsonFile == "-" {
			return err
		}
	}
	if len(list) == 0 {
		fmt.Fprintf(env.Stderr, "no runs in %s\n", a.Path())
		return nil
	}
	return printRuns(env.Stdout, list)
}

func printRuns(w io.Writer, list []archive.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tSTARTED\tCELLS\tSTATE\tNAME")
	for _, s := range list {
		state := "done"
		if s.Partial {
			state = "partial"
		}
		name := shortName(s.Name)
		for _, b := range s.Baselines {
			name += " [" + b + "]"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\n", s.ID, s.Started.Local().Format("2006-01-02 15:04:05"), s.Cells, state, name)
	}
	return t.Flush()
}

// shortName is a run's name as it stands in a list: on one line, and no longer than a line.
func shortName(name string) string {
	const most = 80
	name = report.Plain(name)
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}
