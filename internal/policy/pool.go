package policy

import "time"

// PoolUnbounded is the capacity of a queue without a bound.
const PoolUnbounded = int(^uint(0) >> 1)

// PoolGrowth is the order in which a pool above its core size queues and grows.
type PoolGrowth uint8

// The orders.
const (
	PoolQueueFirst   PoolGrowth = iota // core, queue, max: java.util.concurrent.ThreadPoolExecutor
	PoolWorkersFirst                   // core, idle worker, max, queue: Tomcat's and Dubbo's eager pools
)

// PoolPolicy is what a pool does with a task for which it has no room.
type PoolPolicy uint8

// The policies.
const (
	PoolAbort PoolPolicy = iota
	PoolCallerRuns
	PoolDiscard
	PoolDiscardOldest
	PoolBlock
	PoolUser
)

// PoolReason says why there was no room.
type PoolReason uint8

// The reasons.
const (
	PoolRoom      PoolReason = iota // there was room
	PoolFull                        // workers at max and queue at capacity, or others wait for room already
	PoolThreshold                   // the admission threshold below the capacity
	PoolClosed                      // the pool takes no more tasks
)

// PoolVerdict is what becomes of a submitted task.
type PoolVerdict uint8

// The verdicts.
const (
	PoolStart     PoolVerdict = iota // a new worker starts with this task
	PoolEnqueue                      // it goes to the queue's tail
	PoolRefuse                       // the caller gets an error
	PoolRunCaller                    // the caller runs it
	PoolDrop                         // it vanishes
	PoolEvict                        // the queue's head vanishes, the task goes to the tail
	PoolWait                         // the caller waits for room
	PoolAsk                          // the user's own policy decides; see SubmitAs
)

// PoolNext is what a worker that has ended a task does next.
type PoolNext uint8

// The next things.
const (
	PoolTake   PoolNext = iota // take the queue's head
	PoolIdle                   // wait for work
	PoolRetire                 // end
)

// PoolRules are the limits of a pool. Core is 0 to Max, Max at least 1, Capacity 0 (hand-off) to PoolUnbounded.
type PoolRules struct {
	Core, Max   int
	Capacity    int
	Threshold   int // refuse from this many waiting tasks on; 0: no threshold; negative: refuse every task
	Growth      PoolGrowth
	Policy      PoolPolicy
	CoreTimeout bool // idle core workers end too
	KeepAlive   time.Duration
}

// Pool is the decision machine of a pool: counts of workers and tasks, no tasks. The caller holds queue and clock and does what it is
// told. A Pool is for one goroutine at a time.
//
// A queued task that an idle worker is about to take does not count against the capacity: with a hand-off queue a task is admitted if a
// worker is free, however long that worker takes to wake. So admission depends on counts alone and never on a race.
type Pool struct {
	rules   PoolRules
	workers int // alive, busy or not
	busy    int
	queued  int // admitted, not yet taken
	blocked int // callers that wait for room
	closed  bool
}

// NewPool returns an empty pool.
func NewPool(rules PoolRules) *Pool { return &Pool{rules: rules} }

// MakePool is NewPool for a machine inside another struct.
func MakePool(rules PoolRules) Pool { return Pool{rules: rules} }

// Rules are those in force.
func (p *Pool) Rules() PoolRules { return p.rules }

// Workers is how many workers there are.
func (p *Pool) Workers() int { return p.workers }

// Busy is how many workers run a task.
func (p *Pool) Busy() int { return p.busy }

// Queued is how many tasks are admitted and not yet taken.
func (p *Pool) Queued() int { return p.queued }

// Blocked is how many callers wait for room.
func (p *Pool) Blocked() int { return p.blocked }

// Closed says whether the pool has stopped to take tasks.
func (p *Pool) Closed() bool { return p.closed }

// Waiting is the queue's depth: queued tasks for which no free worker is at hand.
func (p *Pool) Waiting() int { return max(0, p.queued-p.free()) }

// Submit decides on a task. A verdict of PoolAsk changes nothing and is followed by SubmitAs.
func (p *Pool) Submit() (PoolVerdict, PoolReason) { return p.SubmitAs(p.rules.Policy) }

// SubmitAs is Submit with a policy other than that of the rules.
func (p *Pool) SubmitAs(policy PoolPolicy) (PoolVerdict, PoolReason) {
	if p.blocked == 0 {
		if verdict, ok := p.admit(); ok {
			return verdict, PoolRoom
		}
	}
	return p.overflow(policy)
}

func (p *Pool) admit() (PoolVerdict, bool) {
	verdict, ok := p.room()
	if ok && verdict == PoolStart {
		p.workers++
		p.busy++
	} else if ok {
		p.queued++
	}
	return verdict, ok
}

// room looks for a place; the order of its questions is what distinguishes pools.
func (p *Pool) room() (PoolVerdict, bool) {
	r := &p.rules
	free := p.free()
	switch {
	case p.closed || p.AtThreshold():
		return 0, false
	case p.workers < r.Core || p.workers == 0:
		return PoolStart, true
	case p.queued < free:
		return PoolEnqueue, true
	case r.Growth == PoolWorkersFirst && p.workers < r.Max:
		return PoolStart, true
	case p.queued-free < r.Capacity:
		return PoolEnqueue, true
	case p.workers < r.Max:
		return PoolStart, true
	}
	return 0, false
}

