package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/experiment"
	"github.com/loadline-dev/loadline/internal/interchange"
	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	concurrency                        int
	requests                           int64
	duration, timeout, think           time.Duration
	rate                               float64
	maxInFlight, connections, loops    int
	arrivals, method                   string
	body, bodyFile, postFile, mimeType string
	headers, cookies, allowed          []string
	user, bearer, slo                  string
	closeEach, follow, insecure, http2 bool
	keepAlive, quiet                   bool
	seed                               int64
	hdr, ab, intervals, samples, jtl   string
	out                                outputs
}

const defaultBenchDuration = 10 * time.Second

func benchVerb(env Env) *cobra.Command {
	var opt benchOptions
	cmd := &cobra.Command{
		Use:   "bench URL",
		Short: "One load on one URL, as ab, wrk or hey would",
		Long: `Sends one load to one URL and says what came of it: rates, percentiles of successes with interval and n, every outcome
apart, and whether the generator itself was the limit. Users send again at once (closed model); with --rate requests follow
a clock and latency counts from the planned instant (open model). There is no warm-up; the window is --duration.

On a terminal a live view runs meanwhile; q or Ctrl-C ends it and shows what there is. Load goes to loopback and private
addresses; any other host needs --allow-host. With --slo: exit 0 where it holds, 5 where it is missed, 6 without evidence.`,
		Example: `  loadline bench http://127.0.0.1:8081/api/order/detail -c 200 -d 10s
  loadline bench http://127.0.0.1:8080/ --rate 2000 -d 30s --slo 'p99<10ms,success>99.9%'
  loadline bench http://127.0.0.1:8080/ -c 50 -n 50000 -p params -T application/x-www-form-urlencoded --ab -
  loadline bench http://127.0.0.1:8080/ --json - --csv seconds.csv --hdr run.hlog`,
		Args: exactly("URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("duration") && cmd.Flags().Changed("requests") {
				return usagef("give one of them", "-n and -d both say when to end")
			}
			return bench(cmd.Context(), env, args[0], opt)
		},
	}
	benchLoadFlags(cmd, &opt)
	benchRequestFlags(cmd, &opt)
	f := cmd.Flags()
	f.StringVar(&opt.out.json, "json", "", "write loadline.run/1 with one cell to this `FILE` (- for stdout)")
	f.StringVar(&opt.out.markdown, "markdown", "", "write the figures as Markdown to this `FILE` (- for stdout)")
	f.StringVar(&opt.out.html, "html", "", "write the report as one HTML page to this `FILE`")
	f.StringVar(&opt.intervals, "csv", "", "write one row an interval, at most a second each, to this `FILE` (- for stdout)")
	f.StringVar(&opt.hdr, "hdr", "", "write an HdrHistogram interval log to this `FILE` (- for stdout)")
	f.StringVar(&opt.ab, "ab", "", "write ApacheBench's form of the report to this `FILE` (- for stdout)")
	f.StringVar(&opt.jtl, "jtl", "", "write every request as JMeter's CSV to this `FILE`")
	f.StringVar(&opt.samples, "samples", "", "keep every request in this compact `FILE` (docs/formats/samples.md)")
	f.StringVar(&opt.slo, "slo", "", "objective such as 'p99<10ms,success>99.9%'")
	f.BoolVarP(&opt.quiet, "quiet", "q", false, "no live view and no progress")
	f.StringArrayVar(&opt.allowed, "allow-host", nil, "allow load to this `NAME` that is neither loopback nor private (once per host)")
	return cmd
}

func benchLoadFlags(cmd *cobra.Command, opt *benchOptions) {
	f := cmd.Flags()
	f.IntVarP(&opt.concurrency, "concurrency", "c", 50, "users of the closed model")
	f.Int64VarP(&opt.requests, "requests", "n", 0, "end after so many requests")
	f.DurationVarP(&opt.duration, "duration", "d", defaultBenchDuration, "end after this time")
	f.Float64VarP(&opt.rate, "rate", "R", 0, "requests per second: the open model, latency from the planned instant")
	f.StringVar(&opt.arrivals, "arrivals", plan.ArrivalsPoisson, "of --rate: poisson or constant")
	f.IntVar(&opt.maxInFlight, "max-in-flight", 0, "of --rate: drop what is planned beyond so many in flight (0: no cap)")
	f.IntVar(&opt.connections, "connections", 0, "of --rate: wait for one of so many connections (0: no bound)")
	f.DurationVar(&opt.think, "think", 0, "pause of a user between an answer and its next request")
	f.IntVarP(&opt.loops, "loops", "t", 0, "threads that send (0: one)")
	f.Int64Var(&opt.seed, "seed", 1, "of random arrivals and pauses")
}

