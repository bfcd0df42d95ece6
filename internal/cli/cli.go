// Package cli is the command line: verbs, flags, exit codes, and the words said to people. Results go to stdout; progress, notes and
// errors to stderr. Each verb is a file of its own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/experiment"
	"github.com/loadline-dev/loadline/internal/report"
)

// Env is everything that a command takes from its surroundings.
type Env struct {
	Args    []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string
	Dir     string           // where relative paths begin
	Now     func() time.Time // the wall clock
}

// Run carries out the command line and returns the exit code. The first interrupt ends a verb gracefully, the second kills.
func Run(ctx context.Context, env Env) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // After the first interrupt a further one has its default effect.
	root := newRoot(env)
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return int(Done)
	}
	var verdict *verdictError
	if errors.As(err, &verdict) {
		return int(verdict.code) // Already told with the results.
	}
	explain(env.Stderr, err)
	return int(codeOf(err))
}

// verdictError ends a verb with a code and without a message: the results that were printed say it.
type verdictError struct{ code Code }

func (v *verdictError) Error() string { return fmt.Sprintf("exit %d", v.code) }

// exitWith turns a code into what a verb returns.
func exitWith(code Code) error {
	if code == Done {
		return nil
	}
	return &verdictError{code: code}
}

// explain writes an error as «Error:» and, where there is advice, «Try:». What it quotes may come from anywhere.
func explain(w io.Writer, err error) {
	lines := strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
	for i, l := range lines {
		lines[i] = report.Plain(l)
	}
	fmt.Fprintf(w, "Error: %s\n", strings.Join(lines, "\n"))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(w, "Try: %s\n", hint)
	}
}

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "loadline VERB",
		Short: "Find the largest load a service carries within its SLO, and the limit that binds there",
		Long: `Loadline finds the load line of a service: the largest load it carries within its SLO, names the limit
that binds there with evidence, and keeps every run in an archive.

Results go to stdout, progress and notes to stderr. Exit codes: 0 done and the SLO, if one was given, holds;
1 internal fault; 2 usage; 3 invalid plan or configuration; 4 target unreachable; 5 SLO missed or regression;
6 no evidence; 7 interrupted, results kept; 8 archive unreadable.`,
		Example: `  loadline run scenarios/order-detail.yaml --quick
  loadline bench http://127.0.0.1:8080/ -c 200 -d 10s
  loadline find http://127.0.0.1:8080/ --slo 'p99<100ms,success>99.9%'
  loadline size --rate 3000 --service-time 20ms --slo 'p99<100ms'
  loadline audit figures.csv`,
		Version:       experiment.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetIn(env.Stdin)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fail(Usage, err, fmt.Sprintf("see '%s --help'", cmd.CommandPath()))
	})
	for _, verb := range verbs(env) {
		root.AddCommand(verb)
	}
	return root
}

// noVerb refuses a word that is no verb, naming the nearest ones.
func noVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see 'loadline --help' for the verbs"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
	}
	return usagef(hint, "unknown verb %q", args[0])
}

// exactly is the check of the number of arguments, as a usage fault.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		want := strings.Join(names, " ")
		if want == "" {
			want = "none"
		}
		return usagef(fmt.Sprintf("see '%s --help'", cmd.CommandPath()), "%s: arguments: found %d, want %s", cmd.CommandPath(), len(args), want)
	}
}

// path makes a user's path absolute.
func (e Env) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.Dir, name)
}

// variable finds an environment variable.
func (e Env) variable(name string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return v
		}
	}
	return ""
}