// free is how many workers can take a task now; those above a lowered max are about to end and cannot.
func (p *Pool) free() int { return max(0, min(p.workers, p.rules.Max)-p.busy) }

// AtThreshold asks Hystrix' question, which it puts before any other: queue.size() < queueSizeRejectionThreshold.
func (p *Pool) AtThreshold() bool {
	t := p.rules.Threshold
	return t < 0 || t > 0 && p.queued >= t && p.Waiting() >= t
}

func (p *Pool) overflow(policy PoolPolicy) (PoolVerdict, PoolReason) {
	if p.closed {
		return PoolRefuse, PoolClosed
	}
	reason := PoolFull
	if p.AtThreshold() {
		reason = PoolThreshold
	}
	switch policy {
	case PoolCallerRuns:
		return PoolRunCaller, reason
	case PoolDiscard:
		return PoolDrop, reason
	case PoolDiscardOldest:
		if p.Waiting() > 0 {
			return PoolEvict, reason
		}
	case PoolBlock:
		p.blocked++
		return PoolWait, reason
	case PoolUser:
		return PoolAsk, reason
	}
	return PoolRefuse, reason
}

// Saturated says that every Submit would be refused or dropped until something else happens.
func (p *Pool) Saturated() bool {
	if p.closed {
		return true
	}
	if p.rules.Policy != PoolAbort && p.rules.Policy != PoolDiscard {
		return false
	}
	if p.blocked > 0 {
		return true
	}
	_, room := p.room()
	return !room
}

// Free says for how many tasks in flight, queued or running, Submit would say PoolEnqueue: it says so exactly as long as fewer are in flight.
// It changes only with rules, workers, blocked callers and Close, so that a library may admit by this figure and count what it
// admitted with Enqueued later.
func (p *Pool) Free() int {
	r := &p.rules
	if p.closed || p.blocked > 0 || p.workers == 0 || p.workers < r.Core || p.workers > r.Max || r.Threshold < 0 {
		return 0
	}
	places := r.Capacity
	if r.Growth == PoolWorkersFirst && p.workers < r.Max {
		places = 0
	}
	if r.Threshold > 0 {
		places = min(places, r.Threshold)
	}
	if places > PoolUnbounded-p.workers {
		return PoolUnbounded
	}
	return p.workers + places
}

// Enqueued counts n tasks that were admitted by the figure of Free.
func (p *Pool) Enqueued(n int) { p.queued += n }

// Unblock admits the caller that has waited longest, if there is room for it now.
func (p *Pool) Unblock() (PoolVerdict, bool) {
	if p.blocked == 0 {
		return 0, false
	}
	verdict, ok := p.admit()
	if ok {
		p.blocked--
	}
	return verdict, ok
}

// Leave takes a caller that waited for room away: it gave up or its deadline passed.
func (p *Pool) Leave() { p.blocked-- }

// Cancel takes a queued task away.
func (p *Pool) Cancel() { p.queued-- }

// Finish ends a worker's task; Next says what the worker does then.
func (p *Pool) Finish() { p.busy-- }

// Next is what a free worker does.
func (p *Pool) Next() PoolNext {
	switch {
	case p.workers > p.rules.Max:
		p.workers--
		return PoolRetire
	case p.queued > 0:
		p.queued--
		p.busy++
		return PoolTake
	case p.closed:
		p.workers--
		return PoolRetire
	}
	return PoolIdle
}

// Expire asks whether a worker that has been idle for the keep-alive time ends.
func (p *Pool) Expire() bool {
	if p.workers-p.busy <= p.queued || p.workers <= p.rules.Core && !p.rules.CoreTimeout {
		return false
	}
	p.workers--
	return true
}

// Expires says whether any idle worker could end by keep-alive.
func (p *Pool) Expires() bool {
	return p.workers > p.rules.Core || p.rules.CoreTimeout && p.workers > 0
}

// Surplus retires a parked worker, if there are more workers than max allows.
func (p *Pool) Surplus() bool {
	if p.workers <= p.rules.Max || p.workers == p.busy {
		return false
	}
	p.workers--
	return true
}

// Dismiss ends a parked worker of a closed pool that has nothing left to take.
func (p *Pool) Dismiss() bool {
	if !p.closed || p.queued > 0 || p.workers == p.busy {
		return false
	}
	p.workers--
	return true
}

// Missing starts a worker for a task that waits, if the rules now allow one that did not start when the task came: after core or max was
// raised or the capacity lowered. The worker takes the queue's head by Next.
func (p *Pool) Missing() bool {
	waiting := p.Waiting()
	if waiting == 0 || p.workers >= p.rules.Max {
		return false
	}
	if p.workers >= p.rules.Core && p.workers > 0 && p.rules.Growth == PoolQueueFirst && waiting <= p.rules.Capacity {
		return false
	}
	p.workers++
	return true
}

// Prestart starts an idle worker, if there are fewer than core.
func (p *Pool) Prestart() bool {
	if p.workers >= p.rules.Core || p.closed {
		return false
	}
	p.workers++
	return true
}

// Apply puts other rules in force, all at once. What runs goes on, what is queued stays queued; see Surplus, Missing and Unblock for what
// follows.
func (p *Pool) Apply(rules PoolRules) { p.rules = rules }

// Close stops the pool to take tasks. Callers that wait for room are to be refused; it says how many.
func (p *Pool) Close() int {
	blocked := p.blocked
	p.closed, p.blocked = true, 0
	return blocked
}
