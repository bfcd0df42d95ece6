package order

import (
	"context"
	"sync/atomic"
	"time"
)

// call is what is done under isolation.
type call func(context.Context) ([]byte, error)

// guard runs calls in an isolation. Its errors match errRejected, errShortCircuited and context.DeadlineExceeded.
type guard interface {
	do(ctx context.Context, f call) ([]byte, error)
	stats() stats
	close(ctx context.Context) error
}

// stats is what an isolation tells of itself.
type stats struct {
	kind                           Isolation
	core, size, max, capacity      int
	active, queued                 int64
	activeHigh, queueHigh          int64
	completed, rejected, abandoned uint64
	wait, execution                *histogram
}

func newGuard(c Config) guard {
	switch c.Isolation {
	case Thread:
		return newThreads(c)
	case Semaphore:
		return &permits{slots: int64(c.Slots), timeout: c.Timeout}
	default:
		return open{timeout: c.Timeout}
	}
}

// open bounds nothing but the time.
type open struct{ timeout time.Duration }

func (o open) do(ctx context.Context, f call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	return f(ctx)
}

func (o open) stats() stats                { return stats{kind: None} }
func (o open) close(context.Context) error { return nil }

// permits lets a number of callers in and refuses the others at once.
type permits struct {
	slots     int64
	timeout   time.Duration
	active    peak
	completed atomic.Uint64
	rejected  atomic.Uint64
	execution histogram
}

func (p *permits) do(ctx context.Context, f call) ([]byte, error) {
	if !p.active.enter(p.slots) {
		p.rejected.Add(1)
		return nil, errRejected
	}
	started := time.Now()
	defer func() {
		p.execution.add(time.Since(started))
		p.completed.Add(1)
		p.active.leave()
	}()
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return f(ctx)
}

func (p *permits) stats() stats {
	n := int(p.slots)
	return stats{kind: Semaphore, core: n, size: n, max: n, active: p.active.now.Load(), activeHigh: p.active.high(), completed: p.completed.Load(),
		rejected: p.rejected.Load(), execution: &p.execution}
}

func (p *permits) close(context.Context) error { return nil }
