package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

type poolKey struct{}

// Of is the pool on whose worker the task of ctx runs, or nil. Give a task's context to whatever the task waits for, and the pool knows
// of the wait.
func Of(ctx context.Context) *Pool {
	if ctx == context.Background() {
		return nil
	}
	p, _ := ctx.Value(poolKey{}).(*Pool)
	return p
}

// plainContext is the context of tasks whose caller's context cannot end: that one's values, the pool, and an end at ShutdownNow. It never
// changes, so that many tasks share one.
type plainContext struct {
	context.Context // the caller's
	pool            *Pool
}

func (c *plainContext) Done() <-chan struct{} { return c.pool.base.Done() }
func (c *plainContext) Err() error            { return c.pool.base.Err() }

func (c *plainContext) Value(key any) any {
	if _, ok := key.(poolKey); ok {
		return c.pool
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.pool.base.Value(key) // so that package context finds where to tie a child
}

// taskContext is the context of a task that can be cancelled alone. What costs, a real context, is made when Done is first asked for.
type taskContext struct {
	context.Context // the caller's
	pool            *Pool
	deadline        time.Time // of the run budget; zero for none

	real  atomic.Pointer[realContext]
	mu    sync.Mutex // guards the making of real, and ended
	ended error      // why the task's context ended before real was made
}

type realContext struct {
	context.Context
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
}

func (c *taskContext) Deadline() (time.Time, bool) {
	theirs, ok := c.Context.Deadline()
	if c.deadline.IsZero() || ok && theirs.Before(c.deadline) {
		return theirs, ok
	}
	return c.deadline, true
}

func (c *taskContext) Done() <-chan struct{} {
	if r := c.real.Load(); r != nil {
		return r.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.real.Load(); r != nil {
		return r.Done()
	}
	r := &realContext{stop: func() {}}
	r.Context = c.Context
	if !c.deadline.IsZero() {
		r.Context, r.stop = context.WithDeadlineCause(r.Context, c.deadline, ErrRunBudget)
	}
	r.Context, r.cancel = context.WithCancelCause(r.Context)
	if c.ended != nil {
		r.cancel(c.ended)
	}
	c.real.Store(r)
	return r.Done()
}

func (c *taskContext) Err() error {
	if r := c.real.Load(); r != nil {
		return r.Err()
	}
	if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		return context.DeadlineExceeded
	}
	if err := c.Context.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return context.Canceled
	}
	return nil
}

func (c *taskContext) Value(key any) any {
	if _, ok := key.(poolKey); ok {
		return c.pool
	}
	if r := c.real.Load(); r != nil {
		return r.Value(key) // so that package context finds where to tie a child, and the cause
	}
	return c.Context.Value(key)
}

// end ends the context, for a task that has returned, was cancelled or whose pool stops. Only the first cause counts.
func (c *taskContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = cause
	}
	if r := c.real.Load(); r != nil {
		r.cancel(cause)
		r.stop()
	}
}
