package order

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// threads runs calls on a fixed number of workers behind a bounded queue. A caller waits for its result or for its time to be over; then it
// goes on, and the worker stays busy until the call, whose context has ended, returns.
type threads struct {
	slots, capacity, threshold int
	timeout                    time.Duration
	tasks                      chan *task
	workers                    sync.WaitGroup
	inside, active             peak
	completed                  atomic.Uint64
	rejected                   atomic.Uint64
	abandoned                  atomic.Uint64
	wait, execution            histogram
}

type task struct {
	ctx      context.Context
	call     call
	admitted time.Time
	done     chan result // has room for the result
}

type result struct {
	body []byte
	err  error
}

func newThreads(c Config) *threads {
	t := &threads{slots: c.Slots, capacity: *c.Queue, threshold: *c.Threshold, timeout: c.Timeout, tasks: make(chan *task, c.Slots+*c.Threshold)}
	for range c.Slots {
		t.workers.Go(func() {
			for k := range t.tasks {
				t.run(k)
			}
		})
	}
	return t
}

func (t *threads) run(k *task) {
	started := time.Now()
	t.active.enter(int64(t.slots))
	t.wait.add(started.Sub(k.admitted))
	var r result
	if r.err = k.ctx.Err(); r.err != nil {
		t.abandoned.Add(1) // Its caller left while it waited.
	} else {
		r.body, r.err = k.call(k.ctx)
		t.execution.add(time.Since(started))
		t.completed.Add(1)
	}
	t.active.leave()
	t.inside.leave()
	k.done <- r
}

// do admits the call while fewer than workers and threshold together are inside: then a worker is free, or will be, or the queue has room.
func (t *threads) do(ctx context.Context, f call) ([]byte, error) {
	if !t.inside.enter(int64(t.slots + t.threshold)) {
		t.rejected.Add(1)
		return nil, errRejected
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	k := &task{ctx: ctx, call: f, admitted: time.Now(), done: make(chan result, 1)}
	t.tasks <- k // Has room for all that are inside.
	select {
	case r := <-k.done:
		return r.body, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *threads) stats() stats {
	active := t.active.now.Load()
	return stats{kind: Thread, core: t.slots, size: t.slots, max: t.slots, capacity: t.capacity,
		active: active, activeHigh: t.active.high(), queued: max(0, t.inside.now.Load()-active), queueHigh: max(0, t.inside.high()-int64(t.slots)),
		completed: t.completed.Load(), rejected: t.rejected.Load(), abandoned: t.abandoned.Load(), wait: &t.wait, execution: &t.execution}
}

// close ends the workers. No call may begin any more.
func (t *threads) close(context.Context) error {
	close(t.tasks)
	t.workers.Wait()
	return nil
}
