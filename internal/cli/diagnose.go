package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/experiment"
	"github.com/loadline-dev/loadline/internal/observe/process"
	"github.com/loadline-dev/loadline/internal/report"
)

// diagnoseOptions are the flags of diagnose.
type diagnoseOptions struct {
	run, archive, metrics, pprof, service string
	pid                                   int
	dumps                                 []string
	lasts                                 time.Duration
	json, html                            string
}

func diagnoseVerb(env Env) *cobra.Command {
	var opt diagnoseOptions
	cmd := &cobra.Command{
		Use:   "diagnose [RUN] [--pid N] [--metrics URL] [--dump FILE…]",
		Short: "Name what is wrong with a service, and the one limit that binds, with evidence",
		Long: `Diagnoses a run of the archive, a process that runs, its metrics endpoint, thread dumps, or any mix of them. Every finding has its
evidence, what to do next, and what would refute it; where no limit can be named, what is missing is told.

RUN is an id, its beginning, a baseline's name or «latest» (or --run RUN, beside dumps): the highest step of every setting is diagnosed beside
the lower ones. --pid and --metrics look at a live service for the time of --for, and --pid of a JVM, or --pprof of a Go service,
takes two thread dumps meanwhile. --dump reads files, several in the order in which they were taken: HotSpot's text (jstack, jcmd Thread.print,
kill -3 between other output), jcmd Thread.dump_to_file, and Go's goroutines (pprof debug=1 and 2, crash output). Arguments after
--dump FILE are further dumps. Alone it analyses dumps: threads by pool, locks and the chain behind each, deadlocks, identical stacks.`,
		Example: `  loadline diagnose latest
  loadline diagnose --pid 4711 --metrics http://127.0.0.1:8080/metrics
  loadline diagnose --dump first.txt second.txt third.txt --html dumps.html
  loadline diagnose --run latest --dump production.txt --json -`,
		RunE: func(cmd *cobra.Command, args []string) error { return diagnoseAll(cmd.Context(), env, args, opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.run, "run", "", "a `RUN` of the archive")
	archiveFlag(cmd, &opt.archive)
	f.IntVar(&opt.pid, "pid", 0, "the process `ID` of a live service")
	f.StringVar(&opt.metrics, "metrics", "", "the `URL` of its metrics endpoint (Prometheus text)")
	f.StringVar(&opt.pprof, "pprof", "", "the `URL` of a Go service's net/http/pprof, for thread dumps")
	f.StringVar(&opt.service, "service", "service", "what the live service is called in the findings")
	f.DurationVar(&opt.lasts, "for", 5*time.Second, "how long to look at a live service, at least 1s")
	f.StringArrayVar(&opt.dumps, "dump", nil, "a `FILE` with thread dumps; - for stdin")
	f.StringVar(&opt.json, "json", "", "write loadline.findings/1 to this `FILE` (- for stdout)")
	f.StringVar(&opt.html, "html", "", "write one HTML page to this `FILE`")
	return cmd
}

// arguments sorts out what stands without a flag: further dumps behind --dump, else the run.
func (o *diagnoseOptions) arguments(args []string) error {
	const hint = "see 'loadline diagnose --help'"
	switch {
	case len(o.dumps) > 0:
		o.dumps = append(o.dumps, args...)
	case len(args) > 1 || len(args) == 1 && o.run != "":
		return usagef(hint, "loadline diagnose: found %d arguments, want at most one RUN; dumps are named with --dump", len(args))
	case len(args) == 1:
		o.run = args[0]
	}
	if o.run == "" && !o.live() && len(o.dumps) == 0 {
		return usagef(hint, "loadline diagnose: nothing to look at: name a RUN, --pid, --metrics, --pprof or --dump")
	}
	return nil
}

func (o *diagnoseOptions) live() bool { return o.pid != 0 || o.metrics != "" || o.pprof != "" }

func diagnoseAll(ctx context.Context, env Env, args []string, opt diagnoseOptions) error {
	if err := opt.arguments(args); err != nil {
		return err
	}
	var all sources
	for _, gather := range []func(context.Context, Env, diagnoseOptions) error{all.fromRun, all.fromFiles, all.fromLook} {
		if err := gather(ctx, env, opt); err != nil {
			return err
		}
	}
	out := report.Diagnosis{Report: diagnose.NewReport(all.scenes...), Dumps: all.dumps}
	if opt.json != "" {
		if err := writeJSON(env, opt.json, out.Report); err != nil {
			return err
		}
	}
	if opt.html != "" {
		if err := writeTo(env, opt.html, func(w io.Writer) error { return report.DiagnosisHTML(w, out) }); err != nil {
			return err
		}
	}
	if opt.json == "-" || opt.html == "-" {
		return nil
	}
	return report.DiagnosisTerminal(env.Stdout, out, env.style())
}

// sources are what a diagnosis rests on.
type sources struct {
	scenes []diagnose.Scene
	dumps  []report.DumpView
}

// add takes a scene, and its dumps for showing.
func (s *sources) add(scene diagnose.Scene) {
	s.scenes = append(s.scenes, scene)
	for service, list := range scene.Dumps {
		for i, d := range list {
			s.dumps = append(s.dumps, report.DumpView{Name: fmt.Sprintf("%s, dump %d of %d", service, i+1, len(list)), Summary: d})
		}
	}
}

// fromRun takes the highest step of every setting. A setting of several is named in the evidence.
func (s *sources) fromRun(ctx context.Context, env Env, opt diagnoseOptions) error {
	if opt.run == "" {
		return nil
	}
	a, err := readArchive(ctx, env, opt.archive)
	if err != nil {
		return err
	}
	defer a.Close()
	run, err := a.Load(ctx, opt.run)
	if err != nil {
		return archiveFault(err)
	}
	scenes := analysis.Scenes(run)
	if len(scenes) == 0 {
		return fail(NoEvidence, fmt.Errorf("run %s holds no step in which anything was measured", run.ID), "'loadline runs' lists the others")
	}
	for _, step := range scenes {
		if len(scenes) > 1 {
			step.Scene.Where = step.Setting.String() + " at " + step.Load.String()
		}
		s.add(step.Scene)
	}
	return nil
}

// fromFiles reads dump files as a stream; their dumps are of one process, in order.
func (s *sources) fromFiles(_ context.Context, env Env, opt diagnoseOptions) error {
	if len(opt.dumps) == 0 {
		return nil
	}
	var all []*dump.Summary
	for _, name := range opt.dumps {
		found, err := readDumps(env, name)
		if err != nil {
			return err
		}
		for i, d := range found {
			title := name
			if len(found) > 1 {
				title = fmt.Sprintf("%s, dump %d of %d", name, i+1, len(found))
			}
			s.dumps = append(s.dumps, report.DumpView{Name: title, Summary: d})
		}
		all = append(all, found...)
	}
	s.scenes = append(s.scenes, diagnose.Scene{Dumps: map[string][]*dump.Summary{"": all}})
	return nil
}

func readDumps(env Env, name string) ([]*dump.Summary, error) {
	if name == "-" {
		found, err := dump.Read(env.Stdin)
		return found, fail(Invalid, err, "give thread dumps on stdin")
	}
	f, err := os.Open(env.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(Usage, fmt.Errorf("%s does not exist", name), "name a file with thread dumps")
	}
	if err != nil {
		return nil, fail(Usage, err, "")
	}
	defer f.Close()
	found, err := dump.Read(f)
	if err != nil {
		return nil, fail(Invalid, fmt.Errorf("%s: %w", name, err), "take one with 'jcmd PID Thread.print' or from /debug/pprof/goroutine?debug=2")
	}
	return found, nil
}

// fromLook looks at a live service. Dumps of files that stand beside it are taken as the same service's, earlier ones.
func (s *sources) fromLook(ctx context.Context, env Env, opt diagnoseOptions) error {
	if !opt.live() {
		return nil
	}
	if opt.lasts < time.Second {
		return usagef("give --for 5s", "--for: found %v, allowed 1s and more", opt.lasts)
	}
	fmt.Fprintf(env.Stderr, "looking at %s for %v\n", opt.service, opt.lasts)
	cell, notes, err := experiment.Look(ctx, experiment.LookConfig{Service: opt.service, PID: opt.pid, Metrics: opt.metrics, Profile: opt.pprof, For: opt.lasts})
	for _, n := range notes {
		fmt.Fprintf(env.Stderr, "note: %v\n", n)
	}
	switch {
	case ctx.Err() != nil:
		return exitWith(Interrupted)
	case errors.Is(err, process.ErrGone):
		return fail(Unreachable, err, "give the id of a process that runs")
	case err != nil:
		return fail(Unreachable, err, "check --pid, --metrics and --pprof")
	}
	scene, unread := analysis.SceneOfLook(cell, runtime.NumCPU(), opt.lasts)
	for _, c := range unread {
		fmt.Fprintf(env.Stderr, "note: %s\n", c.Text)
	}
	if i := slices.IndexFunc(s.scenes, func(o diagnose.Scene) bool { return len(o.Dumps[""]) > 0 }); i >= 0 && len(scene.Dumps) == 0 {
		scene.Dumps = map[string][]*dump.Summary{opt.service: s.scenes[i].Dumps[""]}
		s.scenes = append(slices.Delete(s.scenes, i, i+1), scene)
		return nil
	}
	s.add(scene)
	return nil
}
