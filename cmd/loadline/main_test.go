package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is the path of the binary under test, built once by TestMain.
var program string

func TestMain(m *testing.M) {
	os.Exit(withProgram(m))
}

func withProgram(m *testing.M) int {
	dir, err := os.MkdirTemp("", "loadline-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "loadline")
	build := exec.Command("go", "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// outcome is what one execution of the program came to.
type outcome struct {
	code           int
	stdout, stderr string
}

// loadline runs the program in the module's root and waits for its end.
func loadline(t *testing.T, limit time.Duration, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+t.TempDir())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("loadline %s: %v", strings.Join(args, " "), err)
	}
	if ctx.Err() != nil {
		t.Fatalf("loadline %s: not done within %v\n%s", strings.Join(args, " "), limit, stderr.String())
	}
	return outcome{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// result is the part of loadline.run/1 that these tests read, spelled as the format's document has it and not as the code does.
type result struct {
	Schema  string `json:"schema"`
	Partial bool   `json:"partial"`
	Cells   []cell `json:"cells"`
}

type cell struct {
	Setting struct {
		Isolation string `json:"isolation"`
		Slots     int    `json:"slots"`
	} `json:"setting"`
	Repeat int `json:"repeat"`
	Load   struct {
		Concurrency int `json:"concurrency"`
	} `json:"load"`
	Window struct {
		Seconds float64 `json:"seconds"`
	} `json:"window"`
	Outcomes map[string]int64 `json:"outcomes"`
	Planned  int64            `json:"planned"`
	Rates    struct {
		Completed float64 `json:"completed_per_s"`
		Success   float64 `json:"success_per_s"`
	} `json:"rates"`
	Latency struct {
		P99 *float64 `json:"p99"`
	} `json:"latency_ms"`
	LatencyAll struct {
		Mean *float64 `json:"mean"`
	} `json:"latency_all_ms"`
	RejectedRatio *float64 `json:"rejected_ratio"`
	Services      map[string]struct {
		CPURatio *float64 `json:"cpu_ratio"`
		Threads  *float64 `json:"threads"`
		RSSBytes *float64 `json:"rss_bytes"`
		Switches struct {
			Voluntary   *float64 `json:"voluntary"`
			Involuntary *float64 `json:"involuntary"`
		} `json:"context_switches_per_s"`
		Pools map[string]struct {
			Kind      string   `json:"kind"`
			ActiveMax *float64 `json:"active_max"`
			Completed *float64 `json:"completed"`
		} `json:"pools"`
	} `json:"services"`
	Caveats  []coded `json:"caveats"`
	Findings []coded `json:"findings"`
}

type coded struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func (c cell) name() string {
	return fmt.Sprintf("%s %d at %d", c.Setting.Isolation, c.Setting.Slots, c.Load.Concurrency)
}

func has(list []coded, code string) bool {
	for _, c := range list {
		if c.Code == code {
			return true
		}
	}
	return false
}

func readResult(t *testing.T, path string) result {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if r.Schema != "loadline.run/1" || len(r.Cells) == 0 {
		t.Fatalf("%s: schema %q with %d cells", path, r.Schema, len(r.Cells))
	}
	return r
}
