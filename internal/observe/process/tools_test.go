package process_test

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/record"
)

// pidstat runs the tool beside our own looks and returns the figures of its averages by column name, summed over the lines.
func pidstat(t *testing.T, seconds int, args ...string) map[string]float64 {
	t.Helper()
	path, err := exec.LookPath("pidstat")
	if err != nil {
		t.Skip("pidstat is not installed (Debian: sysstat)")
	}
	cmd := exec.Command(path, append(args, strconv.Itoa(seconds), "1")...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C", "S_COLORS=never")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pidstat: %v", err)
	}
	sums := map[string]float64{}
	var columns []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) > 3 && f[1] == "UID" {
			columns = f
		}
		const leader = "-" // The line of the whole process repeats its first thread.
		if len(f) < 4 || f[0] != "Average:" || f[1] == "UID" || f[3] == leader {
			continue
		}
		for i, name := range columns {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				sums[name] += v
			}
		}
	}
	if len(sums) == 0 {
		t.Fatalf("pidstat said nothing:\n%s", out)
	}
	return sums
}

func TestFiguresAgreeWithPidstat(t *testing.T) {
	pid := many(t, 60, 40) // 40 threads that sleep 5 ms at a time: some 8000 switches/s.
	c := collector(t, pid)
	take := func() record.ProcessSample {
		b, err := c.Collect(context.Background(), clock)
		if err != nil {
			t.Fatal(err)
		}
		return b.Processes[0]
	}
	const seconds = 2
	before := take()
	switches := pidstat(t, seconds, "-w", "-t", "-p", strconv.Itoa(pid))
	after := take()
	elapsed := (after.At - before.At).Seconds()
	near(t, "voluntary switches/s", float64(after.Voluntary-before.Voluntary)/elapsed, switches["cswch/s"], 0.15)

	before = take()
	use := pidstat(t, seconds, "-u", "-r", "-p", strconv.Itoa(pid))
	after = take()
	elapsed = (after.At - before.At).Seconds()
	cpu := (after.CPUUser + after.CPUSystem - before.CPUUser - before.CPUSystem).Seconds() / elapsed * 100
	if want := use["%CPU"]; cpu < want-5 || cpu > want+5 {
		t.Errorf("CPU %.1f %%, pidstat says %.1f %%", cpu, want)
	}
	near(t, "RSS in KiB", float64(after.RSSBytes)/1024, use["RSS"], 0.1)
}

// near allows a ratio: the two tools do not look at the same instants.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if want <= 0 || got < want*(1-tolerance) || got > want*(1+tolerance) {
		t.Errorf("%s: %.0f, pidstat says %.0f", what, got, want)
	}
}
