package process_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/observe/process"
)

// TestMain makes the test binary a process with many threads when it is asked to.
func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv("LOADLINE_TEST_THREADS")); err == nil {
		busy, _ := strconv.Atoi(os.Getenv("LOADLINE_TEST_BUSY"))
		threads(n, busy)
		return
	}
	os.Exit(m.Run())
}

// threads starts n threads, of which the first few wake every 5 ms, and ends with its input.
func threads(n, busy int) {
	var started sync.WaitGroup
	for i := range n {
		started.Add(1)
		go func() {
			runtime.LockOSThread()
			started.Done()
			if i >= busy {
				select {}
			}
			for {
				_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 5e6}, nil)
			}
		}()
	}
	started.Wait()
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// many runs a process with many threads.
func many(tb testing.TB, n, busy int) int {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOADLINE_TEST_THREADS="+strconv.Itoa(n), "LOADLINE_TEST_BUSY="+strconv.Itoa(busy))
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		tb.Fatal(err)
	}
	return cmd.Process.Pid
}

// BenchmarkLook is the cost of one look: 1 % of a core at 10 Hz is 1 ms a look, at 1 Hz 10 ms.
func BenchmarkLook(b *testing.B) {
	for _, c := range []struct {
		name        string
		busy, every int
	}{{"1000 threads, 20 active, 10 Hz", 20, 100}, {"1000 threads, all active, 1 Hz", 1000, 1000}} {
		b.Run(c.name, func(b *testing.B) {
			pid := many(b, 1000, c.busy)
			collector, err := process.New(process.Config{Service: "order", PID: pid})
			if err != nil {
				b.Fatal(err)
			}
			defer collector.Close()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var used time.Duration
			tick := time.NewTicker(time.Duration(c.every) * time.Millisecond)
			defer tick.Stop()
			for b.Loop() {
				<-tick.C
				before := cpuOfThread(b)
				if _, err := collector.Collect(context.Background(), clock); err != nil {
					b.Fatal(err)
				}
				used += cpuOfThread(b) - before
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/look")
			b.ReportMetric(100*used.Seconds()/(float64(b.N)*float64(c.every)/1000), "%-of-core")
		})
	}
}

func cpuOfThread(tb testing.TB) time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var r syscall.Rusage
	if err := syscall.Getrusage(thread, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
