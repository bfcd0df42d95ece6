package breaker

import (
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
)

// window holds the results that count, as policy.BreakerCounts does, so that many goroutines may add at once without a lock. Moving a
// time window on, starting it over and reading totals need the breaker's lock.
//
// Each counter holds calls in its upper and failures in its lower 32 bits, so that one addition to the sum gives back a
// consistent pair to judge by: additions have one order, and each is judged exactly as if the calls had come in that order. 32 bits are
// enough for a million calls a second over the longest window. Slow calls stand in a counter of their own that is touched only by slow ones.
//
// The sum is always the sum of the buckets, additions under way aside: what is taken out of it is what was swapped out of the bucket. A
// result that a descheduled goroutine adds to a bucket that has been used again in the meantime stays in it and leaves with it.
type window struct {
	sum counter
	_   [48]byte // keeps the sum and what is only read apart

	filling atomic.Pointer[counter] // time window: the bucket that results go to
	end     atomic.Int64            // and when it ends
	seq     atomic.Uint64           // count window: results so far
	ring    []atomic.Uint32         // count window: the last results
	buckets []counter
	head    int // guarded by the breaker's lock, as all below
	width   time.Duration

	before         policy.BreakerTally // what windows of another shape have held
	retired        policy.BreakerTally // what has left a time window
	failed, slowed atomic.Uint64       // what has left a count window
}

type counter struct {
	calls atomic.Uint64 // calls<<32 | failures
	slow  atomic.Uint64
}

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
	w.buckets = make([]counter, rules.BucketsKept())
	w.startLocked(now)
	return w
}

// startLocked empties the window; its first bucket starts at now.
func (w *window) startLocked(now time.Duration) {
	for i := range w.ring {
		w.replace(i, 0)
	}
	for i := range w.buckets {
		w.retireLocked(&w.buckets[i])
	}
	if w.buckets != nil {
		w.head = 0
		w.filling.Store(&w.buckets[0])
		w.end.Store(int64(now + w.width))
	}
}

func (w *window) retireLocked(bucket *counter) {
	calls, slow := bucket.calls.Swap(0), bucket.slow.Swap(0)
	w.sum.calls.Add(-calls)
	w.sum.slow.Add(-slow)
	w.retired.Total += calls >> 32
	w.retired.Failures += calls & (oneCall - 1)
	w.retired.Slow += slow
}

// advanceLocked ends the buckets whose time is over by now, as policy.BreakerCounts.Advance does.
func (w *window) advanceLocked(now time.Duration, visit func(boundary time.Duration, sum policy.BreakerTally)) {
	if w.buckets == nil {
		return
	}
	end := time.Duration(w.end.Load())
	for steps := 0; now >= end && steps < len(w.buckets); steps++ {
		boundary := end
		w.head = (w.head + 1) % len(w.buckets)
		w.retireLocked(&w.buckets[w.head])
		w.filling.Store(&w.buckets[w.head])
		end += w.width
		w.end.Store(int64(end))
		visit(boundary, w.tally())
	}
	if now >= end {
		w.end.Store(int64(end + ((now-end)/w.width+1)*w.width))
	}
}

// over tells whether a time window must be moved on before a result at now is added.
func (w *window) over(now time.Duration) bool {
	return w.ring == nil && int64(now) >= w.end.Load()
}

// add counts one result and returns calls and failures of the window with it.
func (w *window) add(calls, slow uint64) uint64 {
	if w.ring != nil {
		mark := uint32(markUsed | calls&1*markFailed | slow*markSlow)
		return w.replace(int((w.seq.Add(1)-1)%uint64(len(w.ring))), mark)
	}
	bucket := w.filling.Load()
	if slow != 0 {
		bucket.slow.Add(1)
		w.sum.slow.Add(1)
	}
	bucket.calls.Add(calls)
	return w.sum.calls.Add(calls)
}

// replace puts a result in the ring's place i and takes the one that stood there out of the sum.
func (w *window) replace(i int, mark uint32) uint64 {
	old := w.ring[i].Swap(mark)
	if old&markFailed != 0 {
		w.failed.Add(1)
	}
	if (old|mark)&markSlow != 0 {
		if old&markSlow != 0 {
			w.slowed.Add(1)
		}
		w.sum.slow.Add(uint64(mark&markSlow)/markSlow - uint64(old&markSlow)/markSlow)
	}
	return w.sum.calls.Add(callsOf(mark) - callsOf(old))
}

func callsOf(mark uint32) uint64 {
	return uint64(mark&markUsed)<<32 | uint64(mark&markFailed)/markFailed
}

// tally is what the window holds.
func (w *window) tally() policy.BreakerTally {
	return tallyOf(w.sum.calls.Load(), w.sum.slow.Load())
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
