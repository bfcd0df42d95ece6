package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis/sizing"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
)

// sizeOptions are the flags of size that need more than a copy.
type sizeOptions struct {
	in        sizing.Input
	kind, slo string
	jsonFile  string
}

func sizeVerb(env Env) *cobra.Command {
	var opt sizeOptions
	cmd := &cobra.Command{
		Use:   "size --rate R --service-time D",
		Short: "Size a pool from figures, with the arithmetic",
		Long: `Computes workers, queue and timeout of a pool from a rate and a service time (Little's law with a safety factor), capped by
the downstream's connections over all replicas, and, given an SLO, what it asks by the M/M/c formulas. Every step is shown.
A wish that no size meets is said to be infeasible; the exit code is 0 with caveats. Figures are where measuring starts.`,
		Example: `  loadline size --rate 3000 --service-time 20ms
  loadline size --rate 3000 --service-time 20ms --slo 'p99<100ms' --downstream 40 --cores 4
  loadline size --rate 200 --service-time 5ms --kind cpu --cores 2 --json -`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return size(env, opt) },
	}
	f := cmd.Flags()
	in := &opt.in
	f.Float64Var(&in.RatePerSec, "rate", 0, "requests per second of the whole service (required)")
	f.DurationVar(&in.ServiceTime, "service-time", 0, "mean time for which one request holds one worker (required)")
	f.DurationVar(&in.ServiceP99, "service-p99", 0, "p99 of the service time (default: that of an exponential one)")
	f.Float64Var(&in.Safety, "safety", sizing.DefaultSafety, "factor on Little's law, usually 1.5 to 2")
	f.StringVar(&opt.kind, "kind", string(sizing.IO), "what the service time is spent on: io or cpu")
	f.Float64Var(&in.Cores, "cores", 0, "cores of one replica")
	f.DurationVar(&in.CPUTime, "cpu-time", 0, "CPU time of one request (default with --kind cpu: the service time)")
	f.IntVar(&in.Replicas, "replicas", 1, "replicas among which the rate is shared")
	f.IntVar(&in.Downstream, "downstream", 0, "connections that the downstream allows over all replicas")
	f.DurationVar(&in.DownstreamTime, "downstream-time", 0, "part of the service time with a connection held (default: all of it)")
	f.StringVar(&opt.slo, "slo", "", "objective, such as 'p99<100ms'")
	f.DurationVar(&in.LatencyBudget, "latency-budget", 0, "longest response allowed (default: the objective's)")
	f.DurationVar(&in.Timeout, "timeout", 0, "the timeout in force, to be checked")
	f.IntVar(&in.BreakerVolume, "breaker-volume", 0, "requests in the window before the breaker may open")
	f.DurationVar(&in.BreakerWindow, "breaker-window", sizing.DefaultBreakerWindow, "the breaker's window")
	f.StringVar(&opt.jsonFile, "json", "", "write loadline.size/1 to this `FILE` (- for stdout)")
	return cmd
}

func size(env Env, opt sizeOptions) error {
	in := opt.in
	in.Kind = sizing.Kind(opt.kind)
	if opt.slo != "" {
		objective, err := slo.Parse(opt.slo)
		if err != nil {
			return fail(Usage, fmt.Errorf("--slo: %w", err), "write it like 'p99<100ms,success>99.9%'")
		}
		in.SLO = objective
	}
	if err := in.Validate(); err != nil {
		return fail(Usage, err, "see 'loadline size --help'")
	}
	result, err := sizing.Size(in)
	if err != nil {
		return fail(Usage, err, "see 'loadline size --help'")
	}
	if opt.jsonFile != "" {
		if err := writeJSON(env, opt.jsonFile, result); err != nil || opt.jsonFile == "-" {
			return err
		}
	}
	printSize(env.Stdout, result)
	return nil
}

func printSize(w io.Writer, r sizing.Result) {
	fmt.Fprintf(w, "workers  %d (at least %d)", r.Workers.Recommended, r.Workers.Minimum)
	if r.WorkersCap != nil {
		fmt.Fprintf(w, ", capped at %d by the downstream", *r.WorkersCap)
	}
	fmt.Fprintf(w, "\nqueue    %d\ntimeout  %.4g ms\n", r.Queue, r.TimeoutMS)
	if r.CoresNeed != nil {
		fmt.Fprintf(w, "cores    %.2f needed\n", *r.CoresNeed)
	}
	if r.Objective != nil {
		fmt.Fprintf(w, "SLO      %s: %s\n", r.Objective.Text, objectiveText(*r.Objective))
	}
	fmt.Fprintf(w, "\nSteps\n")
	for _, s := range r.Steps {
		fmt.Fprintf(w, "  %s\n", s)
	}
	if len(r.Caveats) > 0 {
		fmt.Fprintf(w, "\nCaveats\n")
	}
	for _, c := range r.Caveats {
		fmt.Fprintf(w, "  %s: %s\n", c.Code, strings.TrimSpace(c.Text))
	}
}

// objectiveText is what the sizing says of the objective.
func objectiveText(o sizing.Objective) string {
	switch {
	case o.Workers == nil && !o.Feasible:
		return "infeasible at any size"
	case o.Workers == nil:
		return "does not bound the size"
	case !o.Feasible:
		return fmt.Sprintf("needs %d workers, and does not hold with these", *o.Workers)
	default:
		return fmt.Sprintf("from %d workers up", *o.Workers)
	}
}
