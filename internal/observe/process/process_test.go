package process_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/process"
	"github.com/loadline-dev/loadline/internal/record"
)

// shell runs a script as a process of its own and ends it with the test.
func shell(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd
}

// clock is the tests' clock.
var clock = observe.Since(time.Now())

// look samples until a condition holds.
func look(t *testing.T, c *process.Collector, wanted func(record.ProcessSample) bool) record.ProcessSample {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var last record.ProcessSample
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-tick.C {
		b, err := c.Collect(context.Background(), clock)
		if err != nil {
			t.Fatal(err)
		}
		last = b.Processes[0]
		if wanted(last) {
			return last
		}
	}
	t.Fatalf("never seen; last: %+v", last)
	return last
}

func collector(t *testing.T, pid int) *process.Collector {
	t.Helper()
	c, err := process.New(process.Config{Service: "order", PID: pid})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestChildrenOfAProcessAreCounted(t *testing.T) {
	cmd := shell(t, "sleep 100 & sleep 100 & wait")
	c := collector(t, cmd.Process.Pid)
	s := look(t, c, func(s record.ProcessSample) bool { return s.Threads == 3 })
	if s.RSSBytes < 1<<18 || s.Descriptors < 9 {
		t.Errorf("three processes have at least 256 KiB and 9 descriptors, found %d and %d", s.RSSBytes, s.Descriptors)
	}
	if s.Service != "order" {
		t.Errorf("service %q", s.Service)
	}
}

func TestTheCPUTimeOfEndedChildrenIsKeptAndNotCountedTwice(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "done")
	cmd := shell(t, `for i in 1 2 3; do sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; done; echo > `+marker+`; exec sleep 100`)
	c := collector(t, cmd.Process.Pid)
	var before record.ProcessSample
	falls := 0
	last := look(t, c, func(s record.ProcessSample) bool {
		if s.CPUUser < before.CPUUser || s.Voluntary < before.Voluntary {
			falls++
		}
		settled := s.CPUUser == before.CPUUser
		before = s
		_, err := os.Stat(marker)
		return err == nil && settled
	})
	if falls > 0 {
		t.Errorf("a cumulative figure fell %d times", falls)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	used := cmd.ProcessState.UserTime() // Of the shell and the children it waited for, as the kernel adds it up.
	if diff := last.CPUUser - used; diff < -40*time.Millisecond || diff > 40*time.Millisecond {
		t.Errorf("user time %v, want %v as wait4 tells", last.CPUUser, used)
	}
}

func TestSwitchesAreThoseThatTheKernelCounts(t *testing.T) {
	c := collector(t, os.Getpid())
	first := look(t, c, func(record.ProcessSample) bool { return true })
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		t.Fatal(err)
	}
	pipes(t, 2000)
	const latest = 500 * time.Millisecond // What a thread does that had slept is found within this time.
	done := clock()
	last := look(t, c, func(s record.ProcessSample) bool { return s.At >= done+latest })
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		t.Fatal(err)
	}
	want := after.Nvcsw - before.Nvcsw
	if got := last.Voluntary - first.Voluntary; got < want*9/10 || got > want*11/10+50 {
		t.Errorf("%d voluntary switches, getrusage counts %d", got, want)
	}
	if want < 1000 {
		t.Errorf("the load made only %d switches: it proves nothing", want)
	}
}

// pipes makes two threads hand a byte to and fro, which costs each a voluntary switch.
func pipes(t *testing.T, rounds int) {
	t.Helper()
	var a, b [2]int
	if syscall.Pipe(a[:]) != nil || syscall.Pipe(b[:]) != nil {
		t.Fatal("no pipe")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1)
		for range rounds {
			_, _ = syscall.Read(a[0], buf)
			_, _ = syscall.Write(b[1], buf)
		}
	}()
	buf := make([]byte, 1)
	for range rounds {
		_, _ = syscall.Write(a[1], buf)
		_, _ = syscall.Read(b[0], buf)
	}
	<-done
	for _, fd := range []int{a[0], a[1], b[0], b[1]} {
		_ = syscall.Close(fd)
	}
}

func TestAProcessThatEndedIsAnError(t *testing.T) {
	cmd := shell(t, "exec sleep 100")
	c := collector(t, cmd.Process.Pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := c.Collect(context.Background(), clock); !errors.Is(err, process.ErrGone) {
		t.Errorf("error %v, want ErrGone", err)
	}
	if _, err := process.New(process.Config{Service: "order", PID: cmd.Process.Pid}); !errors.Is(err, process.ErrGone) {
		t.Errorf("error %v, want ErrGone", err)
	}
}

func TestAConfigNamesEveryFault(t *testing.T) {
	err := process.Config{PID: -1}.Validate()
	if err == nil || !strings.Contains(err.Error(), "Service") || !strings.Contains(err.Error(), "PID: found -1") {
		t.Errorf("error %v", err)
	}
}

func TestWhatAThreadDidBeforeItEndedIsKept(t *testing.T) {
	c := collector(t, os.Getpid())
	before := look(t, c, func(record.ProcessSample) bool { return true })
	const naps = 300
	half, seen, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread ends with the goroutine.
		defer close(ended)
		for range naps {
			_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 1000}, nil)
		}
		close(half)
		<-seen
	}()
	<-half
	look(t, c, func(record.ProcessSample) bool { return true })
	close(seen)
	<-ended
	later := clock() + 500*time.Millisecond
	after := look(t, c, func(s record.ProcessSample) bool { return s.At >= later })
	if got := after.Voluntary - before.Voluntary; got < naps {
		t.Errorf("%d voluntary switches, want at least the %d of the thread that has ended", got, naps)
	}
}
