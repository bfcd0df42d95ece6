package pool

import (
	"context"

	"github.com/loadline-dev/loadline/internal/policy"
)

// Go gives the pool a task that nobody waits for. A nil error means that the task was taken, or dropped as the policy Discard asks;
// otherwise the error is a *RejectedError. With the policy Block it returns when there is room, with CallerRuns perhaps when the task has
// run. A panic of the task is counted, kept in Snapshot.LastPanic and told to Hooks.OnPanic.
func (p *Pool) Go(task func()) error {
	if mark := p.full.Load(); mark != nil {
		return p.bounce(mark)
	}
	return p.submit(context.Background(), entry{fn: task})
}

// submit brings a task in, or returns why not. For a job the error says that it will not be settled.
func (p *Pool) submit(ctx context.Context, e entry) error {
	e.at = p.clock.Now()
	in := &p.in
	if in.signal.v.Load() == armed {
		return p.submitSlow(ctx, &e) // which hands it to a worker
	}
	lockInbox(&in.mu)
	if in.entered-in.left >= in.ceiling || e.at >= in.peaks.end {
		in.mu.Unlock()
		return p.submitSlow(ctx, &e)
	}
	in.entered++
	in.fresh++
	if e.job != nil {
		e.job.state = jobQueued
	}
	in.queue.push(e)
	wake := in.signal.cameIn()
	in.mu.Unlock()
	if wake {
		p.wakeOne()
	}
	return nil
}

// wakeOne wakes a worker as the inbox asked.
func (p *Pool) wakeOne() {
	var fx effects
	p.mu.Lock()
	if p.searching == 0 {
		p.wakeTopLocked(&fx)
	}
	p.unlock(&fx)
}

// submitSlow asks the machine.
func (p *Pool) submitSlow(ctx context.Context, e *entry) error {
	p.lockBoth()
	p.counts.submitted++
	verdict, reason := p.machine.Submit()
	if verdict == policy.PoolEnqueue && p.machine.Queued() == 1 && len(p.idle) > 0 && p.in.signal.hand() {
		p.handUnlock(e)
		return nil
	}
	return p.placeUnlock(ctx, e, verdict, reason)
}

// handUnlock gives a task that would be the only one in the queue to a parked worker, which then needs no lock to begin.
func (p *Pool) handUnlock(e *entry) {
	w := p.idle[len(p.idle)-1]
	p.idle[len(p.idle)-1] = nil
	p.idle = p.idle[:len(p.idle)-1]
	p.machine.Next() // the task that was just queued
	p.in.entered++
	p.in.left, p.in.ceiling = p.left, p.ceilingBoth()
	p.beginLocked(e, e.at)
	w.task, w.handed = *e, true
	if p.machine.Saturated() {
		p.markLocked()
	}
	p.in.mu.Unlock()
	p.mu.Unlock()
	w.wake <- struct{}{}
}

// placeBoth follows a verdict that found room.
func (p *Pool) placeBoth(verdict policy.PoolVerdict, e *entry, fx *effects) {
	if verdict == policy.PoolStart {
		p.in.entered++
		p.beginLocked(e, e.at)
		fx.rare(p.spawnLocked(*e))
		return
	}
	p.pushBoth(e)
	if p.settings.QueueBudget > 0 {
		p.armLocked(e.at, e.at+p.settings.QueueBudget)
	}
}

// placeUnlock follows the verdicts that are not the common one, and gives the lock back.
func (p *Pool) placeUnlock(ctx context.Context, e *entry, verdict policy.PoolVerdict, reason policy.PoolReason) error {
	var fx effects
	switch verdict {
	case policy.PoolEnqueue, policy.PoolStart:
		p.placeBoth(verdict, e, &fx)
	case policy.PoolRunCaller:
		p.runOnCallerUnlock(e)
		return nil
	case policy.PoolEvict:
		p.evictBoth(&fx)
		p.machine.Enqueued(1) // into the place that has just become free
		p.pushBoth(e)
	case policy.PoolDrop:
		return p.dropUnlock(e, reason)
	case policy.PoolWait:
		return p.waitUnlock(ctx, e)
	case policy.PoolAsk:
		return p.askUnlock(ctx, e, reason)
	default:
		return p.refuseUnlock(reasonOf(reason), nil)
	}
	p.unlockBoth(&fx)
	return nil
}

func reasonOf(r policy.PoolReason) Reason {
	switch r {
	case policy.PoolThreshold:
		return Threshold
	case policy.PoolClosed:
		return Closed
	}
	return Full
}

