// Package command puts isolation around a function: a bound on concurrency, a timeout, a breaker, a fallback and metrics, as one call.
//
//	price, err := command.New(command.Config[Price]{
//		Name:     "price",
//		Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 100, Timeout: 200 * time.Millisecond},
//		Fallback: func(ctx context.Context, cause error) (Price, error) { return lastKnown, nil },
//	})
//	…
//	p, err := price.Do(ctx, func(ctx context.Context) (Price, error) { return client.Price(ctx, id) })
//
// # Which isolation
//
//   - None: the function is in-process, very fast or rare. Timeout, breaker and metrics still work.
//   - Semaphore: the function honours its context, as Go's clients do. It runs on the caller's goroutine under a permit and costs next to
//     nothing. The timeout ends its context; a function that ignores it keeps its caller, and its permit, until it returns.
//   - Pool: the function may ignore its context (cgo, a driver without deadlines), or must run on threads of a bounded number. It
//     runs on a worker, and at the timeout the caller goes on. The worker stays taken until the work ends and is counted as a zombie
//     meanwhile, so that real concurrency never passes the limit.
//
// # What a call comes to
//
// Every call ends in exactly one Outcome. A refusal for want of a permit, a worker or a place in the queue is Rejected, a refusal by the
// breaker ShortCircuited; neither runs the function. Snapshot counts outcomes, and beside them the events that Hystrix would have told, a
// refusal by the fallback's own permits among them. Waiting and execution have histograms of their own.
//
// # The context
//
// The function gets a context with the deadline of the call and the values of the caller's. Like one of context.WithTimeout it is cancelled
// when the call returns. It costs nothing until Done is asked for.
package command
