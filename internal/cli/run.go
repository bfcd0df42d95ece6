package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/experiment"
	"github.com/loadline-dev/loadline/internal/launch"
	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// runOptions are the flags of run.
type runOptions struct {
	quick   bool
	archive string
	allowed []string
	samples string
	out     outputs
}

func runVerb(env Env) *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "run PLAN",
		Short: "Run an experiment: every setting of a plan at every step of load",
		Long: `Starts the plan's services, drives the load through every setting and step while everything is sampled on one clock,
and keeps all of it in the archive as it happens. The table, findings and caveats go to stdout, the report to report.html.

Ctrl-C ends the run, keeps what was measured and marks it partial; a second one kills. Load goes to loopback and private
addresses; any other host needs --allow-host.

Where the plan has an SLO: exit 0 when a setting holds it at some step, 5 when none does, 6 when there is no evidence.`,
		Example: `  loadline run scenarios/order-detail.yaml --quick
  loadline run plan.yaml --json result.json --html report.html
  loadline run plan.yaml --allow-host staging.example.com`,
		Args: exactly("PLAN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), env, args[0], opt) },
	}
	cmd.Flags().BoolVar(&opt.quick, "quick", false, "shorten every cell: 0.5 s of warm-up, 2.5 s measured, 0.3 s of rest")
	cmd.Flags().StringArrayVar(&opt.allowed, "allow-host", nil, "allow load to this `NAME` that is neither loopback nor private (once per host)")
	cmd.Flags().StringVar(&opt.samples, "samples", "", "keep every request in this compact `FILE` (docs/formats/samples.md)")
	archiveFlag(cmd, &opt.archive)
	opt.out.flags(cmd, "report.html")
	return cmd
}

func runPlan(ctx context.Context, env Env, file string, opt runOptions) error {
	if err := opt.out.validate(); err != nil {
		return err
	}
	p, err := readPlan(env, file)
	if err != nil {
		return err
	}
	if err := allowHosts(p, opt.allowed); err != nil {
		return err
	}
	if err := opt.out.writable(env); err != nil {
		return err
	}
	if opt.quick {
		p = p.Quick()
	}
	a, err := openArchive(ctx, env, opt.archive)
	if err != nil {
		return err
	}
	defer a.Close()
	id, runErr := execute(ctx, env, a, p, opt.samples)
	if id == "" {
		return runErr
	}
	// What was measured is shown even when the user has had enough.
	run, result, err := loadRun(context.WithoutCancel(ctx), a, id)
	if err != nil {
		return errors.Join(runErr, err)
	}
	var outErr error
	if len(run.Cells) > 0 {
		outErr = opt.out.write(env, run, result)
	}
	fmt.Fprintf(env.Stderr, "run %s in %s\n", id, a.Path())
	verdict := runVerdict(ctx, env, result, runErr)
	switch {
	case outErr == nil:
		return verdict
	case verdict == nil:
		return outErr
	}
	explain(env.Stderr, outErr)
	return verdict
}

// maxPlan bounds what is read of a plan; the plan's own reader refuses less.
const maxPlan = 1 << 20

// readPlan reads a plan's file and checks it, and with it the files that it names.
func readPlan(env Env, file string) (*plan.Plan, error) {
	f, err := os.Open(env.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(Usage, fmt.Errorf("plan %s does not exist", file), "check the path; scenarios/ holds plans to start from")
	}
	if err != nil {
		return nil, fail(Usage, fmt.Errorf("read plan: %w", err), "")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPlan))
	if err != nil {
		return nil, fail(Usage, fmt.Errorf("read plan: %w", err), "")
	}
	p, err := plan.Parse(file, data)
	if err == nil {
		err = experiment.CheckFiles(p, filepath.Dir(env.path(file)))
	}
	if err != nil {
		return nil, fail(Invalid, err, "docs/formats/plan.md describes every key")
	}
	return p, nil
}

