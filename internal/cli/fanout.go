package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/lab/fanout"
)

func fanoutVerb(env Env) *cobra.Command {
	c := fanout.Config{Own: new(fanout.DefaultOwn), Convert: new(fanout.DefaultConvert), Query: new(fanout.DefaultQuery), CPU: new(fanout.DefaultCPU)}
	cmd := &cobra.Command{
		Use:   "fanout",
		Short: "The nested-fan-out study's service: two pools, one waiting for the other on latches",
		Long: `GET /commission is split into --items for the pool common. Each of its tasks makes a remote call (--own), gives
--conversions to the pool select and waits for them on a latch, then --queries likewise. Every conversion and query also
computes for --cpu. With --self-wait they go to common itself, which then waits for its own tasks: starvation.
GET /ready and /metrics answer at once; /debug/pprof/goroutine?debug=2 shows what each worker waits for.`,
		Example: `  loadline lab fanout
  loadline lab fanout --common 10 --select 20
  loadline lab fanout --common 8 --self-wait`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := nameWorkers(); err != nil {
				return err
			}
			return serve(cmd.Context(), env, "fanout", func() (*fanout.Service, error) { return fanout.New(c) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Listen, "listen", fanout.DefaultListen, "`HOST:PORT` to listen on; port 0 takes a free one")
	f.IntVar(&c.Common, "common", fanout.DefaultCommon, "workers for items")
	f.IntVar(&c.Select, "select", fanout.DefaultSelect, "workers for conversions and queries")
	f.IntVar(&c.Queue, "queue", fanout.DefaultQueue, "tasks that may wait in each pool")
	f.IntVar(&c.Items, "items", fanout.DefaultItems, "items of a request")
	f.IntVar(&c.Conversions, "conversions", fanout.DefaultConversions, "of an item, in parallel on select")
	f.IntVar(&c.Queries, "queries", fanout.DefaultQueries, "of an item, in parallel on select, after the conversions")
	for _, d := range []struct {
		into        *time.Duration
		name, usage string
	}{{c.Own, "own", "an item's own remote call"}, {c.Convert, "convert", "a conversion's remote call"}, {c.Query, "query", "a query"},
		{c.CPU, "cpu", "computing in each conversion and query"}} {
		f.DurationVar(d.into, d.name, *d.into, d.usage)
	}
	f.DurationVar(&c.Timeout, "timeout", fanout.DefaultTimeout, "of a request")
	f.BoolVar(&c.SelfWait, "self-wait", false, "give conversions and queries to common itself")
	return cmd
}

// nameWorkers lets goroutine dumps of this process tell pool and worker of each goroutine. The runtime follows the variable while it runs.
func nameWorkers() error {
	const setting = "tracebacklabels=1"
	if before := os.Getenv("GODEBUG"); before != "" {
		return os.Setenv("GODEBUG", before+","+setting)
	}
	return os.Setenv("GODEBUG", setting)
}
