package pool

import (
	"context"
	"sync"
	"time"
)

// waiter is a caller that waits for room.
type waiter struct {
	entry      entry
	since      time.Duration
	answer     chan error // nil: admitted
	prev, next *waiter    // in the list; next also chains those that are admitted at once
	listed     bool
}

// waitList holds waiters, first come first. Guarded by the pool's lock.
type waitList struct{ first, last *waiter }

func (l *waitList) push(w *waiter) {
	w.listed, w.prev, w.next = true, l.last, nil
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
}

func (l *waitList) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.listed, w.prev, w.next = false, nil, nil
}

// waitUnlock makes the caller wait for room.
func (p *Pool) waitUnlock(ctx context.Context, e *entry) error {
	w, ok := p.waiters.Get().(*waiter)
	if !ok {
		w = &waiter{answer: make(chan error, 1)}
	}
	w.entry, w.since = *e, e.at
	if e.job != nil {
		e.job.state = jobBlocked
	}
	p.blocked.push(w)
	p.mu.crowd.Add(1)
	if p.settings.BlockFor > 0 {
		p.armLocked(e.at, e.at+p.settings.BlockFor)
	}
	p.unlockBoth(&effects{})
	err := p.answer(ctx, w)
	p.mu.crowd.Add(-1)
	w.entry = entry{}
	p.waiters.Put(w)
	return err
}

// answer is what becomes of a waiter: nil if its task was admitted.
func (p *Pool) answer(ctx context.Context, w *waiter) error {
	done := ctx.Done()
	if done == nil {
		return <-w.answer
	}
	select {
	case err := <-w.answer:
		return err
	case <-done:
	}
	p.lockBoth()
	if !w.listed {
		p.unlockBoth(&effects{})
		return <-w.answer
	}
	p.blocked.remove(w)
	p.machine.Leave()
	p.counts.cancelled++
	p.unlockBoth(&effects{})
	return context.Cause(ctx)
}

// admitBoth takes in callers that wait, as long as there is room.
func (p *Pool) admitBoth(now time.Duration, fx *effects) {
	var tail *waiter
	for p.blocked.first != nil {
		verdict, ok := p.machine.Unblock()
		if !ok {
			return
		}
		w := p.blocked.first
		p.blocked.remove(w)
		w.entry.at = now
		p.placeBoth(verdict, &w.entry, fx)
		if tail == nil {
			w.next = fx.admitted
			fx.admitted = w
		} else {
			tail.next = w
		}
		tail = w
	}
}

// waits is which other pools the tasks of a pool wait for.
type waits struct {
	mu sync.Mutex // guards on
	on map[*Pool]*Wait
}

// Waits is for which pools tasks of p have waited, through Call, Do, a Future or a Batch, with the context that they were given.
func (p *Pool) Waits() []Wait {
	p.waits.mu.Lock()
	defer p.waits.mu.Unlock()
	all := make([]Wait, 0, len(p.waits.on))
	for _, w := range p.waits.on {
		all = append(all, *w)
	}
	return all
}

// beginWait notes that a task of p, which may be nil, is about to wait for one of to. endWait must follow.
func (p *Pool) beginWait(to *Pool) {
	if p == nil {
		return
	}
	p.waits.mu.Lock()
	w := p.waits.on[to]
	first := w == nil
	if first {
		w = &Wait{On: to}
		if p.waits.on == nil {
			p.waits.on = map[*Pool]*Wait{}
		}
		p.waits.on[to] = w
	}
	w.Now++
	w.Total++
	p.waits.mu.Unlock()
	if first && p.hooks.OnWait != nil {
		p.hooks.OnWait(p, to)
	}
}

func (p *Pool) endWait(to *Pool) {
	if p == nil {
		return
	}
	p.waits.mu.Lock()
	defer p.waits.mu.Unlock()
	p.waits.on[to].Now--
}
