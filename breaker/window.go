package breaker

import (
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
)

// window holds the results that count, as policy.BreakerCounts does, so that many goroutines may add at once without a lock. Moving a
// time window on, starting it over and reading totals need the breaker's lock.
//
// A word holds calls in its upper and failures in its lower 32 bits, so that one addition gives back a consistent pair to judge by. 32 bits
// are enough for a million calls a second over the longest window. Slow calls stand in words of their own, touched only by slow ones.
//
// A result in a time window is one addition to the bucket that is filling; what the full buckets hold stands beside it and changes only when
// the window moves on. turns tells whether it did so around the addition; such a result is judged under the lock. So additions have one
// order, and each is judged as if the results had come in that order.
type window struct {
	_     [64]byte
	calls atomic.Uint64 // time window: the filling bucket; count window: all that it holds
	slow  atomic.Uint64
	seq   atomic.Uint64 // count window: results so far
	_     [64]byte

	end      atomic.Int64  // time window: of the filling bucket
	turns    atomic.Uint64 // odd while the window moves on
	full     atomic.Uint64 // calls and failures of the full buckets
	fullSlow atomic.Uint64
	ring     []atomic.Uint32 // count window: the last results; nil for a time window

	// Guarded by the breaker's lock.
	buckets []bucket // time window; the one at head is filling, and its counts stand above
	head    int
	width   time.Duration
	before  policy.BreakerTally // what windows of another shape have held
	retired policy.BreakerTally // what has left a time window

	failed, slowed atomic.Uint64 // what has left a count window
}

type bucket struct{ calls, slow uint64 }

const oneCall = 1 << 32

// The marks of one result in a count window's ring.
const (
	markUsed = 1 << iota
	markFailed
	markSlow
)

func newWindow(rules policy.BreakerRules, now time.Duration) *window {
	w := &window{width: rules.Window.Width()}
	if rules.Window.Calls > 0 {
		w.ring = make([]atomic.Uint32, rules.Window.Calls)
		return w
	}
	w.buckets = make([]bucket, rules.BucketsKept())
	w.startLocked(now)
	return w
}

// startLocked empties the window; its first bucket starts at now.
func (w *window) startLocked(now time.Duration) {
	for i := range w.ring {
		w.replace(i, 0)
	}
	if w.buckets == nil {
		return
	}
	w.turns.Add(1)
	for range w.buckets {
		w.turnLocked()
	}
	w.end.Store(int64(now + w.width))
	w.turns.Add(1)
}

// turnLocked makes the oldest bucket the filling one. Within a pair of additions to turns.
func (w *window) turnLocked() {
	w.buckets[w.head] = bucket{w.calls.Swap(0), w.slow.Swap(0)}
	filled := w.buckets[w.head]
	w.head = (w.head + 1) % len(w.buckets)
	left := &w.buckets[w.head]
	w.full.Store(w.full.Load() + filled.calls - left.calls)
	w.fullSlow.Store(w.fullSlow.Load() + filled.slow - left.slow)
	w.retired = w.retired.Plus(tallyOf(left.calls, left.slow))
	*left = bucket{}
}

// advanceLocked ends the buckets whose time is over by now, as policy.BreakerCounts.Advance does.
func (w *window) advanceLocked(now time.Duration, visit func(boundary time.Duration, sum policy.BreakerTally)) {
	if !w.over(now) {
		return
	}
	w.turns.Add(1)
	end := time.Duration(w.end.Load())
	for steps := 0; now >= end && steps < len(w.buckets); steps++ {
		w.turnLocked()
		visit(end, w.tally())
		end += w.width
	}
	if now >= end {
		end += ((now-end)/w.width + 1) * w.width
	}
	w.end.Store(int64(end))
	w.turns.Add(1)
}

// over tells whether a time window must be moved on before a result at now is added.
func (w *window) over(now time.Duration) bool {
	return w.ring == nil && int64(now) >= w.end.Load()
}

// add counts one result and returns calls and failures of the window with it. Not settled means that the window moved on meanwhile, and
// what it holds must be asked under the lock.
func (w *window) add(calls, slow uint64) (sum uint64, settled bool) {
	if w.ring != nil {
		mark := uint32(markUsed | calls&1*markFailed | slow*markSlow)
		return w.replace(int((w.seq.Add(1)-1)%uint64(len(w.ring))), mark), true
	}
	if slow != 0 {
		w.slow.Add(1)
	}
	turns := w.turns.Load()
	sum = w.calls.Add(calls) + w.full.Load()
	return sum, turns&1 == 0 && w.turns.Load() == turns
}

// replace puts a result in the ring's place i and takes the one that stood there out of the sum.
func (w *window) replace(i int, mark uint32) uint64 {
	old := w.ring[i].Swap(mark)
	w.left(old)
	if old == mark {
		return w.calls.Load()
	}
	if (old^mark)&markSlow != 0 {
		w.slow.Add(uint64(mark&markSlow)/markSlow - uint64(old&markSlow)/markSlow)
	}
	return w.calls.Add(callsOf(mark) - callsOf(old))
}

// left counts a result that has left a count window.
func (w *window) left(old uint32) {
	if old&markFailed != 0 {
		w.failed.Add(1)
	}
	if old&markSlow != 0 {
		w.slowed.Add(1)
	}
}

func callsOf(mark uint32) uint64 {
	return uint64(mark&markUsed)<<32 | uint64(mark&markFailed)/markFailed
}

// slowCalls is how many slow calls the window holds.
func (w *window) slowCalls() uint64 { return w.slow.Load() + w.fullSlow.Load() }

// tally is what the window holds. It is exact under the lock, results under way aside.
func (w *window) tally() policy.BreakerTally {
	return tallyOf(w.calls.Load()+w.full.Load(), w.slowCalls())
}

func tallyOf(calls, slow uint64) policy.BreakerTally {
	return policy.BreakerTally{Total: calls >> 32, Failures: calls & (oneCall - 1), Slow: slow}
}

// everLocked is what the window, and those of another shape before it, have held in all their time.
func (w *window) everLocked() policy.BreakerTally {
	now := w.tally()
	ever := w.retired.Plus(now)
	if w.ring != nil {
		ever = policy.BreakerTally{Total: w.seq.Load(), Failures: w.failed.Load() + now.Failures, Slow: w.slowed.Load() + now.Slow}
	}
	return ever.Plus(w.before)
}

// inherit starts the totals of a new window where those of the one before it stood.
func (w *window) inherit(ever policy.BreakerTally) { w.before = ever }
