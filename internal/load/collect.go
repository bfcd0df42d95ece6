package load

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/loadline-dev/loadline/internal/record"
)

// collector takes the parts of intervals from the loops and hands whole intervals to the sink, in order. Loops never wait for the sink.
type collector struct {
	mu     sync.Mutex
	parts  []*recorder // handed over and not yet taken
	failed error       // why a loop gave up
	signal chan struct{}
	addr   func(int) string // the text of an address's number
	meter  *processMeter
	// samples takes single requests; nil: they are not kept.
	samples func([]record.Sample) error
}

func newCollector(addr func(int) string, sources int64) *collector {
	return &collector{signal: make(chan struct{}, 1), addr: addr, meter: newProcessMeter(sources)}
}

// hand takes a loop's part of an interval; r is the collector's from then on. The parts of a loop come in order, and every loop hands
// over one that is its last.
func (c *collector) hand(r *recorder) {
	c.mu.Lock()
	c.parts = append(c.parts, r)
	c.mu.Unlock()
	c.wake()
}

// fail notes why a loop gave up.
func (c *collector) fail(err error) {
	c.mu.Lock()
	if c.failed == nil {
		c.failed = err
	}
	c.mu.Unlock()
	c.wake()
}

func (c *collector) wake() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

func (c *collector) take() ([]*recorder, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := c.parts
	c.parts = nil
	return parts, c.failed
}

// deliver runs until each of the loops has handed over its last part. Stop is called at most once, when ctx ends, the sink fails or a
// loop fails; the loops then end on their own.
func (c *collector) deliver(ctx context.Context, loops int, sink Sink, stop func()) error {
	reached := make([]int, loops) // how many intervals each loop has left behind
	open := map[int]*recorder{}
	next := 0
	var failure, broken error
	end := func(err error) {
		if failure == nil && err != nil {
			failure = err
			stop()
		}
	}
	interrupted := ctx.Done()
	for slices.Min(reached) < math.MaxInt {
		select {
		case <-c.signal:
		case <-interrupted:
			interrupted = nil
			end(ctx.Err())
			continue
		}
		parts, failed := c.take()
		end(failed)
		for _, p := range parts {
			reached[p.loop] = p.index + 1
			if p.last {
				reached[p.loop] = math.MaxInt
			}
			if open[p.index] == nil {
				open[p.index] = p
				continue
			}
			open[p.index].merge(p)
		}
		for p := open[next]; p != nil && slices.Min(reached) > next; p = open[next] {
			delete(open, next)
			next++
			if broken == nil {
				broken = c.send(p, sink)
				end(broken)
			}
		}
	}
	return failure
}

func (c *collector) send(p *recorder, sink Sink) error {
	if c.samples != nil {
		if err := c.samples(p.samples); err != nil {
			return err
		}
	}
	interval := p.interval(c.addr)
	interval.Generator = c.meter.sample()
	interval.Generator.LoopCPU = p.loopCPU
	interval.Generator.RunQueueWait = p.runWait
	return sink.Interval(interval)
}
