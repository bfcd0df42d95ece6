package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/experiment"
	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// findOptions are the flags of find.
type findOptions struct {
	slo, archive, method string
	headers, allowed     []string
	body, bodyFile       string
	timeout, budget      time.Duration
	maxLoad, resolution  float64
	expected             float64
	rate                 bool
	out                  outputs
}

const (
	// defaultBudget ends a search of one URL within 150 s, of which the last are kept for writing.
	defaultBudget = 145 * time.Second
	// settingBudget is what each setting of a plan gets by default: its neighbours' lines spare it most of the way.
	settingBudget = 60 * time.Second
)

func findVerb(env Env) *cobra.Command {
	var opt findOptions
	cmd := &cobra.Command{
		Use:   "find URL|PLAN --slo OBJECTIVE",
		Short: "Search the load line: the largest load that holds an objective",
		Long: `Searches the largest number of users (closed model), or with --rate of requests per second (open model), for which the
objective holds with 95 % confidence: doubling, then bisection by a sequential test on the share of bad requests, a retest on
both sides, a confirmation, and one sweep down from overload to show a service that does not recover. The objective needs a
percentile, success or rejected; mean and goodput may stand beside them.

Given a PLAN, its services are started and observed, every setting is searched, and the SLO is the plan's unless --slo is given.
Every trial is a cell of the archive. Exit 0 where a load line was found, 5 where even the smallest load breaks the objective,
6 where the budget ended before anything was proved.`,
		Example: `  loadline find http://127.0.0.1:8081/api/order/detail --slo 'p99<100ms,success>99.9%'
  loadline find http://127.0.0.1:8080/ --slo 'p99<10ms' --rate --max 20000
  loadline find scenarios/provider-sla.yaml --budget 10m --html line.html`,
		Args: exactly("URL|PLAN"),
		RunE: func(cmd *cobra.Command, args []string) error { return find(cmd.Context(), env, args[0], opt) },
	}
	f := cmd.Flags()
	f.StringVar(&opt.slo, "slo", "", "`OBJECTIVE` such as 'p99<10ms,success>99.9%' (required for a URL)")
	f.BoolVar(&opt.rate, "rate", false, "search requests per second in the open model instead of users")
	f.Float64Var(&opt.maxLoad, "max", 10_000, "largest load to try")
	f.DurationVar(&opt.budget, "budget", 0, "wall time for all settings together (default 145s for a URL, 60s for each setting of a plan)")
	f.Float64Var(&opt.resolution, "resolution", 0.02, "relative width at which the search closes")
	f.Float64Var(&opt.expected, "expected", 0, "load that the service is meant for, to state the headroom")
	f.StringVarP(&opt.method, "method", "m", "", "method (default GET, POST with a body)")
	f.StringArrayVarP(&opt.headers, "header", "H", nil, "`'Name: value'`, repeatable")
	f.StringVar(&opt.body, "body", "", "request body")
	f.DurationVar(&opt.timeout, "timeout", plan.DefaultTimeout, "of a request")
	f.StringArrayVar(&opt.allowed, "allow-host", nil, "allow load to this `NAME` that is neither loopback nor private (once per host)")
	archiveFlag(cmd, &opt.archive)
	opt.out.flags(cmd, "")
	return cmd
}

func find(ctx context.Context, env Env, target string, opt findOptions) error {
	if err := opt.validate(); err != nil {
		return err
	}
	p, err := findPlan(env, target, opt)
	if err != nil {
		return err
	}
	if err := allowHosts(p, opt.allowed); err != nil {
		return err
	}
	objective, err := slo.Parse(p.SLO)
	if err == nil {
		err = experiment.Searchable(objective)
	}
	if err != nil {
		return fail(Usage, fmt.Errorf("--slo: %w", err), "write it like 'p99<100ms,success>99.9%'")
	}
	if err := opt.out.writable(env); err != nil {
		return err
	}
	opt.budget = opt.budgetFor(p)
	a, err := openArchive(ctx, env, opt.archive)
	if err != nil {
		return err
	}
	defer a.Close()
	id, lines, findErr := searchLines(ctx, env, a, p, objective, opt)
	if id == "" {
		return findErr
	}
	run, result, err := loadRun(context.WithoutCancel(ctx), a, id)
	if err != nil {
		return errors.Join(findErr, err)
	}
	if len(run.Cells) > 0 {
		if err := showLines(env, p, lines, run, result, opt.out); err != nil {
			return errors.Join(findErr, err)
		}
	}
	fmt.Fprintf(env.Stderr, "run %s in %s\n", id, a.Path())
	return findVerdict(ctx, env, lines, findErr)
}

// validate joins all faults of the flags.
func (o *findOptions) validate() error {
	var faults []error
	need := func(ok bool, flag string, found any, allowed string) {
		if !ok {
			faults = append(faults, fmt.Errorf("--%s: found %v, allowed: %s", flag, found, allowed))
		}
	}
	need(o.maxLoad >= 1 && o.maxLoad <= maxSearched && (o.rate || o.maxLoad == math.Trunc(o.maxLoad)), "max", o.maxLoad, fmt.Sprintf("1 to %g, whole users", maxSearched))
	need(o.budget == 0 || o.budget >= time.Second, "budget", o.budget, "1s and more")
	need(o.resolution > 0 && o.resolution <= 0.5, "resolution", o.resolution, "above 0 and at most 0.5")
	need(o.expected >= 0 && !math.IsInf(o.expected, 0), "expected", o.expected, "0 (unknown) and more")
	need(o.timeout > 0, "timeout", o.timeout, "more than 0")
	if _, err := slo.Parse(o.slo); err != nil {
		faults = append(faults, fmt.Errorf("--slo: %w", err))
	}
	for _, h := range o.headers {
		name, _, ok := strings.Cut(h, ":")
		need(ok && strings.TrimSpace(name) != "", "header", strconv.Quote(h), "'Name: value'")
	}
	if err := errors.Join(faults...); err != nil {
		return fail(Usage, err, "see 'loadline find --help'")
	}
	return o.out.validate()
}

