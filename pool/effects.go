package pool

// effects are what a step under the lock leaves to do after it: wake, start, tell. The zero value is none.
type effects struct {
	wake     *worker
	admitted *waiter // a chain
	others   []func()
}

func (fx *effects) rare(f func()) { fx.others = append(fx.others, f) }

func (fx *effects) run() {
	if fx.wake != nil {
		fx.wake.wake <- struct{}{}
	}
	for w := fx.admitted; w != nil; {
		next := w.next // before the waiter goes on and is used again
		w.next = nil
		w.answer <- nil
		w = next
	}
	for _, f := range fx.others {
		f()
	}
}

// unlockBoth ends a step under both locks: it tells the inbox and those who do not lock what has become of the pool, and does what the step left
// to do.
func (p *Pool) unlockBoth(fx *effects) {
	p.publishBoth(fx)
	p.in.mu.Unlock()
	p.mu.Unlock()
	fx.run()
}

func (p *Pool) publishBoth(fx *effects) {
	p.wakeLocked(fx)
	p.in.left, p.in.ceiling = p.left, p.ceilingBoth()
	if p.wantsWakeLocked() {
		p.in.signal.arm()
	}
	p.markLocked()
	if p.machine.Closed() {
		p.drainLocked(fx)
	}
}

// ceilingBoth is up to how many tasks in flight a submitter may come in without asking the machine: as long as it would say PoolEnqueue and the
// queue does not grow beyond its high-water mark.
func (p *Pool) ceilingBoth() int {
	if p.settings.QueueBudget > 0 {
		return 0 // each task may have to set the timer
	}
	return min(p.machine.Free(), p.machine.Workers()+p.in.peaks.mark())
}

// wantsWakeLocked says that the next task that comes in needs a worker woken.
func (p *Pool) wantsWakeLocked() bool {
	return len(p.idle) > 0 && p.searching == 0 && p.machine.Queued() == 0
}

// unlock ends a worker's step, which changed neither rules nor workers nor blocked callers.
func (p *Pool) unlock(fx *effects) {
	if p.saturated {
		p.markLocked()
	}
	p.mu.Unlock()
	fx.run()
}
