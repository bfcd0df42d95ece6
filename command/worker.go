package command

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/pool"
)

// passage is a call on its way through a pool. Caller, worker and watch share it: the slot's word decides which of them counts the call, as
// it does on the caller's goroutine, and the pool's task who gives the slot back: the worker if it runs, else who finds that it never will.
type passage struct {
	call
	g      *gear
	task   pool.Task
	parent context.Context
	// Which call of which slot this is: a slot may still point to the passage of an earlier call.
	of     atomic.Pointer[slot]
	serial atomic.Uint64

	limit atomic.Uint64 // the word while Settings.MaxWait bounds the wait, else 0

	told    chan struct{} // of one place: the caller may go on
	early   error         // why he may although the function has not returned; written before told, as all below
	outcome Outcome
	err     error
}

// errand is a passage for a function that returns a T.
type errand[T any] struct {
	passage
	fn    func(context.Context) (T, error)
	value T
}

func (c *Command[T]) onWorker(ctx context.Context, g *gear, fn func(context.Context) (T, error)) (T, error) {
	e, ok := c.errands.Get().(*errand[T])
	if !ok {
		e = &errand[T]{passage: passage{told: make(chan struct{}, 1)}}
		e.c = c.Control
	}
	e.g, e.parent, e.fn = g, ctx, fn
	var value T
	outcome, err := e.send(ctx, e)
	if e.early == nil { // else the worker may still be at it
		value = e.value
		if !e.marked { // else the watch may still look at it
			e.clear()
			c.errands.Put(e)
		}
	}
	if outcome == Success {
		return value, err
	}
	return c.instead(ctx, g, outcome, err)
}

func (e *errand[T]) clear() {
	var zero T
	e.value, e.fn, e.parent, e.inner, e.err, e.g = zero, nil, nil, nil, nil, nil
}

// Execute is the worker's part.
func (e *errand[T]) Execute(worker context.Context) error {
	if !e.arrive(worker) {
		return errAborted
	}
	defer e.crash()
	value, err := e.fn(e.inner)
	e.value = value
	e.outcome, e.err = e.end(e.parent, err)
	return err
}

// crash is end for a function that panicked or ended its goroutine, which the pool makes an error of; it does nothing after end.
func (p *passage) crash() {
	if p.slot != nil {
		p.outcome, p.err = p.end(p.parent, errAborted)
	}
}

// Settle lets the caller go on.
func (p *passage) Settle(early error) {
	p.early = early
	p.told <- struct{}{}
}

// send brings the call to the pool and waits for what becomes of it.
func (p *passage) send(ctx context.Context, r pool.Runner) (Outcome, error) {
	p.early, p.marked = nil, false
	if outcome, err := p.begin(ctx, p.g, p.g.queued); err != nil {
		return outcome, err
	}
	s, serial := p.slot, p.word&serialMask
	limit := uint64(0)
	if p.g.waits {
		limit = p.word
	}
	p.limit.Store(limit)
	p.task.Prepare(p.g.pool, r)
	p.serial.Store(serial)
	p.of.Store(s)
	s.passage.Store(p)
	if err := p.task.Submit(s.contextOver(ctx, p.word)); err != nil {
		return p.refused(ctx, err)
	}
	if s.word.Load()&(overtime|serialMask) == overtime|serial { // marked when there was no task yet to abandon
		p.abandon(s, p.c.watch.reason(s))
	}
	p.wait(ctx, s, serial)
	p.task.Waited()
	return p.result(ctx, s, serial)
}

func (p *passage) wait(ctx context.Context, s *slot, serial uint64) {
	done := ctx.Done()
	if done == nil {
		<-p.told
		return
	}
	select {
	case <-p.told:
	case <-done:
		if p.c.watch.leave(s, serial, Cancelled) {
			p.abandon(s, errLeft)
		}
		<-p.told
	}
}

// abandon gives up the task of a call that has been marked, and lets the caller go on. Of those who try only one succeeds.
func (p *passage) abandon(s *slot, why error) {
	switch p.task.Abandon(why) {
	case pool.NeverRuns:
		p.c.watch.returned(s, false)
	case pool.RunsOn:
	default:
		return // others have told the caller, or Submit will
	}
	p.Settle(why)
}

// result is what the caller gets once he was told.
func (p *passage) result(ctx context.Context, s *slot, serial uint64) (Outcome, error) {
	c := p.c
	switch early := p.early; {
	case early == nil:
		return p.outcome, p.err
	case early == error(c.errTimeout):
		return Timeout, early
	case early == error(c.errQueued):
		return Rejected, early
	case early == errLeft:
		return Cancelled, ctx.Err()
	case died(early):
		if p.outcome == Failure {
			return Failure, early
		}
		return p.outcome, p.err // it was over time, or its caller about to leave
	case errors.Is(early, pool.ErrRunBudget): // the pool's own, and earlier than ours
		c.watch.leave(s, serial, Timeout)
		return Timeout, c.errTimeout
	default:
		return p.refused(ctx, early)
	}
}

// died tells whether a task ended without returning.
func died(early error) bool {
	var panicked *pool.PanicError
	return errors.As(early, &panicked) || errors.Is(early, pool.ErrGoexit)
}

// refused is the end of a call that the pool did not take, or dropped before a worker had it. Nobody else holds it then, unless it was marked.
func (p *passage) refused(ctx context.Context, err error) (Outcome, error) {
	p.early = nil
	return p.withdraw(ctx, byPool, err)
}

// arrive is the beginning of the worker's part; false means that the caller has left and the function must not be called.
func (p *passage) arrive(worker context.Context) bool {
	now := p.c.clock.Now()
	p.start = max(now, p.began+1) // a wait that a coarse clock cannot see is a wait
	if !p.inTime(now) {
		p.marked = true
		p.outcome = p.c.watch.returned(p.slot, false)
		p.err = p.c.markedError(p.parent, p.outcome)
		return false
	}
	p.inner = p.slot.contextOnWorker(p.parent, worker, p.word)
	return true
}

func (p *passage) inTime(now time.Duration) bool {
	switch {
	case p.g.settings.TimeoutFrom == FromStart:
		return p.postpone(now + p.g.timeout)
	case p.g.waits:
		return p.postpone(p.began + p.g.timeout)
	default:
		return p.slot.word.Load() == p.word
	}
}
