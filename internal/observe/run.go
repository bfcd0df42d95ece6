package observe

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Defaults and bounds of a Config.
const (
	DefaultEvery   = time.Second
	DefaultTimeout = 2 * time.Second
	// DefaultCostRatio is the share of one core that a collector may use: a cost below what a cell's CPU figure resolves.
	DefaultCostRatio = 0.01
	minEvery         = time.Millisecond
	slowest          = 10 * time.Second // A rate that fell stays at least this high.
)

// Config says when collectors look.
type Config struct {
	Origin    time.Time       // every At counts from it; zero: when Run is called
	Every     time.Duration   // between looks; default 1 s, at least 1 ms. Looks fall on multiples of it since Origin
	Instants  []time.Duration // further looks since Origin, such as a window's edges; those that have passed are left out
	Timeout   time.Duration   // of one look; default 2 s
	CostRatio float64         // share of one core above which a collector is asked less often; default 0.01, negative: no bound
}

// Validate joins all faults.
func (c Config) Validate() error {
	var faults []error
	if c.Every != 0 && c.Every < minEvery {
		faults = append(faults, fmt.Errorf("field Every: found %v, allowed 0 (default %v) or at least %v", c.Every, DefaultEvery, minEvery))
	}
	if c.Timeout < 0 {
		faults = append(faults, fmt.Errorf("field Timeout: found %v, allowed 0 (default %v) or more", c.Timeout, DefaultTimeout))
	}
	if c.CostRatio > 1 {
		faults = append(faults, fmt.Errorf("field CostRatio: found %v, allowed at most 1", c.CostRatio))
	}
	return errors.Join(faults...)
}

func (c Config) withDefaults() Config {
	if c.Origin.IsZero() {
		c.Origin = time.Now()
	}
	if c.Every == 0 {
		c.Every = DefaultEvery
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.CostRatio == 0 {
		c.CostRatio = DefaultCostRatio
	}
	return c
}

// Run samples until ctx ends, which is no error. Sink gets every batch, one at a time, on a goroutine of Run's; a sink that is slow
// delays looks but not the caller. Run returns when all looks have ended, the last batch was handed over and the collectors that are
// a Closer are closed. A look that fails or times out is a batch with Err.
func Run(ctx context.Context, c Config, collectors []Collector, sink func(Batch)) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	c = c.withDefaults()
	batches := make(chan Batch, 4*len(collectors))
	var looking sync.WaitGroup
	for _, collector := range collectors {
		looking.Go(func() { newLooper(c, collector, batches).run(ctx) })
	}
	go func() {
		looking.Wait()
		close(batches)
	}()
	for b := range batches {
		sink(b)
	}
	return closeAll(collectors)
}

func closeAll(collectors []Collector) error {
	var faults []error
	for _, c := range collectors {
		if closer, ok := c.(Closer); ok {
			if err := closer.Close(); err != nil {
				faults = append(faults, fmt.Errorf("close %s: %w", c.Source(), err))
			}
		}
	}
	return errors.Join(faults...)
}

// looper asks one collector.
type looper struct {
	config    Config
	collector Collector
	clock     Clock
	batches   chan<- Batch
	pace      pace
}

func newLooper(c Config, collector Collector, batches chan<- Batch) *looper {
	return &looper{config: c, collector: collector, clock: Since(c.Origin), batches: batches, pace: newPace(c)}
}

// run keeps one thread to itself, so that the thread's CPU time is the cost of looking.
func (l *looper) run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	timer := time.NewTimer(0) // The first look is taken at once: rates need a beginning.
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		l.batches <- l.look(ctx)
		now := l.clock()
		timer.Reset(l.pace.next(now) - now)
	}
}

// look asks once.
func (l *looper) look(ctx context.Context) Batch {
	limited, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	began, cpu := l.clock(), threadCPU()
	b, err := l.collector.Collect(limited, l.clock)
	b.Source, b.At, b.Took, b.CPU = l.collector.Source(), began, l.clock()-began, threadCPU()-cpu
	if err != nil {
		b.Err = fmt.Errorf("%s: %w", b.Source, err)
	}
	if note := l.pace.observe(b.CPU); note != "" {
		b.Notes = append(b.Notes, b.Source+": "+note)
	}
	return b
}
