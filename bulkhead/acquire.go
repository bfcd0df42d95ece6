package bulkhead

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// What errors.Is finds in the errors of a bulkhead.
var (
	// ErrRejected: no permit was to be had. The error is a *RejectedError.
	ErrRejected = errors.New("rejected")
)

// Reason says why a caller was refused.
type Reason uint8

// The reasons.
const (
	Full     Reason = iota + 1 // no permit free, and no place to wait
	TimedOut                   // none came free within Settings.MaxWait
	TooHeavy                   // asked for more permits than there are
)

// String is the reason's name.
func (r Reason) String() string {
	names := []string{"none", "full", "timed out", "too heavy"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("reason(%d)", r)
}

// RejectedError says that a bulkhead refused a caller and how it stood at that moment. It is shared and must not be changed.
type RejectedError struct {
	Bulkhead string
	Reason   Reason
	InUse    int
	Permits  int
	Waiting  bool // others waited
	Weight   int  // permits asked for

	word uint64 // the figures as they were found
}

// Error names the bulkhead, the reason and the figures.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("bulkhead %q: rejected: %v: asked for %d, %d of %d permits in use, others waiting: %t",
		e.Bulkhead, e.Reason, e.Weight, e.InUse, e.Permits, e.Waiting)
}

// Is finds ErrRejected.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

// Permit is what a caller holds while it is inside. The zero value holds nothing, and releasing it does nothing. Hand it on by pointer:
// a copy would be a second permit, and go vet says so.
type Permit struct {
	_        noCopy
	bulkhead *Bulkhead
	mark     int64  // when it was granted, or the number of its Holder
	weight   uint64 // 0 when it has been released; atomic
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Release gives the permit back. It may be called more than once, also at the same time; only the first call counts.
func (p *Permit) Release() {
	if p.bulkhead == nil {
		return
	}
	if weight := atomic.SwapUint64(&p.weight, 0); weight != 0 {
		p.bulkhead.giveBack(weight, p.mark)
	}
}

// Held says whether the permit is out.
func (p *Permit) Held() bool { return atomic.LoadUint64(&p.weight) != 0 }

// TryAcquire takes a permit if one is free and nobody waits for it. Otherwise the error is a *RejectedError.
func (b *Bulkhead) TryAcquire() (Permit, error) { return b.TryAcquireWeight(1) }

// TryAcquireWeight is TryAcquire for weight permits at once, at least 1 (less counts as 1).
func (b *Bulkhead) TryAcquireWeight(weight int) (Permit, error) {
	weight = max(1, weight)
	if word, ok := b.take(weight); !ok {
		return Permit{}, b.refuse(word, weight)
	}
	if b.watched {
		return b.watch(weight), nil
	}
	return Permit{bulkhead: b, weight: uint64(weight)}, nil
}

// Acquire takes a permit, and waits for one as Settings allow. The error is a *RejectedError, or the cause of ctx if that ended
// first. A ctx that has ended already does not keep a free permit from being taken.
func (b *Bulkhead) Acquire(ctx context.Context) (Permit, error) { return b.AcquireWeight(ctx, 1) }

// AcquireWeight is Acquire for weight permits at once, at least 1 (less counts as 1).
func (b *Bulkhead) AcquireWeight(ctx context.Context, weight int) (Permit, error) {
	weight = max(1, weight)
	if word, ok := b.take(weight); !ok {
		if err := b.acquireSlow(ctx, word, weight); err != nil {
			return Permit{}, err
		}
	}
	if b.watched {
		return b.watch(weight), nil
	}
	return Permit{bulkhead: b, weight: uint64(weight)}, nil
}

// acquireSlow takes permits for a caller that found the word without any.
func (b *Bulkhead) acquireSlow(ctx context.Context, word uint64, weight int) error {
	if b.maxWaiting.Load() == 0 || weight > permitsOf(word) {
		return b.refuse(word, weight)
	}
	return b.await(ctx, weight)
}

// watch is the permit of a bulkhead that measures or tracks.
func (b *Bulkhead) watch(weight int) Permit {
	if b.holders != nil {
		return Permit{bulkhead: b, weight: uint64(weight), mark: b.holders.add(b.clock, weight)}
	}
	return Permit{bulkhead: b, weight: uint64(weight), mark: int64(b.clock.Now())}
}

// giveBack ends a permit.
func (b *Bulkhead) giveBack(weight uint64, mark int64) {
	if b.watched {
		b.unwatch(mark)
	}
	if someWait(b.word.Add(-weight)) {
		b.serve()
	}
}

func (b *Bulkhead) unwatch(mark int64) {
	began := time.Duration(mark)
	if b.holders != nil {
		began = b.holders.remove(mark)
	}
	if b.measure {
		b.hold.Record(b.clock.Now() - began)
	}
}

// serve grants those that wait what has come free.
func (b *Bulkhead) serve() {
	b.mu.Lock()
	granted := b.grantLocked()
	b.mu.Unlock()
	granted.tell()
}

// refuse is the error for a caller that found the word so. It is kept, so that a full bulkhead allocates nothing.
func (b *Bulkhead) refuse(word uint64, weight int) error {
	reason := Full
	if weight > permitsOf(word) {
		reason = TooHeavy
		b.mu.Lock()
		b.counts.heavy++
		b.mu.Unlock()
	} else {
		b.rejected.add()
	}
	rejection := b.rejection(word, weight, reason)
	if b.hooks.OnReject != nil {
		b.hooks.OnReject(rejection)
	}
	return rejection
}

func (b *Bulkhead) rejection(word uint64, weight int, reason Reason) *RejectedError {
	word &= stateMask
	if kept := b.refusal.Load(); kept != nil && kept.word == word && kept.Weight == weight && kept.Reason == reason {
		return kept
	}
	fresh := &RejectedError{
		Bulkhead: b.name, Reason: reason, InUse: inUse(word), Permits: permitsOf(word), Waiting: someWait(word), Weight: weight,
		word: word,
	}
	b.refusal.Store(fresh)
	return fresh
}

// Do calls fn with a permit, which is given back when fn returns, panics or ends its goroutine.
func (b *Bulkhead) Do(ctx context.Context, fn func() error) error {
	permit, err := b.Acquire(ctx)
	if err != nil {
		return err
	}
	defer permit.Release()
	return fn()
}

// Call is Do for a function with a result.
func Call[T any](ctx context.Context, b *Bulkhead, fn func() (T, error)) (T, error) {
	permit, err := b.Acquire(ctx)
	if err != nil {
		var zero T
		return zero, err
	}
	defer permit.Release()
	return fn()
}
