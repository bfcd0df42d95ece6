package diagnose

import (
	"fmt"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

// The thresholds choose when a condition is worth a word; the figures stand beside it in the evidence.
const (
	busySlots      = 0.9  // share of the slots at work from which they are called full
	leftShare      = 0.01 // share of callers gone from which waste is looked for
	fastMS         = 1.0  // execution below which handing over to another thread costs a notable share
	standingQueue  = 0.9  // share of a queue's capacity from which it is called full
	deepQueue      = 2.0  // queue in multiples of the slots from which it is called a backlog
	unboundedQueue = 1e6  // capacity from which no queue is ever full
	waitingCallers = 1.0  // mean number of callers waiting for a connection from which the pool binds
	waitedShare    = 1.5  // response time in multiples of the execution from which requests waited for a slot
	stoppedShare   = 0.05 // completions below this share of what they were count as none
)

// full tells whether nine tenths of the slots in force were at work.
func full(p observed.Pool) bool {
	slots := p.SlotsInForce()
	return slots != nil && p.ActiveMean != nil && *p.ActiveMean >= busySlots**slots
}

func slotCeiling(s Scene, p observed.Named, _ []Finding) *Finding {
	slots, service := p.SlotsInForce(), p.Execution.Average()
	if !full(p.Pool) || service == nil || *service <= 0 {
		return nil
	}
	pressed := s.Ended[record.Rejected] > 0 || positive(p.Rejected) || positive(p.QueueMean) || positive(p.Waiting)
	// Containers such as Tomcat tell neither queue nor refusals: there it is the response time that shows the wait.
	waited := p.QueueMean == nil && p.Waiting == nil && s.MeanMS != nil && *s.MeanMS > waitedShare**service
	if !pressed && !waited {
		return nil
	}
	ceiling := *slots * 1000 / *service
	return &Finding{Code: finding.SlotCeiling, Severity: finding.Warning, Evidence: map[string]any{"slots": *slots, "service_time_ms": *service,
		"ceiling_per_s": ceiling, "active_mean": *p.ActiveMean, "success_per_s": s.SuccessPerSec},
		Text: fmt.Sprintf("%s is full: %.1f of %.0f slots at work, %.0f × 1000 / %.2f ms = %.0f/s is all it can carry",
			p, *p.ActiveMean, *slots, *slots, *service, ceiling),
		Next: fmt.Sprintf("slots >= wanted rate × %.4f s, times 1.5 to 2; or shorten the work", *service/1000)}
}

// maxUnreachable: a pool that queues first grows beyond core only once its queue is full. Refusals while it never grew, or work that waits in an
// unbounded queue, show that its maximum is only a word.
func maxUnreachable(_ Scene, p observed.Named, _ []Finding) *Finding {
	if p.Kind != record.KindPool || p.Core == nil || p.Max == nil || p.ActiveMax == nil || *p.Max <= *p.Core || *p.ActiveMax > *p.Core {
		return nil
	}
	f := &Finding{Code: finding.MaxUnreachable, Severity: finding.Warning, Evidence: map[string]any{"core": *p.Core, "max": *p.Max, "active_max": *p.ActiveMax}}
	switch {
	case positive(p.Rejected):
		f.Evidence["rejected"] = *p.Rejected
		f.Text = fmt.Sprintf("%s refused %.0f requests while never more than %.0f workers were at work: its maximum of %.0f is not reached",
			p, *p.Rejected, *p.ActiveMax, *p.Max)
		f.Next = "raise core too, or allow the maximum to diverge from it (Hystrix: allowMaximumSizeToDivergeFromCoreSize)"
	case p.Capacity != nil && *p.Capacity >= unboundedQueue && atLeast(p.QueueMean, 1):
		f.Evidence["queue_mean"] = *p.QueueMean
		f.Text = fmt.Sprintf("%s has %.1f tasks waiting behind %.0f core workers: its queue has no bound, so that its maximum of %.0f is never reached",
			p, *p.QueueMean, *p.Core, *p.Max)
		f.Next = "raise core, bound the queue, or let the pool grow before it queues"
	default:
		return nil
	}
	return f
}

// coreTooSmall is the study's «active < max and queue grows»: work waits though the pool could have more workers.
func coreTooSmall(_ Scene, p observed.Named, found []Finding) *Finding {
	if p.Kind != record.KindPool || p.Core == nil || p.Max == nil || *p.Max <= *p.Core || p.ActiveMean == nil || p.QueueMean == nil {
		return nil
	}
	if *p.ActiveMean >= busySlots**p.Max || *p.QueueMean < max(1, *p.Core) || hasFor(found, p.Service, p.Name, finding.MaxUnreachable) {
		return nil
	}
	return &Finding{Code: finding.CoreTooSmall, Severity: finding.Warning,
		Evidence: map[string]any{"core": *p.Core, "max": *p.Max, "active_mean": *p.ActiveMean, "queue_mean": *p.QueueMean},
		Text: fmt.Sprintf("%.1f tasks wait for %s while %.1f of at most %.0f workers are at work: the queue is deep and core (%.0f) too small",
			*p.QueueMean, p, *p.ActiveMean, *p.Max, *p.Core),
		Next: "raise core; or a shorter queue, so that the pool grows sooner"}
}

// queueBacklog finds a queue that grew all through the window, a deep one that stood full, or one that stood while the pool had workers to make.
func queueBacklog(_ Scene, p observed.Named, found []Finding) *Finding {
	slots := p.SlotsInForce()
	if slots == nil || p.QueueMean == nil {
		return nil
	}
	f := &Finding{Code: finding.QueueBacklog, Severity: finding.Warning, Evidence: map[string]any{"queue_mean": *p.QueueMean, "slots": *slots,
		"queue_first_third": p.QueueStart, "queue_last_third": p.QueueEnd}}
	switch {
	case p.Capacity != nil && *p.Capacity >= deepQueue**slots && *p.QueueMean >= standingQueue**p.Capacity:
		f.Evidence["capacity"] = *p.Capacity
		f.Text = fmt.Sprintf("the queue of %s stands full (%.0f of %.0f): it adds waiting, not throughput", p, *p.QueueMean, *p.Capacity)
		f.Next = "a queue no deeper than the timeout allows, and fast refusal beyond it"
	case p.QueueEnd > 2*p.QueueStart+*slots:
		f.Severity = finding.Critical
		f.Text = fmt.Sprintf("the queue of %s grew through the window, from %.0f to %.0f: the load is above what it carries", p, p.QueueStart, p.QueueEnd)
		f.Next = "less load or more slots; figures of this cell depend on how long it ran"
	case *p.QueueMean >= deepQueue**slots && hasFor(found, p.Service, p.Name, finding.MaxUnreachable, finding.CoreTooSmall):
		f.Text = fmt.Sprintf("the queue of %s stands at %.1f, %.1f for each of its %.0f workers, though it could have %.0f: response time grows with the load and throughput does not",
			p, *p.QueueMean, *p.QueueMean / *slots, *slots, *p.Max)
		f.Evidence["max"] = *p.Max
		f.Next = "raise core, or bound the queue so that the pool grows to its maximum"
	default:
		return nil
	}
	return f
}

func pooledTooSmall(_ Scene, p observed.Named, found []Finding) *Finding {
	queue, run := p.QueueWait.Average(), p.Execution.Average()
	if p.Kind != record.KindPool || queue == nil || run == nil || *queue <= *run || hasFor(found, p.Service, p.Name, finding.QueueBacklog) {
		return nil
	}
	return &Finding{Code: finding.PoolTooSmall, Severity: finding.Warning,
		Evidence: map[string]any{"queue_wait_ms": *queue, "execution_ms": *run},
		Text:     fmt.Sprintf("requests wait longer for %s (%.2f ms) than it works on them (%.2f ms)", p, *queue, *run),
		Next:     "more slots, or a shorter queue that refuses sooner"}
}

// zombieWorkers looks for work done to its end for callers who had left: the executions beyond those that answered somebody are
// about as many as the callers who left.
func zombieWorkers(s Scene, p observed.Named, _ []Finding) *Finding {
	if s.Load == nil || p.Kind != record.KindPool || p.Completed == nil || *p.Completed == 0 {
		return nil
	}
	left := float64(s.Ended[record.Timeout] + s.Ended[record.Late])
	if p.TimedOut != nil {
		left = max(left, *p.TimedOut)
	}
	served := float64(s.Ended[record.Success] + s.Ended[record.Failure])
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

func timeoutBelowWait(s Scene, p observed.Named, _ []Finding) *Finding {
	limit := effectiveTimeout(s)
	queue, run := p.QueueWait.Worst(), p.Execution.Worst()
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
func effectiveTimeout(s Scene) float64 {
	limit := s.Timeout.Seconds() * 1000
	if s.TimeoutP50MS != nil && float64(s.Inside[record.Timeout]) >= leftShare*float64(s.Planned) {
		limit = min(limit, *s.TimeoutP50MS)
	}
	return limit
}

func downstreamPool(_ Scene, p observed.Named, found []Finding) *Finding {
	if p.Waiting == nil || *p.Waiting < waitingCallers || hasFor(found, p.Service, p.Name, finding.DownstreamPoolBinding) {
		return nil
	}
	return &Finding{Code: finding.DownstreamPoolBinding, Severity: finding.Warning, Evidence: map[string]any{"waiting_mean": *p.Waiting, "size": p.Slots()},
		Text: fmt.Sprintf("%.1f callers wait for %s on average: workers beyond its size only wait", *p.Waiting, p),
		Next: "no more workers than the dependency has connections, or more connections as far as what is behind has room"}
}

// consumptionBlocked: every worker is busy, work waits, and next to nothing ends.
func consumptionBlocked(s Scene, p observed.Named, found []Finding) *Finding {
	if p.Kind != record.KindPool || !full(p.Pool) || !positive(p.QueueMean) && !positive(p.Rejected) || p.Completed == nil || has(found, finding.PoolStarvation, finding.Deadlock) {
		return nil
	}
	rate, before := *p.Completed/max((s.To-s.From).Seconds(), 1e-9), p.Start.CompletedPerSec
	if s.Lowest != nil {
		before = perSecond(*s.Lowest, p)
	}
	if *p.Completed > 0 && (before == nil || rate > stoppedShare**before) {
		return nil
	}
	return &Finding{Code: finding.ConsumptionBlocked, Severity: finding.Critical,
		Evidence: map[string]any{"completed_per_s": rate, "completed_before_per_s": before, "active_mean": *p.ActiveMean, "queue_mean": p.QueueMean},
		Text:     fmt.Sprintf("all %.0f workers of %s are busy and work waits, but only %.2f tasks a second end: they are blocked", *p.ActiveMean, p, rate),
		Next:     "take a thread dump: what all of the pool's threads wait for is the cause"}
}

func perSecond(s Scene, p observed.Named) *float64 {
	base := s.Services[p.Service].Pools[p.Name].Completed
	if base == nil || s.To <= s.From {
		return nil
	}
	rate := *base / (s.To - s.From).Seconds()
	return &rate
}

// workersHeld is the quick table's «active full, queue empty, TPS low»: the slots are all taken, nothing waits for them here, and more load
// brought no more throughput. It speaks where execution times, which would tell more, are not known.
func workersHeld(s Scene, p observed.Named, found []Finding) *Finding {
	if p.Execution != nil || !full(p.Pool) || atLeast(p.QueueMean, 1) || s.Before == nil || s.Before.SuccessPerSec == nil || s.SuccessPerSec == nil {
		return nil
	}
	if *s.SuccessPerSec > 1.05**s.Before.SuccessPerSec || len(found) > 0 && has(found, finding.LockContention, finding.DownstreamSlow, finding.DownstreamPoolBinding) {
		return nil
	}
	return &Finding{Code: finding.WorkersHeld, Severity: finding.Warning,
		Evidence: map[string]any{"active_mean": *p.ActiveMean, "slots": p.SlotsInForce(), "success_per_s": *s.SuccessPerSec, "success_before_per_s": *s.Before.SuccessPerSec},
		Text: fmt.Sprintf("%s is full (%.1f at work), its queue empty, and %.0f successes/s are no more than the %.0f at the step below: its workers are held by a dependency or a lock",
			p, *p.ActiveMean, *s.SuccessPerSec, *s.Before.SuccessPerSec),
		Next: "take a thread dump to tell a dependency from a lock"}
}

func isolationTooDear(_ Scene, p observed.Named, _ []Finding) *Finding {
	run := p.Execution.Average()
	if p.Kind != record.KindPool || run == nil || *run >= fastMS || !positive(p.Completed) {
		return nil
	}
	return &Finding{Code: finding.IsolationTooDear, Severity: finding.Info, Evidence: map[string]any{"execution_ms": *run},
		Text: fmt.Sprintf("%s hands work of %.3f ms to another thread", p, *run),
		Next: "a bulkhead (semaphore) for very fast work"}
}
