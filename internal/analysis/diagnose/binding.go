package diagnose

import (
	"cmp"
	"fmt"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
)

// order says which finding binds first where several hold: what makes the others happen stands before them.
var order = []finding.Code{
	finding.GeneratorBinding, finding.Deadlock, finding.PoolStarvation, finding.LockContention, finding.DownstreamPoolBinding,
	finding.CgroupThrottled, finding.GCPressure, finding.TooManyThreads, finding.SwitchOverload, finding.QueueBacklog, finding.MaxUnreachable, finding.CoreTooSmall,
	finding.ZombieWorkers, finding.DownstreamSlow, finding.PermitsHeldBySlow, finding.ThreadLeak, finding.ExecutionSlowed, finding.ConsumptionBlocked,
	finding.RetryStorm, finding.RejectionStorm, finding.TimeoutBelowWait, finding.PoolTooSmall, finding.SlotCeiling, finding.WorkersHeld,
	finding.CPUBinding, finding.AcceptBacklog,
}

func rank(c finding.Code) int {
	for i, code := range order {
		if code == c {
			return i
		}
	}
	return len(order)
}

// compare puts what binds first before what follows from it: by code, and of two pools that are too small the one whose work is shorter,
// since the other's workers may well wait for it within their own.
func compare(a, b Finding) int {
	if order := rank(a.Code) - rank(b.Code); order != 0 || a.Code != finding.PoolTooSmall {
		return order
	}
	x, _ := a.Evidence["execution_ms"].(float64)
	y, _ := b.Evidence["execution_ms"].(float64)
	return cmp.Compare(x, y)
}

// Limit is the one resource whose increase would let the service carry more.
type Limit struct {
	Name    string  // such as «slots of order/price»
	Finding Finding // on which it rests
}

// Binding names the limit that findings, in the order of Of, speak of; nil where none names one.
func Binding(findings []Finding) *Limit {
	var best *Limit
	for _, f := range findings {
		name := limitName(f)
		if name != "" && (best == nil || compare(f, best.Finding) < 0) {
			best = &Limit{Name: name, Finding: f}
		}
	}
	return best
}

// limitName is empty for findings that are no limit: what is wasted or refused follows from one.
func limitName(f Finding) string {
	at := fmt.Sprintf("%v/%v", f.Evidence["service"], f.Evidence["pool"])
	if f.Evidence["service"] == nil || f.Evidence["service"] == "" {
		at = fmt.Sprint(f.Evidence["pool"])
	}
	switch f.Code {
	case finding.GeneratorBinding:
		return "generator"
	case finding.CPUBinding, finding.TooManyThreads:
		return "cpu"
	case finding.Deadlock:
		return "a deadlock"
	case finding.PoolStarvation:
		return "a pool that waits for its own tasks"
	case finding.LockContention:
		return fmt.Sprintf("the lock at %v", f.Evidence["where"])
	case finding.CgroupThrottled:
		return fmt.Sprintf("the CPU limit of %v's control group", f.Evidence["service"])
	case finding.GCPressure:
		return fmt.Sprintf("the heap of %v", f.Evidence["service"])
	case finding.SwitchOverload:
		return fmt.Sprintf("cpu spent on switching by %v", f.Evidence["service"])
	case finding.DownstreamSlow, finding.PermitsHeldBySlow, finding.ExecutionSlowed:
		return "the dependency behind " + at
	case finding.MaxUnreachable, finding.CoreTooSmall:
		return "core workers of " + at
	case finding.DownstreamPoolBinding:
		if f.Evidence["workers"] != nil { // Said by a dump, which names the waiting pool.
			return "the connections behind " + at
		}
		return "slots of " + at
	case finding.QueueBacklog, finding.PoolTooSmall, finding.SlotCeiling, finding.WorkersHeld:
		return "slots of " + at
	default:
		return ""
	}
}

// Missing lists what would have to be known to name the binding limit, where the scene lacks it.
func Missing(s Scene) []string {
	var out []string
	need := func(absent bool, what string) {
		if absent {
			out = append(out, what)
		}
	}
	pools, timed, cpu := false, false, false
	for _, service := range s.Services {
		cpu = cpu || service.CPURatio != nil
		for _, p := range service.Pools {
			pools = true
			timed = timed || p.Execution != nil
		}
	}
	need(!pools, "the counters of the service's pools (observe its metrics endpoint)")
	need(pools && !timed, "queue wait and execution time of the pools")
	need(!cpu, "CPU and switches of the service's process (observe the process)")
	need(s.HostCPURatio == nil, "CPU of the machine")
	need(len(s.Dumps) == 0, "thread dumps under load")
	need(s.Lowest == nil, "a lower step of load to compare with")
	need(s.Load == nil, "the load and its response times")
	return out
}
