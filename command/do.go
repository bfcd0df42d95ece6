package command

import (
	"context"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
)

// call is one call on its way: on its caller's stack, or with a worker.
type call struct {
	c        *Control
	slot     *slot
	word     uint64
	began    time.Duration // when the breaker let it pass
	start    time.Duration // of the execution
	deadline time.Duration
	inner    context.Context // the function's
	breaker  breaker.Permit
	inside   *bulkhead.Bulkhead // the command's own, while the call is in it
	permit   bulkhead.Permit    // of a shared one
	marked   bool               // it was counted before it returned
}

// Do calls fn under the command's isolation and returns what it returned, or what the fallback did. The error is fn's own where that is the
// cause and no fallback was wanted; a refusal or a timeout is an *Error.
//
// fn runs on the caller's goroutine, but with isolation Pool on a worker. Its context ends at the command's deadline, when ctx ends, and
// when the call does; it has ctx's values. A panic counts as a failure and goes on; on a worker it becomes an error with its stack.
func (c *Command[T]) Do(ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	g := c.gear.Load()
	if g.settings.Isolation == Pool {
		return c.onWorker(ctx, g, fn)
	}
	k := call{c: c.Control}
	outcome, err := k.enter(ctx, g)
	if err == nil {
		defer k.abort()
		var value T
		value, err = fn(k.inner)
		if outcome, err = k.end(ctx, err); outcome == Success {
			return value, err
		}
	}
	return c.instead(ctx, g, outcome, err)
}

// enter asks everybody who may refuse a call on its caller's goroutine. An error is a refusal of the given outcome, which has been counted.
func (k *call) enter(ctx context.Context, g *gear) (Outcome, error) {
	if outcome, err := k.begin(ctx, g, g.entered); err != nil {
		return outcome, err
	}
	k.start = k.began
	k.inner = k.slot.contextOver(ctx, k.word)
	if g.bulkhead == nil {
		return Success, nil
	}
	return k.acquire(ctx, g)
}

// begin asks the breaker and takes a slot until the given time from now.
func (k *call) begin(ctx context.Context, g *gear, until time.Duration) (Outcome, error) {
	c := k.c
	if err := ctx.Err(); err != nil {
		return c.refuse(Cancelled, err)
	}
	if g.closed {
		c.meters.refusals[byClosing].Add(1)
		return c.refuse(Rejected, c.errClosed)
	}
	now := c.clock.Now()
	permit, err := c.breaker.AllowAt(c.breakerTime(now))
	if err != nil {
		return c.refuse(ShortCircuited, c.errShort)
	}
	k.breaker, k.began, k.deadline = permit, now, now+until
	k.slot, k.word = c.take(k.deadline)
	k.slot.hold(&k.breaker)
	if until < farAway {
		c.watch.cover(k.deadline)
	}
	return Success, nil
}

func (c *Control) refuse(outcome Outcome, err error) (Outcome, error) {
	c.meters.outcomes[outcome].Add(1)
	return outcome, err
}

// acquire takes a permit, waiting for it where the bulkhead lets it.
func (k *call) acquire(ctx context.Context, g *gear) (Outcome, error) {
	if err := k.ask(g); err != nil {
		return k.withdraw(ctx, byBulkhead, err)
	}
	if k.slot.asked.Load() != nil { // a bulkhead that makes its caller wait asks for Done
		k.start = max(k.c.clock.Now(), k.began+1) // a wait that a coarse clock cannot see is a wait
	}
	if !g.waits || g.settings.TimeoutFrom == FromCall {
		return Success, nil
	}
	if !k.postpone(k.start + g.timeout) {
		k.giveBack()
		return k.withdraw(ctx, byBulkhead, k.c.errTimeout)
	}
	k.inner = k.slot.contextOver(ctx, k.word)
	return Success, nil
}

func (k *call) ask(g *gear) (err error) {
	if g.shared {
		k.permit, err = g.bulkhead.Acquire(k.inner)
		return err
	}
	if err = g.bulkhead.Enter(k.inner); err == nil {
		k.inside = g.bulkhead
	}
	return err
}

