// Package registry keeps every pool, bulkhead, breaker and command of a process by name, in one place: what they do, which settings are
// in force and why, and the one door through which settings change while they work.
//
//	r, err := registry.New(registry.Config{})
//	…
//	biz, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 10, Max: 20, Queue: 50}})
//	…
//	document, err := registry.ParseDocument(text)
//	…
//	_, err = r.Apply(document, registry.By("deploy 1.4"))
//
// # Where a value comes from
//
// Each value has an origin. The strongest wins: an override (set by hand, through Override or the admin handler), the tier in force, the
// settings document (file), what the code gave when it made the thing, the default. Settings lists each value with its origin.
//
// # How settings change
//
// A change is built as a whole, checked as a whole and put in force as a whole: every section is decoded and validated, then the lint
// rules look at the result with the declared downstream budgets, in each tier, and only then anything changes. A change with a critical
// finding is refused (*RefusedError) and the old settings stay. Shrinking settings go first, so that no budget is passed on the way.
// Equal settings are no change. A writer who names the version that he saw gets ErrConflict when another was faster. History tells
// what was before and after.
//
// # Use X if
//
//   - New pools that may wait for each other: NewPool, which tells of self waits and cycles before they deadlock. For one that exists
//     already: Add.
//   - Settings in YAML, or a file to be watched: package registry/file.
//   - Metrics: package metrics/prometheus, HystrixStream for the Hystrix Dashboard, or Snapshot.
//   - Settings by time of day: tiers and a schedule in the document, and Run.
//
// There is no default registry and no global state. The package imports the standard library only.
package registry