func benchRequestFlags(cmd *cobra.Command, opt *benchOptions) {
	f := cmd.Flags()
	f.StringVarP(&opt.method, "method", "m", "", "method (default GET, POST with a body)")
	f.StringArrayVarP(&opt.headers, "header", "H", nil, "`'Name: value'`, repeatable")
	f.StringArrayVarP(&opt.cookies, "cookie", "C", nil, "`NAME=VALUE`, repeatable")
	f.StringVar(&opt.body, "body", "", "request body")
	f.StringVar(&opt.bodyFile, "body-file", "", "`FILE` with the request body")
	f.StringVarP(&opt.postFile, "post", "p", "", "POST this `FILE`, as ab does")
	f.StringVarP(&opt.mimeType, "type", "T", "", "Content-Type of the body")
	f.StringVarP(&opt.user, "user", "A", "", "basic authentication: `NAME:PASSWORD`")
	f.StringVar(&opt.bearer, "bearer", "", "bearer authentication: `TOKEN`")
	f.DurationVar(&opt.timeout, "timeout", plan.DefaultTimeout, "of a request")
	f.BoolVarP(&opt.keepAlive, "keep-alive", "k", true, "keep connections open (always so unless --close; for habits from ab)")
	f.BoolVar(&opt.closeEach, "close", false, "a connection for every request")
	f.BoolVarP(&opt.follow, "location", "L", false, "follow redirects, at most 10")
	f.BoolVar(&opt.insecure, "insecure", false, "accept any certificate")
	f.BoolVar(&opt.http2, "http2", false, "HTTP/2; in clear text with prior knowledge")
}

func bench(ctx context.Context, env Env, url string, opt benchOptions) error {
	if err := opt.validate(); err != nil {
		return err
	}
	objective, err := objectiveOf(opt.slo)
	if err != nil {
		return err
	}
	p, err := opt.plan(url, objective)
	if err != nil {
		return err
	}
	if err := allowHosts(p, opt.allowed); err != nil {
		return err
	}
	if err := errors.Join(opt.out.writable(env), opt.writable(env)); err != nil {
		return err
	}
	if err := experiment.CheckFiles(p, env.Dir); err != nil {
		return fail(Usage, err, "name a file with the request's body")
	}
	engine, err := load.New(load.Config{Loops: opt.loops, Folder: env.Dir})
	if err != nil {
		return fail(Usage, err, "see 'loadline bench --help'")
	}
	run, err := opt.measure(ctx, env, engine, p)
	if err != nil && len(run.Cells[0].Intervals) == 0 {
		return classify(err)
	}
	result := analysis.Of(run)
	if err := opt.write(env, url, run, result); err != nil {
		return err
	}
	switch {
	case run.Partial && (err == nil || errors.Is(err, context.Canceled)):
		fmt.Fprintln(env.Stderr, "interrupted: these are the figures until then")
		return exitWith(Interrupted)
	case err != nil:
		return classify(err)
	default:
		return benchCode(result)
	}
}

// benchCode judges the one cell.
func benchCode(result analysis.Result) error {
	if c := result.Cells[0]; c.Planned > 0 && c.LatencyAll.N == 0 {
		return fail(Unreachable, errors.New("the target answered nothing"), "check that the service listens at this address, e.g. with curl")
	}
	return exitWith(sloCode(result))
}

