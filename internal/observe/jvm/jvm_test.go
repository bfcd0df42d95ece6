package jvm_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/jvm"
	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

// output is what a process prints; the test reads it while it grows.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// until waits for a text and returns all that was printed.
func (o *output) until(t *testing.T, wanted string) string {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		o.mu.Lock()
		text := o.text.String()
		o.mu.Unlock()
		if strings.Contains(text, wanted) {
			return text
		}
	}
	t.Fatalf("never printed %q", wanted)
	return ""
}

// machine starts the program in testdata in a JVM of this host.
func machine(t *testing.T) (pid int, out *output) {
	t.Helper()
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("no JDK here (Debian: default-jdk-headless)")
	}
	cmd := exec.Command(java, "-Xmx64m", "-XX:+PrintConcurrentLocks", filepath.Join("testdata", "Pools.java"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out = &output{}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	out.until(t, "ready\n")
	return cmd.Process.Pid, out
}

func TestWhatKill3PrintsBetweenOtherOutput(t *testing.T) {
	pid, out := machine(t)
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	out.until(t, "Found 1 deadlock")
	checkDump(t, "kill -3", []byte(out.until(t, "Heap")))
}

func TestADumpOfARunningJVM(t *testing.T) {
	pid, _ := machine(t)
	dumpers := map[string]observe.Dumper{"attach, opening the socket": jvm.Attach{PID: pid}, "attach, to the open socket": jvm.Attach{PID: pid}}
	if _, err := exec.LookPath("jcmd"); err == nil {
		dumpers["jcmd"] = jvm.Jcmd{PID: pid}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, d := range dumpers {
		taken, err := observe.Take(ctx, d, "order", "steady", observe.Since(time.Now()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if taken.Cost <= 0 || taken.Service != "order" || taken.Format != string(threaddump.HotSpot) {
			t.Errorf("%s: %+v", name, taken)
		}
		checkDump(t, name, taken.Data)
	}
	counters(t, pid)
}

// checkDump compares what the dump says with what the program does.
func checkDump(t *testing.T, name string, text []byte) {
	t.Helper()
	all, err := dump.Read(bytes.NewReader(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d dumps, %v", name, len(all), err)
	}
	s := all[0]
	p, _ := s.Pool("biz-handler-pool")
	if p.Threads != 5 || p.Idle != 3 || p.On(dump.Latch) != 2 {
		t.Errorf("%s: pool %+v, want 3 idle and 2 at the latch of 5", name, p)
	}
	if !reflect.DeepEqual(s.Deadlocks, [][]string{{"left", "right"}}) {
		t.Errorf("%s: deadlocks %v", name, s.Deadlocks)
	}
	if !s.Head.Locks {
		t.Errorf("%s: the owners of locks are missing", name)
	}
	d, err := threaddump.All(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Count(string(text), "tid=0x"); s.Threads != want {
		t.Errorf("%s: %d threads, want the %d that have a tid", name, s.Threads, want)
	}
	for _, th := range d[0].Threads {
		if th.Name == "left" && (th.Wait != threaddump.Parked || len(th.Held) != 1 || th.CPU < 0 || th.Native == 0) {
			t.Errorf("%s: %+v", name, th)
		}
	}
}

// counters compares the file of counters with what the program has done.
func counters(t *testing.T, pid int) {
	t.Helper()
	c, err := jvm.NewCounters(jvm.Config{Service: "order", PID: pid})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Collect(t.Context(), observe.Since(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, s := range b.Series {
		got[s.Name] = s.Value
	}
	if got["jvm_gc_total"] < 1 || got["jvm_gc_seconds_total"] <= 0 {
		t.Errorf("the program asked for a collection: %v", got)
	}
	if got["jvm_threads"] < 10 || got["jvm_heap_used_bytes"] < 1<<20 || got["jvm_heap_used_bytes"] > got["jvm_heap_capacity_bytes"] || got["jvm_heap_capacity_bytes"] > 64<<20 {
		t.Errorf("threads and heap: %v", got)
	}
	if got["jvm_safepoints_total"] < 1 {
		t.Errorf("a collection is a safepoint: %v", got)
	}
}

func TestAProcessThatIsNoJVMIsNotTouched(t *testing.T) {
	sleep := exec.Command("sleep", "100")
	if err := sleep.Start(); err != nil {
		t.Skip("no sleep here")
	}
	t.Cleanup(func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	})
	for _, pid := range []int{sleep.Process.Pid, os.Getpid(), 4194304} {
		_, _, err := jvm.Attach{PID: pid}.Dump(t.Context())
		if !errors.Is(err, jvm.ErrNotAttachable) || !strings.Contains(err.Error(), strconv.Itoa(pid)) {
			t.Errorf("error %v, want ErrNotAttachable", err)
		}
	}
	if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(sleep.Process.Pid), "stat")); err != nil {
		t.Error("the process was ended")
	}
	if _, err := jvm.NewCounters(jvm.Config{Service: "x", PID: sleep.Process.Pid}); err == nil || !strings.Contains(err.Error(), "UsePerfData") {
		t.Errorf("error %v, want one that says what may be off", err)
	}
	if names := strayTriggers(t); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func strayTriggers(t *testing.T) []string {
	t.Helper()
	here, err := filepath.Glob(".attach_pid*")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(here)
	return here
}
