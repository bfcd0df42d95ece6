package bulkhead

import (
	"context"
	"time"
)

// waiter is a caller that waits.
type waiter struct {
	weight     int
	answer     chan error // nil: granted
	timer      *time.Timer
	prev, next *waiter // in the list, or next in a chain to be told
	err        error   // what to tell
	listed     bool
}

// waitList holds those that wait, first come first. Guarded by the bulkhead's lock.
type waitList struct {
	first, last *waiter
	n           int
}

func (l *waitList) push(w *waiter) {
	w.listed, w.prev, w.next = true, l.last, nil
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
	l.n++
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
	l.n--
}

// chain is a list of waiters that are to be told once the lock is given back.
type chain struct{ first, last *waiter }

func (c *chain) add(w *waiter, err error) {
	w.err = err
	if c.last == nil {
		c.first = w
	} else {
		c.last.next = w
	}
	c.last = w
}

func (c *chain) tell() {
	for w := c.first; w != nil; {
		next := w.next // before the waiter goes on and is used again
		w.next = nil
		w.answer <- w.err
		w = next
	}
}

// await waits for weight permits.
func (b *Bulkhead) await(ctx context.Context, weight int) error {
	began := b.clock.Exact()
	b.mu.Lock()
	word := b.word.Or(waitingBit) | waitingBit // from here on nobody overtakes, and who releases asks for the lock
	switch {
	case weight > permitsOf(word):
		b.grantLocked()
		b.mu.Unlock()
		return b.refuse(word, weight)
	case b.waiting.n == 0 && b.takeLocked(weight):
		b.clearLocked()
		b.mu.Unlock()
		return nil
	case b.waiting.n >= b.settings.MaxWaiting:
		b.clearLocked()
		b.mu.Unlock()
		return b.refuse(word&^waitingBit, weight)
	}
	w := b.queueLocked(weight)
	limit := b.settings.MaxWait
	b.mu.Unlock()
	err := b.answer(ctx, w, limit)
	b.waiters.Put(w)
	if err != nil {
		return b.denied(err)
	}
	b.wait.Record(b.clock.Exact() - began)
	return nil
}

func (b *Bulkhead) queueLocked(weight int) *waiter {
	w, ok := b.waiters.Get().(*waiter)
	if !ok {
		w = &waiter{answer: make(chan error, 1)}
	}
	w.weight = weight
	b.waiting.push(w)
	b.counts.largestWaiting = max(b.counts.largestWaiting, b.waiting.n)
	return w
}

// clearLocked lets callers in again without the lock if nobody waits.
func (b *Bulkhead) clearLocked() {
	if b.waiting.n == 0 {
		b.word.And(^uint64(waitingBit))
	}
}

// grantLocked grants those that wait longest their permits, as far as there are.
func (b *Bulkhead) grantLocked() chain {
	var granted chain
	for w := b.waiting.first; w != nil && b.takeLocked(w.weight); w = b.waiting.first {
		b.waiting.remove(w)
		granted.add(w, nil)
	}
	b.clearLocked()
	return granted
}

// refuseHeavyLocked takes out those who ask for more permits than there are now: they would wait for ever, and everyone behind them.
func (b *Bulkhead) refuseHeavyLocked() chain {
	var refused chain
	word := b.word.Load()
	for w := b.waiting.first; w != nil; {
		next := w.next
		if w.weight > permitsOf(word) {
			b.waiting.remove(w)
			b.counts.heavy++
			refused.add(w, b.rejection(word, w.weight, TooHeavy))
		}
		w = next
	}
	return refused
}

// answer is what becomes of a waiter: nil if its permits were granted.
func (b *Bulkhead) answer(ctx context.Context, w *waiter, limit time.Duration) error {
	var late <-chan time.Time
	if limit > 0 {
		w.arm(limit)
		defer w.timer.Stop()
		late = w.timer.C
	}
	select {
	case err := <-w.answer:
		return err
	case <-ctx.Done():
		return b.giveUp(w, context.Cause(ctx), &b.counts.cancelled)
	case <-late:
		return b.giveUp(w, nil, &b.counts.timedOut)
	}
}

func (w *waiter) arm(limit time.Duration) {
	if w.timer == nil {
		w.timer = time.NewTimer(limit)
		return
	}
	w.timer.Reset(limit)
}

// giveUp takes a waiter out, with err or a rejection, unless its answer is on its way.
func (b *Bulkhead) giveUp(w *waiter, err error, count *uint64) error {
	b.mu.Lock()
	if !w.listed {
		b.mu.Unlock()
		return <-w.answer
	}
	b.waiting.remove(w)
	*count++
	if err == nil {
		err = b.rejection(b.word.Load(), w.weight, TimedOut)
	}
	granted := b.grantLocked() // those behind may ask for less
	b.mu.Unlock()
	granted.tell()
	return err
}

// denied tells the hook of a refusal.
func (b *Bulkhead) denied(err error) error {
	if rejection, ok := err.(*RejectedError); ok && b.hooks.OnReject != nil {
		b.hooks.OnReject(rejection)
	}
	return err
}
