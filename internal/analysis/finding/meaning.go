package finding

// Meaning is what a code says, as docs/findings.md lists it.
type Meaning struct {
	Code Code
	Text string
}

// Caveats lists every caveat that the analysis can give.
func Caveats() []Meaning {
	return []Meaning{
		{TooFewSamples, "fewer than 299 successes: a p99 would not be bounded by any sample with 95 % confidence, so none is shown"},
		{NoSteadyState, "throughput, response time or the number in flight still changed inside the window, or it was too short to tell; latency is not judged"},
		{GeneratorLimit, "the load generator waited for a CPU, sent late, or ran out of ports or descriptors: the cell is shown and not judged"},
		{CPUSaturated, "the machine's CPUs were at least 90 % busy, generator included: the throughput curve is in its bottleneck region"},
		{LittleViolated, "users in the loop, counted by rate × time held, differ from the users that were set by more than the tolerance"},
		{SlotCeilingExceeded, "more successes than slots × (window / service time + 1): the slots or the service time are not what they are said to be"},
		{OutcomeSumWrong, "the outcomes do not add up to the requests planned"},
		{LawBroken, "another law of the physical audit does not hold"},
		{PartialCell, "the cell ended before its time"},
		{SlotsNotInForce, "the service reports other slots than the plan states: the setting did not reach it"},
		{NothingMeasured, "no request was planned inside the window"},
	}
}

// Findings lists every finding that the analysis can make.
func Findings() []Meaning {
	return []Meaning{
		{SlotCeiling, "nine tenths of a pool's or bulkhead's slots or more were at work and requests waited or were refused: slots × 1000 / service time in ms is all it can carry"},
		{RetryStorm, "a tenth of the answers or more were refusals in a closed loop without think time: refused users come back at once, and the refusals themselves use the CPU"},
		{RejectionStorm, "a tenth of the answers or more were refusals, under a load that does not feed on them"},
		{MaxUnreachable, "a pool refused work while it never grew beyond its core: its maximum has no effect"},
		{ZombieWorkers, "work was carried to its end for callers who had timed out"},
		{TimeoutBelowWait, "the timeout is shorter than queue wait and execution together"},
		{PoolTooSmall, "requests waited longer for a worker than the worker needed"},
		{QueueBacklog, "a queue grew through the window, or a deep one stood full: it adds waiting and no throughput"},
		{DownstreamSlow, "execution took longer than at the lowest step and the queue wait did not follow: the dependency is slow, more workers do not help"},
		{DownstreamPoolBinding, "callers waited for a connection or permit of a pool behind the service"},
		{PermitsHeldBySlow, "a bulkhead's permits were held by calls that slowed down, and the rest was refused: a semaphore has no timeout that gives them back"},
		{GeneratorBinding, "the load generator was at its own limit: the figures are its, not the service's"},
		{CPUBinding, "the CPUs were at least 90 % busy while no pool was full"},
		{SwitchOverload, "a tenth of a service's CPU time or more went into switching between threads"},
		{IsolationTooDear, "work of less than 1 ms was handed to another thread"},
		{IsolationCost, "what a setting's isolation costs in throughput beside the setting without any, at the highest load at which neither refused"},
	}
}
