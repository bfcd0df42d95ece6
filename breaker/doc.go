// Package breaker stops calls to a dependency that fails, lets a few through after a while, and closes again when they succeed.
//
//	b, err := breaker.New(breaker.Config{Name: "price"})
//	…
//	permit, err := b.Allow()
//	if err != nil {
//		return err // errors.Is(err, breaker.ErrOpen)
//	}
//	defer permit.Done(breaker.Failure) // on every path that does not say otherwise, a panic among them
//	answer, err := call()
//	permit.Done(breaker.Success)
//
// Use Do for a function that returns an error; use package command if the call needs a timeout, a bound on concurrency or a fallback too.
//
// # Which settings
//
// Zero settings are a breaker that trips when half of at least 20 results within 10 s failed, waits 5 s and sends one probe.
//
//   - Traffic is steady: a time window. Traffic is rare or bursty: a count window (Window: Count), which does not forget in quiet times.
//   - The dependency gets slow before it fails: SlowAfter and SlowRatio.
//   - One success proves little: more Probes.
//   - A service moves here from Hystrix and its alarms rest on Hystrix' behaviour: HystrixSettings.
//   - "Five failures in a row": Window: Count, WindowCalls: 5, MinVolume: 5, FailureRatio: 1.
//
// # What counts
//
// Success and failure do. A neutral result (the client went away, the request was bad) never does, and gives a probe's place free. Rejected,
// a call that found no capacity on our own side, does not either unless CountRejections asks for it, as Hystrix does. In the standard mode
// the result of a call that was admitted before the breaker last closed is dropped, since it tells of the time before.
//
// # What cannot get stuck
//
// A probe is known by its identity: only the probes that this half-open state sent decide about it, and calls that were already under way
// do not. A probe that does not come back within ProbeExpiry gives its place free.
//
// The breaker reads its clock at most once in Allow and once in Done, takes no lock while it is closed and allocates nothing. Decisions are
// those of a plain machine that the simulator runs in virtual time, and a test holds both to the same traces.
package breaker
