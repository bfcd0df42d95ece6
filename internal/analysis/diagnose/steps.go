package diagnose

import (
	"fmt"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

const (
	crowdedGrowth = 4    // the same where the CPUs are busy, which makes all work take longer
	slowGrowth    = 1.5  // growth of the execution time over the lowest step from which the work is called slow
	fallen        = 0.9  // of the throughput of the step below
	changed       = 0.25 // share by which active workers and queue must have moved to be called risen or fallen
)

// grownExecution compares the pools of a cell with those at the lowest step, and tells the dependency from what else makes work take longer. On
// a machine whose CPUs are busy everything does, so only a large growth is the dependency's there. Nothing is said of it where a lock, a collection, a throttled group
// or a full pool within the service is known to hold the workers.
func grownExecution(s Scene, found []Finding) []Finding {
	if s.Lowest == nil || value(s.Load) <= value(s.Lowest.Load) {
		return nil
	}
	growth := slowGrowth
	if atLeast(s.HostCPURatio, saturatedCPU) {
		growth = crowdedGrowth
	}
	var out []Finding
	for _, p := range observed.Pools(s.Services) {
		base := s.Lowest.Services[p.Service].Pools[p.Name]
		before, now := base.Execution.Average(), p.Execution.Average()
		if before == nil || now == nil || *before <= 0 || *now < growth**before || explained(s, p, found) {
			continue
		}
		if f := slowFinding(p, base, *before, *now); f != nil {
			f.Evidence["service"], f.Evidence["pool"] = p.Service, p.Name
			out = append(out, *f)
		}
	}
	return out
}

// explained tells whether something found already makes the pool's work take longer.
func explained(s Scene, p observed.Named, found []Finding) bool {
	if hasFor(found, p.Service, "", finding.LockContention, finding.GCPressure, finding.CgroupThrottled, finding.PoolStarvation, finding.SwitchOverload) {
		return true
	}
	for name, other := range s.Services[p.Service].Pools {
		behind := hasFor(found, p.Service, name, finding.DownstreamPoolBinding, finding.PoolTooSmall, finding.QueueBacklog)
		if behind && name != p.Name && other.Execution.Average() != nil && *other.Execution.Average() < *p.Execution.Average() {
			return true // The pool's workers wait for the other, which is within their work.
		}
	}
	return false
}

func slowFinding(p observed.Named, base observed.Pool, before, now float64) *Finding {
	evidence := map[string]any{"execution_ms": now, "execution_lowest_step_ms": before}
	slots := p.Slots()
	if p.Kind == record.KindBulkhead && slots != nil && p.ActiveMean != nil && *p.ActiveMean >= busySlots**slots && positive(p.Rejected) {
		evidence["permits"], evidence["active_mean"], evidence["rejected"] = *slots, *p.ActiveMean, *p.Rejected
		return &Finding{Code: finding.PermitsHeldBySlow, Severity: finding.Warning, Evidence: evidence,
			Text: fmt.Sprintf("the permits of %s are held by calls that slowed from %.1f to %.1f ms, and the rest is refused: a semaphore has no timeout that gives them back",
				p, before, now),
			Next: "a pool with a timeout for a dependency that can slow down"}
	}
	waited := valueOr0(p.QueueWait.Average()) - valueOr0(base.QueueWait.Average())
	evidence["queue_wait_growth_ms"] = waited
	text := fmt.Sprintf("execution in %s grew from %.1f to %.1f ms and the queue wait did not: what it calls is slow, more workers do not help", p, before, now)
	if waited > 0.5*(now-before) {
		text = fmt.Sprintf("execution in %s grew from %.1f to %.1f ms, and the queue wait, by %.1f ms, in its train: what it calls is slow, more workers do not help", p, before, now, waited)
	}
	return &Finding{Code: finding.DownstreamSlow, Severity: finding.Warning, Evidence: evidence, Text: text,
		Next: "look at the dependency: its own pool, its connections, its CPU"}
}

// executionSlowed is the study's «TPS falls, active rises, queue falls», and «TPS falls, queue jumps, active flat» its opposite: they speak where
// a pool does not tell its execution times.
func executionSlowed(s Scene, p observed.Named, _ []Finding) *Finding {
	if s.Before == nil || p.Execution != nil || s.SuccessPerSec == nil || s.Before.SuccessPerSec == nil || *s.SuccessPerSec >= fallen**s.Before.SuccessPerSec {
		return nil
	}
	base := s.Before.Services[p.Service].Pools[p.Name]
	if p.ActiveMean == nil || base.ActiveMean == nil || p.QueueMean == nil || base.QueueMean == nil {
		return nil
	}
	evidence := map[string]any{"success_per_s": *s.SuccessPerSec, "success_before_per_s": *s.Before.SuccessPerSec, "active_mean": *p.ActiveMean,
		"active_before_mean": *base.ActiveMean, "queue_mean": *p.QueueMean, "queue_before_mean": *base.QueueMean}
	moved := func(now, before float64) float64 { return (now - before) / max(before, 1) }
	active, queue := moved(*p.ActiveMean, *base.ActiveMean), moved(*p.QueueMean, *base.QueueMean)
	switch {
	case active >= changed && queue <= 0:
		return &Finding{Code: finding.ExecutionSlowed, Severity: finding.Warning, Evidence: evidence,
			Text: fmt.Sprintf("throughput fell from %.0f to %.0f/s while %s had more workers at work (%.1f, before %.1f) and less waiting: its work takes longer",
				*s.Before.SuccessPerSec, *s.SuccessPerSec, p, *p.ActiveMean, *base.ActiveMean),
			Next: "find what the work waits for: a thread dump tells a dependency from a lock"}
	case queue >= changed && active < changed:
		return &Finding{Code: finding.ConsumptionBlocked, Severity: finding.Warning, Evidence: evidence,
			Text: fmt.Sprintf("throughput fell from %.0f to %.0f/s and the queue of %s jumped from %.1f to %.1f while as many workers were at work: consumption is blocked",
				*s.Before.SuccessPerSec, *s.SuccessPerSec, p, *base.QueueMean, *p.QueueMean),
			Next: "take a thread dump: what the pool's threads wait for is the cause"}
	}
	return nil
}

// tooManyThreads is the quick table's «CPU high, TPS low»: at the step below, less load gave more.
func tooManyThreads(s Scene, _ []Finding) []Finding {
	if s.Before == nil || !atLeast(s.HostCPURatio, saturatedCPU) || s.Cores == 0 || s.SuccessPerSec == nil || s.Before.SuccessPerSec == nil ||
		*s.SuccessPerSec >= fallen**s.Before.SuccessPerSec {
		return nil
	}
	var out []Finding
	for _, name := range sortedKeys(s.Services) {
		threads, before := s.Services[name].Threads, s.Before.Services[name].Threads
		if threads == nil || before == nil || *threads < manyThreads*float64(s.Cores) || *threads <= *before {
			continue
		}
		out = append(out, Finding{Code: finding.TooManyThreads, Severity: finding.Warning,
			Evidence: map[string]any{"service": name, "threads": *threads, "threads_before": *before, "host_cpu_ratio": *s.HostCPURatio,
				"success_per_s": *s.SuccessPerSec, "success_before_per_s": *s.Before.SuccessPerSec},
			Text: fmt.Sprintf("%s has %.0f threads on %d cores, the CPUs are %.0f %% busy and throughput fell from %.0f to %.0f/s: threads beyond the cores' need only take them from each other",
				name, *threads, s.Cores, *s.HostCPURatio*100, *s.Before.SuccessPerSec, *s.SuccessPerSec),
			Next: "fewer threads: cores or cores + 1 for work that computes"})
	}
	return out
}