// maxSearched is the largest load that a plan allows as a rate.
const maxSearched = 1e7

// budgetFor is the wall time that a search of the plan may take.
func (o *findOptions) budgetFor(p *plan.Plan) time.Duration {
	switch {
	case o.budget > 0:
		return o.budget
	case p.File == commandLine:
		return defaultBudget
	default:
		return time.Duration(len(p.Settings())) * settingBudget
	}
}

// commandLine is the file's name of a plan that flags describe.
const commandLine = "the command line"

// findPlan is the plan that a URL stands for, or that a file holds.
func findPlan(env Env, target string, opt findOptions) (*plan.Plan, error) {
	if !strings.Contains(target, "://") {
		p, err := readPlan(env, target)
		if err != nil {
			return nil, err
		}
		changed := *p
		if opt.slo != "" {
			changed.SLO = opt.slo
		}
		if opt.rate {
			changed.Load.Model = record.Open
		}
		if changed.SLO == "" {
			return nil, usagef("add 'slo: {p99: 100ms}' to the plan, or --slo 'p99<100ms'", "the plan has no slo, and --slo is not given")
		}
		return &changed, nil
	}
	if opt.slo == "" {
		return nil, usagef("add --slo 'p99<100ms,success>99.9%'", "a search needs an objective")
	}
	text := planOfURL(target, opt)
	p, err := plan.Parse(commandLine, []byte(text))
	return p, fail(Usage, err, "see 'loadline find --help'")
}

// planOfURL writes the plan that the flags describe, which is what the archive keeps.
func planOfURL(target string, opt findOptions) string {
	var b strings.Builder
	q := strconv.Quote
	fmt.Fprintf(&b, "name: %s\ntarget:\n  request:\n    url: %s\n    timeout: %s\n", q("find "+target), q(literal(target)), opt.timeout)
	if opt.method != "" {
		fmt.Fprintf(&b, "    method: %s\n", q(opt.method))
	}
	if opt.body != "" {
		fmt.Fprintf(&b, "    body: %s\n", q(literal(opt.body)))
	}
	if opt.bodyFile != "" {
		fmt.Fprintf(&b, "    body_file: %s\n", q(literal(opt.bodyFile)))
	}
	if len(opt.headers) > 0 {
		fmt.Fprintf(&b, "    headers:\n")
		for _, h := range opt.headers {
			name, value, _ := strings.Cut(h, ":")
			fmt.Fprintf(&b, "      %s: %s\n", q(strings.TrimSpace(name)), q(literal(strings.TrimSpace(value))))
		}
	}
	if opt.rate {
		fmt.Fprintf(&b, "load: {model: open, rate: [%g]}\n", opt.maxLoad)
	} else {
		fmt.Fprintf(&b, "load: {model: closed, concurrency: [1]}\n")
	}
	if opt.slo != "" {
		fmt.Fprintf(&b, "slo: %s\n", q(opt.slo))
	}
	return b.String()
}

// literal keeps text that holds ${ from being read as a varied value.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// searchLines runs the search into the archive. The id is empty where nothing was begun.
func searchLines(ctx context.Context, env Env, a *archive.Archive, p *plan.Plan, objective slo.SLO, opt findOptions) (string, []experiment.Line, error) {
	started := env.Now()
	id, err := newID(started)
	if err != nil {
		return "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find the running program: %w", err)
	}
	folder := env.Dir
	if p.File != commandLine {
		folder = filepath.Dir(env.path(p.File))
	}
	engine, err := load.New(load.Config{Folder: folder})
	if err != nil {
		return "", nil, err
	}
	w, err := a.Begin(context.WithoutCancel(ctx), record.Run{ID: id, Name: p.Name, Started: started, Environment: experiment.Environment(), Plan: p.Source, SLO: p.SLO})
	if err != nil {
		return "", nil, archiveFault(err)
	}
	defer w.Close()
	show := newProgress(env)
	lines, end, err := experiment.Find(ctx, experiment.SearchConfig{
		Config:    experiment.Config{Plan: p, Folder: folder, Self: self, Environ: env.Environ, Writer: w, Now: env.Now, Engine: engine, Listener: show.event},
		Objective: objective, Max: opt.maxLoad, Resolution: opt.resolution, Expected: opt.expected, Budget: opt.budget})
	show.end()
	return id, lines, errors.Join(err, w.End(end))
}

// findVerdict is the exit code: a line for some setting is an answer.
func findVerdict(ctx context.Context, env Env, lines []experiment.Line, err error) error {
	if ctx.Err() != nil {
		fmt.Fprintln(env.Stderr, "interrupted: what was measured is kept and marked partial")
		return exitWith(Interrupted)
	}
	if err != nil {
		return classify(err)
	}
	code := Missed
	for _, l := range lines {
		switch {
		case l.Result.Value != nil:
			return nil
		case l.Result.Status != search.None:
			code = NoEvidence
		}
	}
	return exitWith(code)
}