func allowHosts(p *plan.Plan, allowed []string) error {
	hosts, err := p.Hosts()
	if err != nil {
		return fail(Invalid, err, "")
	}
	return fail(Usage, plan.CheckHosts(hosts, allowed), "load goes to loopback and private addresses; allow another host with --allow-host NAME, once")
}

// newID names a run so that ids sort by time.
func newID(now time.Time) (string, error) {
	var tail [3]byte
	if _, err := rand.Read(tail[:]); err != nil {
		return "", fmt.Errorf("make a run's id: %w", err)
	}
	return now.UTC().Format("20060102-150405-") + hex.EncodeToString(tail[:]), nil
}

// execute runs the plan into the archive. The id is empty where nothing was begun.
func execute(ctx context.Context, env Env, a *archive.Archive, p *plan.Plan, samples string) (id string, err error) {
	started := env.Now()
	if id, err = newID(started); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	keep, err := openSamples(env, samples, "")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, keep.close()) }()
	w, err := a.Begin(context.WithoutCancel(ctx), record.Run{ID: id, Name: p.Name, Started: started, Environment: experiment.Environment(), Plan: p.Source, SLO: p.SLO})
	if err != nil {
		return "", archiveFault(err)
	}
	defer w.Close()
	folder := filepath.Dir(env.path(p.File))
	engine, err := load.New(load.Config{Folder: folder})
	if err != nil {
		return "", err
	}
	show := newProgress(env)
	end, err := experiment.Run(ctx, experiment.Config{Plan: p, Folder: folder, Self: self, Environ: env.Environ, Writer: w,
		Now: env.Now, Engine: engine, Listener: show.event, Requests: keep.ofCell})
	show.end()
	if endErr := w.End(end); endErr != nil && !errors.Is(err, endErr) { // A writer that failed says the same to everyone.
		err = errors.Join(err, endErr)
	}
	return id, err
}

// runVerdict turns how a run ended and what it showed into the exit code, and says the former.
func runVerdict(ctx context.Context, env Env, result analysis.Result, runErr error) error {
	switch {
	case errors.Is(runErr, archive.ErrNotRecorded):
		return classify(runErr)
	case ctx.Err() != nil:
		fmt.Fprintln(env.Stderr, "interrupted: what was measured is kept and marked partial")
		return exitWith(Interrupted)
	case runErr != nil:
		return classify(runErr)
	default:
		return exitWith(sloCode(result))
	}
}

// classify gives an error of a run its exit code.
func classify(err error) error {
	var invalid *plan.InvalidError
	switch {
	case errors.Is(err, archive.ErrNotRecorded):
		return fail(BadArchive, err, "'loadline runs' shows what was recorded until then; make room, or name a file elsewhere with --archive")
	case errors.Is(err, experiment.ErrApply):
		return fail(Unreachable, err, "carry out the step by hand; see apply in docs/formats/plan.md")
	case errors.As(err, &invalid), errors.Is(err, launch.ErrCommand):
		return fail(Invalid, err, hintOf(err))
	case errors.Is(err, load.ErrUnreachable), errors.Is(err, launch.ErrNotReady), errors.Is(err, launch.ErrDied), errors.Is(err, launch.ErrPortInUse):
		return fail(Unreachable, err, hintOf(err))
	default:
		return err
	}
}

// sloCode judges the run by its cells: it holds where some step of some setting holds the SLO. A ladder is meant to pass its load line,
// so that a step above it fails is no verdict on the service.
func sloCode(result analysis.Result) Code {
	if result.SLO == nil {
		return Done
	}
	doubt := false
	for _, c := range result.Cells {
		if c.SLO == nil {
			continue
		}
		switch c.SLO.Verdict {
		case slo.Pass:
			return Done
		case slo.NoEvidence:
			doubt = true
		}
	}
	if doubt {
		return NoEvidence
	}
	return Missed
}
