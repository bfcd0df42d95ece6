package analysis

import (
	"fmt"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/record"
)

// The thresholds of the rules below. They choose when a condition is worth a word; the figures stand beside it in the evidence.
const (
	busySlots      = 0.9    // share of the slots at work from which they are called full
	stormShare     = 0.1    // share of refusals among answers from which they are called a storm
	leftShare      = 0.01   // share of callers gone from which waste is looked for
	saturatedCPU   = 0.9    // of the machine; the order-detail study's bound of its bottleneck region
	saturatedLoop  = 0.95   // of one core, for a thread that sends load
	switchSeconds  = 3.8e-6 // direct cost of one context switch: C. Li, C. Ding, K. Shen, Quantifying the Cost of Context Switch, 2007
	switchShare    = 0.25   // share of a service's CPU time spent on switching from which it is overloaded by it
	fastMS         = 1.0    // execution below which handing over to another thread costs a notable share
	slowGrowth     = 1.5    // growth of the execution time over the lowest step from which the dependency is called slow
	standingQueue  = 0.9    // share of a queue's capacity from which it is called full
	deepQueue      = 2.0    // capacity in multiples of the slots from which a full queue is called a backlog
	waitingCallers = 1.0    // mean number of callers waiting for a connection from which the pool binds
)

// scene is what the rules on one cell look at.
type scene struct {
	cell record.Cell
	t    *tally
	r    *CellResult
}

// rule finds a condition in one cell, once for each pool or service where it holds.
type rule func(scene) []Finding

// cellRules in the order in which their findings are shown: what binds first, what follows from it after.
func cellRules() []rule {
	return []rule{generatorBinding, eachPool(slotCeiling), storms, eachPool(maxUnreachable), eachPool(zombieWorkers), eachPool(timeoutBelowWait),
		eachPool(poolTooSmall), eachPool(queueBacklog), eachPool(downstreamPool), cpuBinding, switchOverload, eachPool(isolationTooDear)}
}

func findingsOf(s scene) []Finding {
	out := []Finding{}
	if s.t.seconds == 0 {
		return out
	}
	for _, find := range cellRules() {
		s.r.Findings = out
		out = append(out, find(s)...)
	}
	return out
}

func eachPool(find func(scene, namedPool) *Finding) rule {
	return func(s scene) []Finding {
		var out []Finding
		for _, p := range poolList(s.r.Services) {
			if f := find(s, p); f != nil {
				f.Evidence["service"], f.Evidence["pool"] = p.service, p.pool
				out = append(out, *f)
			}
		}
		return out
	}
}

func has(findings []Finding, code finding.Code) bool {
	for _, f := range findings {
		if f.Code == code {
			return true
		}
	}
	return false
}

// slotsInForce is slotsOf, but core where a pool never grew beyond it.
func slotsInForce(p PoolResult) *float64 {
	if p.Kind == record.KindPool && p.Core != nil && p.ActiveMax != nil && *p.ActiveMax <= *p.Core && *p.Core > 0 {
		return p.Core
	}
	return slotsOf(p)
}

func slotCeiling(s scene, p namedPool) *Finding {
	slots, service := slotsInForce(p.PoolResult), mean(p.Execution)
	if slots == nil || service == nil || *service <= 0 || p.ActiveMean == nil || *p.ActiveMean < busySlots**slots {
		return nil
	}
	pressed := s.t.ended[record.Rejected] > 0 || positive(p.Rejected) || positive(p.QueueMean) || positive(p.Waiting)
	if !pressed {
		return nil
	}
	ceiling := *slots * 1000 / *service
	f := &Finding{Code: finding.SlotCeiling, Severity: finding.Warning, Evidence: map[string]any{"slots": *slots, "service_time_ms": *service,
		"ceiling_per_s": ceiling, "active_mean": *p.ActiveMean, "success_per_s": s.r.Rates.Success}}
	f.Text = fmt.Sprintf("%s is full: %.1f of %.0f slots at work, %.0f × 1000 / %.2f ms = %.0f/s is all it can carry",
		p, *p.ActiveMean, *slots, *slots, *service, ceiling)
	f.Next = fmt.Sprintf("slots >= wanted rate × %.4f s, times 1.5 to 2; or shorten the work", *service/1000)
	return f
}

// storms tells a closed loop whose refused users come back at once, where refusals feed themselves, from a service that refuses a
// load which does not depend on its answers.
func storms(s scene) []Finding {
	share := s.r.RejectedRatio
	if share == nil || *share < stormShare {
		return nil
	}
	perSecond := *s.r.Rates.Rejected
	f := Finding{Code: finding.RejectionStorm, Severity: finding.Warning, Evidence: map[string]any{"rejected_ratio": *share, "rejected_per_s": perSecond}}
	f.Text = fmt.Sprintf("%.1f %% of the answers are refusals, %.0f/s", *share*100, perSecond)
	f.Next = "more slots, less load, or a breaker that spares the service the refusing"
	if s.cell.Load.Model == record.Closed && s.cell.Load.Think == 0 {
		f.Code = finding.RetryStorm
		f.Text += ": a closed loop without back-off sends the refused users back at once, and the refusals themselves use the CPU"
		f.Next = "give the users a think time (load.think) or use the open model; the rate of refusals says nothing about real callers"
	}
	return []Finding{f}
}

