package bulkhead_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/internal/policy"
	"pgregory.net/rapid"
)

// caller is one that has asked for permits in both worlds.
type caller struct {
	id, weight int
	cancel     context.CancelFunc
	answer     chan error
	permit     *bulkhead.Permit
}

// twins plays one trace on the library and on the machine.
type twins struct {
	t       *rapid.T
	library *bulkhead.Bulkhead
	machine *policy.Bulkhead
	waiting []*caller // as the machine has them
	out     []*caller
}

func TestLibraryAndPolicyDecideAlikeOnOneTrace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var caught any
		synctest.Test(t, func(*testing.T) {
			defer func() { caught = recover() }()
			trace(rt)
		})
		if caught != nil {
			panic(caught)
		}
	})
}

func trace(t *rapid.T) {
	s := bulkhead.Settings{Permits: rapid.IntRange(1, 6).Draw(t, "permits"), MaxWaiting: rapid.IntRange(0, 4).Draw(t, "waiting")}
	b, err := bulkhead.New(bulkhead.Config{Name: "trace", Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	w := &twins{t: t, library: b, machine: policy.NewBulkhead(policy.BulkheadRules{Permits: s.Permits, MaxWaiting: s.MaxWaiting})}
	defer w.end()
	for id := range 50 {
		switch event := rapid.IntRange(0, 9).Draw(t, "event"); {
		case event < 5:
			w.acquire(id)
		case event < 7 && len(w.out) > 0:
			w.release(rapid.IntRange(0, len(w.out)-1).Draw(t, "out"))
		case event == 7 && len(w.waiting) > 0:
			w.leave(rapid.IntRange(0, len(w.waiting)-1).Draw(t, "place"))
		case event == 8:
			s.Permits, s.MaxWaiting = rapid.IntRange(1, 6).Draw(t, "permits"), rapid.IntRange(0, 4).Draw(t, "waiting")
			w.apply(s)
		}
		w.compare()
	}
}

func (w *twins) acquire(id int) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &caller{id: id, weight: rapid.IntRange(1, 4).Draw(w.t, "weight"), cancel: cancel, answer: make(chan error, 1)}
	go func() {
		permit, err := w.library.AcquireWeight(ctx, c.weight)
		c.permit = &permit
		c.answer <- err
	}()
	synctest.Wait()
	switch w.machine.Acquire(c.weight) {
	case policy.BulkheadGrant:
		w.granted(c)
	case policy.BulkheadWait:
		w.waiting = append(w.waiting, c)
	case policy.BulkheadRefuse:
		w.refused(c, bulkhead.Full)
	case policy.BulkheadHeavy:
		w.refused(c, bulkhead.TooHeavy)
	}
}

func (w *twins) granted(c *caller) {
	select {
	case err := <-c.answer:
		if err != nil {
			w.t.Fatalf("caller %d: %v; the machine grants", c.id, err)
		}
	default:
		w.t.Fatalf("caller %d waits; the machine grants", c.id)
	}
	w.out = append(w.out, c)
}

func (w *twins) refused(c *caller, reason bulkhead.Reason) {
	var r *bulkhead.RejectedError
	select {
	case err := <-c.answer:
		if !errors.As(err, &r) || r.Reason != reason || r.Weight != c.weight {
			w.t.Fatalf("caller %d: %v; the machine refuses: %v", c.id, err, reason)
		}
	default:
		w.t.Fatalf("caller %d waits; the machine refuses", c.id)
	}
}

func (w *twins) serve(n int) {
	for _, c := range w.waiting[:n] {
		w.granted(c)
	}
	w.waiting = w.waiting[n:]
}

func (w *twins) release(i int) {
	c := w.out[i]
	w.out = slices.Delete(w.out, i, i+1)
	c.permit.Release()
	c.permit.Release()
	synctest.Wait()
	w.serve(w.machine.Release(c.weight))
}

func (w *twins) leave(i int) {
	c := w.waiting[i]
	w.waiting = slices.Delete(w.waiting, i, i+1)
	c.cancel()
	synctest.Wait()
	if err := <-c.answer; !errors.Is(err, context.Canceled) {
		w.t.Fatalf("caller %d left: %v", c.id, err)
	}
	w.serve(w.machine.Leave(i))
}

func (w *twins) apply(s bulkhead.Settings) {
	if err := w.library.Apply(s); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	heavy, granted := w.machine.Apply(policy.BulkheadRules{Permits: s.Permits, MaxWaiting: s.MaxWaiting})
	for n, i := range heavy {
		w.refused(w.waiting[i-n], bulkhead.TooHeavy)
		w.waiting = slices.Delete(w.waiting, i-n, i-n+1)
	}
	w.serve(granted)
}

func (w *twins) compare() {
	s := w.library.Snapshot()
	if s.InUse != w.machine.InUse() || s.Waiting != w.machine.Waiting() {
		w.t.Fatalf("library: %d in use, %d waiting; machine: %d, %d", s.InUse, s.Waiting, w.machine.InUse(), w.machine.Waiting())
	}
	for _, c := range w.waiting {
		if len(c.answer) > 0 {
			w.t.Fatalf("caller %d got an answer; the machine lets it wait", c.id)
		}
	}
}

func (w *twins) end() {
	for _, c := range w.waiting {
		c.cancel()
	}
	synctest.Wait()
}
