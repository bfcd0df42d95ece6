package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/lab/jvm"
	"github.com/loadline-dev/loadline/internal/lab/tomcat"
)

func jvmVerb(env Env) *cobra.Command {
	var listen string
	numbers := map[string]*int{}
	var sleep time.Duration
	cmd := &cobra.Command{
		Use:   "jvm",
		Short: "A small Java service of the JDK alone: pool, semaphore, fan-out with latches, hot formatter",
		Long: `Becomes a JVM that serves GET /pool (a ThreadPoolExecutor), /semaphore, /fanout (two pools, latches) and /format (a date formatter under
one lock). GET /ready and /metrics answer at once. It needs a JDK on the PATH.`,
		Example: `  loadline lab jvm
  loadline lab jvm --workers 10 --queue 6`,
		Args: exactly(),
		RunE: func(_ *cobra.Command, _ []string) error {
			arguments := []string{"--listen=" + listen, fmt.Sprintf("--sleep=%d", sleep.Milliseconds())}
			for name, n := range numbers {
				arguments = append(arguments, fmt.Sprintf("--%s=%d", name, *n))
			}
			return becomeJava(env, jvm.Service(), arguments)
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8086", "`HOST:PORT` to listen on")
	f.DurationVar(&sleep, "sleep", 20*time.Millisecond, "how long the work takes, in whole milliseconds")
	for _, n := range []struct {
		name  string
		value int
		usage string
	}{{"workers", 20, "of the pool work"}, {"queue", 100, "tasks that may wait for it"}, {"permits", 20, "of the semaphore"},
		{"common", 8, "workers of the fan-out's first pool"}, {"select", 12, "and of its second"}, {"container", 200, "threads that answer requests"}} {
		numbers[n.name] = f.Int(n.name, n.value, n.usage)
	}
	return cmd
}

func tomcatVerb(env Env) *cobra.Command {
	var listen, metrics, library string
	var threads, accept int
	var sleep time.Duration
	cmd := &cobra.Command{
		Use:   "tomcat",
		Short: "A real Tomcat with a servlet that sleeps",
		Long: `Becomes a JVM with an embedded Tomcat: GET /sleep holds one of --max-threads for --sleep. Metrics have the names that Micrometer gives
Tomcat's, and are served at --metrics, so that a full connector does not hide them. It needs a JDK on the PATH and Tomcat's
library (Debian: default-jdk-headless, libtomcat10-java).`,
		Example: `  loadline lab tomcat --max-threads 50
  loadline run scenarios/tomcat.yaml --quick`,
		Args: exactly(),
		RunE: func(_ *cobra.Command, _ []string) error {
			program, err := tomcat.Program(library)
			if err != nil {
				return fail(Usage, err, "")
			}
			return becomeJava(env, program, []string{"--listen=" + listen, "--metrics=" + metrics, fmt.Sprintf("--max-threads=%d", threads),
				fmt.Sprintf("--accept-count=%d", accept), fmt.Sprintf("--sleep=%d", sleep.Milliseconds())})
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8087", "`HOST:PORT` to listen on")
	f.StringVar(&metrics, "metrics", "127.0.0.1:8088", "`HOST:PORT` of /metrics")
	f.IntVar(&threads, "max-threads", 200, "the connector's maxThreads")
	f.IntVar(&accept, "accept-count", 100, "connections that may wait to be accepted")
	f.DurationVar(&sleep, "sleep", 20*time.Millisecond, "how long the servlet sleeps, in whole milliseconds")
	f.StringVar(&library, "library", tomcat.DefaultLibrary, "the `FOLDER` with Tomcat's jars")
	return cmd
}

// becomeJava makes this process the JVM.
func becomeJava(env Env, program jvm.Program, arguments []string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	err = program.Exec(filepath.Join(cache, "loadline", "lab"), arguments, env.Environ)
	if errors.Is(err, jvm.ErrNoJava) {
		return fail(Usage, err, "")
	}
	return err
}
