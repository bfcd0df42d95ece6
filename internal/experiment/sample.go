package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/host"
	"github.com/loadline-dev/loadline/internal/observe/process"
	"github.com/loadline-dev/loadline/internal/observe/prometheus"
	"github.com/loadline-dev/loadline/internal/plan"
)

// mostOften bounds how often a very short window is sampled.
const mostOften = 100 * time.Millisecond

// sample begins to sample what the plan names. The returned function ends it and returns what went wrong with storing; a source that
// cannot be read is told to the listener and leaves its figures unknown.
func (r *runner) sample(ctx context.Context, expanded *plan.Plan, cell plan.Cell, origin time.Time, writer *archive.CellWriter) func() error {
	ctx, cancel := context.WithCancel(ctx)
	groups := r.collectors(expanded, cell)
	results := make(chan error, len(groups))
	p := lengths(expanded.Load)
	edges := []time.Duration{p.Warmup + p.Discard, p.Warmup + p.Discard + p.Window}
	keep := &keeper{writer: writer, noted: &r.noted, told: map[string]bool{}, tell: func(err error) { r.tell.event(Event{Kind: Trouble, Cell: cell, Err: err}) }}
	for every, collectors := range groups {
		// A short window is sampled as often as it is cut, so that means and maxima rest on something.
		config := observe.Config{Origin: origin, Every: min(every, max(p.Window/perWindow, mostOften)), Instants: edges}
		go func() { results <- observe.Run(ctx, config, collectors, keep.batch) }()
	}
	return func() error {
		cancel()
		var faults []error
		for range groups {
			faults = append(faults, <-results)
		}
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
			continue
		}
		out[o.Every] = append(out[o.Every], c)
	}
	machine, err := host.New(host.Config{})
	socketStates, err2 := host.NewSockets(host.SocketsConfig{})
	if err := errors.Join(err, err2); err != nil {
		trouble(err)
		return out
	}
	out[plan.DefaultEvery] = append(out[plan.DefaultEvery], machine, socketStates)
	return out
}

func (r *runner) collector(o plan.Observe) (observe.Collector, error) {
	if o.Prometheus != "" {
		return prometheus.New(prometheus.Config{URL: o.Prometheus, Service: o.Service})
	}
	pid, ours := r.fleet.pid(o.Process)
	if !ours {
		var err error
		if pid, err = process.Find(o.Process); err != nil {
			return nil, fmt.Errorf("observe process %s: %w", o.Process, err)
		}
	}
	return process.New(process.Config{Service: o.Process, PID: pid})
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
	mu     sync.Mutex // guards told and err
	told   map[string]bool
	err    error // the first failure to store
}

func (k *keeper) batch(b observe.Batch) {
	k.mu.Lock()
	defer k.mu.Unlock()
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
