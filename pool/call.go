package pool

import "context"

// Call runs fn on a worker of p and waits for its result. The context of fn carries the values of ctx, ends when ctx does, when the run budget
// has passed or at ShutdownNow, and names p (see Of).
//
// The error is fn's; or a *RejectedError, ErrDiscarded, ErrQueueBudget, ErrRunBudget, a *PanicError, ErrGoexit. When ctx ends first,
// Call returns its cause at once: a task that has not begun never will, one that runs counts as a zombie until it returns.
//
// Call does not allocate while a pool's calls have one result type, ctx cannot end and there is no run budget.
func Call[T any](ctx context.Context, p *Pool, fn func(context.Context) (T, error)) (T, error) {
	c := takeCall[T](p)
	c.fn = fn
	return c.do(ctx, p)
}

// Do is Call for a function without a result.
func (p *Pool) Do(ctx context.Context, fn func(context.Context) error) error {
	c := takeCall[struct{}](p)
	c.plain = fn
	_, err := c.do(ctx, p)
	return err
}

// call is a job whose caller stays.
type call[T any] struct {
	job
	fn    func(context.Context) (T, error)
	plain func(context.Context) error // in place of fn
	value T
	err   error
	early error
	done  chan struct{} // of one place
}

func takeCall[T any](p *Pool) *call[T] {
	if c, ok := p.calls.Get().(*call[T]); ok {
		return c
	}
	c := &call[T]{done: make(chan struct{}, 1)}
	c.runner = c
	return c
}

func (c *call[T]) execute(ctx context.Context) error {
	if c.plain != nil {
		c.err = c.plain(ctx)
	} else {
		c.value, c.err = c.fn(ctx)
	}
	return c.err
}

func (c *call[T]) settle(early error) {
	c.early = early
	c.done <- struct{}{}
}

func (c *call[T]) do(ctx context.Context, p *Pool) (T, error) {
	c.prepare(p, ctx)
	var from *Pool
	if c.parent != nil {
		from = Of(ctx)
	}
	from.beginWait(p)
	value, err, again := c.wait(ctx, p)
	from.endWait(p)
	if again {
		var zero T
		c.fn, c.plain, c.value, c.err, c.parent, c.task = nil, nil, zero, nil, nil, nil
		p.calls.Put(c)
	}
	return value, err
}

// wait submits the call and waits; again says that nobody else holds the call any more.
func (c *call[T]) wait(ctx context.Context, p *Pool) (value T, err error, again bool) {
	if err := p.bring(ctx, &c.job); err != nil {
		return value, err, true
	}
	if done := ctx.Done(); done != nil {
		select {
		case <-c.done:
		case <-done:
			if p.abandon(&c.job, context.Cause(ctx)) {
				return value, context.Cause(ctx), false
			}
			<-c.done
		}
	} else {
		<-c.done
	}
	if c.early != nil {
		return value, c.early, false
	}
	return c.value, c.err, true
}

// bring submits a job.
func (p *Pool) bring(ctx context.Context, j *job) error {
	if mark := p.full.Load(); mark != nil {
		if err := p.bounce(mark); err != nil {
			return err
		}
		return ErrDiscarded
	}
	return p.submit(ctx, entry{job: j})
}
