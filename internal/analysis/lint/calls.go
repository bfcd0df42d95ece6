package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// oneTry is how long one attempt may take by its own timeouts.
func oneTry(a limits.Attempt) time.Duration { return a.Connect.Value + a.Read.Value }

func allTries(a limits.Attempt) time.Duration {
	n := time.Duration(a.Attempts())
	return n*oneTry(a) + (n-1)*a.Backoff.Value
}

func innerTimeoutAboveOuter(_ *scene, c limits.Command) []Finding {
	inner, outer := oneTry(c.Attempt), c.Timeout.Value
	if outer <= 0 || inner <= outer {
		return nil
	}
	text := fmt.Sprintf("command %s: connect %s + read %s = %s > timeout %s: the caller leaves while the client still waits", c.Name,
		ms(c.Attempt.Connect.Value), ms(c.Attempt.Read.Value), ms(inner), ms(outer))
	if c.Isolation.Value == limits.ByPool {
		text += ", and the worker stays taken until its read ends"
	}
	return []Finding{report(InnerTimeoutAboveOuter, finding.Warning, text, fmt.Sprintf("timeout >= %s, or a shorter read timeout", ms(allTries(c.Attempt))),
		figures{"inner_ms": millis(inner), "timeout_ms": millis(outer)}, c.Timeout.At, c.Attempt.Read.At, c.Attempt.Connect.At)}
}

func retriesExceedTimeout(_ *scene, c limits.Command) []Finding {
	a, outer := c.Attempt, c.Timeout.Value
	tries, total := a.Attempts(), allTries(a)
	if outer <= 0 || tries < 2 || total <= outer || oneTry(a) > outer {
		return nil
	}
	text := fmt.Sprintf("command %s: (connect %s + read %s) × (%d + 1) × (%d + 1) attempts", c.Name, ms(a.Connect.Value), ms(a.Read.Value),
		a.SameServer.Value, a.NextServer.Value)
	if a.Backoff.Value > 0 {
		text += fmt.Sprintf(" + %d × back-off %s", tries-1, ms(a.Backoff.Value))
	}
	text += fmt.Sprintf(" = %s > timeout %s: the last retries go on after the caller has left", ms(total), ms(outer))
	return []Finding{report(RetriesExceedTimeout, finding.Warning, text, fmt.Sprintf("timeout >= %s, or fewer attempts or shorter ones", ms(total)),
		figures{"attempts": tries, "attempt_ms": millis(oneTry(a)), "total_ms": millis(total), "timeout_ms": millis(outer)},
		c.Timeout.At, a.NextServer.At, a.SameServer.At, a.Read.At, a.Connect.At)}
}

// multiplied is the number of attempts from which a retry is called a multiplier of load.
const multiplied = 4

func retriesMultiplyLoad(_ *scene, c limits.Command) []Finding {
	n := c.Attempt.Attempts()
	if n < multiplied {
		return nil
	}
	return []Finding{report(RetriesMultiplyLoad, finding.Warning, fmt.Sprintf("command %s: (%d + 1) × (%d + 1) = %d attempts: a failing dependency is sent %d times the calls",
		c.Name, c.Attempt.SameServer.Value, c.Attempt.NextServer.Value, n, n), "retry at one layer, once, within a budget", figures{"attempts": n},
		c.Attempt.NextServer.At, c.Attempt.SameServer.At)}
}

func noTimeout(_ *scene, c limits.Command) []Finding {
	if !c.Timeout.Known || c.Timeout.Value > 0 || c.Attempt.Read.Value > 0 {
		return nil
	}
	return []Finding{report(NoTimeout, finding.Warning, fmt.Sprintf("command %s has no timeout: a dependency that hangs takes its slots one by one", c.Name),
		"a timeout >= execution + queue wait", nil, c.Timeout.At, c.At)}
}

func timeoutKeepsCaller(_ *scene, c limits.Command) []Finding {
	if c.Library || c.Isolation.Value != limits.Permits || !c.Timeout.Given || c.Timeout.Value <= 0 || c.Attempt.Read.Known {
		return nil
	}
	return []Finding{report(TimeoutKeepsCaller, finding.Info,
		fmt.Sprintf("command %s: under SEMAPHORE the timeout of %s is counted, but the caller's thread works on until the call itself ends", c.Name, ms(c.Timeout.Value)),
		"a connect and a read timeout in the client; or a pool for a dependency that can hang", figures{"timeout_ms": millis(c.Timeout.Value)}, c.Timeout.At, c.Isolation.At)}
}

