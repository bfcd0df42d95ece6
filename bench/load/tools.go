package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// tool is a load generator: how it is called, and how the number of requests is read from what it prints.
type tool struct {
	name     string
	program  string
	args     func(url string, conns, seconds int) []string
	requests func(output []byte) (int64, error)
}

func toolbox(loadline string) []tool {
	num := strconv.Itoa
	return []tool{
		{"wrk", "wrk", func(url string, conns, seconds int) []string {
			return []string{"-t1", "-c" + num(conns), "-d" + num(seconds) + "s", "--latency", url}
		}, matching(`(\d+) requests in`)},
		{"loadline", loadline, func(url string, conns, seconds int) []string {
			return []string{"bench", url, "-c", num(conns), "-d", num(seconds) + "s", "--quiet", "--json", "-"}
		}, loadlineRequests},
		{"ab", "ab", func(url string, conns, seconds int) []string {
			return []string{"-q", "-k", "-r", "-c", num(conns), "-t", num(seconds), "-n", "100000000", url + "/"}
		}, matching(`Complete requests:\s+(\d+)`)},
		{"fortio", "fortio", func(url string, conns, seconds int) []string {
			return []string{"load", "-qps", "0", "-c", num(conns), "-t", num(seconds) + "s", "-quiet", url}
		}, matching(`All done (\d+) calls`)},
		{"hey", "hey", func(url string, conns, seconds int) []string {
			return []string{"-c", num(conns), "-z", num(seconds) + "s", url}
		}, matching(`\[200\]\s+(\d+) responses`)},
		{"vegeta", "sh", func(url string, conns, seconds int) []string {
			return []string{"-c", fmt.Sprintf("echo 'GET %s' | vegeta attack -rate=0 -max-workers=%d -duration=%ds | vegeta report", url, conns, seconds)}
		}, matching(`Requests\s+\[total, rate, throughput\]\s+(\d+)`)},
	}
}

func matching(pattern string) func([]byte) (int64, error) {
	re := regexp.MustCompile(pattern)
	return func(output []byte) (int64, error) {
		m := re.FindSubmatch(output)
		if m == nil {
			return 0, fmt.Errorf("found no %s in its output:\n%s", pattern, output)
		}
		return strconv.ParseInt(string(m[1]), 10, 64)
	}
}

func loadlineRequests(output []byte) (int64, error) {
	var result struct {
		Cells []struct {
			Outcomes map[string]int64 `json:"outcomes"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(output, &result); err != nil || len(result.Cells) != 1 {
		return 0, errors.Join(err, fmt.Errorf("found %d cells", len(result.Cells)))
	}
	return result.Cells[0].Outcomes["success"], nil
}

// find keeps the tools that are wanted and installed.
func find(all []tool, wanted []string) (out []tool, missing []string) {
	for _, t := range all {
		if len(wanted) > 0 && !slices.Contains(wanted, t.name) {
			continue
		}
		program := t.program
		if program == "sh" {
			program = t.name
		}
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, t.name)
			continue
		}
		out = append(out, t)
	}
	return out, missing
}

// build makes the loadline of this checkout.
func build(ctx context.Context, dir string) (string, error) {
	program := dir + "/loadline"
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/loadline")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	return program, cmd.Run()
}

// sample is one measurement.
type sample struct {
	perRequest float64 // µs of CPU
	requests   int64
	rss        int64 // bytes at most
}

func measure(ctx context.Context, t tool, o options, url string, conns int) (sample, error) {
	time.Sleep(settle) // Sockets of the tool before are closed by then.
	cmd := pinned(ctx, o.generator, t.program, t.args(url, conns, o.seconds)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && t.name != "loadline" { // loadline exits with 6 where figures must not be judged.
		return sample{}, fmt.Errorf("%w\n%s", err, errs.Bytes())
	}
	n, err := t.requests(out.Bytes())
	if err != nil {
		n, err = t.requests(errs.Bytes()) // fortio says it there.
	}
	if err != nil {
		return sample{}, fmt.Errorf("%w\n%s", err, errs.Bytes())
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return sample{perRequest: float64(cpu.Microseconds()) / float64(max(n, 1)), requests: n, rss: usage.Maxrss << 10}, nil
}

// pinned is a command on one core.
func pinned(ctx context.Context, core int, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "taskset", append([]string{"-c", strconv.Itoa(core), program}, args...)...)
}
