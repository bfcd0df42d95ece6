package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/cli.md anew")

// testEnv is a surrounding in which commands can be built and looked at.
func testEnv(t *testing.T) Env {
	return Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Dir: t.TempDir(), Now: time.Now}
}

// TestTheManualIsWhatHelpSays holds docs/cli.md to the definition from which help comes: go test ./internal/cli -run Manual -update writes it.
func TestTheManualIsWhatHelpSays(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Command line\n\nWritten from the commands' own definitions by `go test ./internal/cli -run Manual -update`; exit codes are in [exit-codes.md](exit-codes.md).\n")
	root := newRoot(testEnv(t))
	for _, verb := range root.Commands() {
		manual(&b, verb, 2)
	}
	file := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s differs from what help says: write it anew with -update", file)
	}
}

func manual(b *strings.Builder, cmd *cobra.Command, depth int) {
	if cmd.Hidden || cmd.Name() == "help" {
		return
	}
	fmt.Fprintf(b, "\n%s %s\n\n%s.\n\n```\n%s\n```\n\n%s\n", strings.Repeat("#", depth), cmd.CommandPath(), cmd.Short, cmd.UseLine(), cmd.Long)
	if cmd.Example != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", cmd.Example)
	}
	if flags := cmd.NonInheritedFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(b, "\n```\n%s```\n", flags)
	}
	for _, sub := range cmd.Commands() {
		manual(b, sub, depth+1)
	}
}

func TestEveryCommandHasExamplesAndWords(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() != "help" && (cmd.Short == "" || cmd.Long == "" || cmd.Example == "") {
			t.Errorf("%s: short %v, long %v, examples %v", cmd.CommandPath(), cmd.Short != "", cmd.Long != "", cmd.Example != "")
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(testEnv(t)))
}

// TestEveryExampleIsACommandThatExists holds each line of each example to the flags that its command has.
func TestEveryExampleIsACommandThatExists(t *testing.T) {
	root := newRoot(testEnv(t))
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			if _, after, ok := strings.Cut(line, "loadline "); ok {
				checkExample(t, root, after)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

func checkExample(t *testing.T, root *cobra.Command, line string) {
	t.Helper()
	words := strings.Fields(strings.SplitN(line, "|", 2)[0])
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		t.Errorf("%q: no such command", line)
		return
	}
	for _, w := range rest {
		name, long := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		switch {
		case long && name != "" && cmd.Flags().Lookup(name) == nil:
			t.Errorf("%q: %s has no flag --%s", line, cmd.CommandPath(), name)
		case !long && len(w) == 2 && w[0] == '-' && cmd.Flags().ShorthandLookup(w[1:]) == nil:
			t.Errorf("%q: %s has no flag %s", line, cmd.CommandPath(), w)
		}
	}
}