// guard is permits in front of a dependency, whoever holds them.
type guard struct {
	what    string
	permits limits.Of[int]
	wait    limits.Of[time.Duration]
	breaker *limits.Breaker
}

func (s *scene) guards() []guard {
	var out []guard
	for _, c := range s.Commands {
		if c.Isolation.Value == limits.Permits && c.Permits.Known {
			out = append(out, guard{what: "command " + c.Name, permits: c.Permits, breaker: c.Breaker})
		}
	}
	for _, b := range s.Bulkheads {
		out = append(out, guard{what: "bulkhead " + b.Name, permits: b.Permits, wait: b.Wait})
	}
	return out
}

func semaphoreBelowWorkers(s *scene) []Finding {
	if s.front == nil {
		return nil
	}
	workers := s.front.Workers
	var out []Finding
	for _, g := range s.guards() {
		if !g.permits.Known || g.permits.Value >= workers.Value {
			continue
		}
		over := workers.Value - g.permits.Value
		text := fmt.Sprintf("%s has %d permits behind %d workers: with all of them on it, %d - %d = %d calls are refused though it is healthy",
			g.what, g.permits.Value, workers.Value, workers.Value, g.permits.Value, over)
		if g.wait.Value > 0 {
			text = fmt.Sprintf("%s has %d permits behind %d workers: %d calls wait up to %s for one, then are refused", g.what, g.permits.Value, workers.Value, over, ms(g.wait.Value))
		}
		text += refusalsOpen(g.breaker, over, workers.Value)
		out = append(out, report(SemaphoreBelowWorkers, finding.Warning, text,
			fmt.Sprintf("permits that the dependency bears, and answer refusals as 503; %d permits where they are not meant to refuse", workers.Value),
			figures{"permits": g.permits.Value, "workers": workers.Value, "refused": over}, g.permits.At, workers.At))
	}
	return out
}

// refusalsOpen says when refusals alone open a breaker that counts them as failures.
func refusalsOpen(b *limits.Breaker, over, workers int) string {
	if b == nil || !b.RefusalsFail || !b.Enabled.Value || b.ForceClosed.Value {
		return ""
	}
	share := 100 * float64(over) / float64(workers)
	text := fmt.Sprintf(", and refusals count as failures: from %d calls on, a share of %s %% opens the breaker", b.Volume.Value, number(b.FailurePercent.Value))
	if share >= b.FailurePercent.Value {
		text += fmt.Sprintf(" (%d of %d is %s %% in the first wave)", over, workers, number(share))
	}
	return text
}

// workersTakenBySlow counts how many hung services take every worker: the permits protect only while that many are not slow at once.
func workersTakenBySlow(s *scene) []Finding {
	if s.front == nil {
		return nil
	}
	var commands []string
	var at []limits.At
	workers, sum, most := s.front.Workers.Value, 0, 0
	for _, c := range s.Commands {
		if !c.Gateway || c.Isolation.Value != limits.Permits {
			continue
		}
		commands, at = append(commands, c.Name), append(at, c.Permits.At)
		sum, most = sum+c.Permits.Value, max(most, c.Permits.Value)
	}
	if len(commands) < 2 || sum < workers {
		return nil
	}
	need := (workers + most - 1) / max(most, 1)
	return []Finding{report(WorkersTakenBySlow, finding.Warning,
		fmt.Sprintf("%d services (%s) have %d permits together on %d workers: %d slow ones × %d permits take every worker, and the healthy are not served",
			len(commands), strings.Join(commands, ", "), sum, workers, need, most),
		fmt.Sprintf("permits × services that may be slow together < %d", workers),
		figures{"workers": workers, "permits": sum, "slow_services": need}, append(at, s.front.Workers.At)...)}
}

