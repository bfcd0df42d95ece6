package process

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/procfs"
	"github.com/loadline-dev/loadline/internal/record"
)

// Thread is what one thread has used since it began. User and System are in steps of 10 ms, Run is exact; a negative figure is unknown.
type Thread struct {
	PID, TID               int64
	Name                   string // the kernel cuts it at 15 bytes
	Run, User, System      time.Duration
	RunQueueWait           time.Duration
	Voluntary, Involuntary int64
}

// Threads looks at every thread of the service at once, which costs some 20 µs of CPU time each. Those that end meanwhile are left out.
func (c *Collector) Threads() []Thread {
	var out []Thread
	for _, p := range c.known {
		for _, t := range p.threads {
			text, err := c.proc.read(strings.TrimSuffix(t.status.path, "status") + "stat")
			if err != nil {
				continue
			}
			s, ok := procfs.ParseStat(text)
			if !ok {
				continue
			}
			out = append(out, Thread{PID: p.pid, TID: t.id, Name: string(s.Command), Run: time.Duration(t.sched.RunNanos), User: ticks(s.User), System: ticks(s.System),
				RunQueueWait: time.Duration(t.sched.WaitNanos), Voluntary: t.switches.Voluntary, Involuntary: t.switches.Involuntary})
		}
	}
	slices.SortFunc(out, func(a, b Thread) int { return cmp.Compare(a.TID, b.TID) })
	return out
}

// groups are the CPU times of threads whose names differ in numbers only: «http-nio-8080-exec-*». Threads that have ended are included.
type groups struct {
	used map[string]time.Duration
}

// charge adds what a thread has used since the last look to its group.
func (g *groups) charge(name string, used time.Duration) {
	if g.used == nil {
		g.used = map[string]time.Duration{}
	}
	g.used[name] += used
}

// busiest are the groups that have used most, as series of cumulative seconds.
func (g *groups) busiest(service string, at time.Duration, most int) []record.SeriesSample {
	names := make([]string, 0, len(g.used))
	for name := range g.used {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(g.used[b], g.used[a]), cmp.Compare(a, b))
	})
	names = names[:min(most, len(names))]
	out := make([]record.SeriesSample, len(names))
	for i, name := range names {
		out[i] = record.SeriesSample{Source: service, Name: "threads_cpu_seconds_total{" + name + "}", At: at, Value: g.used[name].Seconds()}
	}
	return out
}

// groupName replaces every run of digits by one star.
func groupName(name []byte) string {
	var b strings.Builder
	number := false
	for _, c := range bytes.TrimRight(name, "\n") {
		if c >= '0' && c <= '9' {
			if !number {
				b.WriteByte('*')
			}
			number = true
			continue
		}
		number = false
		b.WriteByte(c)
	}
	return b.String()
}