// askUnlock lets the user's own policy decide, outside the lock, and decides anew with its answer.
func (p *Pool) askUnlock(ctx context.Context, e *entry, reason policy.PoolReason) error {
	rejection := p.rejectionLocked(reasonOf(reason), nil)
	p.unlockBoth(&effects{})
	verdict := p.onOverflow(Overflow{Rejection: rejection, Context: ctx})
	p.lockBoth()
	if verdict.Policy >= User {
		verdict.Policy = Abort
	}
	v, why := p.machine.SubmitAs(policy.PoolPolicy(verdict.Policy))
	if v == policy.PoolRefuse {
		return p.refuseUnlock(reasonOf(why), verdict.Cause)
	}
	return p.placeUnlock(ctx, e, v, why)
}

// evictBoth drops the queue's head in favour of a new task.
func (p *Pool) evictBoth(fx *effects) {
	old := p.popBoth()
	p.machine.Cancel()
	p.left++
	p.counts.discarded++
	p.settleLocked(&old, jobLeft, ErrDiscarded, fx)
}

// settleLocked ends a task that has not begun.
func (p *Pool) settleLocked(e *entry, state jobState, err error, fx *effects) {
	if e.job == nil {
		return
	}
	j := e.job
	j.state = state
	fx.rare(func() { j.runner.settle(err) })
}

func (p *Pool) dropUnlock(e *entry, reason policy.PoolReason) error {
	p.counts.discarded++
	rejection := p.rejectionLocked(reasonOf(reason), nil)
	p.unlockBoth(&effects{})
	if p.hooks.OnReject != nil {
		p.hooks.OnReject(rejection)
	}
	if e.job != nil {
		return ErrDiscarded
	}
	return nil
}

func (p *Pool) refuseUnlock(reason Reason, cause error) error {
	p.countRejection(reason)
	rejection := p.rejectionLocked(reason, cause)
	p.unlockBoth(&effects{})
	if p.hooks.OnReject != nil {
		p.hooks.OnReject(rejection)
	}
	return rejection
}

func (p *Pool) countRejection(reason Reason) {
	r := &p.counts.rejected
	switch reason {
	case Threshold:
		r.Threshold++
	case TimedOut:
		r.TimedOut++
	case Closed:
		r.Closed++
	default:
		r.Full++
	}
}

// rejectionLocked is an error with the figures of this moment: the last one, if it has the same, so that a pool that is full allocates
// nothing.
func (p *Pool) rejectionLocked(reason Reason, cause error) *RejectedError {
	m := &p.machine
	now := RejectedError{
		Pool: p.name, Reason: reason, Active: m.Busy(), Workers: m.Workers(), Max: p.settings.Max, Waiting: m.Waiting(),
		Queue: p.settings.EffectiveQueue(),
	}
	if cause != nil {
		own := now
		own.Cause = cause
		return &own
	}
	if p.rejection == nil || *p.rejection != now {
		kept := now
		p.rejection = &kept
	}
	return p.rejection
}

// The kinds of tasks that meet a fullMark.
const (
	fastFull = iota
	fastThreshold
	fastClosed
	fastDropped
	fastKinds
)

// fullMark says that every task would be refused, and how.
type fullMark struct {
	rejection *RejectedError
	kind      int
}

// bounce refuses a task at the price of a load and a count. It is right because at the instant of the load the machine would have refused
// it.
func (p *Pool) bounce(mark *fullMark) error {
	p.fast[mark.kind].Add(1)
	if p.hooks.OnReject != nil {
		p.hooks.OnReject(mark.rejection)
	}
	if mark.kind == fastDropped {
		return nil
	}
	return mark.rejection
}

// markLocked sets or takes away the mark. To set it needs both locks.
func (p *Pool) markLocked() {
	saturated := p.machine.Saturated()
	if !saturated {
		if p.saturated {
			p.saturated = false
			p.full.Store(nil)
		}
		return
	}
	rejection, kind := p.rejectionLocked(p.saturationLocked()), fastFull
	switch {
	case rejection.Reason == Closed:
		kind = fastClosed
	case p.settings.Policy == Discard:
		kind = fastDropped
	case rejection.Reason == Threshold:
		kind = fastThreshold
	}
	if p.mark == nil || p.mark.rejection != rejection || p.mark.kind != kind {
		p.mark = &fullMark{rejection, kind}
	}
	p.saturated = true
	if p.full.Load() != p.mark {
		p.full.Store(p.mark)
	}
}

// saturationLocked is why the pool is full, in the form that rejectionLocked takes.
func (p *Pool) saturationLocked() (Reason, error) {
	switch {
	case p.machine.Closed():
		return Closed, nil
	case p.machine.AtThreshold():
		return Threshold, nil
	}
	return Full, nil
}
