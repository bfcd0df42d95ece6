package pool

import "context"

// Close stops the pool to take tasks, waits until those that were taken have ended, and its workers too. Callers that wait for room get
// ErrClosed. Called from a task of the pool it never returns. It may be called more than once, and always returns nil.
func (p *Pool) Close() error { return p.Shutdown(context.Background()) }

// Shutdown is Close with a limit: when ctx ends first, it returns the cause, and the pool goes on to drain.
func (p *Pool) Shutdown(ctx context.Context) error {
	var fx effects
	p.lockBoth()
	p.closeLocked(&fx)
	p.unlockBoth(&fx)
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ShutdownNow stops the pool to take tasks, drops those that wait (their callers get ErrDiscarded), ends the contexts of those that run, and
// returns how many it dropped, without waiting. Shutdown or Done wait.
func (p *Pool) ShutdownNow() int {
	var fx effects
	p.lockBoth()
	p.closeLocked(&fx)
	dropped := 0
	for p.peekBoth() != nil {
		p.evictBoth(&fx)
		dropped++
	}
	for j := p.runs.first; j != nil; j = j.next {
		task := j.task
		fx.rare(func() { task.end(ErrClosed) })
	}
	p.unlockBoth(&fx)
	p.cancelBase(ErrClosed)
	return dropped
}

// closeLocked stops the pool to take tasks and refuses callers that wait for room.
func (p *Pool) closeLocked(fx *effects) {
	p.machine.Close()
	for w := p.blocked.first; w != nil; w = p.blocked.first {
		p.refuseWaiterLocked(w, Closed, fx)
	}
}

// drainLocked sends the parked workers of a closed pool home once the queue is empty, and ends the pool's life with the last goroutine.
func (p *Pool) drainLocked(fx *effects) {
	for len(p.idle) > 0 && p.machine.Dismiss() {
		fx.rare(p.dismissLocked())
	}
	if p.stopped || p.alive > 0 || p.machine.Queued() > 0 {
		return
	}
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
	fx.rare(func() {
		p.cancelBase(ErrClosed)
		close(p.done)
	})
}

// leave notes that a goroutine that worked for the pool has told everybody and ends.
func (p *Pool) leave() {
	var fx effects
	p.lockBoth()
	p.alive--
	p.unlockBoth(&fx)
}