// permitWaits finds a wait for a permit that the timeout around it ends: no time is left for the call.
func permitWaits(s *scene) []Finding {
	var out []Finding
	for _, b := range s.Bulkheads {
		if b.Timeout.Value <= 0 || b.Wait.Value < b.Timeout.Value {
			continue
		}
		out = append(out, report(finding.TimeoutBelowWait, finding.Warning,
			fmt.Sprintf("bulkhead %s: a caller may wait %s for a permit, and the timeout of %s around it leaves no time for the call", b.Name, ms(b.Wait.Value), ms(b.Timeout.Value)),
			"wait + execution <= timeout", figures{"permit_wait_ms": millis(b.Wait.Value), "timeout_ms": millis(b.Timeout.Value)}, b.Wait.At, b.Timeout.At))
	}
	return out
}

func fallbackBelowSlots(s *scene, c limits.Command) []Finding {
	slots, at := c.Permits.Value, c.Permits.At
	if c.Isolation.Value == limits.ByPool {
		p, _ := s.pool(c.Pool)
		slots, _ = p.Slots()
		at = p.Max.At
	}
	if !c.FallbackPermits.Known || c.FallbackPermits.Value < 0 || c.FallbackPermits.Value >= slots {
		return nil
	}
	return []Finding{report(FallbackBelowSlots, finding.Info,
		fmt.Sprintf("command %s: %d fallback permits for up to %d calls that fail at once: the rest ends as a refused fallback, which hides the cause", c.Name, c.FallbackPermits.Value, slots),
		"count refused fallbacks as refusals; more fallback permits where the fallback is a constant",
		figures{"fallback_permits": c.FallbackPermits.Value, "slots": slots}, c.FallbackPermits.At, at)}
}

func onePoolForAll(s *scene) []Finding {
	users := map[string][]string{}
	for _, c := range s.Commands {
		if c.Gateway && c.Isolation.Value == limits.ByPool {
			users[c.Pool] = append(users[c.Pool], c.Name)
		}
	}
	var out []Finding
	for _, p := range s.Pools {
		if len(users[p.Name]) < 2 {
			continue
		}
		n, _ := p.Slots()
		out = append(out, report(OnePoolForAll, finding.Warning, fmt.Sprintf("pool %s with %d workers serves %d services (%s): one of them slow stops all",
			p.Name, n, len(users[p.Name]), strings.Join(users[p.Name], ", ")), "zuul.threadPool.useSeparateThreadPools=true",
			figures{"workers": n, "services": len(users[p.Name])}, p.At, p.Core.At))
	}
	return out
}

func leaseWaitUnlimited(s *scene) []Finding {
	var out []Finding
	for _, c := range s.Commands {
		conns, ok := s.connections(c.Connections)
		slots := s.slotsOf(c)
		if c.Gateway && !slots.Known && s.front != nil {
			slots = s.front.Workers
		}
		if !ok || !conns.LeaseWait.Known || conns.LeaseWait.Value > 0 || !slots.Known {
			continue
		}
		size, what := s.reach(conns)
		if !size.Known || slots.Value <= size.Value {
			continue
		}
		out = append(out, report(LeaseWaitUnlimited, finding.Warning,
			fmt.Sprintf("command %s: %d slots on %d connections (%s): %d calls run and %d wait for a connection without limit, holding their slots",
				c.Name, slots.Value, size.Value, what, size.Value, slots.Value-size.Value),
			fmt.Sprintf("at most %d slots, or connections >= %d", size.Value, slots.Value),
			figures{"slots": slots.Value, "connections": size.Value, "waiting": slots.Value - size.Value}, slots.At, size.At, conns.LeaseWait.At))
	}
	return out
}

// isolationWithoutEffect finds settings of the isolation that is not in use. A setting of «default» may serve other commands.
func isolationWithoutEffect(s *scene) []Finding {
	var out []Finding
	seen := map[limits.At]bool{}
	for _, c := range s.Commands {
		own := strings.Contains(c.Permits.At.Key, c.Name)
		if c.Library || !own || !c.Permits.Given || !c.Isolation.Known || c.Isolation.Value == limits.Permits || seen[c.Permits.At] {
			continue
		}
		seen[c.Permits.At] = true
		out = append(out, report(SettingWithoutEffect, finding.Info, fmt.Sprintf("command %s is isolated by a pool: its %d permits have no effect", c.Name, c.Permits.Value),
			"isolation by semaphore, or leave the permits out", nil, c.Permits.At, c.Isolation.At))
	}
	return out
}
