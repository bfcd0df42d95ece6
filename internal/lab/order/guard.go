package order

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/internal/lab/expose"
	"github.com/loadline-dev/loadline/pool"
)

// dependencyName is what pool and bulkhead are called.
const dependencyName = "price"

// call is what is done under isolation.
type call func(context.Context) ([]byte, error)

// guard runs calls in an isolation.
type guard interface {
	do(ctx context.Context, f call) ([]byte, error)
	// expose writes the isolation's own metrics.
	expose(t *expose.Text)
	// close waits for calls under way until ctx ends. No call may begin any more.
	close(ctx context.Context) error
}

func newGuard(c Config) (guard, error) {
	switch c.Isolation {
	case Thread:
		return newWorkers(c)
	case Semaphore:
		return newPermits(c)
	default:
		return unbounded{timeout: c.Timeout}, nil
	}
}

// unbounded bounds nothing but the time.
type unbounded struct{ timeout time.Duration }

func (u unbounded) do(ctx context.Context, f call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, u.timeout)
	defer cancel()
	return f(ctx)
}

func (u unbounded) expose(*expose.Text) {}

func (u unbounded) close(context.Context) error { return nil }

// permits lets a number of callers in and refuses the others at once.
type permits struct {
	timeout  time.Duration
	bulkhead *bulkhead.Bulkhead
}

func newPermits(c Config) (*permits, error) {
	b, err := bulkhead.New(bulkhead.Config{Name: dependencyName, Settings: bulkhead.Settings{Permits: c.Slots}, MeasureHold: true})
	if err != nil {
		return nil, fmt.Errorf("isolation semaphore: %w", err)
	}
	return &permits{timeout: c.Timeout, bulkhead: b}, nil
}

func (p *permits) do(ctx context.Context, f call) ([]byte, error) {
	permit, err := p.bulkhead.TryAcquire()
	if err != nil {
		return nil, err
	}
	defer permit.Release()
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return f(ctx)
}

func (p *permits) close(context.Context) error { return nil }

// workers runs calls on a fixed number of workers behind a bounded queue. The timeout counts from the call, so a wait in the queue uses it up;
// at its end the caller goes on, and the worker stays busy until the dependency's call, whose context has ended too, returns.
type workers struct {
	timeout time.Duration
	pool    *pool.Pool
}

func newWorkers(c Config) (*workers, error) {
	s := pool.Settings{Core: c.Slots, Max: c.Slots, Queue: *c.Queue, Threshold: *c.Threshold}
	if s.Threshold == 0 {
		s.Threshold = pool.RefuseAll
	}
	p, err := pool.New(pool.Config{Name: dependencyName, Settings: s})
	if err != nil {
		return nil, fmt.Errorf("isolation thread: %w", err)
	}
	return &workers{timeout: c.Timeout, pool: p}, nil
}

func (w *workers) do(ctx context.Context, f call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	return pool.Call(ctx, w.pool, f)
}

func (w *workers) close(ctx context.Context) error { return w.pool.Shutdown(ctx) }
