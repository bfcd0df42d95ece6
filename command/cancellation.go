package command

import (
	"context"
	"slices"
)

// cancellation is what a call has once its function asked for Done. The watch's lock guards it. Other contexts are never called under
// that lock: they may belong to the same command.
type cancellation struct {
	word    uint64
	done    chan struct{}
	closed  bool
	settled bool          // the call has ended
	unlink  []func() bool // end the listening to the caller's context and the pool's
	after   []*func()
}

func (k *cancellation) closeLocked() {
	if k.closed {
		return
	}
	k.closed = true
	close(k.done)
	for _, f := range k.after {
		go (*f)()
	}
	k.after = nil
}

func (s *slot) done(word uint64, parent, worker context.Context) <-chan struct{} {
	if k := s.ask(word, parent, worker); k != nil {
		return k.done
	}
	return s.owner.ended
}

// ask returns the cancellation of the call that has the word, or nil when that call has ended.
func (s *slot) ask(word uint64, parent, worker context.Context) *cancellation {
	w := &s.owner.watch
	w.mu.Lock()
	k, fresh, unlink := s.askLocked(word &^ overtime)
	w.mu.Unlock()
	run(unlink)
	if fresh {
		k.link(w, parent, worker)
	}
	return k
}

func (s *slot) askLocked(word uint64) (k *cancellation, fresh bool, unlink []func() bool) {
	k = s.asked.Load()
	if k != nil && k.word == word {
		return k, false, nil
	}
	if free(word) {
		return nil, false, nil
	}
	if k != nil { // of an earlier call, whose holder is just about to see to it
		unlink = s.settleLocked(k)
	}
	k = &cancellation{word: word, done: make(chan struct{})}
	s.asked.Store(k)
	// The holder gives the slot back first and looks at asked then. If the word still stands here, the holder will see k.
	switch current := s.word.Load(); {
	case current&^overtime != word:
		s.settleLocked(k)
		return nil, false, unlink
	case current&overtime != 0:
		k.closeLocked()
		return k, false, unlink
	}
	return k, true, unlink
}

// link makes the cancellation follow the caller's context and the pool's.
func (k *cancellation) link(w *watch, outer ...context.Context) {
	var unlink []func() bool
	for _, o := range outer {
		if o != nil && o.Done() != nil {
			unlink = append(unlink, context.AfterFunc(o, func() { w.cancel(k) }))
		}
	}
	w.mu.Lock()
	settled := k.settled
	if !settled {
		k.unlink = unlink
	}
	w.mu.Unlock()
	if settled {
		run(unlink)
	}
}

func run(unlink []func() bool) {
	for _, f := range unlink {
		f()
	}
}

// settleLocked ends what a call that has ended had asked for, and returns what is to be run outside the lock.
func (s *slot) settleLocked(k *cancellation) (unlink []func() bool) {
	k.closeLocked()
	k.settled = true
	s.asked.CompareAndSwap(k, nil)
	unlink, k.unlink = k.unlink, nil
	return unlink
}

// settle is what the holder does after giving the slot back.
func (s *slot) settle(word uint64) {
	if k := s.asked.Load(); k == nil || k.word != word {
		return
	}
	w := &s.owner.watch
	var unlink []func() bool
	w.mu.Lock()
	if k := s.asked.Load(); k != nil && k.word == word {
		unlink = s.settleLocked(k)
	}
	w.mu.Unlock()
	run(unlink)
}

func (s *slot) afterFunc(word uint64, parent, worker context.Context, f func()) func() bool {
	k := s.ask(word, parent, worker)
	w := &s.owner.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if k == nil || k.closed {
		go f()
		return func() bool { return false }
	}
	k.after = append(k.after, &f)
	return func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		i := slices.Index(k.after, &f)
		if i < 0 {
			return false
		}
		k.after = slices.Delete(k.after, i, i+1)
		return true
	}
}
