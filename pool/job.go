package pool

import (
	"context"
	"time"
)

type jobState uint8

const (
	jobNew       jobState = iota
	jobBlocked            // its caller waits for room
	jobQueued             // in the queue
	jobRunning            // on a worker or on its caller
	jobEnded              // settled, or about to be by whoever ended it
	jobLeft               // taken out before it began
	jobAbandoned          // running, but settled already: a zombie
)

// runner is a job's other half, which knows the type of the result.
type runner interface {
	// execute runs the user's function. Only the goroutine that runs the job calls it.
	execute(ctx context.Context) error
	// settle tells whoever waits that the job has ended for him. It is called once, outside the lock. A non-nil early replaces
	// what execute brought or will bring.
	settle(early error)
}

// job is a task that somebody waits for.
type job struct {
	pool   *Pool
	runner runner
	parent context.Context // the caller's; nil for context.Background

	// guarded by pool.mu
	state      jobState
	deadline   time.Duration // of the run, 0 for none
	prev, next *job          // in pool.runs, while running and cancellable
	listed     bool

	task *taskContext // made by the goroutine that runs it before it enters runs, nil if parent cannot end
}

// jobs is a list of running jobs in the order in which they began.
type jobs struct{ first, last *job }

func (l *jobs) push(j *job) {
	j.listed, j.prev, j.next = true, l.last, nil
	if l.last != nil {
		l.last.next = j
	} else {
		l.first = j
	}
	l.last = j
}

func (l *jobs) remove(j *job) {
	if !j.listed {
		return
	}
	if j.prev != nil {
		j.prev.next = j.next
	} else {
		l.first = j.next
	}
	if j.next != nil {
		j.next.prev = j.prev
	} else {
		l.last = j.prev
	}
	j.listed, j.prev, j.next = false, nil, nil
}

// prepare fits out a job whose caller's context is parent.
func (j *job) prepare(p *Pool, parent context.Context) {
	j.pool, j.parent, j.state, j.deadline, j.task = p, nil, jobNew, 0, nil
	if parent == context.Background() {
		return
	}
	j.parent = parent
	if parent.Done() != nil {
		j.task = &taskContext{Context: parent, pool: p}
	}
}

// beginLocked notes that a task begins.
func (p *Pool) beginLocked(e *entry, now time.Duration) {
	p.peaks.note(now, p.machine.Busy(), 0)
	j := e.job
	if j == nil {
		return
	}
	j.state = jobRunning
	if budget := p.settings.RunBudget; budget > 0 {
		if j.task == nil {
			j.task = &taskContext{Context: j.callers(), pool: p}
		}
		j.deadline = now + budget
		j.task.deadline = p.clock.Epoch().Add(j.deadline)
		p.armLocked(now, j.deadline)
	}
	if j.task != nil {
		p.runs.push(j)
	}
}

// context is what the user's function gets.
func (j *job) context() context.Context {
	switch {
	case j.task != nil:
		return j.task
	case j.parent == nil:
		return j.pool.background
	}
	return &plainContext{j.parent, j.pool}
}

// callers is the caller's context.
func (j *job) callers() context.Context {
	if j.parent == nil {
		return context.Background()
	}
	return j.parent
}

// run executes the job, unless its caller has left.
func (j *job) run() ending {
	if j.task != nil && j.task.Err() != nil {
		return ending{skipped, context.Cause(j.task)}
	}
	if err := j.runner.execute(j.context()); err != nil {
		return ending{failed, nil}
	}
	return ending{completed, nil}
}

// ended is what is to be told, outside the lock, of a task that is over.
type ended struct {
	job     *job // nil if nobody waits, or no longer
	task    *taskContext
	early   error
	panicOf *Pool // whose hook learns of the panic
}

// endLocked accounts for a task that is over after it ran for took.
func (p *Pool) endLocked(e *entry, end ending, took time.Duration) ended {
	c := &p.counts
	var over ended
	switch end.kind {
	case skipped:
		c.cancelled++
	case completed:
		c.completed++
	case panicked:
		c.panicked++
		p.lastPanic = end.early.(*PanicError)
		over.panicOf = p
		c.failed++
	default:
		c.failed++
	}
	if end.kind != skipped {
		p.execution.Record(took)
	}
	over.early = end.early
	if j := e.job; j != nil {
		over.task = j.task
		p.runs.remove(j)
		if j.state == jobAbandoned {
			p.zombies--
		} else {
			over.job = j
		}
		j.state = jobEnded
	}
	return over
}

func (o *ended) tell() {
	if o.task != nil {
		o.task.end(context.Canceled)
	}
	if o.job != nil {
		o.job.runner.settle(o.early) // the last touch: the job may be used again from here on
	}
	if o.panicOf != nil && o.panicOf.hooks.OnPanic != nil {
		o.panicOf.hooks.OnPanic(o.early.(*PanicError))
	}
}

// abandon ends the wait of a job's caller with err: a job that has not begun never will, one that runs becomes a zombie. False means that
// the job is over already, or about to be told so.
func (p *Pool) abandon(j *job, err error) bool {
	var fx effects
	p.lockBoth()
	was := j.state
	switch was {
	case jobQueued:
		p.leaveQueueBoth(j, &fx)
	case jobRunning:
		p.abandonLocked(j)
	}
	p.unlockBoth(&fx)
	if was == jobRunning {
		p.tellAbandoned(j, err)
	}
	return was == jobQueued || was == jobRunning
}

func (p *Pool) leaveQueueBoth(j *job, fx *effects) {
	j.state = jobLeft
	p.counts.cancelled++
	p.machine.Cancel()
	p.left++
	p.buryBoth()
	p.admitBoth(p.clock.Now(), fx)
}

func (p *Pool) abandonLocked(j *job) {
	j.state = jobAbandoned
	p.zombies++
	p.counts.abandoned++
}

// tellAbandoned ends the context of a job that has become a zombie.
func (p *Pool) tellAbandoned(j *job, err error) {
	if j.task != nil {
		j.task.end(err)
	}
	if p.hooks.OnAbandon != nil {
		p.hooks.OnAbandon(p.name)
	}
}