func maxUnreachable(s scene, p namedPool) *Finding {
	if p.Kind != record.KindPool || p.Core == nil || p.Max == nil || p.ActiveMax == nil || *p.Max <= *p.Core || *p.ActiveMax > *p.Core {
		return nil
	}
	if !positive(p.Rejected) {
		return nil
	}
	return &Finding{Code: finding.MaxUnreachable, Severity: finding.Warning,
		Evidence: map[string]any{"core": *p.Core, "max": *p.Max, "active_max": *p.ActiveMax, "rejected": *p.Rejected},
		Text: fmt.Sprintf("%s refused %.0f requests while never more than %.0f workers were at work: its maximum of %.0f is not reached",
			p, *p.Rejected, *p.ActiveMax, *p.Max),
		Next: "raise core too, or allow the maximum to diverge from it (Hystrix: allowMaximumSizeToDivergeFromCoreSize)"}
}

// zombieWorkers looks for work done to its end for callers who had left: the executions beyond those that answered somebody are
// about as many as the callers who left.
func zombieWorkers(s scene, p namedPool) *Finding {
	if p.Completed == nil || *p.Completed == 0 {
		return nil
	}
	left := float64(s.t.ended[record.Timeout] + s.t.ended[record.Late])
	if p.TimedOut != nil {
		left = max(left, *p.TimedOut)
	}
	served := float64(s.t.ended[record.Success] + s.t.ended[record.Failure])
	wasted := *p.Completed - served
	if left < leftShare**p.Completed || wasted < 0.5*left || wasted > 1.5*left {
		return nil
	}
	return &Finding{Code: finding.ZombieWorkers, Severity: finding.Warning,
		Evidence: map[string]any{"callers_left": left, "executions": *p.Completed, "served": served, "wasted_executions": wasted},
		Text: fmt.Sprintf("%s worked for callers who had left: %.0f of %.0f executions answered nobody, %.0f callers timed out",
			p, wasted, *p.Completed, left),
		Next: "timeout >= queue wait + execution, and work that ends when its caller leaves"}
}

func timeoutBelowWait(s scene, p namedPool) *Finding {
	limit := effectiveTimeout(s)
	queue, run := worst(p.QueueWait), worst(p.Execution)
	if limit <= 0 || queue == nil || run == nil || *queue+*run <= limit {
		return nil
	}
	return &Finding{Code: finding.TimeoutBelowWait, Severity: finding.Warning,
		Evidence: map[string]any{"timeout_ms": limit, "queue_wait_ms": *queue, "execution_ms": *run},
		Text: fmt.Sprintf("the timeout of %.0f ms is below what %s needs: %.1f ms of queue wait and %.1f ms of execution",
			limit, p, *queue, *run),
		Next: "a longer timeout or a shorter queue: work begun for a caller who leaves is worse than a refusal"}
}

// effectiveTimeout is the request's own timeout in ms, or the service's shorter one where requests ended by it.
func effectiveTimeout(s scene) float64 {
	limit := s.cell.Timeout.Seconds() * 1000
	ended := float64(s.r.Outcomes[record.Timeout])
	if by, ok := s.r.LatencyBy[record.Timeout.String()]; ok && by.P50 != nil && ended >= leftShare*float64(s.r.Planned) {
		limit = min(limit, *by.P50)
	}
	return limit
}

func poolTooSmall(_ scene, p namedPool) *Finding {
	queue, run := mean(p.QueueWait), mean(p.Execution)
	if queue == nil || run == nil || *queue <= *run {
		return nil
	}
	return &Finding{Code: finding.PoolTooSmall, Severity: finding.Warning,
		Evidence: map[string]any{"queue_wait_ms": *queue, "execution_ms": *run},
		Text:     fmt.Sprintf("requests wait longer for %s (%.2f ms) than it works on them (%.2f ms)", p, *queue, *run),
		Next:     "more slots, or a shorter queue that refuses sooner"}
}

