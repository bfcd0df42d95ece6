// Package process samples a service's processes: the one that was named and all its descendants, all their threads. It reads /proc and
// changes nothing. Figures are cumulative and never fall: what threads and processes had used when they ended is kept.
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/record"
)

// ErrGone is wrapped by what Collect returns once the process has ended.
var ErrGone = errors.New("the process has ended")

// Config names what is sampled.
type Config struct {
	Service string // the name that samples carry; required
	PID     int    // the process; its descendants are found; required
	Groups  int    // how many groups of threads, by name without numbers, get a series of the CPU time they used; default 0
	Proc    string // where proc is mounted; default /proc
}

// Validate joins all faults.
func (c Config) Validate() error {
	var faults []error
	if c.Service == "" {
		faults = append(faults, errors.New("field Service: found none, want the service's name"))
	}
	if c.PID <= 0 {
		faults = append(faults, fmt.Errorf("field PID: found %d, want a process id above 0", c.PID))
	}
	if c.Groups < 0 {
		faults = append(faults, fmt.Errorf("field Groups: found %d, want 0 or more", c.Groups))
	}
	return errors.Join(faults...)
}

// Collector samples one service. It is for one goroutine at a time.
type Collector struct {
	config  Config
	proc    files
	groups  groups
	root    *process
	known   map[int64]*process // by pid, root included
	gone    totals             // of processes that have ended
	last    totals             // what was reported last: figures never fall
	forks   forks
	scan    scan
	parents parents
}

// New makes a Collector. It is an error when the process does not exist.
func New(c Config) (*Collector, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	if c.Proc == "" {
		c.Proc = "/proc"
	}
	out := &Collector{config: c, proc: newFiles(c.Proc), known: map[int64]*process{}, forks: forks{file: held{path: c.Proc + "/loadavg"}}}
	root, err := out.proc.open(int64(c.PID), -asleep, &out.groups)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("process %d of service %s: %w: no such process; give the id of one that runs ('ps -e' lists them)", c.PID, c.Service, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("process %d of service %s: %w", c.PID, c.Service, err)
	}
	out.root = root
	out.known[root.pid] = root
	return out, nil
}

// Source names the service and its process.
func (c *Collector) Source() string {
	return fmt.Sprintf("process %s (pid %d)", c.config.Service, c.config.PID)
}

// Close frees the descriptors that are held between looks.
func (c *Collector) Close() error {
	for _, p := range c.known {
		p.close()
	}
	clear(c.known)
	c.forks.file.close(c.proc)
	return nil
}

// Collect looks once. Once the process has ended the error wraps ErrGone.
func (c *Collector) Collect(_ context.Context, clock observe.Clock) (observe.Batch, error) {
	at := clock()
	if c.scan.due(at, c.forks.happened(c.proc)) {
		c.findDescendants(at)
	}
	if err := c.read(at); err != nil {
		return observe.Batch{}, err
	}
	c.last = c.sum().notBelow(c.last)
	sample := c.last.sample()
	sample.Service, sample.At = c.config.Service, at
	return observe.Batch{Processes: []record.ProcessSample{sample}, Series: c.groups.busiest(c.config.Service, at, c.config.Groups)}, nil
}

// read looks at every process, children before their parents: what a child had used when it ended is then found with its parent.
func (c *Collector) read(at time.Duration) error {
	pids := slices.Collect(maps.Keys(c.known))
	slices.SortFunc(pids, func(a, b int64) int { return c.depth(b) - c.depth(a) })
	var ended []*process
	for _, pid := range pids {
		p := c.known[pid]
		if err := p.read(c.proc, at); err == nil {
			continue
		}
		if p == c.root {
			return fmt.Errorf("%w (pid %d)", ErrGone, pid)
		}
		ended = append(ended, p)
	}
	for _, p := range ended {
		c.bury(p)
	}
	return nil
}

// depth is how many known ancestors a process has.
func (c *Collector) depth(pid int64) int {
	n := 0
	for p := c.known[pid]; p != nil && p != c.root && n <= len(c.known); p = c.known[p.stat.parent] {
		n++
	}
	return n
}

// bury keeps what an ended process had used. Its CPU time and faults are with its parent if that has waited for it; switches never are.
func (c *Collector) bury(p *process) {
	used := p.total()
	if parent := c.known[p.stat.parent]; parent != nil && parent.inherited(used) {
		used.user, used.system, used.minor, used.major = 0, 0, 0, 0
	}
	c.gone.keep(used)
	p.close()
	delete(c.known, p.pid)
}

// findDescendants adds the processes whose chain of parents leads to the root.
func (c *Collector) findDescendants(at time.Duration) {
	c.parents.refresh(c.proc, at)
	for pid := range c.parents.of {
		if c.known[pid] != nil || !c.parents.descends(pid, c.root.pid) {
			continue
		}
		if p, err := c.proc.open(pid, at, &c.groups); err == nil {
			c.known[pid] = p
		}
	}
}

func (c *Collector) sum() totals {
	out := c.gone
	for _, p := range c.known {
		out.add(p.total())
	}
	return out
}
