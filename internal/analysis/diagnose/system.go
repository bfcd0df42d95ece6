package diagnose

import (
	"fmt"
	"maps"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

const (
	stormShare     = 0.1    // share of refusals among answers from which they are called a storm
	retryShare     = 0.1    // share of calls that were retried
	saturatedCPU   = 0.9    // of the machine; the order-detail study's bound of its bottleneck region
	ownShare       = 0.5    // of the CPU used, from which it is ours that binds
	saturatedLoop  = 0.95   // of one core, for a thread that sends load
	switchSeconds  = 3.8e-6 // direct cost of one context switch: C. Li, C. Ding, K. Shen, Quantifying the Cost of Context Switch, 2007
	switchLeastCPU = 0.05   // of a core: below it there is nothing to be overloaded
	switchShare    = 0.25   // share of a service's CPU time spent on switching from which it is overloaded by it
	throttleShare  = 0.1    // of the control group's periods
	gcShare        = 0.1    // of the time
	manyThreads    = 8      // for each core
	unaccepted     = 8      // connections waiting to be accepted
	outsideShare   = 0.5    // of the response time spent in no pool
	outsideMS      = 5.0    // and its least length
	idleSlots      = 0.5    // share of the slots at work below which a pool is idle enough
)

// generatorBinding tells whether the load generator was at its own limit: it used its core up, sent late or ran out of ports. One that merely
// waited for a CPU would carry more if it were given one; its cell is invalid all the same, and the caveat generator-limit says so.
func generatorBinding(s Scene, _ []Finding) []Finding {
	g := s.Generator
	if g == nil || g.Valid && !atLeast(g.LoopCPURatio, saturatedLoop) {
		return nil
	}
	return []Finding{{Code: finding.GeneratorBinding, Severity: finding.Critical, Evidence: map[string]any{"cpu_ratio": g.CPURatio,
		"loop_cpu_ratio": g.LoopCPURatio, "cpu_wait_ratio": g.CPUWaitRatio, "lag_p99_ms": g.LagP99MS},
		Text: "the load generator was at its own limit: these figures are its, not the service's",
		Next: "less load, more cores, or several generators"}}
}

// storms tells a closed loop whose refused users come back at once, where refusals feed themselves, from a service that refuses a
// load which does not depend on its answers.
func storms(s Scene, _ []Finding) []Finding {
	share := s.RejectedRatio
	if share == nil || *share < stormShare {
		return nil
	}
	perSecond := valueOr0(s.RejectedPerSec)
	f := Finding{Code: finding.RejectionStorm, Severity: finding.Warning, Evidence: map[string]any{"rejected_ratio": *share, "rejected_per_s": perSecond}}
	f.Text = fmt.Sprintf("%.1f %% of the answers are refusals, %.0f/s", *share*100, perSecond)
	f.Next = "more slots, less load, or a breaker that spares the service the refusing; answer with a degraded response"
	if s.Load != nil && s.Load.Model == record.Closed && s.Load.Think == 0 {
		f.Code = finding.RetryStorm
		f.Text += ": a closed loop without back-off sends the refused users back at once, and the refusals themselves use the CPU"
		f.Next = "give the users a think time (load.think) or use the open model; the rate of refusals says nothing about real callers"
	}
	return []Finding{f}
}

// retries finds services that call again what failed.
func retries(s Scene, _ []Finding) []Finding {
	var out []Finding
	for _, name := range sortedKeys(s.Services) {
		service := s.Services[name]
		completed := 0.0
		for _, p := range service.Pools {
			completed = max(completed, valueOr0(p.Completed)/max((s.To-s.From).Seconds(), 1e-9))
		}
		if service.RetriedPerSec == nil || completed == 0 || *service.RetriedPerSec < retryShare*completed {
			continue
		}
		out = append(out, Finding{Code: finding.RetryStorm, Severity: finding.Warning,
			Evidence: map[string]any{"service": name, "retried_per_s": *service.RetriedPerSec, "completed_per_s": completed},
			Text:     fmt.Sprintf("%s retries %.0f calls a second beside %.0f that complete: its retries are load on what already fails", name, *service.RetriedPerSec, completed),
			Next:     "a retry budget, back-off with jitter, and a breaker in front of the dependency"})
	}
	return out
}

func throttled(s Scene, _ []Finding) []Finding {
	var out []Finding
	for _, name := range sortedKeys(s.Services) {
		service := s.Services[name]
		if !atLeast(service.ThrottledRatio, throttleShare) {
			continue
		}
		out = append(out, Finding{Code: finding.CgroupThrottled, Severity: finding.Warning,
			Evidence: map[string]any{"service": name, "throttled_ratio": *service.ThrottledRatio, "limit_cores": service.CPULimitCores, "cpu_ratio": service.CPURatio},
			Text: fmt.Sprintf("%s was stopped by its control group's CPU limit in %.0f %% of the periods (limit %s cores): threads stand still however many there are",
				name, *service.ThrottledRatio*100, shown(service.CPULimitCores)),
			Next: "a higher CPU limit, or fewer threads that compute at once"})
	}
	return out
}

func shown(p *float64) string {
	if p == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.3g", *p)
}

func collecting(s Scene, _ []Finding) []Finding {
	var out []Finding
	for _, name := range sortedKeys(s.Services) {
		gc := s.Services[name].GCRatio
		if !atLeast(gc, gcShare) {
			continue
		}
		out = append(out, Finding{Code: finding.GCPressure, Severity: finding.Warning, Evidence: map[string]any{"service": name, "gc_ratio": *gc},
			Text: fmt.Sprintf("%s stood still for collections %.0f %% of the time: every request in flight waits meanwhile", name, *gc*100),
			Next: "more heap or less garbage; more workers only add garbage"})
	}
	return out
}

func cpuBinding(s Scene, found []Finding) []Finding {
	cpu := s.HostCPURatio
	if !atLeast(cpu, saturatedCPU) || takenByOthers(s) || has(found, finding.SlotCeiling, finding.RetryStorm, finding.TooManyThreads) {
		return nil
	}
	return []Finding{{Code: finding.CPUBinding, Severity: finding.Warning, Evidence: map[string]any{"host_cpu_ratio": *cpu},
		Text: fmt.Sprintf("the machine's CPUs are %.0f %% busy and no pool is full: CPU is what binds", *cpu*100),
		Next: "more cores or cheaper requests; more workers only add switching"}}
}

// takenByOthers tells whether most of the CPU that is used belongs to programs that have no part in the load: what they take is a reason to
// doubt the figures, and no limit of the service.
func takenByOthers(s Scene) bool {
	return s.OwnCores != nil && s.Cores > 0 && s.HostCPURatio != nil && *s.OwnCores < ownShare**s.HostCPURatio*float64(s.Cores)
}

func switchOverload(s Scene, _ []Finding) []Finding {
	var out []Finding
	for _, name := range sortedKeys(s.Services) {
		service := s.Services[name]
		voluntary, involuntary, cpu := service.Switches.Voluntary, service.Switches.Involuntary, service.CPURatio
		if voluntary == nil || involuntary == nil || cpu == nil || *cpu <= 0 {
			continue
		}
		perSecond := *voluntary + *involuntary
		share := perSecond * switchSeconds / *cpu
		if share < switchShare || *cpu < switchLeastCPU {
			continue
		}
		out = append(out, Finding{Code: finding.SwitchOverload, Severity: finding.Warning,
			Evidence: map[string]any{"service": name, "switches_per_s": perSecond, "cpu_ratio": *cpu, "switching_ratio": share},
			Text:     fmt.Sprintf("%s switches threads %.0f times a second: about %.0f %% of its CPU time", name, perSecond, share*100),
			Next:     "fewer threads, or a bulkhead in place of a pool"})
	}
	return out
}

func acceptBacklog(s Scene, _ []Finding) []Finding {
	if !atLeast(s.AcceptQueue, unaccepted) {
		return nil
	}
	return []Finding{{Code: finding.AcceptBacklog, Severity: finding.Warning, Evidence: map[string]any{"accept_queue_mean": *s.AcceptQueue},
		Text: fmt.Sprintf("%.0f connections on average waited to be accepted: the service takes no more, and what waits there is in none of its figures", *s.AcceptQueue),
		Next: "more acceptor or container threads, a larger connection limit, or connections that are kept"}}
}

// outsidePools is the study's «active and queue low with low TPS»: most of the response time is spent where the service's pools do not see
// it.
func outsidePools(s Scene, found []Finding) []Finding {
	if s.MeanMS == nil || atLeast(s.HostCPURatio, saturatedCPU) || len(found) > 0 {
		return nil
	}
	inside := -1.0
	for _, p := range observed.Pools(s.Services) {
		run, slots := p.Execution.Average(), p.Slots()
		if run == nil || slots == nil || p.ActiveMean == nil {
			continue
		}
		if *p.ActiveMean >= idleSlots**slots || atLeast(p.QueueMean, 1) {
			return nil
		}
		inside = max(inside, *run+valueOr0(p.QueueWait.Average()))
	}
	outside := *s.MeanMS - inside
	if inside < 0 || outside < outsideMS || outside < outsideShare**s.MeanMS {
		return nil
	}
	return []Finding{{Code: finding.TimeOutsidePools, Severity: finding.Info, Evidence: map[string]any{"mean_ms": *s.MeanMS, "in_pools_ms": inside},
		Text: fmt.Sprintf("a response takes %.1f ms, of which the pools, idle for the most part, account for %.1f ms: the rest is spent before them, in the client, the network or an upstream", *s.MeanMS, inside),
		Next: "look at the accept queue, the container's own threads and the client; the pools need no change"}}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
