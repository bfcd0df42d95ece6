// Package pool runs tasks on a bounded number of workers, with a bounded queue, and lets all of its limits be changed while it works.
//
//	p, err := pool.New(pool.Config{Name: "price", Settings: pool.Settings{Core: 10, Max: 30, Queue: 50}})
//	…
//	defer p.Close()
//	price, err := pool.Call(ctx, p, func(ctx context.Context) (int, error) { return fetch(ctx, id) })
//
// # Which entry
//
//   - Someone waits for the result: Call, or Do without a result.
//   - Someone waits later, or several do: Submit, which returns a Future.
//   - Several tasks, and one who waits for all: Batch or Map.
//   - Nobody waits: Go.
//   - The work may run on the caller's own goroutine: package bulkhead. It bounds concurrency for a tenth of the cost, since no worker
//     must be woken and no caller parked.
//
// # Which settings
//
//   - The work waits for something pooled further down (connections): Max no larger than that pool, a small queue.
//   - Callers wait and latency counts: a queue no longer than what the latency budget allows, that is queue × service time ÷ workers.
//   - Bursts are to be smoothed and nobody waits: a deep queue with CallerRuns or Block.
//   - Threads are to be added before anyone waits, as in Tomcat and Dubbo's eager pools: Growth WorkersFirst.
//   - Threads are to be added only when the queue is full, as in java.util.concurrent: QueueFirst, the default. An Unbounded queue is
//     never full, and Max then never reached.
//
// # Order of decisions
//
// A task meets, in this order: the threshold; core (fewer workers than that: a new one); a free worker; with WorkersFirst max; the queue; max; the
// policy. A free worker is one that is not running a task, whether or not it has woken up: admission depends on counts alone, so
// a hand-off pool never refuses a task while a worker is free. A worker that is made because the queue is full begins with the task
// that made it, as in java.util.concurrent; tasks in the queue begin in the order in which they came.
//
// # What cannot get lost
//
// A panic of a task becomes a *PanicError, runtime.Goexit becomes ErrGoexit, and the worker stays. A worker whose caller has left is a zombie:
// it counts as active until the task returns, so that what really runs never exceeds Max. Every task ends in exactly one of the
// counters of Snapshot.
//
// # Waiting inside
//
// A task that waits for another task of its own pool, or of a pool that waits for its own in turn, can deadlock both. The context that a task
// gets names its pool; when it is handed to Call, Do, Submit, Future.Wait or NewBatch, the pool learns of the wait, tells
// Hooks.OnWait before it begins and lists it in Waits.
package pool
