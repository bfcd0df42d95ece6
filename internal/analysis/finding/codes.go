package finding

// The caveats.
const (
	TooFewSamples       Code = "too-few-samples"
	NoSteadyState       Code = "no-steady-state"
	GeneratorLimit      Code = "generator-limit"
	CPUSaturated        Code = "cpu-saturated"
	LittleViolated      Code = "little-violated"
	SlotCeilingExceeded Code = "slot-ceiling-exceeded"
	OutcomeSumWrong     Code = "outcome-sum-wrong"
	PartialCell         Code = "partial-cell"
	SlotsNotInForce     Code = "slots-not-in-force"
	NothingMeasured     Code = "nothing-measured"
	LawBroken           Code = "law-broken"
	DumpUnreadable      Code = "dump-unreadable"
)

// The findings.
const (
	SlotCeiling           Code = "slot-ceiling"
	RetryStorm            Code = "retry-storm"
	RejectionStorm        Code = "rejection-storm"
	ZombieWorkers         Code = "zombie-workers"
	PoolTooSmall          Code = "pool-too-small"
	DownstreamSlow        Code = "downstream-slow"
	DownstreamPoolBinding Code = "downstream-pool-binding"
	TimeoutBelowWait      Code = "timeout-below-wait"
	QueueBacklog          Code = "queue-backlog"
	MaxUnreachable        Code = "max-unreachable"
	GeneratorBinding      Code = "generator-binding"
	CPUBinding            Code = "cpu-binding"
	SwitchOverload        Code = "switch-overload"
	PermitsHeldBySlow     Code = "permits-held-by-slow"
	IsolationTooDear      Code = "isolation-too-dear"
	IsolationCost         Code = "isolation-cost"
	CoreTooSmall          Code = "core-too-small"
	ConsumptionBlocked    Code = "consumption-blocked"
	ExecutionSlowed       Code = "execution-slowed"
	WorkersHeld           Code = "workers-held"
	TooManyThreads        Code = "too-many-threads"
	CgroupThrottled       Code = "cgroup-throttled"
	GCPressure            Code = "gc-pressure"
	AcceptBacklog         Code = "accept-backlog"
	TimeOutsidePools      Code = "time-outside-pools"
)

// The findings in thread dumps.
const (
	Deadlock       Code = "deadlock"
	PoolStarvation Code = "pool-starvation"
	LockContention Code = "lock-contention"
	ThreadLeak     Code = "thread-leak"
	PoolOversized  Code = "pool-oversized"
	StuckThreads   Code = "stuck-threads"
	ThreadsWaiting Code = "threads-waiting"
)
