package pool

import (
	"context"
	"sync"
)

// Future is a task that was given to a pool and whose result can be waited for, by any number of goroutines.
type Future[T any] struct {
	job
	fn    func(context.Context) (T, error)
	value T // what fn brought, read once settled without early
	err   error

	mu      sync.Mutex // guards settled, early and the making of done
	settled bool
	early   error
	done    chan struct{}
}

// Submit gives fn to p and returns at once, or, with the policies Block and CallerRuns, when there is room or fn has run. The context of fn
// is that of Call. The error is a *RejectedError, ErrDiscarded, or the cause of ctx when that ended while Submit waited for room; there
// is no future then.
//
// A task whose ctx has ended before a worker takes it is skipped.
func Submit[T any](ctx context.Context, p *Pool, fn func(context.Context) (T, error)) (*Future[T], error) {
	f := &Future[T]{fn: fn}
	f.runner = f
	f.prepare(p, ctx)
	if f.task == nil {
		f.task = &taskContext{Context: ctx, pool: p} // for Cancel
	}
	from := Of(ctx)
	from.beginWait(p)
	err := p.bring(ctx, &f.job)
	from.endWait(p)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Submit is the function Submit for a task without a result.
func (p *Pool) Submit(ctx context.Context, fn func(context.Context) error) (*Future[struct{}], error) {
	return Submit(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
}

func (f *Future[T]) execute(ctx context.Context) error {
	f.value, f.err = f.fn(ctx)
	return f.err
}

func (f *Future[T]) settle(early error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settled, f.early = true, early
	if f.done != nil {
		close(f.done)
	}
}

// Done is closed when the result is there.
func (f *Future[T]) Done() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done == nil {
		f.done = make(chan struct{})
		if f.settled {
			close(f.done)
		}
	}
	return f.done
}

// Wait waits for the result, as Call returns it, or until ctx ends, whose cause it then returns; the task goes on. Give it the context of
// the task in which it is called, if there is one: the pool of that task then knows for what it waits.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	f.mu.Lock()
	settled := f.settled
	f.mu.Unlock()
	if settled {
		return f.result()
	}
	from := Of(ctx)
	from.beginWait(f.pool)
	defer from.endWait(f.pool)
	select {
	case <-f.Done():
		return f.result()
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

func (f *Future[T]) result() (T, error) {
	f.mu.Lock()
	early := f.early
	f.mu.Unlock()
	if early != nil {
		var zero T
		return zero, early
	}
	return f.value, f.err
}

// Cancel gives the task up: one that has not begun never will, one that runs has its context ended and counts as a zombie until it returns.
// Whoever waits gets ErrCancelled. False means that the task was over already.
func (f *Future[T]) Cancel() bool { return f.abandonWith(ErrCancelled) }

func (f *Future[T]) abandonWith(err error) bool {
	if !f.pool.abandon(&f.job, err) {
		return false
	}
	f.settle(err)
	return true
}
