package bulkhead

import (
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Holder is a permit that is out, and who acquired it.
type Holder struct {
	Weight int
	Since  time.Time
	Stack  []byte // of the goroutine that acquired it
}

type holders struct {
	mu   sync.Mutex // guards all and last
	all  map[int64]holder
	last int64
}

type holder struct {
	Holder
	began time.Duration
}

// add notes who acquires a permit, and returns its number.
func (l *holders) add(clock *Clock, weight int) int64 {
	now := clock.Now()
	h := holder{Holder{Weight: weight, Since: clock.Epoch().Add(now), Stack: debug.Stack()}, now}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[int64]holder{}
	}
	l.last++
	l.all[l.last] = h
	return l.last
}

func (l *holders) remove(number int64) (began time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	began = l.all[number].began
	delete(l.all, number)
	return began
}

// Holders are the permits that are out, oldest first. It is empty unless Config.TrackHolders.
func (b *Bulkhead) Holders() []Holder {
	if b.holders == nil {
		return nil
	}
	b.holders.mu.Lock()
	defer b.holders.mu.Unlock()
	list := make([]Holder, 0, len(b.holders.all))
	for _, h := range b.holders.all {
		list = append(list, h.Holder)
	}
	slices.SortFunc(list, func(a, b Holder) int { return a.Since.Compare(b.Since) })
	return list
}

// TB is what VerifyReleased needs of a *testing.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// VerifyReleased fails a test if permits are out, with the stacks that acquired them if the bulkhead tracks holders.
func (b *Bulkhead) VerifyReleased(t TB) {
	t.Helper()
	n := inUse(b.word.Load())
	if n == 0 {
		return
	}
	t.Errorf("bulkhead %q: %d permits were not released", b.name, n)
	for _, h := range b.Holders() {
		t.Errorf("acquired at %v, weight %d, by:\n%s", h.Since, h.Weight, h.Stack)
	}
}
