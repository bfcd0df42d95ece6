package command

import (
	"context"
	"sync/atomic"
	"time"
)

// callContext is what a function gets: its call's deadline over the caller's values. One that outlives its call says that it is cancelled
// and still has the caller's values: it is never used twice. They are made a chunk at a time.
type callContext struct {
	parent context.Context
	slot   *slot
	word   atomic.Uint64 // the call's; with the bit overtime once the call has ended so
}

const freshContexts = 32

// contextOver returns the context of a call that holds the slot.
func (s *slot) contextOver(parent context.Context, word uint64) context.Context {
	if parent == context.Background() || parent == context.TODO() {
		return &s.plain
	}
	if len(s.fresh) == 0 {
		s.fresh = make([]callContext, freshContexts)
	}
	c := &s.fresh[0]
	s.fresh = s.fresh[1:]
	c.parent, c.slot = parent, s
	c.word.Store(word)
	return c
}

// contextOnWorker returns the context of a call that holds the slot, for its worker.
func (s *slot) contextOnWorker(parent, worker context.Context, word uint64) context.Context {
	if len(s.onPool) == 0 {
		s.onPool = make([]workerContext, freshContexts)
	}
	c := &s.onPool[0]
	s.onPool = s.onPool[1:]
	c.parent, c.slot, c.worker = parent, s, worker
	c.word.Store(word)
	return c
}

// overran notes in a context that its call ended over time.
func overran(ctx context.Context) {
	switch c := ctx.(type) {
	case *callContext:
		c.word.Store(c.word.Load() | overtime)
	case *workerContext:
		c.word.Store(c.word.Load() | overtime)
	}
}

// Deadline is the earlier of the call's, to a microsecond, and the caller's.
func (c *callContext) Deadline() (time.Time, bool) { return c.slot.deadline(c.word.Load(), c.parent) }

// Done is closed at the deadline, when the caller's context ends, and when the call ends.
func (c *callContext) Done() <-chan struct{} { return c.slot.done(c.word.Load(), c.parent, nil) }

// Err is nil while the call runs, is in time, and its caller's context has not ended.
func (c *callContext) Err() error { return c.slot.err(c.word.Load(), c.parent, nil) }

// Value is the caller's.
func (c *callContext) Value(key any) any { return c.parent.Value(key) }

// AfterFunc runs f in a goroutine of its own when the context ends. Package context uses it to derive contexts without a goroutine.
func (c *callContext) AfterFunc(f func()) func() bool {
	return c.slot.afterFunc(c.word.Load(), c.parent, nil, f)
}

// plainContext is what a function gets whose caller's context has neither values nor an end. It is the slot's own and used again and
// again: one that outlives its call speaks for the slot's next call, so that its holder learns late of the end, and there is nothing else
// that it could tell wrong.
type plainContext struct{ slot *slot }

// Deadline is that of the call, to a microsecond.
func (p *plainContext) Deadline() (time.Time, bool) {
	return p.slot.deadline(p.slot.word.Load(), context.Background())
}

// Done is closed at the deadline and when the call ends.
func (p *plainContext) Done() <-chan struct{} {
	return p.slot.done(p.slot.word.Load(), context.Background(), nil)
}

// Err is nil while the call runs and is in time.
func (p *plainContext) Err() error { return p.slot.err(p.slot.word.Load(), context.Background(), nil) }

// Value is nil.
func (p *plainContext) Value(any) any { return nil }

// AfterFunc runs f in a goroutine of its own when the context ends.
func (p *plainContext) AfterFunc(f func()) func() bool {
	return p.slot.afterFunc(p.slot.word.Load(), context.Background(), nil, f)
}

// workerContext is what a function gets on a worker: that of the call, which also knows the pool and ends with it.
type workerContext struct {
	callContext
	worker context.Context
}

// Done is closed at the deadline, when the caller's context or the pool's ends, and when the call ends.
func (c *workerContext) Done() <-chan struct{} { return c.slot.done(c.word.Load(), c.parent, c.worker) }

// Err is nil while the call runs, is in time, and neither its caller's context nor the pool's has ended.
func (c *workerContext) Err() error { return c.slot.err(c.word.Load(), c.parent, c.worker) }

// Value is the pool's, else the caller's.
func (c *workerContext) Value(key any) any {
	if v := c.worker.Value(key); v != nil {
		return v
	}
	return c.parent.Value(key)
}

// AfterFunc runs f in a goroutine of its own when the context ends.
func (c *workerContext) AfterFunc(f func()) func() bool {
	return c.slot.afterFunc(c.word.Load(), c.parent, c.worker, f)
}

func (s *slot) deadline(word uint64, parent context.Context) (time.Time, bool) {
	deadline, ok := parent.Deadline()
	if free(word) {
		return deadline, ok
	}
	now := s.owner.clock.Exact() / time.Microsecond * time.Microsecond
	rest := left(word, now)
	if rest > farAway/2 {
		return deadline, ok
	}
	if own := s.owner.clock.Epoch().Add(now + rest); !ok || own.Before(deadline) {
		return own, true
	}
	return deadline, true
}

// err tells of the call that had the word; worker may be nil.
func (s *slot) err(word uint64, parent, worker context.Context) error {
	current := s.word.Load()
	switch {
	case word&overtime != 0 && !free(word):
		return context.DeadlineExceeded
	case free(word) || current&^overtime != word:
		return context.Canceled
	case current&overtime != 0 && parent.Err() == nil:
		return context.DeadlineExceeded
	}
	if err := parent.Err(); err != nil {
		return err
	}
	if worker != nil && worker.Err() != nil {
		return worker.Err()
	}
	if now := s.owner.clock.Exact(); left(word, now) <= 0 {
		s.owner.watch.expire(s, word, now) // so that Done is closed whenever Err is not nil
		return context.DeadlineExceeded
	}
	return nil
}
