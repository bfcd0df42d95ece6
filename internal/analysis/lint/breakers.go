package lint

import (
	"fmt"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

func breakerNeverTrips(b limits.Breaker) []Finding {
	off := b.Enabled.Known && !b.Enabled.Value
	switch {
	case off || b.ForceOpen.Value:
		return nil
	case b.ForceClosed.Value:
		return []Finding{report(BreakerNeverTrips, finding.Warning, fmt.Sprintf("breaker %s is forced closed: it never opens", b.Name),
			"take the force away once the incident is over", nil, b.ForceClosed.At)}
	case b.FailurePercent.Value > 100:
		return []Finding{report(BreakerNeverTrips, finding.Warning,
			fmt.Sprintf("breaker %s opens at %s %% of failures, and a share is at most 100 %%", b.Name, number(b.FailurePercent.Value)),
			"a percentage from 1 to 100; 50 is usual", figures{"failure_percent": b.FailurePercent.Value}, b.FailurePercent.At)}
	case !b.RatePerSec.Known || b.Window.Value <= 0 || !b.Volume.Known:
		return nil
	}
	calls := b.RatePerSec.Value * b.Window.Value.Seconds()
	if calls >= float64(b.Volume.Value) {
		return nil
	}
	return []Finding{report(BreakerNeverTrips, finding.Warning,
		fmt.Sprintf("breaker %s needs %d calls in its window and gets %s/s × %s s = %s: it never judges", b.Name, b.Volume.Value,
			number(b.RatePerSec.Value), number(b.Window.Value.Seconds()), number(calls)),
		fmt.Sprintf("a volume <= %s, or a window >= %s s", number(calls), number(float64(b.Volume.Value)/b.RatePerSec.Value)),
		figures{"volume": b.Volume.Value, "calls_in_window": calls, "rate_per_s": b.RatePerSec.Value}, b.Volume.At, b.Window.At, b.RatePerSec.At)}
}

func breakerAlwaysOpen(b limits.Breaker) []Finding {
	off := b.Enabled.Known && !b.Enabled.Value
	switch {
	case off:
		return nil
	case b.ForceOpen.Value:
		return []Finding{report(BreakerAlwaysOpen, finding.Warning, fmt.Sprintf("breaker %s is forced open: it refuses every call", b.Name),
			"take the force away once the incident is over", nil, b.ForceOpen.At)}
	case b.FailurePercent.Known && b.FailurePercent.Value <= 0 && !b.ForceClosed.Value:
		return []Finding{report(BreakerAlwaysOpen, finding.Critical,
			fmt.Sprintf("breaker %s opens at >= %s %% of failures: 0 %% is enough, so it opens on healthy traffic", b.Name, number(b.FailurePercent.Value)),
			"a percentage from 1 to 100; 50 is usual", figures{"failure_percent": b.FailurePercent.Value}, b.FailurePercent.At)}
	}
	return nil
}

func halfOpenWithoutExpiry(b limits.Breaker) []Finding {
	if !b.HalfOpenMax.Known || b.HalfOpenMax.Value > 0 {
		return nil
	}
	return []Finding{report(HalfOpenWithoutExpiry, finding.Warning,
		fmt.Sprintf("breaker %s may stay half-open for ever: a probe that is cancelled, ignored or never comes back keeps its place", b.Name),
		"a limit on half-open, such as the open wait (resilience4j: maxWaitDurationInHalfOpenState)", nil, b.HalfOpenMax.At, b.At)}
}

func slowCallsNeverSeen(b limits.Breaker) []Finding {
	if b.SlowCall.Value <= 0 || b.Timeout.Value <= 0 || b.SlowCall.Value < b.Timeout.Value {
		return nil
	}
	severity := finding.Info
	if b.SlowCall.Given {
		severity = finding.Warning
	}
	return []Finding{report(SlowCallsNeverSeen, severity,
		fmt.Sprintf("breaker %s calls a call slow from %s on, and the timeout of %s ends it before", b.Name, ms(b.SlowCall.Value), ms(b.Timeout.Value)),
		fmt.Sprintf("a slow-call duration below %s", ms(b.Timeout.Value)),
		figures{"slow_call_ms": millis(b.SlowCall.Value), "timeout_ms": millis(b.Timeout.Value)}, b.SlowCall.At, b.Timeout.At)}
}

func minimumAboveWindow(b limits.Breaker) []Finding {
	if !b.WindowCalls.Known || !b.Volume.Given || b.Volume.Value <= b.WindowCalls.Value {
		return nil
	}
	return []Finding{report(MinimumAboveWindow, finding.Info,
		fmt.Sprintf("breaker %s: a minimum of %d calls in a window that keeps %d: min(%d, %d) = %d is used", b.Name, b.Volume.Value, b.WindowCalls.Value,
			b.Volume.Value, b.WindowCalls.Value, b.WindowCalls.Value),
		"minimum <= window", figures{"minimum": b.Volume.Value, "window": b.WindowCalls.Value}, b.Volume.At, b.WindowCalls.At)}
}

// refusedProbe is the same trap in Hystrix, where no setting mends it: a probe that finds no permit marks nothing.
func refusedProbe(_ *scene, c limits.Command) []Finding {
	b := c.Breaker
	if c.Library || b == nil || !b.RefusalsFail || !b.Enabled.Value || c.Isolation.Value != limits.Permits || !c.Permits.Known {
		return nil
	}
	return []Finding{report(HalfOpenWithoutExpiry, finding.Info,
		fmt.Sprintf("command %s: Hystrix sends one probe after %s; one that finds none of the %d permits free marks nothing, and the breaker may refuse for good",
			c.Name, ms(b.Sleep.Value), c.Permits.Value),
		"permits that are not all taken by slow calls: a read timeout below the sleep window", figures{"permits": c.Permits.Value, "sleep_window_ms": millis(b.Sleep.Value)},
		c.Permits.At, b.Sleep.At)}
}
