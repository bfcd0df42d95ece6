package pool

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
)

const (
	// Unbounded is the Queue of a pool whose queue has no bound. Max is then never reached beyond Core, if the pool queues first.
	Unbounded = policy.PoolUnbounded
	// RefuseAll is the Threshold that refuses every task, as Hystrix does at queueSizeRejectionThreshold 0 with a queue.
	RefuseAll = -1
	// MaxWorkers is the greatest Max.
	MaxWorkers = 1 << 20
	// DefaultKeepAlive is the keep-alive of a pool whose settings name none.
	DefaultKeepAlive = time.Minute
)

// Growth is the order in which a pool that has its core workers queues and grows.
type Growth uint8

const (
	// QueueFirst fills the queue before it makes workers beyond core: java.util.concurrent.ThreadPoolExecutor. Max matters only once the
	// queue is full.
	QueueFirst = Growth(policy.PoolQueueFirst)
	// WorkersFirst makes workers up to max before it queues, if none is idle: Tomcat's and Dubbo's eager pools.
	WorkersFirst = Growth(policy.PoolWorkersFirst)
)

// String is the name used in settings documents.
func (g Growth) String() string {
	return nameOf([]string{"queue-first", "workers-first"}, int(g), "growth")
}

// Policy is what happens to a task for which there is no room.
type Policy uint8

const (
	// Abort gives the caller a *RejectedError.
	Abort = Policy(policy.PoolAbort)
	// CallerRuns runs the task on the goroutine of its caller.
	CallerRuns = Policy(policy.PoolCallerRuns)
	// Discard drops the task: Go returns nil, and who waits for a result gets ErrDiscarded.
	Discard = Policy(policy.PoolDiscard)
	// DiscardOldest drops the task that has waited longest and queues the new one. With nothing in the queue it is Abort.
	DiscardOldest = Policy(policy.PoolDiscardOldest)
	// Block makes the caller wait for room, first come first served, for at most BlockFor; then it gets a *RejectedError.
	Block = Policy(policy.PoolBlock)
	// User asks Config.OnOverflow which of the other policies to use for this task.
	User = Policy(policy.PoolUser)
)

// String is the name used in settings documents.
func (p Policy) String() string {
	return nameOf([]string{"abort", "caller-runs", "discard", "discard-oldest", "block", "user"}, int(p), "policy")
}

func nameOf(names []string, i int, what string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}

// Settings are what may be changed while the pool works. Core and Max must not both be 0; the zero value of each other field is its
// default.
type Settings struct {
	// Core is how many workers are kept: below it each task starts a worker, even if others are idle. 0 to Max, 0 by default. A pool
	// without core workers still has one while it has work.
	Core int
	// Max is the most workers, and so the most tasks that run at once: 1 to MaxWorkers. 0 means the same as Core.
	Max int
	// Queue is how many tasks may wait. 0, the default, is a hand-off: a task is taken only if a worker is free or can be made. Unbounded
	// takes every task.
	Queue int
	// Threshold refuses tasks while that many wait, even below Queue, and before the pool would grow beyond core: Hystrix'
	// queueSizeRejectionThreshold. 0, the default, is no threshold; RefuseAll refuses every task. At least 1 otherwise. It has no effect
	// with Queue 0, as in Hystrix.
	Threshold int
	// KeepAlive is how long a worker beyond core stays without work: above 0, a minute by default.
	KeepAlive time.Duration
	// CoreTimeout lets core workers end by KeepAlive too.
	CoreTimeout bool
	// Growth is QueueFirst by default.
	Growth Growth
	// Policy is what happens to a task for which there is no room: Abort by default. A closed pool gives ErrClosed whatever the policy.
	Policy Policy
	// BlockFor bounds the wait of the Block policy: 0, the default, waits as long as the caller's context allows.
	BlockFor time.Duration
	// QueueBudget is how long a task may wait in the queue. When it has passed, the task is dropped and its caller gets ErrQueueBudget.
	// 0, the default, is no limit.
	QueueBudget time.Duration
	// RunBudget is how long a task that was given a context may run. When it has passed, its context ends, its caller gets
	// ErrRunBudget, and the worker counts as a zombie until the task returns. 0, the default, is no limit. Tasks given to Go have no
	// context and no run budget.
	RunBudget time.Duration
}

// WithDefaults is s with defaults in place of zero values.
func (s Settings) WithDefaults() Settings {
	if s.Max == 0 {
		s.Max = s.Core
	}
	if s.KeepAlive == 0 {
		s.KeepAlive = DefaultKeepAlive
	}
	return s
}

// EffectiveQueue is how many tasks can really wait: the lesser of Queue and Threshold.
func (s Settings) EffectiveQueue() int {
	switch {
	case s.Queue == 0 || s.Threshold == 0:
		return s.Queue
	case s.Threshold < 0:
		return 0
	}
	return min(s.Queue, s.Threshold)
}

// Validate reports every fault, each with its field, what was found and what is allowed.
func (s Settings) Validate() error {
	d := s.WithDefaults()
	return errors.Join(
		within("Max", d.Max, 1, MaxWorkers),
		within("Core", d.Core, 0, max(0, d.Max)),
		within("Queue", d.Queue, 0, Unbounded),
		within("Threshold", d.Threshold, RefuseAll, Unbounded),
		within("KeepAlive", d.KeepAlive, 1, math.MaxInt64),
		within("BlockFor", d.BlockFor, 0, math.MaxInt64),
		within("QueueBudget", d.QueueBudget, 0, math.MaxInt64),
		within("RunBudget", d.RunBudget, 0, math.MaxInt64),
		within("Growth", d.Growth, QueueFirst, WorkersFirst),
		within("Policy", d.Policy, Abort, User),
	)
}

func within[T ~int | ~int64 | ~uint8](field string, value, low, high T) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %v: allowed %v to %v", field, value, low, high)
	}
	return nil
}

func (s Settings) rules() policy.PoolRules {
	r := policy.PoolRules{
		Core: s.Core, Max: s.Max, Capacity: s.Queue, Threshold: s.Threshold, Growth: policy.PoolGrowth(s.Growth),
		Policy: policy.PoolPolicy(s.Policy), CoreTimeout: s.CoreTimeout, KeepAlive: s.KeepAlive,
	}
	if s.Queue == 0 {
		r.Threshold = 0
	}
	return r
}
