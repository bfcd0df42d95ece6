// Package bulkhead bounds how many callers are inside at once, by permits, on the callers' own goroutines.
//
//	b, err := bulkhead.New(bulkhead.Config{Name: "price", Settings: bulkhead.Settings{Permits: 30}})
//	…
//	permit, err := b.Acquire(ctx)
//	if err != nil {
//		return err // errors.Is(err, bulkhead.ErrRejected), or the cause of ctx
//	}
//	defer permit.Release()
//
// # Which entry
//
//   - A function that fits in one call: Do or Call, which give the permit back on every path.
//   - A caller that must not wait: TryAcquire.
//   - A caller that may wait: Acquire, with Settings.MaxWaiting places and at most Settings.MaxWait.
//   - Calls of different size: AcquireWeight.
//   - Work that must not run on the caller's goroutine, or that is to wait in a queue without its goroutine: package pool.
//
// # What holds
//
// Permits out never exceed Permits, at any instant; after Permits was lowered none is granted until enough came back, and lowering it never blocks.
// Who waits is served first come, first served, and nobody overtakes, not even with a smaller weight. A permit belongs to the call
// until it is released: give it back when the work has ended and not when the caller lost patience, or more will run at once
// than there are permits. Releasing twice is harmless.
//
// Acquire and Release are one atomic step each while nobody waits, and allocate nothing.
package bulkhead
