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

// unlock ends a step.
func (p *Pool) unlock(fx *effects) {
	p.publishLocked()
	if p.machine.Closed() {
		p.drainLocked(fx)
	}
	p.mu.Unlock()
	fx.run()
}
