package process

import (
	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/parse/procfs"
)

// thread is one task of a process.
type thread struct {
	dir      string // …/task/TID
	fd       int    // of schedstat, held between looks; -1: opened each time
	sched    procfs.Schedstat
	switches procfs.Switches
}

func newThread(dir string, proc files) *thread {
	t := &thread{dir: dir, fd: -1, sched: procfs.Schedstat{RunNanos: -1, WaitNanos: -1, Slices: -1}, switches: procfs.Switches{Voluntary: -1, Involuntary: -1}}
	if proc.held.left <= 0 {
		return t
	}
	fd, err := unix.Open(dir+"/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		t.fd = fd
		proc.held.left--
	}
	return t
}

func (t *thread) close(proc files) {
	if t.fd < 0 {
		return
	}
	_ = unix.Close(t.fd) // Nothing was written.
	t.fd = -1
	proc.held.left++
}

// read looks at a thread; an error means that it has ended. A thread that was not on a CPU since the last look has the same switches
// as then, so that only its schedstat is read.
func (t *thread) read(proc files) error {
	text, err := t.schedstat(proc)
	sched, ok := procfs.ParseSchedstat(text)
	if err == nil && ok {
		ran := sched.RunNanos != t.sched.RunNanos || sched.Slices != t.sched.Slices
		t.sched = sched
		if !ran {
			return nil
		}
	}
	status, err := proc.read(t.dir + "/status")
	if err != nil {
		return err
	}
	if s, ok := procfs.ParseSwitches(status); ok {
		t.switches = s
	}
	return nil
}

func (t *thread) schedstat(proc files) ([]byte, error) {
	if t.fd >= 0 {
		return proc.again(t.fd)
	}
	return proc.read(t.dir + "/schedstat")
}