func (o *benchOptions) validate() error {
	var faults []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	bad(o.concurrency < 1, "-c: found %d, allowed 1 and more", o.concurrency)
	bad(o.requests < 0, "-n: found %d, allowed 1 and more", o.requests)
	bad(o.duration <= 0, "-d: found %v, allowed more than 0", o.duration)
	bad(o.rate < 0 || math.IsNaN(o.rate) || math.IsInf(o.rate, 0), "--rate: found %v, allowed more than 0", o.rate)
	bad(o.timeout <= 0, "--timeout: found %v, allowed more than 0", o.timeout)
	bad(o.think < 0, "--think: found %v, allowed 0 and more", o.think)
	bad(o.arrivals != plan.ArrivalsPoisson && o.arrivals != plan.ArrivalsConstant, "--arrivals: found %q, allowed poisson or constant", o.arrivals)
	bodies := 0
	for _, b := range []string{o.body, o.bodyFile, o.postFile} {
		if b != "" {
			bodies++
		}
	}
	bad(bodies > 1, "--body, --body-file and --post: only one of them")
	bad(o.user != "" && !strings.Contains(o.user, ":"), "--user: found no colon, want NAME:PASSWORD")
	bad(o.user != "" && o.bearer != "", "--user and --bearer: only one of them")
	for _, h := range o.headers {
		name, _, ok := strings.Cut(h, ":")
		bad(!ok || strings.TrimSpace(name) == "", "-H: found %q, want 'Name: value'", h)
	}
	if err := errors.Join(faults...); err != nil {
		return fail(Usage, err, "see 'loadline bench --help'")
	}
	return o.oneStdout()
}

// oneStdout refuses two forms on one stdout.
func (o *benchOptions) oneStdout() error {
	var taken []string
	for _, form := range []struct{ flag, file string }{{"--json", o.out.json}, {"--markdown", o.out.markdown}, {"--html", o.out.html}, {"--csv", o.intervals},
		{"--hdr", o.hdr}, {"--ab", o.ab}} {
		if form.file == "-" {
			taken = append(taken, form.flag)
		}
	}
	if len(taken) > 1 {
		return usagef("write all but one to files", "%s all go to stdout", strings.Join(taken, ", "))
	}
	return nil
}

// writable tells before the load what cannot be written after it.
func (o *benchOptions) writable(env Env) error {
	for _, form := range []struct{ flag, file string }{{"--csv", o.intervals}, {"--hdr", o.hdr}, {"--ab", o.ab}} {
		if form.file == "" || form.file == "-" {
			continue
		}
		if err := canWrite(env, form.file); err != nil {
			return fail(Usage, fmt.Errorf("%s %s cannot be written: %w", form.flag, form.file, err), "name a file in a folder that exists and can be written")
		}
	}
	return nil
}

// plan is the plan that the flags describe; its text is what the result shows.
func (o *benchOptions) plan(url, objective string) (*plan.Plan, error) {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	request := plan.Request{URL: url, Method: o.method, Body: o.body, BodyFile: o.bodyFile, Timeout: o.timeout}
	if o.postFile != "" {
		request.BodyFile = o.postFile
		if request.Method == "" {
			request.Method = "POST"
		}
	}
	request.Headers = o.allHeaders()
	text := planOfURL(url, findOptions{timeout: o.timeout, slo: objective, method: request.Method, body: o.body, bodyFile: request.BodyFile, headers: o.headers})
	p, err := plan.Parse("the command line", []byte(strings.Replace(text, `name: "find `, `name: "bench `, 1)))
	if err != nil {
		return nil, fail(Usage, err, "see 'loadline bench --help'")
	}
	changed := *p
	changed.Target.Request = request
	changed.Target.Client = plan.Client{Close: o.closeEach, TLS: plan.TLS{Insecure: o.insecure}}
	if o.follow {
		changed.Target.Client.Follow = 10
	}
	if o.http2 {
		changed.Target.Client.Protocol = plan.ProtocolHTTP2
	}
	return &changed, nil
}

