package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/observe/cgroup"
	"github.com/loadline-dev/loadline/internal/observe/golang"
	"github.com/loadline-dev/loadline/internal/observe/host"
	"github.com/loadline-dev/loadline/internal/observe/jvm"
	"github.com/loadline-dev/loadline/internal/observe/process"
	"github.com/loadline-dev/loadline/internal/observe/prometheus"
	"github.com/loadline-dev/loadline/internal/record"
)

// LookConfig says which running service to look at; at least one of PID, Metrics and Profile is given.
type LookConfig struct {
	Service string        // the name that samples carry
	PID     int           // its process; 0: none. Of a JVM dumps and counters are taken as well
	Metrics string        // the URL of its metrics endpoint; empty: none
	Profile string        // the URL of a Go service's net/http/pprof; empty: none
	For     time.Duration // how long to look, at least 1 s
}

// Validate joins all faults.
func (c LookConfig) Validate() error {
	var faults []error
	if c.Service == "" {
		faults = append(faults, errors.New("field Service: found none, want a name"))
	}
	if c.PID < 0 {
		faults = append(faults, fmt.Errorf("field PID: found %d, want a process id above 0", c.PID))
	}
	if c.PID == 0 && c.Metrics == "" && c.Profile == "" {
		faults = append(faults, errors.New("fields PID, Metrics, Profile: found none, want one of them at least"))
	}
	if c.For < time.Second {
		faults = append(faults, fmt.Errorf("field For: found %v, want at least 1s", c.For))
	}
	return errors.Join(faults...)
}

// looksInAll is how many samples a look takes.
const looksInAll = 25

// Look samples a service that runs, under whatever load it has, and takes two thread dumps where it can. What could not be read is told in the
// notes; it is an error when nothing could.
func Look(ctx context.Context, c LookConfig) (record.Cell, []error, error) {
	if err := c.Validate(); err != nil {
		return record.Cell{}, nil, err
	}
	collectors, notes, err := c.collectors()
	if err != nil {
		return record.Cell{}, nil, err
	}
	origin := time.Now()
	l := &look{cell: record.Cell{Started: origin, Window: c.For}, notes: notes, told: map[string]bool{}}
	looking, cancel := context.WithTimeout(ctx, c.For)
	defer cancel()
	dumper, err := c.dumper()
	if err != nil {
		l.notes = append(l.notes, err)
	}
	taken := make(chan dumpsTaken, 1)
	go func() { taken <- c.dumpTwice(looking, dumper, observe.Since(origin)) }()
	err = observe.Run(looking, observe.Config{Origin: origin, Every: c.For / looksInAll}, collectors, func(b observe.Batch) { l.batch(looking, b) })
	<-looking.Done() // A fault ends the sampling early, and then nothing else waits.
	dumps := <-taken
	l.cell.Dumps = dumps.dumps
	l.notes = append(l.notes, dumps.faults...)
	switch {
	case ctx.Err() != nil:
		return l.cell, l.notes, ctx.Err()
	case err == nil && !l.seen && len(l.cell.Dumps) == 0:
		err = errors.Join(append([]error{fmt.Errorf("nothing could be read of %s", c.Service)}, l.notes...)...)
	}
	return l.cell, l.notes, err
}

// look is what was seen so far.
type look struct {
	cell  record.Cell
	notes []error
	told  map[string]bool // errors that are among the notes
	seen  bool            // something of the service itself
}

func (l *look) batch(ctx context.Context, b observe.Batch) {
	if b.Err != nil && ctx.Err() == nil && !l.told[b.Err.Error()] {
		l.told[b.Err.Error()] = true
		l.notes = append(l.notes, b.Err)
	}
	l.seen = l.seen || b.Err == nil && b.Source != host.Source
	l.cell.Processes = append(l.cell.Processes, b.Processes...)
	l.cell.Pools = append(l.cell.Pools, b.Pools...)
	l.cell.Series = append(l.cell.Series, b.Series...)
}

// collectors are those of what was named, and the machine's.
func (c LookConfig) collectors() (out []observe.Collector, notes []error, err error) {
	machine, err := host.New(host.Config{})
	if err != nil {
		return nil, nil, err
	}
	out = append(out, machine)
	if c.Metrics != "" {
		scrape, err := prometheus.New(prometheus.Config{URL: c.Metrics, Service: c.Service})
		if err != nil {
			return nil, nil, err
		}
		out = append(out, scrape)
	}
	if c.PID == 0 {
		return out, nil, nil
	}
	p, err := process.New(process.Config{Service: c.Service, PID: c.PID})
	if err != nil {
		return nil, nil, err
	}
	out = append(out, p)
	limits, err := cgroup.New(cgroup.Config{Service: c.Service, PID: c.PID})
	if err == nil {
		out = append(out, limits)
	} else if !errors.Is(err, cgroup.ErrNone) {
		notes = append(notes, err)
	}
	if counters, err := jvm.NewCounters(jvm.Config{Service: c.Service, PID: c.PID}); err == nil { // Else it is no JVM, which needs no word.
		out = append(out, counters)
	}
	return out, notes, nil
}

// dumper is what takes dumps of the service; nil where nothing can.
func (c LookConfig) dumper() (observe.Dumper, error) {
	switch {
	case c.Profile != "":
		return golang.Profile{URL: c.Profile}, nil
	case c.PID == 0:
		return nil, nil
	}
	if _, err := jvm.NewCounters(jvm.Config{Service: c.Service, PID: c.PID}); err != nil {
		return nil, fmt.Errorf("no thread dump of process %d: it is no JVM that shows itself; of a Go service name the pprof URL", c.PID)
	}
	return jvm.Attach{PID: c.PID}, nil
}

// dumpsTaken are the dumps of a look, and what went wrong with them.
type dumpsTaken struct {
	dumps  []record.Dump
	faults []error
}

// dumpTwice takes a dump soon after the beginning and one later, so that growth shows.
func (c LookConfig) dumpTwice(ctx context.Context, dumper observe.Dumper, clock observe.Clock) (out dumpsTaken) {
	if dumper == nil {
		return out
	}
	for _, at := range []time.Duration{c.For / 10, c.For * 6 / 10} {
		if pause(ctx, at-clock()) != nil {
			return out
		}
		d, err := observe.Take(ctx, dumper, c.Service, observe.WhySteady, clock)
		if err != nil {
			out.faults = append(out.faults, err)
			return out
		}
		out.dumps = append(out.dumps, d)
	}
	return out
}