func (k *call) giveBack() {
	if k.inside != nil {
		k.inside.Leave()
		k.inside = nil
		return
	}
	k.permit.Release()
}

// postpone gives the call another deadline; false means that it has been marked as over time.
func (k *call) postpone(deadline time.Duration) bool {
	word := wordOf(k.word, deadline)
	if !k.slot.word.CompareAndSwap(k.word, word) {
		return false
	}
	k.slot.settle(k.word)
	k.word, k.deadline = word, deadline
	if deadline-k.start < farAway {
		k.c.watch.cover(deadline)
	}
	return true
}

// withdraw gives back what a call holds that was refused or left before its function began.
func (k *call) withdraw(ctx context.Context, who int, err error) (Outcome, error) {
	c, s := k.c, k.slot
	k.slot = nil
	if !s.release(k.word) {
		k.marked = true
		outcome := c.watch.returned(s, false)
		return outcome, c.markedError(ctx, outcome)
	}
	now := k.began
	if s.asked.Load() != nil { // it waited
		now = c.clock.Now()
		s.settle(k.word)
	}
	outcome := Rejected
	if left := ctx.Err(); left != nil {
		outcome, err = Cancelled, left
	} else {
		c.meters.refusals[who].Add(1)
		err = c.rejection(err)
	}
	c.meters.outcomes[outcome].Add(1)
	k.breaker.DoneAt(c.breakerTime(now), verdicts[outcome])
	return outcome, err
}

// rejection is the error of a refused call: the last one if the cause is the same, as it is while nothing changes.
func (c *Control) rejection(cause error) error {
	last := c.lastRejection.Load()
	if last == nil || last.Cause != cause {
		last = &Error{Command: c.name, Outcome: Rejected, Cause: cause}
		c.lastRejection.Store(last)
	}
	return last
}

// end counts the execution that returned err and gives back what the call holds.
func (k *call) end(ctx context.Context, err error) (Outcome, error) {
	c, s := k.c, k.slot
	now := c.clock.Now()
	k.slot = nil
	k.giveBack()
	outcome := Success
	switch {
	case now >= k.deadline:
		outcome = Timeout
	case err != nil:
		outcome = c.judge(ctx, err)
	}
	if s.release(k.word) {
		k.breaker.DoneAt(c.breakerTime(now), verdicts[outcome])
		c.meters.ended(outcome, err)
		// Before the slot is given back: Close waits for the slots, and what it leaves behind is complete.
		c.meters.executed(outcome, k.start-k.began, now-k.start)
		s.settle(k.word)
	} else {
		k.marked = true
		overran(k.inner)
		outcome = c.watch.returned(s, err == nil)
		err = c.markedError(ctx, outcome)
		c.meters.executed(outcome, k.start-k.began, now-k.start)
	}
	if outcome == Timeout {
		return outcome, c.errTimeout
	}
	return outcome, err
}

// markedError is the error of a call that was counted before its function returned.
func (c *Control) markedError(ctx context.Context, outcome Outcome) error {
	switch outcome {
	case Cancelled:
		return ctx.Err()
	case Rejected:
		return c.errQueued
	default:
		return c.errTimeout
	}
}

// judge asks what an error means. Nothing else than what Classify may say is taken for an answer.
func (c *Control) judge(ctx context.Context, err error) Outcome {
	if err == errAborted {
		return Failure
	}
	switch outcome := c.classify(ctx, err); outcome {
	case Success, BadRequest, Cancelled:
		return outcome
	default:
		return Failure
	}
}

// abort is end for a function that panicked or ended its goroutine, and for whom no fallback can answer; it does nothing after end.
func (k *call) abort() {
	if k.slot != nil {
		k.c.meters.aborted.Add(1)
		k.end(context.Background(), errAborted)
	}
}

// verdicts is what each outcome tells the breaker.
var verdicts = [NumOutcomes]breaker.Outcome{
	Success: breaker.Success, Failure: breaker.Failure, Timeout: breaker.Failure, Rejected: breaker.Rejected,
	ShortCircuited: breaker.Neutral, BadRequest: breaker.Neutral, Cancelled: breaker.Neutral,
}
