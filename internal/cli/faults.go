package cli

import (
	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/lab/faults"
)

func faultsVerb(env Env) *cobra.Command {
	var c faults.Config
	var fault string
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "A service with one known fault at a time, to try a diagnosis against",
		Long: `GET /work is done by a pool whose workers take a connection and call a dependency that takes 20 ms. --fault says what is wrong:
  healthy      nothing
  leak         every eighth request leaves a thread behind
  backlog      four core workers before an unbounded queue: the maximum of 20 is never reached
  rejection    four workers and a queue of four: the rest is refused
  switch       each request is handed sixty times to and fro between two threads
  starvation   eight workers wait for tasks of their own pool
  lock         4 ms of every task run under one lock
  slow         the dependency serves four calls at a time
  connections  four connections for twenty workers
  zombie       callers leave after 60 ms, and a third of the tasks takes 200 ms all the same
  small-pool   four workers and a queue of 200
GET /ready and /metrics answer at once; /debug/pprof/goroutine?debug=2 shows what each worker waits for.`,
		Example: `  loadline lab faults --fault lock
  loadline run scenarios/faults.yaml --quick`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Fault = faults.Fault(fault)
			if err := nameWorkers(); err != nil {
				return err
			}
			return serve(cmd.Context(), env, "faults", func() (*faults.Service, error) { return faults.New(c) })
		},
	}
	cmd.Flags().StringVar(&c.Listen, "listen", faults.DefaultListen, "`HOST:PORT` to listen on; port 0 takes a free one")
	cmd.Flags().StringVar(&fault, "fault", string(faults.Healthy), "one of "+faults.Names())
	return cmd
}
