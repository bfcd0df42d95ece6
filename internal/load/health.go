package load

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/record"
)

// processMeter tells what the generator's process used since it was last asked.
type processMeter struct {
	cpu   time.Duration
	pause time.Duration
	stats debug.GCStats
	ports int64 // local ports that the kernel hands out; -1 unknown
}

// newProcessMeter takes how many local addresses connections come from: each has its own ports.
func newProcessMeter(sources int64) *processMeter {
	m := &processMeter{ports: localPorts()}
	if m.ports > 0 {
		m.ports *= max(sources, 1)
	}
	m.sample()
	return m
}

// sample gives the differences since the last one, and what is left of descriptors and ports.
func (m *processMeter) sample() record.GeneratorSample {
	cpu := cpuOf(unix.RUSAGE_SELF)
	debug.ReadGCStats(&m.stats)
	out := record.GeneratorSample{CPU: cpu - m.cpu, GCPause: m.stats.PauseTotal - m.pause, DescriptorsFree: descriptorsFree(), PortsFree: m.portsFree()}
	m.cpu, m.pause = cpu, m.stats.PauseTotal
	return out
}

func cpuOf(who int) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// descriptorsFree is how many more descriptors may be opened, -1 unknown. Since Linux 6.2 the size of /proc/self/fd is the number of
// open ones; before, it is 0 and they are counted.
func descriptorsFree() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return -1
	}
	info, err := os.Stat("/proc/self/fd")
	if err != nil {
		return -1
	}
	open := info.Size()
	if open == 0 {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return -1
		}
		open = int64(len(entries))
	}
	return int64(limit.Cur) - open
}

// localPorts is the size of the range from which the kernel takes local ports, -1 unknown.
func localPorts() int64 {
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return -1
	}
	var low, high int64
	if _, err := fmt.Sscan(string(data), &low, &high); err != nil {
		return -1
	}
	return high - low + 1
}

// portsFree is a lower bound: every connection of the machine that waits for its end counts as one to the target.
func (m *processMeter) portsFree() int64 {
	if m.ports < 0 {
		return -1
	}
	data, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return -1
	}
	used, ok := sockstat(data, "tw")
	inUse, also := sockstat(data, "inuse")
	if !ok || !also {
		return -1
	}
	return max(0, m.ports-used-inUse)
}

// sockstat finds a figure of the TCP line.
func sockstat(data []byte, name string) (int64, bool) {
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(fields); i += 2 {
			if string(fields[i]) == name {
				n, err := strconv.ParseInt(string(fields[i+1]), 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}

// threadMeter tells what the calling thread used and waited since it was last asked. It is for one locked thread.
type threadMeter struct {
	path      string
	cpu, wait time.Duration
}

func newThreadMeter() *threadMeter {
	m := &threadMeter{path: fmt.Sprintf("/proc/self/task/%d/schedstat", unix.Gettid())}
	m.sample()
	return m
}

func (m *threadMeter) sample() (cpu, wait time.Duration) {
	nowCPU, nowWait := cpuOf(unix.RUSAGE_THREAD), runQueueWait(m.path)
	cpu, wait = nowCPU-m.cpu, nowWait-m.wait
	m.cpu, m.wait = nowCPU, nowWait
	return cpu, wait
}

// runQueueWait is the time for which a thread was ready and waited for a CPU: the second figure of its schedstat, in ns.
func runQueueWait(path string) time.Duration {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n)
}

// processThreads tells how long the threads of the process waited for a CPU. It is for one goroutine at a time.
type processThreads struct{ before map[string]time.Duration }

func newProcessThreads() *processThreads {
	m := &processThreads{}
	m.sample()
	return m
}

// sample is the longest wait of a thread since the last one.
func (m *processThreads) sample() time.Duration {
	const tasks = "/proc/self/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return 0
	}
	now := make(map[string]time.Duration, len(threads))
	var most time.Duration
	for _, t := range threads {
		wait := runQueueWait(tasks + "/" + t.Name() + "/schedstat")
		now[t.Name()] = wait
		if m.before != nil {
			most = max(most, wait-m.before[t.Name()])
		}
	}
	m.before = now
	return most
}
