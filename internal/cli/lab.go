package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/lab/order"
	"github.com/loadline-dev/loadline/internal/lab/price"
)

func labVerb(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab SERVICE",
		Short: "Run one of the studies' services",
		Long: `Runs one of the services of the studies that Loadline reproduces, until it is interrupted. Scenarios start them by
themselves; by hand they serve to try a load or a tool against.`,
		Example: `  loadline lab price --sleep 20ms
  loadline lab order --isolation thread --slots 10
  curl -i http://127.0.0.1:8081/api/order/detail`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("'loadline lab --help' lists the services", "no lab service %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, service := range []*cobra.Command{priceVerb(env), orderVerb(env), echoVerb(env), sleepVerb(env), providerVerb(env), fanoutVerb(env), faultsVerb(env), jvmVerb(env), tomcatVerb(env)} {
		cmd.AddCommand(service)
	}
	return cmd
}

// server is a lab service that listens.
type server interface {
	Addr() net.Addr
	Run(ctx context.Context) error
}

// serve says where a service listens and runs it until the end.
func serve[S server](ctx context.Context, env Env, name string, start func() (S, error)) error {
	s, err := start()
	if errors.Is(err, syscall.EADDRINUSE) {
		return fail(Unreachable, err, "stop what listens there, or choose another port with --listen")
	}
	if told := (*fault)(nil); errors.As(err, &told) {
		return err
	}
	if err != nil {
		return fail(Usage, err, fmt.Sprintf("see 'loadline lab %s --help'", name))
	}
	fmt.Fprintf(env.Stderr, "%s listens on http://%s\n", name, s.Addr())
	return s.Run(ctx)
}

func priceVerb(env Env) *cobra.Command {
	var listen string
	var sleep time.Duration
	cmd := &cobra.Command{
		Use:   "price",
		Short: "The order-detail study's dependency: answers after a fixed time",
		Long: `GET /circuit/price answers after --sleep, counted from the instant the request was read: never before, and within half a
millisecond of it on an idle core. GET /ready and /metrics answer at once.`,
		Example: `  loadline lab price
  loadline lab price --listen 127.0.0.1:9000 --sleep 300ms`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), env, "price", func() (*price.Service, error) {
				return price.New(price.Config{Listen: listen, Sleep: &sleep})
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", price.DefaultListen, "`HOST:PORT` to listen on; port 0 takes a free one")
	cmd.Flags().DurationVar(&sleep, "sleep", price.DefaultSleep, "how long a price takes")
	return cmd
}

func orderVerb(env Env) *cobra.Command {
	var c order.Config
	var isolation string
	var queue, threshold int
	cmd := &cobra.Command{
		Use:   "order",
		Short: "The order-detail study's service, with the isolation asked for",
		Long: `GET /api/order/detail calls the dependency over pooled connections, bounded by --isolation:
  none       as many calls as requests
  thread     a pool of --slots workers with a queue of --queue, refused from --threshold waiting tasks on
  semaphore  --slots permits; the request's own goroutine does the work
A refusal is answered 503, a timeout 504, each with the header X-Loadline-Outcome. GET /ready and /metrics answer at once.`,
		Example: `  loadline lab order
  loadline lab order --isolation thread --slots 10
  loadline lab order --isolation semaphore --slots 30 --status-500`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.Timeout <= 0 {
				return usagef("see 'loadline lab order --help'", "--timeout: found %v, want more than 0", c.Timeout)
			}
			c.Isolation = order.Isolation(isolation)
			if cmd.Flags().Changed("queue") {
				c.Queue = &queue
			}
			if cmd.Flags().Changed("threshold") {
				c.Threshold = &threshold
			}
			return serve(cmd.Context(), env, "order", func() (*order.Service, error) { return order.New(c) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Listen, "listen", order.DefaultListen, "`HOST:PORT` to listen on; port 0 takes a free one")
	f.StringVar(&c.Price, "price", order.DefaultPrice, "`URL` of the dependency")
	f.StringVar(&isolation, "isolation", string(order.None), "none, thread or semaphore")
	f.IntVar(&c.Slots, "slots", 0, "workers (core and max alike) or permits; 0 with none")
	f.IntVar(&queue, "queue", order.DefaultQueue, "tasks that may wait for a worker (thread only)")
	f.IntVar(&threshold, "threshold", order.DefaultQueue, "refuse from this many waiting tasks on (thread only; default: as --queue)")
	f.DurationVar(&c.Timeout, "timeout", order.DefaultTimeout, "of a call of the dependency, its queue wait included")
	f.BoolVar(&c.Status500, "status-500", false, "answer 500 to everything that is not a success, as the Java service did")
	return cmd
}
