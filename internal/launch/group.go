package launch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// signalGroup sends to all processes of a group. There may be none left, which is no fault.
func signalGroup(pgid int, signal syscall.Signal) {
	_ = syscall.Kill(-pgid, signal)
}

// awaitGroup waits until nothing of a group runs any more; false when ctx ended first.
func awaitGroup(ctx context.Context, pgid int) bool {
	for wait := time.Millisecond; groupRuns(pgid); wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
	return true
}

// groupRuns tells whether a process of the group is alive. A zombie is not: it holds no port, and how long it stays is up to the machine's
// first process. The kernel counts zombies when it is asked by signal, so /proc has the last word.
func groupRuns(pgid int) bool {
	if errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) {
		return false
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, name := range stats {
		if data, err := os.ReadFile(name); err == nil && runsIn(data, pgid) {
			return true
		}
	}
	return false
}

// runsIn reads state and process group from a line of /proc/PID/stat, proc(5): they follow the name in brackets, which may hold anything.
func runsIn(stat []byte, pgid int) bool {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 3 {
		return false
	}
	group, err := strconv.Atoi(string(fields[2]))
	state := fields[0][0]
	return err == nil && group == pgid && state != 'Z' && state != 'X'
}
