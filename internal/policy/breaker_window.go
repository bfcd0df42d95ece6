package policy

import "time"

// BreakerCounts is the plain window: the last n results, or those of the last buckets. A BreakerCounts is for one goroutine at a time.
type BreakerCounts struct {
	sum BreakerTally

	calls []BreakerTally // count window: a ring, empty entries not yet used
	next  int

	buckets []BreakerTally // time window: a ring
	head    int
	width   time.Duration
	end     time.Duration // of the bucket at head
}

// NewBreakerCounts returns an empty window of the shape that the rules ask for, starting at now.
func NewBreakerCounts(rules BreakerRules, now time.Duration) *BreakerCounts {
	w := &BreakerCounts{width: rules.Window.Width()}
	if rules.Window.Calls > 0 {
		w.calls = make([]BreakerTally, rules.Window.Calls)
		return w
	}
	w.buckets = make([]BreakerTally, rules.BucketsKept())
	w.Start(now)
	return w
}

// BucketsKept is how many buckets a time window holds: in Hystrix mode one more than it judges, the one that is filling.
func (r *BreakerRules) BucketsKept() int {
	if r.Mode == BreakerHystrix {
		return r.Window.Buckets + 1
	}
	return r.Window.Buckets
}

// Start empties the window; its first bucket starts at now.
func (w *BreakerCounts) Start(now time.Duration) {
	clear(w.calls)
	clear(w.buckets)
	w.sum, w.next, w.head = BreakerTally{}, 0, 0
	w.end = now + w.width
}

// Advance ends the buckets whose time is over by now, oldest first. After each, visit learns when it ended and what the window then
// holds; once the window is empty no further visit follows, since nothing can change.
func (w *BreakerCounts) Advance(now time.Duration, visit func(boundary time.Duration, sum BreakerTally)) {
	if w.buckets == nil {
		return
	}
	for steps := 0; now >= w.end && steps < len(w.buckets); steps++ {
		boundary := w.end
		w.head = (w.head + 1) % len(w.buckets)
		w.sum = w.sum.minus(w.buckets[w.head])
		w.buckets[w.head] = BreakerTally{}
		w.end += w.width
		visit(boundary, w.sum)
	}
	if now >= w.end {
		w.end += ((now-w.end)/w.width + 1) * w.width
	}
}

// Add counts one result, in the bucket that Advance left filling.
func (w *BreakerCounts) Add(one BreakerTally) {
	w.sum = w.sum.Plus(one)
	if w.buckets != nil {
		w.buckets[w.head] = w.buckets[w.head].Plus(one)
		return
	}
	w.sum = w.sum.minus(w.calls[w.next])
	w.calls[w.next] = one
	w.next = (w.next + 1) % len(w.calls)
}

// Sum is what the window holds.
func (w *BreakerCounts) Sum() BreakerTally { return w.sum }
