package host_test

import (
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/host"
)

func look(t *testing.T, c observe.Collector) map[string]float64 {
	t.Helper()
	b, err := c.Collect(t.Context(), observe.Since(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, s := range b.Series {
		if s.Source != host.Source {
			t.Errorf("source %q", s.Source)
		}
		out[s.Name] = s.Value
	}
	return out
}

func collector(t *testing.T, c host.Config) *host.Collector {
	t.Helper()
	out, err := host.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tool runs a program for some seconds and returns its lines.
func tool(t *testing.T, name string, args ...string) [][]string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed (Debian: sysstat, procps)")
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C", "S_COLORS=never")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var lines [][]string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func TestContextSwitchesAgreeWithVmstat(t *testing.T) {
	c := collector(t, host.Config{})
	const seconds = 2
	start := time.Now()
	before := look(t, c)
	lines := tool(t, "vmstat", strconv.Itoa(seconds), "2")
	after := look(t, c)
	elapsed := time.Since(start).Seconds()
	header, last := lines[1], lines[len(lines)-1]
	for i, name := range header {
		if name != "cs" {
			continue
		}
		want, err := strconv.ParseFloat(last[i], 64)
		if err != nil {
			t.Fatal(err)
		}
		got := (after["context_switches_total"] - before["context_switches_total"]) / elapsed
		if got < want*0.6 || got > want*1.6 {
			t.Errorf("%.0f switches/s, vmstat says %.0f", got, want)
		}
		return
	}
	t.Fatalf("no column cs in %v", header)
}

func TestCoresAgreeWithMpstat(t *testing.T) {
	c := collector(t, host.Config{})
	before := look(t, c)
	start := time.Now()
	lines := tool(t, "mpstat", "-P", "ALL", "2", "1")
	after := look(t, c)
	elapsed := time.Since(start).Seconds()
	idleAt := -1
	cores := 0
	for _, f := range lines {
		if len(f) == 0 || f[0] != "Average:" {
			continue
		}
		if f[1] == "CPU" {
			for i, name := range f {
				if name == "%idle" {
					idleAt = i
				}
			}
			continue
		}
		if f[1] == "all" || idleAt < 0 {
			continue
		}
		cores++
		idle, err := strconv.ParseFloat(f[idleAt], 64)
		if err != nil {
			t.Fatal(err)
		}
		name := "core_busy_seconds_total{" + f[1] + "}"
		busy := (after[name] - before[name]) / elapsed * 100
		if want := 100 - idle; busy < want-20 || busy > want+20 { // %idle leaves out %iowait, which is not busy either.
			t.Errorf("core %s: %.0f %% busy, mpstat says %.0f %%", f[1], busy, want)
		}
	}
	if cores == 0 {
		t.Error("mpstat showed no core")
	}
}

func TestWhatWaitsAtAListeningPortAndSocketsByStateAreCounted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for range 3 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	counted, err := host.NewSockets(host.SocketsConfig{Ports: []int{port}})
	if err != nil {
		t.Fatal(err)
	}
	got := look(t, counted)
	if n := got["accept_queue{"+strconv.Itoa(port)+"}"]; n != 3 {
		t.Errorf("%v connections wait, want 3", n)
	}
	if n := got["sockets{established "+strconv.Itoa(port)+"}"]; n != 3 {
		t.Errorf("%v established at the port, want 3", n)
	}
	if got["sockets{listen}"] < 1 {
		t.Errorf("%v", got)
	}
	got = look(t, collector(t, host.Config{}))
	if got["load1"] < 0 || got["memory_available_bytes"] <= 0 || got["softirqs_total"] <= 0 {
		t.Errorf("%v", got)
	}
}

func TestAPortBeyondTheRangeIsRefused(t *testing.T) {
	if _, err := host.NewSockets(host.SocketsConfig{Ports: []int{0, 70000}}); err == nil || !strings.Contains(err.Error(), "70000") {
		t.Errorf("error %v", err)
	}
}
