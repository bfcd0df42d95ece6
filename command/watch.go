package command

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/breaker"
)

// watch finds the calls of a command that are over time, so that no call needs a timer of its own. Its goroutine runs only while calls
// are under way: it looks when the earliest of their deadlines comes, and ends when it finds none.
type watch struct {
	owner *Control
	// next is when the goroutine will look, as far as calls need to know: a call with an earlier deadline must tell it. It is never while no
	// goroutine runs and while one looks, so that a call that is missed by the look tells by itself.
	next atomic.Int64

	mu      sync.Mutex // guards all below, the marking of calls as over time, and what slots are asked for
	handed  sync.Cond  // of mu: a slot's handing has ended
	running bool
	closed  bool
	poke    chan struct{}
	stop    chan struct{}
	group   sync.WaitGroup
}

// leastRest is how long the watch rests between two looks at least: what Go's timers can tell apart.
const leastRest = time.Millisecond

func (w *watch) init(owner *Control) {
	w.owner, w.handed.L = owner, &w.mu
	w.next.Store(math.MaxInt64)
	w.poke, w.stop = make(chan struct{}, 1), make(chan struct{})
}

// cover makes sure that the watch looks when the deadline comes. It is called after the call's word is in place.
func (w *watch) cover(deadline time.Duration) {
	if int64(deadline) < w.next.Load() {
		w.arm(deadline)
	}
}

func (w *watch) arm(deadline time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if int64(deadline) >= w.next.Load() || w.closed {
		return
	}
	w.next.Store(int64(deadline))
	if w.running {
		select {
		case w.poke <- struct{}{}:
		default:
		}
		return
	}
	w.running = true
	w.group.Go(w.run)
}

func (w *watch) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(time.Duration(w.next.Load()) - w.owner.clock.Exact())
		select {
		case <-w.poke:
			continue
		case <-w.stop:
			return
		case <-timer.C:
		}
		if !w.look() {
			return
		}
	}
}

// look counts what is over time and says when to look again; false means that nothing is under way and the goroutine must end.
func (w *watch) look() bool {
	w.next.Store(math.MaxInt64)
	now := w.owner.clock.Exact()
	next := time.Duration(math.MaxInt64)
	w.owner.slots.Load().each(func(s *slot) {
		word := s.word.Load()
		if free(word) || word&overtime != 0 {
			return
		}
		rest := left(word, now)
		if rest <= 0 {
			w.expire(s, word, now)
		} else if rest < farAway/2 {
			next = min(next, now+rest)
		}
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	// Calls that told of themselves meanwhile stand in w.next.
	next = min(max(next, now+leastRest), time.Duration(w.next.Load()))
	if next == math.MaxInt64 || w.closed {
		w.running = false
		return false
	}
	w.next.Store(int64(next))
	return true
}

// expire counts the call that has the word as over time, unless it has just ended. The breaker learns of it at once: a dependency that
// hangs opens it although none of its calls has returned.
func (w *watch) expire(s *slot, word uint64, now time.Duration) {
	c := w.owner
	w.mu.Lock()
	p := s.passage.Load()
	if p != nil && (p.of.Load() != s || p.serial.Load() != word&serialMask) {
		p = nil // an earlier call's
	}
	outcome, why := Timeout, c.errTimeout
	if p != nil && p.limit.Load() == word {
		outcome, why = Rejected, c.errQueued
	}
	permit, marked := w.markLocked(s, word, outcome)
	w.mu.Unlock()
	if !marked {
		return
	}
	w.hand(s, permit, c.breakerTime(now), outcome)
	if p != nil {
		p.abandon(s, why)
	}
}

// leave counts the call of a caller who does not wait for a worker any longer; false means that it has just ended or been counted.
func (w *watch) leave(s *slot, serial uint64, outcome Outcome) bool {
	w.mu.Lock()
	var permit breaker.Permit
	marked := false
	for word := s.word.Load(); !marked && word&serialMask == serial && !free(word) && word&overtime == 0; word = s.word.Load() {
		permit, marked = w.markLocked(s, word, outcome)
	}
	w.mu.Unlock()
	if marked {
		w.hand(s, permit, w.owner.breakerTime(w.owner.clock.Now()), outcome)
	}
	return marked
}

// markLocked counts the call that has the word, if it still has it, and returns the permit that is to be handed back outside the lock.
func (w *watch) markLocked(s *slot, word uint64, outcome Outcome) (breaker.Permit, bool) {
	if !s.word.CompareAndSwap(word, word|overtime) {
		return breaker.Permit{}, false
	}
	c := w.owner
	s.marked, s.handing = outcome, true
	c.meters.outcomes[outcome].Add(1)
	if outcome == Rejected {
		c.meters.refusals[byPool].Add(1)
	}
	if k := s.asked.Load(); k != nil && k.word == word {
		k.closeLocked()
	}
	// What took longer than the timeout is slow by any sensible setting; when exactly it began does not matter.
	start := c.breakerTime(c.clock.Now()) - c.gear.Load().settings.Timeout
	return c.breaker.PermitOf(breaker.Ticket(s.ticket.Load()), start), true
}

// hand tells the breaker of a call that was just marked. The call cannot return before, so that its caller's next one finds a breaker that
// knows of it.
func (w *watch) hand(s *slot, permit breaker.Permit, now time.Duration, outcome Outcome) {
	defer func() {
		w.mu.Lock()
		s.handing = false
		w.handed.Broadcast()
		w.mu.Unlock()
	}()
	permit.DoneAt(now, verdicts[outcome])
}

// reason is why the caller of a marked call need not wait any longer.
func (w *watch) reason(s *slot) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch s.marked {
	case Rejected:
		return w.owner.errQueued
	case Cancelled:
		return errLeft
	default:
		return w.owner.errTimeout
	}
}

// returned gives back the slot of a call that was marked, and tells as what it was counted; late says that it came back with success.
func (w *watch) returned(s *slot, late bool) Outcome {
	w.mu.Lock()
	for s.handing {
		w.handed.Wait()
	}
	outcome := s.marked
	if late && outcome == Timeout {
		w.owner.meters.late.Add(1)
	}
	word := s.word.Load()
	s.word.Store(word & serialMask)
	w.mu.Unlock()
	s.settle(word &^ overtime)
	return outcome
}

// cancel ends what a function asked for because its caller's context has ended.
func (w *watch) cancel(k *cancellation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k.closeLocked()
}

// close ends the goroutine and waits for it.
func (w *watch) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.stop)
	}
	w.mu.Unlock()
	w.group.Wait()
}
