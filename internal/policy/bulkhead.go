package policy

// BulkheadRules are the limits of a bulkhead. Permits is at least 1, MaxWaiting 0 to PoolUnbounded.
type BulkheadRules struct {
	Permits    int
	MaxWaiting int // callers that may wait
}

// BulkheadVerdict is what becomes of a caller.
type BulkheadVerdict uint8

// The verdicts.
const (
	BulkheadGrant  BulkheadVerdict = iota
	BulkheadWait                   // first come, first served
	BulkheadRefuse                 // no permit, and no place to wait
	BulkheadHeavy                  // asks for more permits than there are
)

// Bulkhead is the decision machine of a bulkhead with weights: counts and the weights of those that wait. A Bulkhead is for one goroutine at
// a time. The library holds the same state in one atomic word and a list, and is held to this machine by trace.
type Bulkhead struct {
	rules   BulkheadRules
	inUse   int
	waiting []int // weights, oldest first
}

// NewBulkhead returns a bulkhead with all permits free.
func NewBulkhead(rules BulkheadRules) *Bulkhead { return &Bulkhead{rules: rules} }

// InUse is how many permits are out; after Permits was lowered it may be more than those.
func (b *Bulkhead) InUse() int { return b.inUse }

// Waiting is how many callers wait.
func (b *Bulkhead) Waiting() int { return len(b.waiting) }

// Acquire asks for weight permits, for a caller that would wait.
func (b *Bulkhead) Acquire(weight int) BulkheadVerdict {
	verdict := b.TryAcquire(weight)
	if verdict == BulkheadRefuse && len(b.waiting) < b.rules.MaxWaiting {
		b.waiting = append(b.waiting, weight)
		return BulkheadWait
	}
	return verdict
}

// TryAcquire asks for weight permits, for a caller that would not wait. Nobody overtakes those who wait.
func (b *Bulkhead) TryAcquire(weight int) BulkheadVerdict {
	if weight > b.rules.Permits {
		return BulkheadHeavy
	}
	if len(b.waiting) > 0 || b.inUse+weight > b.rules.Permits {
		return BulkheadRefuse
	}
	b.inUse += weight
	return BulkheadGrant
}

// Release gives weight permits back. The result is how many of those that wait longest are granted theirs.
func (b *Bulkhead) Release(weight int) (granted int) {
	b.inUse -= weight
	return b.grant()
}

// Leave takes away the waiting caller at place i, 0 being the oldest. The result is how many of those that then wait longest are
// granted theirs.
func (b *Bulkhead) Leave(i int) (granted int) {
	b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
	return b.grant()
}

// Apply puts other rules in force. Permits that are out stay out: after a smaller number, nothing is granted until enough came back.
// Waiting callers that ask for more than the new number are refused: heavy has their places, oldest first. Others wait on, even
// if they are more than MaxWaiting now. granted is how many of the rest, oldest first, are granted theirs.
func (b *Bulkhead) Apply(rules BulkheadRules) (heavy []int, granted int) {
	b.rules = rules
	kept := b.waiting[:0]
	for i, w := range b.waiting {
		if w > rules.Permits {
			heavy = append(heavy, i)
		} else {
			kept = append(kept, w)
		}
	}
	b.waiting = kept
	return heavy, b.grant()
}

func (b *Bulkhead) grant() (granted int) {
	for granted < len(b.waiting) && b.inUse+b.waiting[granted] <= b.rules.Permits {
		b.inUse += b.waiting[granted]
		granted++
	}
	b.waiting = b.waiting[granted:]
	return granted
}
