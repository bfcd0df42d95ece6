package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/cgroup"
	"github.com/loadline-dev/loadline/internal/observe/host"
	"github.com/loadline-dev/loadline/internal/observe/jvm"
	"github.com/loadline-dev/loadline/internal/observe/process"
	"github.com/loadline-dev/loadline/internal/observe/prometheus"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// mostOften bounds how often a very short window is sampled.
const mostOften = 100 * time.Millisecond

// sampled says when a cell is sampled.
type sampled struct {
	origin time.Time
	phases load.Phases
	every  time.Duration // at least so often; 0: as the plan says
}

// config samples at the window's two ends and between them: a short window is sampled as often as it is
// cut, so that means and maxima rest on something.
func (s sampled) config(every time.Duration) observe.Config {
	begin := s.phases.Warmup + s.phases.Discard
	c := observe.Config{Origin: s.origin, Every: min(every, max(s.phases.Window/perWindow, mostOften)), Instants: []time.Duration{begin, begin + s.phases.Window}}
	if s.every > 0 {
		c.Every = min(c.Every, s.every)
	}
	return c
}

// sample begins to sample what the plan names. The returned function ends it and returns what went wrong with storing; a source that
// cannot be read is told to the listener and leaves its figures unknown.
func (r *runner) sample(ctx context.Context, expanded *plan.Plan, cell plan.Cell, when sampled, writer *archive.CellWriter) func() error {
	ctx, cancel := context.WithCancel(ctx)
	groups := r.collectors(expanded, cell)
	results := make(chan error, len(groups))
	keep := &keeper{writer: writer, noted: &r.noted, told: map[string]bool{}, tell: func(err error) { r.tell.event(Event{Kind: Trouble, Cell: cell, Err: err}) }}
	dumps := r.dump(ctx, expanded, cell, when.origin, keep)
	for every, collectors := range groups {
		go func() { results <- observe.Run(ctx, when.config(every), collectors, keep.batch) }()
	}
	return func() error {
		cancel()
		var faults []error
		for range groups {
			faults = append(faults, <-results)
		}
		dumps.wait()
		return joinNew(errors.Join(faults...), keep.fault())
	}
}

// collectors are those that the plan asks for, by how often they look, and the machine's.
func (r *runner) collectors(expanded *plan.Plan, cell plan.Cell) map[time.Duration][]observe.Collector {
	out := map[time.Duration][]observe.Collector{}
	trouble := func(err error) { r.tell.event(Event{Kind: Trouble, Cell: cell, Err: err}) }
	for _, o := range expanded.Observe {
		c, err := r.collector(o)
		if err != nil {
			trouble(err)
		}
		out[o.Every] = append(out[o.Every], c...)
	}
	machine, err := host.New(host.Config{})
	socketStates, err2 := host.NewSockets(host.SocketsConfig{Ports: targetPorts(expanded)})
	if err := errors.Join(err, err2); err != nil {
		trouble(err)
		return out
	}
	out[plan.DefaultEvery] = append(out[plan.DefaultEvery], machine, socketStates)
	return out
}

// targetPorts is the target's port where it is on this machine.
func targetPorts(expanded *plan.Plan) []int {
	u, err := url.Parse(expanded.Target.Request.URL)
	if err != nil || !plan.LocalHost(u.Hostname()) {
		return nil
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return nil
	}
	return []int{port}
}

// collector makes what samples a source; none for one of dumps, which are not taken on a timer.
func (r *runner) collector(o plan.Observe) ([]observe.Collector, error) {
	switch {
	case o.Dumps != "":
		return nil, nil
	case o.Prometheus != "":
		c, err := prometheus.New(prometheus.Config{URL: o.Prometheus, Service: o.Service})
		return one(c, err)
	case o.JVM != "":
		pid, err := r.pid(o.JVM)
		if err != nil {
			return nil, err
		}
		c, err := jvm.NewCounters(jvm.Config{Service: serviceOf(o, o.JVM), PID: pid})
		return one(c, err)
	}
	pid, err := r.pid(o.Process)
	if err != nil {
		return nil, err
	}
	c, err := process.New(process.Config{Service: serviceOf(o, o.Process), PID: pid})
	out, err := one(c, err)
	if err != nil {
		return nil, err
	}
	limits, err := cgroup.New(cgroup.Config{Service: serviceOf(o, o.Process), PID: pid})
	if errors.Is(err, cgroup.ErrNone) {
		return out, nil // Nothing limits it.
	}
	more, err := one(limits, err)
	return append(out, more...), err
}

func one[C observe.Collector](c C, err error) ([]observe.Collector, error) {
	if err != nil {
		return nil, err
	}
	return []observe.Collector{c}, nil
}

// serviceOf is the name that samples carry.
func serviceOf(o plan.Observe, process string) string {
	if o.Service != "" {
		return o.Service
	}
	return process
}

// pid finds a process: one of the run's services, or one that runs already.
func (r *runner) pid(name string) (int, error) {
	if pid, ours := r.fleet.pid(name); ours {
		return pid, nil
	}
	pid, err := process.Find(name)
	if err != nil {
		return 0, fmt.Errorf("observe process %s: %w", name, err)
	}
	return pid, nil
}

// once is a set that remembers what it was asked for. Its zero value is empty; it may be used from any goroutine.
type once struct {
	mu   sync.Mutex // guards seen
	seen map[string]bool
}

// first tells whether a key comes for the first time.
func (o *once) first(key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[key] {
		return false
	}
	if o.seen == nil {
		o.seen = map[string]bool{}
	}
	o.seen[key] = true
	return true
}

// keeper hands batches to the archive and tells of trouble, the same one once a cell, and of each source's notes the first of the run.
// It may be called from any goroutine.
type keeper struct {
	writer *archive.CellWriter
	noted  *once // sources that a note was told of
	tell   func(error)
	watch  func(observe.Batch) // nil: nobody looks at batches as they come
	mu     sync.Mutex          // guards told and err
	told   map[string]bool
	err    error // the first failure to store
}

func (k *keeper) batch(b observe.Batch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watch != nil {
		k.watch(b)
	}
	for _, note := range b.Notes {
		// A process has another number after each restart, and stays the same source to people.
		source, _, _ := strings.Cut(b.Source, " (pid ")
		if k.noted.first(source) {
			k.tell(errors.New(note))
		}
	}
	if b.Err != nil && !errors.Is(b.Err, context.Canceled) {
		k.once(b.Err)
	}
	if k.err == nil {
		k.err = joinNew(joinNew(k.writer.Processes(b.Processes...), k.writer.Pools(b.Pools...)), k.writer.Series(b.Series...))
	}
}

// dumped stores a dump, or tells why there is none.
func (k *keeper) dumped(d record.Dump, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.once(fmt.Errorf("dump: %w", err))
		return
	}
	if k.err == nil {
		k.err = k.writer.Dumps(d)
	}
}

// say tells something once.
func (k *keeper) say(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.once(err)
}

// once needs the lock.
func (k *keeper) once(err error) {
	if !k.told[err.Error()] {
		k.told[err.Error()] = true
		k.tell(err)
	}
}

func (k *keeper) fault() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
