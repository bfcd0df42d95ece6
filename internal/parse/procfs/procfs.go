// Package procfs reads the small texts of /proc that are looked at often: a task's stat, status and schedstat. It allocates nothing and
// does no I/O; whoever samples hands in the bytes. Texts that are looked at once a second are left to the prometheus/procfs library.
package procfs

import "bytes"

// TicksPerSecond is USER_HZ, in which the kernel tells CPU time to user space; 100 on every Linux of today (proc(5)).
const TicksPerSecond = 100

// Stat is what /proc/PID/stat and /proc/PID/task/TID/stat tell that Loadline uses. Times are in ticks of 1/TicksPerSecond s.
type Stat struct {
	PID         int64
	Command     []byte // points into the text; the kernel cuts it at 15 bytes
	State       byte
	Parent      int64
	MinorFaults int64
	MajorFaults int64
	User        int64 // of a process: ended threads included
	System      int64
	ChildUser   int64 // of children that were waited for
	ChildSystem int64
	ChildMinor  int64
	ChildMajor  int64
	Threads     int64
	Started     int64 // since boot; with PID it names a process for ever
	RSSPages    int64
}

// ParseStat reads a stat line. It is false for anything else. A command may hold blanks, brackets and line ends: the last bracket ends it.
func ParseStat(text []byte) (Stat, bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Stat{}, false
	}
	var s Stat
	pid, ok := number(bytes.TrimSpace(text[:open]))
	if !ok {
		return Stat{}, false
	}
	s.PID, s.Command = pid, text[open+1:end]
	rest := text[end+1:]
	state, rest := word(rest)
	if len(state) != 1 {
		return Stat{}, false
	}
	s.State = state[0]
	return s, s.figures(rest)
}

// figures reads the fields after the state, which proc(5) numbers from 4.
func (s *Stat) figures(rest []byte) bool {
	const first, last = 4, 24
	for field := first; field <= last; field++ {
		var w []byte
		w, rest = word(rest)
		v, ok := number(w)
		if !ok {
			return false
		}
		if into := s.field(field); into != nil {
			*into = v
		}
	}
	return true
}

func (s *Stat) field(n int) *int64 {
	switch n {
	case 4:
		return &s.Parent
	case 10:
		return &s.MinorFaults
	case 11:
		return &s.ChildMinor
	case 12:
		return &s.MajorFaults
	case 13:
		return &s.ChildMajor
	case 14:
		return &s.User
	case 15:
		return &s.System
	case 16:
		return &s.ChildUser
	case 17:
		return &s.ChildSystem
	case 20:
		return &s.Threads
	case 22:
		return &s.Started
	case 24:
		return &s.RSSPages
	}
	return nil
}

// Schedstat is what a task's schedstat tells (Documentation/scheduler/sched-stats.rst of the kernel).
type Schedstat struct {
	RunNanos  int64 // on a CPU
	WaitNanos int64 // ready, waiting for a CPU
	Slices    int64 // how often it was put on a CPU
}

// ParseSchedstat reads the three figures. It is false for anything else.
func ParseSchedstat(text []byte) (Schedstat, bool) {
	a, rest := word(text)
	b, rest := word(rest)
	c, _ := word(rest)
	run, ok1 := number(a)
	wait, ok2 := number(b)
	slices, ok3 := number(c)
	return Schedstat{run, wait, slices}, ok1 && ok2 && ok3
}

// Switches are a task's context switches since it began.
type Switches struct{ Voluntary, Involuntary int64 }

var (
	voluntary   = []byte("\nvoluntary_ctxt_switches:")
	involuntary = []byte("\nnonvoluntary_ctxt_switches:")
)

// ParseSwitches reads them from a task's status, whose last lines they are. It is false where one is missing.
func ParseSwitches(status []byte) (Switches, bool) {
	at := bytes.LastIndex(status, voluntary)
	if at < 0 {
		return Switches{}, false
	}
	tail := status[at:]
	in := bytes.Index(tail, involuntary)
	if in < 0 {
		return Switches{}, false
	}
	v, _ := word(tail[len(voluntary):])
	n, _ := word(tail[in+len(involuntary):])
	vol, ok1 := number(v)
	inv, ok2 := number(n)
	return Switches{vol, inv}, ok1 && ok2
}

// word cuts the first word off a text.
func word(text []byte) (first, rest []byte) {
	i := 0
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	start := i
	for i < len(text) && !isBlank(text[i]) {
		i++
	}
	return text[start:i], text[i:]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// number reads a decimal. Figures above 2^63 (resource limits in stat) are cut to the largest.
func number(w []byte) (int64, bool) {
	const most = int64(^uint64(0) >> 1)
	if len(w) == 0 {
		return 0, false
	}
	if w[0] == '-' {
		v, ok := number(w[1:])
		return -v, ok
	}
	var v int64
	for _, c := range w {
		if c < '0' || c > '9' {
			return 0, false
		}
		if v > (most-9)/10 {
			v = most
			continue
		}
		v = v*10 + int64(c-'0')
	}
	return v, true
}