func (o *benchOptions) allHeaders() []plan.Header {
	var out []plan.Header
	for _, h := range o.headers {
		name, value, _ := strings.Cut(h, ":")
		out = append(out, plan.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	add := func(name, value string) { out = append(out, plan.Header{Name: name, Value: value}) }
	if o.mimeType != "" {
		add("Content-Type", o.mimeType)
	}
	if len(o.cookies) > 0 {
		add("Cookie", strings.Join(o.cookies, "; "))
	}
	if o.user != "" {
		add("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(o.user)))
	}
	if o.bearer != "" {
		add("Authorization", "Bearer "+o.bearer)
	}
	return out
}

// load is the step and its shape.
func (o *benchOptions) load() (record.Load, load.Shape) {
	shape := load.Shape{Seed: o.seed, Arrivals: o.arrivals, MaxInFlight: o.maxInFlight, Connections: o.connections, Requests: o.requests}
	if o.rate > 0 {
		return record.Load{Model: record.Open, RatePerSec: o.rate}, shape
	}
	return record.Load{Model: record.Closed, Concurrency: o.concurrency, Think: o.think}, shape
}

const (
	// countedWindow bounds a bench that ends after a number of requests.
	countedWindow = 24 * time.Hour
	// countedInterval cuts it finely enough that a short one can be judged.
	countedInterval = 250 * time.Millisecond
	// benchIntervals is how many a window is cut into at least: steady state is judged by them.
	benchIntervals = 10
)

// measure runs the load and gathers its intervals. The run has one cell even where an error ended it.
func (o *benchOptions) measure(ctx context.Context, env Env, engine load.Engine, p *plan.Plan) (record.Run, error) {
	phases := load.Phases{Window: o.duration, Interval: min(load.DefaultInterval, o.duration/benchIntervals)}
	if o.requests > 0 {
		phases = load.Phases{Window: countedWindow, Interval: countedInterval}
	}
	step, shape := o.load()
	id, err := newID(env.Now())
	run := record.Run{ID: id, Name: p.Name, Started: env.Now(), Environment: experiment.Environment(), Plan: p.Source, SLO: p.SLO,
		Cells: []record.Cell{{Repeat: 1, Load: step, Started: env.Now(), Window: phases.Window, Timeout: o.timeout}}}
	if err != nil {
		return run, err
	}
	cell := &run.Cells[0]
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	show := newBenchView(env, benchTitle(p.Target.Request.URL, step), o.expected(), stop, o.quiet)
	keep, err := openSamples(env, o.samples, o.jtl)
	if err != nil {
		return run, err
	}
	job := load.Job{Target: p.Target, Load: step, Shape: shape, Phases: phases, Samples: keep.of(interchange.SampledCell{Repeat: 1, Load: step,
		Started: cell.Started, Target: p.Target.Request.URL})}
	err = engine.Run(ctx, job, load.SinkFunc(func(iv record.Interval) error {
		if o.requests > 0 {
			iv.Phase = record.Window // The time of so many requests lasts until the last has ended.
		}
		cell.Intervals = append(cell.Intervals, iv)
		show.interval(iv)
		return nil
	}))
	show.end()
	err = errors.Join(err, keep.close())
	run.Ended = env.Now()
	cell.Partial = err != nil
	run.Partial = ctx.Err() != nil && err != nil
	if o.requests > 0 || run.Partial {
		cell.Window = windowOf(*cell) // It was as long as it was.
	}
	return run, err
}

func windowOf(c record.Cell) time.Duration {
	var d time.Duration
	for _, iv := range c.Intervals {
		if iv.Phase == record.Window {
			d += iv.End - iv.Start
		}
	}
	return d
}

// expected says how far the end is, for the progress bar.
func (o *benchOptions) expected() benchEnd {
	if o.requests > 0 {
		return benchEnd{requests: o.requests}
	}
	return benchEnd{after: o.duration}
}

func benchTitle(url string, l record.Load) string {
	if l.Model == record.Open {
		return fmt.Sprintf("%s: open model, %g requests/s", url, l.RatePerSec)
	}
	return fmt.Sprintf("%s: closed model, %d users", url, l.Concurrency)
}

func (o *benchOptions) write(env Env, url string, run record.Run, result analysis.Result) error {
	cell := run.Cells[0]
	stdout := false
	for _, form := range []struct {
		file  string
		write func(io.Writer) error
	}{
		{o.intervals, func(w io.Writer) error { return writeIntervals(w, cell) }},
		{o.hdr, func(w io.Writer) error { return interchange.WriteHlog(w, cell) }},
		{o.ab, func(w io.Writer) error { return interchange.WriteAb(w, cell, interchange.AbTarget{URL: url}) }},
	} {
		if form.file == "" {
			continue
		}
		stdout = stdout || form.file == "-"
		if err := writeTo(env, form.file, form.write); err != nil {
			return err
		}
	}
	if stdout || o.out.toStdout() {
		return o.out.writeForms(env, run, result)
	}
	if err := o.out.writeForms(env, run, result); err != nil {
		return err
	}
	return printBench(env.Stdout, benchTitle(url, cell.Load), cell, result, env.style())
}
