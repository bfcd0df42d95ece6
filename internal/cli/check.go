package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/lint"
	"github.com/loadline-dev/loadline/internal/parse/settings"
)

// maxConfig bounds a configuration file.
const maxConfig = 16 << 20

func checkVerb(env Env) *cobra.Command {
	var jsonFile string
	cmd := &cobra.Command{
		Use:   "check CONFIG…",
		Short: "Lint pool, breaker and gateway settings before any load is sent",
		Long: `Reads configuration files, understands their limits together, and says which settings cannot do what they read: a maximum
dead behind a queue, a timeout below the wait, retries that outlast their caller, permits below workers, pools above what the
downstream bears. Each finding names the keys and lines, the arithmetic and the mend, and each way of a call its binding limit.

Read are Spring YAML and .properties (Tomcat, Zuul, Ribbon, Hystrix, resilience4j, dynamic-tp, HikariCP, Jedis, Lettuce),
Hystrix properties alone, and Loadline's own settings documents (YAML or JSON). Several files are read together; where two set
a key, the later wins. Exit 3 where a setting cannot do its work, 0 with warnings.`,
		Example: `  loadline check application.yml
  loadline check zuul.yml limits.yaml
  loadline check hystrix.properties --json -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("see 'loadline check --help'", "loadline check: at least one CONFIG is needed")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return check(env, args, jsonFile) },
	}
	cmd.Flags().StringVar(&jsonFile, "json", "", "write loadline.findings/1 to this `FILE` (- for stdout)")
	return cmd
}

func check(env Env, names []string, jsonFile string) error {
	var files []settings.File
	for _, name := range names {
		text, err := readConfig(env, name)
		if err != nil {
			return err
		}
		files = append(files, settings.File{Name: name, Text: text})
	}
	system, err := settings.Read(files...)
	if err != nil {
		return fail(Invalid, err, "'loadline check --help' lists the files that are read")
	}
	report := lint.Check(system)
	if jsonFile != "" {
		if err := writeJSON(env, jsonFile, report); err != nil {
			return err
		}
	}
	if jsonFile != "-" {
		printCheck(env.Stdout, report)
	}
	if len(report.Errors()) > 0 {
		return exitWith(Invalid)
	}
	return nil
}

func readConfig(env Env, name string) ([]byte, error) {
	f, err := os.Open(env.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(Usage, fmt.Errorf("%s does not exist", name), "name a configuration file")
	}
	if err != nil {
		return nil, fail(Usage, err, "")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fail(Usage, fmt.Errorf("read %s: %w", name, err), "name a file, not a folder")
	}
	if len(text) > maxConfig {
		return nil, fail(Invalid, fmt.Errorf("%s: more than %d MiB", name, maxConfig>>20), "name a configuration file")
	}
	return text, nil
}

func printCheck(w io.Writer, r lint.Report) {
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s%s: %s [%s]\n", place(f.File, f.Line), severityWord(f.Severity), f.Text, f.Code)
		if len(f.Keys) > 0 {
			fmt.Fprintf(w, "    keys: %s\n", strings.Join(f.Keys, ", "))
		}
		if f.Next != "" {
			fmt.Fprintf(w, "    mend: %s\n", f.Next)
		}
	}
	for _, c := range r.Chains {
		fmt.Fprintf(w, "\n%s: limits from the client inwards\n", c.Name)
		for i, h := range c.Hops {
			mark := " "
			if i == c.Binding {
				mark = "*"
			}
			beyond := h.Beyond
			if beyond == "refused" {
				beyond = "is refused" // «waits» stands as it is.
			}
			fmt.Fprintf(w, "  %s %6d  %s (%s); the next one %s\n", mark, h.Slots, h.What, h.Key, beyond)
		}
	}
	if r.Binding != nil {
		fmt.Fprintf(w, "\nbinding limit: %s\n", *r.Binding)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, "nothing found")
	}
}

func severityWord(s finding.Severity) string {
	if s == finding.Critical {
		return "error"
	}
	return string(s)
}

func place(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return file + ": "
	default:
		return fmt.Sprintf("%s:%d: ", file, line)
	}
}
