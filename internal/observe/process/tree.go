package process

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/procfs"
)

// process is one process with its threads.
type process struct {
	pid     int64
	dir     string
	started int64 // with pid it names the process for ever
	stat    stat
	file    held // stat
	threads []*thread
	groups  *groups
	gone    totals // switches and waiting of threads that have ended
	proc    files
	fds     int64
	credit  totals        // what ended children have left, not yet claimed by one that was known
	at      time.Duration // of the last look
	turn    int           // looks so far
	ended   bool          // a thread has ended since threads were listed
}

// stat is what is kept of the process's stat; ended threads are part of it.
type stat struct {
	parent                 int64
	user, system           time.Duration
	childUser, childSystem time.Duration
	minor, major           int64
	childMinor, childMajor int64
	threads, rss           int64
}

// open finds a process and its threads.
func (f files) open(pid int64, at time.Duration, g *groups) (*process, error) {
	p := &process{pid: pid, dir: f.root + "/" + strconv.FormatInt(pid, 10), proc: f, groups: g}
	p.file.path = p.dir + "/stat"
	if err := p.read(f, at); err != nil {
		return nil, err
	}
	p.credit = totals{}
	return p, nil
}

func (p *process) close() {
	for _, t := range p.threads {
		t.close(p.proc)
	}
	p.file.close(p.proc)
}

// read looks at the process and its threads; an error means that it has ended.
func (p *process) read(f files, at time.Duration) error {
	text, err := p.file.read(f)
	if err != nil {
		return err
	}
	s, ok := procfs.ParseStat(text)
	if !ok {
		return fmt.Errorf("%s/stat: found %.60q, want a line as proc(5) describes it", p.dir, text)
	}
	if p.started == 0 {
		p.started = s.Started
	}
	if s.Started != p.started {
		return os.ErrProcessDone // The id was given to another.
	}
	p.take(s)
	if p.ended || s.Threads != int64(len(p.threads)) {
		p.list(f)
	}
	p.readThreads(f, at)
	p.fds = f.descriptors(p.dir)
	return nil
}

// take keeps the figures and credits what ended children have left since the last look.
func (p *process) take(s procfs.Stat) {
	before := p.stat
	p.stat = stat{
		parent: s.Parent, user: ticks(s.User), system: ticks(s.System), childUser: ticks(s.ChildUser), childSystem: ticks(s.ChildSystem),
		minor: s.MinorFaults, major: s.MajorFaults, childMinor: s.ChildMinor, childMajor: s.ChildMajor,
		threads: s.Threads, rss: s.RSSPages * int64(os.Getpagesize()),
	}
	p.credit.user += p.stat.childUser - before.childUser
	p.credit.system += p.stat.childSystem - before.childSystem
}

func ticks(n int64) time.Duration { return time.Duration(n) * (time.Second / procfs.TicksPerSecond) }

// readThreads looks at the threads and drops those that have ended.
func (p *process) readThreads(f files, at time.Duration) {
	apart := at - p.at
	p.at = at
	p.turn++
	kept := p.threads[:0]
	for _, t := range p.threads {
		if t.due(at, apart, p.turn) && t.read(f, at) != nil {
			p.lose(t)
			continue
		}
		if t.fresh > 0 {
			p.charge(f, t)
		}
		kept = append(kept, t)
	}
	clear(p.threads[len(kept):])
	p.threads = kept
}

// charge adds what a thread has used since the last look to its group.
func (p *process) charge(f files, t *thread) {
	if t.group == "" {
		name, err := f.read(p.dir + "/task/" + strconv.FormatInt(t.id, 10) + "/comm")
		if err != nil {
			return // It has just ended.
		}
		t.group = groupName(name)
	}
	p.groups.charge(t.group, t.fresh)
	t.fresh = 0
}

// list finds new threads.
func (p *process) list(f files) {
	tids, err := f.numbers(p.dir + "/task")
	if err != nil {
		return
	}
	p.ended = false
	known := make(map[int64]bool, len(p.threads))
	for _, t := range p.threads {
		known[t.id] = true
	}
	for _, tid := range tids {
		if !known[tid] {
			p.threads = append(p.threads, newThread(tid, p.dir+"/task/"+strconv.FormatInt(tid, 10)))
		}
	}
}

// lose keeps what a thread had used when it ended, as far as it was seen.
func (p *process) lose(t *thread) {
	p.gone.add(totals{wait: max(0, time.Duration(t.sched.WaitNanos)), voluntary: max(0, t.switches.Voluntary), involuntary: max(0, t.switches.Involuntary)})
	t.close(p.proc)
	p.ended = true
}

// total is what the process, its ended threads and the children it waited for have used.
func (p *process) total() totals {
	out := p.gone
	for _, t := range p.threads {
		out.add(totals{wait: time.Duration(t.sched.WaitNanos), voluntary: t.switches.Voluntary, involuntary: t.switches.Involuntary})
	}
	s := p.stat
	out.user, out.system = s.user+s.childUser, s.system+s.childSystem
	out.minor, out.major = s.minor+s.childMinor, s.major+s.childMajor
	out.threads, out.rss, out.fds = s.threads, s.rss, p.fds
	return out
}

// inherited tells whether the process's children figures have grown by what an ended child had used, and claims it.
func (p *process) inherited(used totals) bool {
	const slack = 2 * time.Second / procfs.TicksPerSecond // Ticks are cut, not rounded, on both sides.
	if p.credit.user+slack < used.user || p.credit.system+slack < used.system {
		return false
	}
	p.credit.user = max(0, p.credit.user-used.user)
	p.credit.system = max(0, p.credit.system-used.system)
	return true
}