// queueBacklog finds a queue that grew all through the window, or a deep one that stood full.
func queueBacklog(_ scene, p namedPool) *Finding {
	slots := slotsOf(p.PoolResult)
	if slots == nil || p.QueueMean == nil {
		return nil
	}
	f := &Finding{Code: finding.QueueBacklog, Severity: finding.Warning, Evidence: map[string]any{"queue_mean": *p.QueueMean, "slots": *slots,
		"queue_first_third": p.queueStart, "queue_last_third": p.queueEnd}}
	switch {
	case p.Capacity != nil && *p.Capacity >= deepQueue**slots && *p.QueueMean >= standingQueue**p.Capacity:
		f.Evidence["capacity"] = *p.Capacity
		f.Text = fmt.Sprintf("the queue of %s stands full (%.0f of %.0f): it adds waiting, not throughput", p, *p.QueueMean, *p.Capacity)
		f.Next = "a queue no deeper than the timeout allows, and fast refusal beyond it"
	case p.queueEnd > 2*p.queueStart+*slots:
		f.Severity = finding.Critical
		f.Text = fmt.Sprintf("the queue of %s grew through the window, from %.0f to %.0f: the load is above what it carries", p, p.queueStart, p.queueEnd)
		f.Next = "less load or more slots; figures of this cell depend on how long it ran"
	default:
		return nil
	}
	return f
}

func downstreamPool(_ scene, p namedPool) *Finding {
	if p.Waiting == nil || *p.Waiting < waitingCallers {
		return nil
	}
	f := &Finding{Code: finding.DownstreamPoolBinding, Severity: finding.Warning, Evidence: map[string]any{"waiting_mean": *p.Waiting, "size": slotsOf(p.PoolResult)}}
	f.Text = fmt.Sprintf("%.1f callers wait for %s on average: workers beyond its size only wait", *p.Waiting, p)
	f.Next = "no more workers than the dependency has connections, or more connections"
	return f
}

func isolationTooDear(_ scene, p namedPool) *Finding {
	run := mean(p.Execution)
	if p.Kind != record.KindPool || run == nil || *run >= fastMS || !positive(p.Completed) {
		return nil
	}
	return &Finding{Code: finding.IsolationTooDear, Severity: finding.Info, Evidence: map[string]any{"execution_ms": *run},
		Text: fmt.Sprintf("%s hands work of %.3f ms to another thread", p, *run),
		Next: "a bulkhead (semaphore) for very fast work"}
}

func generatorBinding(s scene) []Finding {
	g := s.r.Generator
	busy := g.LoopCPURatio != nil && *g.LoopCPURatio >= saturatedLoop
	if !busy && (g.Valid || waitedOnly(g)) {
		return nil
	}
	f := Finding{Code: finding.GeneratorBinding, Severity: finding.Critical, Evidence: map[string]any{"cpu_ratio": g.CPURatio,
		"loop_cpu_ratio": g.LoopCPURatio, "cpu_wait_ratio": g.CPUWaitRatio, "lag_p99_ms": g.LagP99MS}}
	f.Text = "the load generator was at its own limit: these figures are its, not the service's"
	f.Next = "less load, more cores, or several generators"
	return []Finding{f}
}

// waitedOnly tells whether nothing but other programs on the same cores kept the generator from its work: then the cell is invalid, which
// its caveat says, but the generator's own speed is not what binds.
func waitedOnly(g Generator) bool {
	return len(g.Why) == 1 && g.CPUWaitRatio != nil && *g.CPUWaitRatio > maxCPUWait
}

func cpuBinding(s scene) []Finding {
	cpu := s.r.HostCPURatio
	if cpu == nil || *cpu < saturatedCPU || has(s.r.Findings, finding.SlotCeiling) || has(s.r.Findings, finding.RetryStorm) {
		return nil
	}
	return []Finding{{Code: finding.CPUBinding, Severity: finding.Warning, Evidence: map[string]any{"host_cpu_ratio": *cpu},
		Text: fmt.Sprintf("the machine's CPUs are %.0f %% busy and no pool is full: CPU is what binds", *cpu*100),
		Next: "more cores or cheaper requests; more workers only add switching"}}
}

func switchOverload(s scene) []Finding {
	var out []Finding
	for _, name := range sortedKeys(s.r.Services) {
		service := s.r.Services[name]
		voluntary, involuntary, cpu := service.Switches.Voluntary, service.Switches.Involuntary, service.CPURatio
		if voluntary == nil || involuntary == nil || cpu == nil || *cpu <= 0 {
			continue
		}
		perSecond := *voluntary + *involuntary
		share := perSecond * switchSeconds / *cpu
		if share < switchShare {
			continue
		}
		out = append(out, Finding{Code: finding.SwitchOverload, Severity: finding.Warning,
			Evidence: map[string]any{"service": name, "switches_per_s": perSecond, "cpu_ratio": *cpu, "switching_ratio": share},
			Text:     fmt.Sprintf("%s switches threads %.0f times a second: about %.0f %% of its CPU time", name, perSecond, share*100),
			Next:     "fewer threads, or a bulkhead in place of a pool"})
	}
	return out
}

func mean(t *Timing) *float64 {
	if t == nil {
		return nil
	}
	return t.Mean
}

// worst is the p99 where it is known, else the mean.
func worst(t *Timing) *float64 {
	if t != nil && t.P99 != nil {
		return t.P99
	}
	return mean(t)
}

func positive(p *float64) bool { return p != nil && *p > 0 }
