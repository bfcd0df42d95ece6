package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/interchange"
	"github.com/loadline-dev/loadline/internal/record"
)

// importOptions are the flags of import.
type importOptions struct {
	archive, name, slo, zone string
	concurrency              int
	transactions             bool
	out                      outputs
}

func importVerb(env Env) *cobra.Command {
	var opt importOptions
	cmd := &cobra.Command{
		Use:   "import FORMAT FILE",
		Short: "Read another tool's results as if they were a run",
		Long: fmt.Sprintf(`Reads the results of another load tool into the archive and shows them like a run of Loadline's own: audited, with knee,
SLO verdict and caveats. What the tool's latency covers and the traps of its format are said beside the figures.
The variant of a format (text, CSV, JSON, XML; packed with gzip) is recognised from the content; FILE may be - for stdin.

Formats: %s.`, strings.Join(formatNames(), ", ")),
		Example: `  loadline import jtl results.jtl
  loadline import ab ab.txt --slo 'p99<100ms'
  wrk --latency http://127.0.0.1:8080/ | loadline import wrk -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return usagef("import each file as a run of its own and set them side by side with 'loadline compare'",
					"loadline import: found %d files, want one: percentiles of several files cannot be merged, and their clocks may differ", len(args)-1)
			}
			return exactly("FORMAT", "FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return importFile(cmd.Context(), env, interchange.Format(args[0]), args[1], opt)
		},
	}
	f := cmd.Flags()
	archiveFlag(cmd, &opt.archive)
	opt.out.flags(cmd, "")
	f.StringVar(&opt.name, "name", "", "`NAME` of the run (default: the format and the file)")
	f.StringVar(&opt.slo, "slo", "", "objective to judge it by, such as 'p99<100ms,success>99.9%'")
	f.IntVar(&opt.concurrency, "concurrency", 0, "users, where the file does not say")
	f.BoolVar(&opt.transactions, "transactions", false, "jtl: count transaction controllers instead of their children")
	f.StringVar(&opt.zone, "zone", "UTC", "time `ZONE` of stamps written without one, such as Europe/Berlin")
	return cmd
}

func formatNames() []string {
	var out []string
	for _, f := range interchange.Formats() {
		out = append(out, string(f))
	}
	return out
}

// importMemory is what an import aims to stay below, whatever the file's size: the collector works harder as it comes near.
const importMemory = 64 << 20

func importFile(ctx context.Context, env Env, format interchange.Format, file string, opt importOptions) error {
	if err := opt.out.validate(); err != nil {
		return err
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(importMemory))
	run, err := readForeign(env, format, file, opt)
	if err != nil {
		return err
	}
	a, err := openArchive(ctx, env, opt.archive)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.Write(ctx, run); err != nil {
		return archiveFault(err)
	}
	// Shown as it was stored, so that what is seen now is what 'runs' shows later.
	run, result, err := loadRun(ctx, a, run.ID)
	if err != nil {
		return err
	}
	if err := opt.out.write(env, run, result); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "run %s in %s\n", run.ID, a.Path())
	return exitWith(sloCode(result))
}

// readForeign reads the file and completes what it does not say.
func readForeign(env Env, format interchange.Format, file string, opt importOptions) (record.Run, error) {
	zone, err := time.LoadLocation(opt.zone)
	if err != nil {
		return record.Run{}, fail(Usage, fmt.Errorf("--zone: %w", err), "name a zone such as UTC or Europe/Berlin")
	}
	objective, err := objectiveOf(opt.slo)
	if err != nil {
		return record.Run{}, err
	}
	in, err := openInput(env, file)
	if err != nil {
		return record.Run{}, err
	}
	defer in.Close()
	run, err := interchange.Import(format, filepath.Base(file), in, interchange.Options{Transactions: opt.transactions, Location: zone})
	var fault *interchange.InputError
	switch {
	case errors.As(err, &fault):
		return record.Run{}, fail(Invalid, err, fault.Hint())
	case err != nil:
		return record.Run{}, fail(Usage, err, "see 'loadline import --help'")
	}
	now := env.Now()
	if run.ID, err = newID(now); err != nil {
		return record.Run{}, err
	}
	run.SLO = objective
	if opt.name != "" {
		run.Name = opt.name
	}
	if run.Started.Year() < 1980 { // The file holds offsets only.
		run.Started, run.Ended = now, now
	}
	for i := range run.Cells {
		if c := &run.Cells[i]; opt.concurrency > 0 && c.Load.Concurrency == 0 {
			c.Load = record.Load{Model: record.Closed, Concurrency: opt.concurrency}
		}
	}
	return run, nil
}

// objectiveOf checks an SLO and gives its normal form.
func objectiveOf(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	parsed, err := slo.Parse(text)
	if err != nil {
		return "", fail(Usage, fmt.Errorf("--slo: %w", err), "write it like 'p99<100ms,success>99.9%'")
	}
	return parsed.String(), nil
}

func openInput(env Env, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(env.Stdin), nil
	}
	f, err := os.Open(env.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(Usage, fmt.Errorf("%s does not exist", file), "check the path; - reads stdin")
	}
	return f, fail(Usage, err, "")
}
