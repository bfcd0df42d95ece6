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
	mu  sync.Mutex // guards all
	all map[*Holder]struct{}
}

// track notes who acquired a permit; nil unless the bulkhead tracks them.
func (b *Bulkhead) track(weight int) *Holder {
	if b.holders == nil {
		return nil
	}
	h := &Holder{Weight: weight, Since: b.clock.Epoch().Add(b.clock.Exact()), Stack: debug.Stack()}
	b.holders.mu.Lock()
	defer b.holders.mu.Unlock()
	if b.holders.all == nil {
		b.holders.all = map[*Holder]struct{}{}
	}
	b.holders.all[h] = struct{}{}
	return h
}

func (l *holders) remove(h *Holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, h)
}

// Holders are the permits that are out, oldest first. It is empty unless Config.TrackHolders.
func (b *Bulkhead) Holders() []Holder {
	if b.holders == nil {
		return nil
	}
	b.holders.mu.Lock()
	defer b.holders.mu.Unlock()
	list := make([]Holder, 0, len(b.holders.all))
	for h := range b.holders.all {
		list = append(list, *h)
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
