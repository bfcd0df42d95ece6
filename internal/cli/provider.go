package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/lab/provider"
)

func providerVerb(env Env) *cobra.Command {
	var c provider.Config
	var mode string
	cmd := &cobra.Command{
		Use:   "provider",
		Short: "The provider study's RPC service: a user record from Redis, on a cached or fixed pool",
		Long: `GET /user?id=N (1 to 1000) reads a record from Redis on a business pool:
  cached  20 core workers, 200 at most, those beyond core kept for a minute
  fixed   --size workers
with --queue places before a call is refused. The same method is served over a length-prefixed binary protocol on --rpc.
A refusal is answered 503, a timeout 504, each with the header X-Loadline-Outcome. GET /ready and /metrics answer at once.

Redis must be there when the provider starts, which writes the records. Where none can be installed, --embedded-redis keeps
them in this process behind a stand-in; its figures are not those of a Redis.`,
		Example: `  loadline lab provider --redis 127.0.0.1:6379
  loadline lab provider --pool fixed --size 16 --queue 16 --embedded-redis
  curl -i 'http://127.0.0.1:8083/user?id=1'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Mode = provider.Mode(mode)
			if c.Embedded {
				fmt.Fprintln(env.Stderr, "note: the records are in a stand-in inside this process, not in a Redis")
			}
			return serve(cmd.Context(), env, "provider", func() (*provider.Service, error) {
				s, err := provider.New(cmd.Context(), c)
				switch {
				case errors.Is(err, provider.ErrRedis):
					return nil, fail(Unreachable, err, "start 'redis-server --port 6379 --save \"\"', or name another with --redis")
				case err == nil:
					fmt.Fprintf(env.Stderr, "provider takes calls of the binary protocol on %s\n", s.RPCAddr())
				}
				return s, err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Listen, "listen", provider.DefaultListen, "`HOST:PORT` of HTTP; port 0 takes a free one")
	f.StringVar(&c.RPC, "rpc", provider.DefaultRPC, "`HOST:PORT` of the binary protocol; port 0 takes a free one")
	f.StringVar(&mode, "pool", string(provider.Cached), "cached or fixed")
	f.IntVar(&c.Size, "size", 0, "workers of a fixed pool")
	f.IntVar(&c.Queue, "queue", 0, "calls that may wait for a worker")
	f.BoolVar(&c.OSThreads, "os-threads", false, "an operating-system thread for every worker")
	f.StringVar(&c.Redis, "redis", "", "`HOST:PORT` of Redis (default "+provider.DefaultRedis+")")
	f.BoolVar(&c.Embedded, "embedded-redis", false, "keep the records in this process: only where no Redis can be installed")
	f.IntVar(&c.Connections, "connections", provider.DefaultConnections, "most connections to Redis")
	f.IntVar(&c.Work, "work", 0, "`KiB` that a call runs a checksum over, about 1 µs of CPU each")
	f.DurationVar(&c.Timeout, "timeout", provider.DefaultTimeout, "of a call, its queue wait included")
	return cmd
}
