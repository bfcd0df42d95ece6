package pool

// runOnCallerUnlock runs a task on the goroutine that brought it.
func (p *Pool) runOnCallerUnlock(e *entry) {
	p.onCaller++
	p.alive++
	p.counts.callerRuns++
	began := e.at
	p.beginLocked(e, began)
	p.unlockBoth(&effects{})
	end := ending{exited, ErrGoexit}
	defer func() {
		p.mu.Lock()
		over := p.endLocked(e, end, p.clock.Now()-began)
		p.onCaller--
		p.unlock(&effects{})
		over.tell()
		p.leave()
	}()
	p.guarded(e, &end)
}

// guarded runs a task and turns a panic into its ending. After runtime.Goexit it does not return and leaves end as it was.
func (p *Pool) guarded(e *entry, end *ending) {
	defer func() {
		if value := recover(); value != nil {
			*end = p.panicEnding(value, "")
		}
	}()
	if e.job == nil {
		e.fn()
		*end = ending{}
		return
	}
	*end = e.job.run()
}
