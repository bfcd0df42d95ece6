package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/lab/echo"
	"github.com/loadline-dev/loadline/internal/lab/sleep"
)

func echoVerb(env Env) *cobra.Command {
	var listen string
	var size int
	cmd := &cobra.Command{
		Use:   "echo",
		Short: "A fixed answer as cheap as can be, to measure load generators against",
		Long: `Answers every GET, HEAD, POST and PUT with a body of --size bytes, on one thread with an event loop of its own, so that the
generator and not the service is the limit.`,
		Example: `  loadline lab echo
  loadline lab echo --listen 127.0.0.1:9000 --size 1024`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), env, "echo", func() (*echo.Service, error) {
				return echo.New(echo.Config{Listen: listen, Size: &size})
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", echo.DefaultListen, "`HOST:PORT` to listen on; port 0 takes a free one")
	cmd.Flags().IntVar(&size, "size", echo.DefaultSize, fmt.Sprintf("length of the body in bytes, 0 to %d", echo.MaxSize))
	return cmd
}

func sleepVerb(env Env) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "sleep",
		Short: "A service of known truth: answers a stated time after the kernel received the request",
		Long: `GET /sleep/MS answers MS milliseconds after the kernel's receive stamp of the request, whatever the service itself did in
between: what a load generator reports beyond that is its own error.`,
		Example: `  loadline lab sleep
  loadline bench http://127.0.0.1:8091/sleep/20 -c 200`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), env, "sleep", func() (*sleep.Service, error) {
				return sleep.New(sleep.Config{Listen: listen})
			})
		},
	}
	cmd.Flags().StringVar(&listen, "listen", sleep.DefaultListen, "`HOST:PORT` to listen on; port 0 takes a free one")
	return cmd
}
