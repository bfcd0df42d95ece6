package diagnose

import "github.com/loadline-dev/loadline/internal/analysis/finding"

// refutations say of each condition what one would see if it were not so.
var refutations = map[finding.Code]string{
	finding.GeneratorBinding:      "the same load from two generators gives the same figures",
	finding.Deadlock:              "in a later dump one of these threads has moved on",
	finding.PoolStarvation:        "in a later dump one of these threads has moved on, or tasks of the pool complete",
	finding.ThreadLeak:            "under the same load a later count is level",
	finding.LockContention:        "in further dumps the waiters are few or stand elsewhere; without the lock throughput stays",
	finding.DownstreamPoolBinding: "with more connections throughput stays and only the wait moves",
	finding.CgroupThrottled:       "with a higher limit throughput and latency stay",
	finding.GCPressure:            "with a larger heap execution times stay",
	finding.TooManyThreads:        "with half the threads throughput falls",
	finding.SwitchOverload:        "with fewer threads the CPU time of a request stays",
	finding.QueueBacklog:          "with more workers the queue stands as deep",
	finding.MaxUnreachable:        "under load the pool has more than core workers",
	finding.CoreTooSmall:          "with a larger core the queue stands as deep and throughput stays",
	finding.ZombieWorkers:         "executions and answers are equal in number",
	finding.DownstreamSlow:        "the dependency's own figures show the time of the lowest step, or with more workers throughput rises",
	finding.PermitsHeldBySlow:     "the calls take as long as at the lowest step",
	finding.ExecutionSlowed:       "execution times, once measured, are those of the step below",
	finding.ConsumptionBlocked:    "a thread dump shows the workers at work",
	finding.RetryStorm:            "with back-off between attempts the share of refusals stays",
	finding.RejectionStorm:        "refusals fall while load and slots stay",
	finding.TimeoutBelowWait:      "no caller leaves before its answer",
	finding.PoolTooSmall:          "with more workers the execution time grows as the wait shrinks: then what is behind them binds",
	finding.SlotCeiling:           "with more slots throughput stays",
	finding.WorkersHeld:           "a thread dump shows the workers computing",
	finding.CPUBinding:            "with another core throughput stays",
	finding.AcceptBacklog:         "the backlog is empty while responses take as long",
	finding.TimeOutsidePools:      "a trace of one request shows the time inside the pools",
	finding.ThreadsWaiting:        "with more threads throughput rises in proportion",
	finding.IsolationTooDear:      "without the pool throughput stays",
	finding.PoolOversized:         "at the highest load few of these threads are idle",
	finding.StuckThreads:          "the dumps are closer together than one task takes",
}
