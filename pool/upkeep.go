package pool

import "time"

// armLocked makes upkeep run at the instant at or before.
func (p *Pool) armLocked(now, at time.Duration) {
	if p.timerAt != 0 && p.timerAt <= at {
		return
	}
	p.timerAt = max(at, 1)
	if p.timer == nil {
		p.timer = time.AfterFunc(at-now, p.upkeep)
		return
	}
	p.timer.Reset(at - now)
}

// upkeep does what falls due by time: keep-alive, budgets, waits for room. It runs on the timer's goroutine.
func (p *Pool) upkeep() {
	var fx effects
	p.lockBoth()
	p.timerAt = 0
	now := p.clock.Exact()
	p.expireIdleLocked(now, &fx)
	p.expireQueueBoth(now, &fx)
	p.expireWaitersLocked(now, &fx)
	p.expireRunsLocked(now, &fx)
	p.unlockBoth(&fx)
}

// expireIdleLocked ends workers whose keep-alive has passed: those that have been parked for longest first.
func (p *Pool) expireIdleLocked(now time.Duration, fx *effects) {
	keep := p.settings.KeepAlive
	for len(p.idle) > 0 && p.machine.Expires() {
		if due := p.idle[0].idle + keep; due > now {
			p.armLocked(now, due)
			return
		}
		if !p.machine.Expire() {
			p.armLocked(now, now+keep)
			return
		}
		fx.rare(p.dismissLocked())
	}
}

// expireQueueBoth drops tasks that have waited for longer than the queue budget.
func (p *Pool) expireQueueBoth(now time.Duration, fx *effects) {
	budget := p.settings.QueueBudget
	if budget == 0 {
		return
	}
	for e := p.peekBoth(); e != nil; e = p.peekBoth() {
		if due := e.at + budget; due > now {
			p.armLocked(now, due)
			break
		}
		old := p.popBoth()
		p.machine.Cancel()
		p.left++
		p.overdueLocked(&old, now, fx)
	}
	p.admitBoth(now, fx)
}

// overdueLocked drops a task just taken out of the queue, if its queue budget has passed.
func (p *Pool) overdueLocked(e *entry, now time.Duration, fx *effects) bool {
	budget := p.settings.QueueBudget
	if budget == 0 || now-e.at < budget {
		return false
	}
	p.counts.cancelled++
	p.counts.expired++
	p.settleLocked(e, jobEnded, ErrQueueBudget, fx)
	return true
}

// expireWaitersLocked refuses callers that have waited for room for as long as the policy lets them.
func (p *Pool) expireWaitersLocked(now time.Duration, fx *effects) {
	limit := p.settings.BlockFor
	if limit == 0 {
		return
	}
	for w := p.blocked.first; w != nil; w = p.blocked.first {
		if due := w.since + limit; due > now {
			p.armLocked(now, due)
			return
		}
		p.machine.Leave()
		p.refuseWaiterLocked(w, TimedOut, fx)
	}
}

func (p *Pool) refuseWaiterLocked(w *waiter, reason Reason, fx *effects) {
	p.blocked.remove(w)
	p.countRejection(reason)
	rejection := p.rejectionLocked(reason, nil)
	fx.rare(func() {
		w.answer <- rejection
		if p.hooks.OnReject != nil {
			p.hooks.OnReject(rejection)
		}
	})
}

// expireRunsLocked frees the callers of tasks that have run for longer than their budget.
func (p *Pool) expireRunsLocked(now time.Duration, fx *effects) {
	for j := p.runs.first; j != nil; j = j.next {
		switch {
		case j.deadline == 0 || j.state != jobRunning:
		case j.deadline > now:
			p.armLocked(now, j.deadline)
		default:
			p.abandonLocked(j)
			fx.rare(func() {
				j.runner.settle(ErrRunBudget) // the task's context ends by a deadline of its own
				if p.hooks.OnAbandon != nil {
					p.hooks.OnAbandon(p.name)
				}
			})
		}
	}
}
