package pool

import "context"

// Runner is a task whose owner brings a way of his own to wait for it.
type Runner interface {
	// Execute runs the task on a worker, or on the submitter with CallerRuns. It is called at most once a Submit.
	Execute(ctx context.Context) error
	// Settle tells that the task is over: early is nil after Execute returned; a *PanicError or ErrGoexit when it did not; or why it was never
	// called or is waited for no longer (ErrDiscarded, ErrQueueBudget, ErrRunBudget). It is called once, unless Abandon succeeds first, and
	// must not block.
	Settle(early error)
}

// Task is the passage of a Runner through a pool, for those who wait in their own way, such as package command: without an allocation, and
// given up from any goroutine. Most callers want Call or Submit. Prepare it, Submit it, and see to Waited.
type Task struct {
	job
	outer Runner
	from  *Pool
}

func (t *Task) execute(ctx context.Context) error { return t.outer.Execute(ctx) }
func (t *Task) settle(early error)                { t.outer.Settle(early) }

// Prepare makes the task ready for a Submit to p, and for an Abandon that may come at any time from then on. A task may be prepared again
// once it is over and nobody is left who might abandon it.
func (t *Task) Prepare(p *Pool, r Runner) {
	t.outer, t.runner = r, t
	t.prepare(p, context.Background())
}

// Submit gives the task to its pool. A nil error means that Settle will follow, unless Abandon comes first, and that Waited must be called
// when the caller waits no longer; otherwise neither is the case. The context is that of the caller, for as long as Submit has to
// wait for room, and tells which pool waits for this one. That of Execute has no values but the pool's and ends at ShutdownNow or by the run
// budget.
func (t *Task) Submit(ctx context.Context) error {
	t.from = Of(ctx)
	t.from.beginWait(t.pool)
	err := t.pool.bring(ctx, &t.job)
	if err != nil {
		t.from.endWait(t.pool)
	}
	return err
}

// Waited notes that nobody waits for the task any more.
func (t *Task) Waited() { t.from.endWait(t.pool) }

// Abandonment is what Abandon found.
type Abandonment uint8

// The findings.
const (
	TooLate   Abandonment = iota // the task is over, or not admitted yet: Settle or Submit's error follows or came
	NeverRuns                    // it was in the queue and left it: neither Execute nor Settle will be called
	RunsOn                       // it runs, or is just about to, and counts as a zombie until Execute returns; Settle will not be called
)

// Abandon gives the task up. It may be called from any goroutine, from Prepare on and until the task is prepared anew.
func (t *Task) Abandon(cause error) Abandonment {
	p := t.pool
	if !p.abandon(&t.job, cause) {
		return TooLate
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.state == jobLeft {
		return NeverRuns
	}
	return RunsOn
}
