package lint

import (
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// The codes of findings that only settings give; the others stand in package finding.
const (
	InvalidValue            finding.Code = "invalid-value"
	UnknownKey              finding.Code = "unknown-key"
	SettingWithoutEffect    finding.Code = "setting-without-effect"
	ValueUnresolved         finding.Code = "value-unresolved"
	CoreAboveMax            finding.Code = "core-above-max"
	MaxBehindQueue          finding.Code = "max-behind-queue"
	MaximumIgnored          finding.Code = "maximum-ignored"
	QueueUnbounded          finding.Code = "queue-unbounded"
	ThresholdAboveCapacity  finding.Code = "threshold-above-capacity"
	QueueCutByThreshold     finding.Code = "queue-cut-by-threshold"
	HandoffIgnoresThreshold finding.Code = "handoff-ignores-threshold"
	ThresholdRefusesAll     finding.Code = "threshold-refuses-all"
	KeepAliveWithoutEffect  finding.Code = "keep-alive-without-effect"
	CapacityFixed           finding.Code = "capacity-fixed"
	TimeoutOnlyObserves     finding.Code = "timeout-only-observes"
	InnerTimeoutAboveOuter  finding.Code = "inner-timeout-above-outer"
	RetriesExceedTimeout    finding.Code = "retries-exceed-timeout"
	RetriesMultiplyLoad     finding.Code = "retries-multiply-load"
	NoTimeout               finding.Code = "no-timeout"
	TimeoutKeepsCaller      finding.Code = "timeout-keeps-caller"
	SemaphoreBelowWorkers   finding.Code = "semaphore-below-workers"
	WorkersTakenBySlow      finding.Code = "workers-taken-by-slow"
	FallbackBelowSlots      finding.Code = "fallback-below-slots"
	OnePoolForAll           finding.Code = "one-pool-for-all"
	PoolAboveDownstream     finding.Code = "pool-above-downstream"
	LeaseWaitUnlimited      finding.Code = "lease-wait-unlimited"
	BreakerNeverTrips       finding.Code = "breaker-never-trips"
	BreakerAlwaysOpen       finding.Code = "breaker-always-open"
	HalfOpenWithoutExpiry   finding.Code = "half-open-without-expiry"
	SlowCallsNeverSeen      finding.Code = "slow-calls-never-seen"
	MinimumAboveWindow      finding.Code = "minimum-above-window"
	BindingLimit            finding.Code = "binding-limit"
	CoreRaisedAboveMax      finding.Code = "core-raised-above-max"
	ChangeWithoutEffect     finding.Code = "change-without-effect"
)

// Rules is the table: every code with its meaning, in the order in which they are applied.
func Rules() []Rule {
	return append(append(append(faultRules(), poolRules()...), callRules()...), breakerRules()...)
}

func faultRules() []Rule {
	return []Rule{
		{InvalidValue, "a value cannot be read or lies outside what is allowed", faults(limits.Invalid)},
		{UnknownKey, "no such key is read: a misspelling, or a setting of another version", faults(limits.Unknown)},
		{SettingWithoutEffect, "a setting that something else overrides, or that nobody reads here",
			all(faults(limits.WithoutEffect), isolationWithoutEffect)},
		{ValueUnresolved, "the value stands elsewhere (a placeholder), so rules on it are silent", faults(limits.Unresolved)},
	}
}

func poolRules() []Rule {
	return []Rule{
		{CoreAboveMax, "core workers above the maximum", eachPool(coreAboveMax)},
		{finding.MaxUnreachable, "no load makes the pool grow to its maximum", eachPool(maxUnreachable)},
		{MaxBehindQueue, "the pool grows past its core only once a deep queue is full", eachPool(maxBehindQueue)},
		{MaximumIgnored, "Hystrix reads maximumSize only with allowMaximumSizeToDivergeFromCoreSize", eachPool(maximumIgnored)},
		{QueueUnbounded, "a queue without a capacity: waiting and memory grow without a bound, and nothing is refused", eachPool(queueUnbounded)},
		{ThresholdAboveCapacity, "an admission threshold above the queue's capacity never acts", eachPool(thresholdAboveCapacity)},
		{QueueCutByThreshold, "the queue is cut to a threshold left at its default", eachPool(queueCutByThreshold)},
		{HandoffIgnoresThreshold, "a hand-off (maxQueueSize 0 or less) has no queue for a threshold to act on", eachPool(handoffIgnoresThreshold)},
		{ThresholdRefusesAll, "a threshold of 0 with a queue refuses every task", eachPool(thresholdRefusesAll)},
		{finding.TimeoutBelowWait, "queue wait and execution together outlast the timeout", all(eachPool(timeoutBelowWait), permitWaits)},
		{finding.PoolTooSmall, "the offered rate keeps more workers busy than there are", eachPool(poolTooSmall)},
		{KeepAliveWithoutEffect, "no worker is ever surplus, so keep-alive ends none", eachPool(keepAliveWithoutEffect)},
		{CapacityFixed, "a live change does not reach this setting", eachPool(capacityFixed)},
		{TimeoutOnlyObserves, "a timeout that counts and alarms but ends nothing", eachPool(timeoutOnlyObserves)},
		{PoolAboveDownstream, "more workers or connections than the dependency bears, over all replicas", poolAboveDownstream},
	}
}

func callRules() []Rule {
	return []Rule{
		{InnerTimeoutAboveOuter, "the outer timeout ends a call before the inner one may", eachCommand(innerTimeoutAboveOuter)},
		{RetriesExceedTimeout, "the retries do not fit into the outer timeout", eachCommand(retriesExceedTimeout)},
		{RetriesMultiplyLoad, "a slow dependency is sent several times the calls", eachCommand(retriesMultiplyLoad)},
		{NoTimeout, "a call without a timeout holds its slot as long as the dependency likes", eachCommand(noTimeout)},
		{TimeoutKeepsCaller, "under semaphore isolation the timeout does not free the caller's thread", eachCommand(timeoutKeepsCaller)},
		{SemaphoreBelowWorkers, "fewer permits than workers in front: calls are refused while the dependency is healthy", semaphoreBelowWorkers},
		{WorkersTakenBySlow, "a few slow services hold every worker in spite of their permits", workersTakenBySlow},
		{FallbackBelowSlots, "fewer fallback permits than calls that may fail at once", eachCommand(fallbackBelowSlots)},
		{OnePoolForAll, "several dependencies share one pool: one of them slow stops all", onePoolForAll},
		{LeaseWaitUnlimited, "more callers than connections, and the wait for one has no limit", leaseWaitUnlimited},
		{BindingLimit, "the smallest limit on the way of a call", bindingLimits},
	}
}

func breakerRules() []Rule {
	return []Rule{
		{BreakerNeverTrips, "no traffic makes the breaker open", eachBreaker(breakerNeverTrips)},
		{BreakerAlwaysOpen, "the breaker refuses healthy calls", eachBreaker(breakerAlwaysOpen)},
		{HalfOpenWithoutExpiry, "a probe that does not come back leaves the breaker half-open for ever", all(eachBreaker(halfOpenWithoutExpiry), eachCommand(refusedProbe))},
		{SlowCallsNeverSeen, "a call ends by its timeout before it counts as slow", eachBreaker(slowCallsNeverSeen)},
		{MinimumAboveWindow, "the minimum of calls is more than the window keeps", eachBreaker(minimumAboveWindow)},
	}
}
