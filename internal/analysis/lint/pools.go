package lint

import (
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// deepQueue is the queue in multiples of the maximum from which workers beyond core come too late to help. The layered-tuning study's
// original setting (core 10, max 50, queue 200: never more than 31 busy) is at 4; its later ones (30/50/80, 40/50/10) lie below 2.
const deepQueue = 2

func coreAboveMax(p limits.Pool) []Finding {
	if h := p.Hystrix; h != nil {
		if !h.AllowDiverge.Value || h.MaximumSize.Value >= h.CoreSize.Value {
			return nil
		}
		return []Finding{report(CoreAboveMax, finding.Warning,
			fmt.Sprintf("pool %s: maximumSize %d is below coreSize %d: Hystrix lifts it to %d and logs an error", p.Name, h.MaximumSize.Value, h.CoreSize.Value, h.CoreSize.Value),
			"maximumSize >= coreSize", figures{"core": h.CoreSize.Value, "max": h.MaximumSize.Value}, h.MaximumSize.At, h.CoreSize.At)}
	}
	if !p.Core.Known || !p.Max.Known || p.Max.Value == limits.Unbounded || p.Core.Value <= p.Max.Value {
		return nil
	}
	return []Finding{report(CoreAboveMax, finding.Critical, fmt.Sprintf("pool %s: core %d > max %d", p.Name, p.Core.Value, p.Max.Value),
		"core <= max; a live change on the JDK raises max first and lowers core first",
		figures{"core": p.Core.Value, "max": p.Max.Value}, p.Core.At, p.Max.At)}
}

// grows is true for a queue-first pool that is meant to grow past its core.
func grows(p limits.Pool) bool {
	return p.Growth == limits.QueueFirst && p.Core.Known && p.Max.Known && (p.Max.Value > p.Core.Value || p.Max.Value == limits.Unbounded)
}

func maxUnreachable(p limits.Pool) []Finding {
	if !grows(p) || !p.Queue.Known || p.Queue.Value == 0 {
		return nil
	}
	evidence := figures{"core": p.Core.Value, "max": p.Max.Value, "queue": p.Queue.Value}
	head := fmt.Sprintf("pool %s never grows past its %d core workers to %s: ", p.Name, p.Core.Value, countOf(p.Max.Value))
	switch {
	case p.Queue.Value == limits.Unbounded:
		return []Finding{report(finding.MaxUnreachable, finding.Warning, head+"it starts more only when its queue is full, and the queue is unbounded",
			"core = the workers wanted, and a bounded queue; or growth before queueing", evidence, p.Queue.At, p.Max.At, p.Core.At)}
	case p.Threshold.Known && p.Threshold.Value > 0 && p.Threshold.Value <= p.Queue.Value:
		evidence["threshold"] = p.Threshold.Value
		return []Finding{report(finding.MaxUnreachable, finding.Warning,
			head+fmt.Sprintf("tasks are refused at a queue depth of %d, before the queue of %d is full, and only a full queue starts more workers", p.Threshold.Value, p.Queue.Value),
			fmt.Sprintf("threshold > %d, or core = the workers wanted", p.Queue.Value), evidence, p.Threshold.At, p.Queue.At, p.Max.At)}
	}
	return patienceEndsFirst(p, head, evidence)
}

// patienceEndsFirst finds the queue that is so deep that callers leave before it is full.
func patienceEndsFirst(p limits.Pool, head string, evidence figures) []Finding {
	if !p.ServiceTime.Known || p.Timeout.Value <= 0 || p.Core.Value <= 0 {
		return nil
	}
	wait := time.Duration(float64(p.Queue.Value) * float64(p.ServiceTime.Value) / float64(p.Core.Value))
	if wait <= p.Timeout.Value {
		return nil
	}
	evidence["queue_wait_ms"], evidence["timeout_ms"] = millis(wait), millis(p.Timeout.Value)
	return []Finding{report(finding.MaxUnreachable, finding.Warning,
		head+fmt.Sprintf("it starts more only when %d tasks wait, and the last of them has waited %d × %s ÷ %d = %s by then, above the timeout of %s",
			p.Queue.Value, p.Queue.Value, ms(p.ServiceTime.Value), p.Core.Value, ms(wait), ms(p.Timeout.Value)),
		fmt.Sprintf("queue <= %d, or core = the workers wanted", queueFor(p, p.Core.Value)), evidence, p.Queue.At, p.Core.At, p.Timeout.At, p.ServiceTime.At)}
}

// queueFor is the deepest queue whose last task still ends in time: (timeout - service) × workers ÷ service.
func queueFor(p limits.Pool, workers int) int {
	return max(int(float64(p.Timeout.Value-p.ServiceTime.Value)*float64(workers)/float64(p.ServiceTime.Value)), 0)
}

func maxBehindQueue(p limits.Pool) []Finding {
	if !grows(p) || p.Max.Value == limits.Unbounded || p.Queue.Value < deepQueue*p.Max.Value || len(maxUnreachable(p)) > 0 {
		return nil
	}
	text := fmt.Sprintf("pool %s starts workers %d to %d only while %d tasks wait already", p.Name, p.Core.Value+1, p.Max.Value, p.Queue.Value)
	evidence := figures{"core": p.Core.Value, "max": p.Max.Value, "queue": p.Queue.Value}
	if p.ServiceTime.Known && p.Core.Value > 0 {
		wait := time.Duration(float64(p.Queue.Value) * float64(p.ServiceTime.Value) / float64(p.Core.Value))
		text += fmt.Sprintf(", the last of them for %d × %s ÷ %d = %s", p.Queue.Value, ms(p.ServiceTime.Value), p.Core.Value, ms(wait))
		evidence["queue_wait_ms"] = millis(wait)
	}
	return []Finding{report(MaxBehindQueue, finding.Warning, text, "core near max and a short queue: the queue is for bursts, the workers for load",
		evidence, p.Queue.At, p.Core.At, p.Max.At)}
}

func maximumIgnored(p limits.Pool) []Finding {
	h := p.Hystrix
	if h == nil || h.AllowDiverge.Value || !h.MaximumSize.Given || h.MaximumSize.Value == h.CoreSize.Value {
		return nil
	}
	return []Finding{report(MaximumIgnored, finding.Warning,
		fmt.Sprintf("pool %s: maximumSize %d has no effect, the pool has coreSize = %d workers", p.Name, h.MaximumSize.Value, h.CoreSize.Value),
		"set allowMaximumSizeToDivergeFromCoreSize=true, or set coreSize and leave maximumSize out",
		figures{"core": h.CoreSize.Value, "maximum_size": h.MaximumSize.Value}, h.MaximumSize.At, h.AllowDiverge.At, h.CoreSize.At)}
}

func queueUnbounded(p limits.Pool) []Finding {
	if p.Queue.Value != limits.Unbounded || len(maxUnreachable(p)) > 0 {
		return nil
	}
	return []Finding{report(QueueUnbounded, finding.Warning, fmt.Sprintf("the queue of pool %s has no capacity: it refuses nothing, and waiting grows as long as the load lasts", p.Name),
		"a capacity from the latency budget: (timeout - service time) × workers ÷ service time", nil, p.Queue.At, p.At)}
}

func thresholdAboveCapacity(p limits.Pool) []Finding {
	if !p.Threshold.Known || p.Queue.Value <= 0 || p.Threshold.Value <= p.Queue.Value {
		return nil
	}
	if h := p.Hystrix; !p.Threshold.Given || h != nil && h.AllowDiverge.Value && h.MaximumSize.Value > h.CoreSize.Value {
		return nil // Above the capacity is the one way in which a diverging Hystrix pool grows.
	}
	return []Finding{report(ThresholdAboveCapacity, finding.Warning,
		fmt.Sprintf("pool %s: threshold %d > capacity %d: the queue is full before the threshold acts, min(%d, %d) = %d tasks wait at most", p.Name,
			p.Threshold.Value, p.Queue.Value, p.Threshold.Value, p.Queue.Value, p.Queue.Value),
		"threshold <= capacity; the capacity is fixed at creation, so size it for the largest threshold wanted",
		figures{"threshold": p.Threshold.Value, "queue": p.Queue.Value}, p.Threshold.At, p.Queue.At)}
}

func queueCutByThreshold(p limits.Pool) []Finding {
	if p.Threshold.Given || !p.Threshold.Known || p.Queue.Value <= p.Threshold.Value || !p.Queue.Given {
		return nil
	}
	return []Finding{report(QueueCutByThreshold, finding.Warning,
		fmt.Sprintf("pool %s refuses from %d waiting tasks on, not from %d: min(threshold %d by default, capacity %d) = %d", p.Name,
			p.Threshold.Value, p.Queue.Value, p.Threshold.Value, p.Queue.Value, p.Threshold.Value),
		fmt.Sprintf("set the threshold too: %s=%d", p.Threshold.At.Key, p.Queue.Value),
		figures{"threshold": p.Threshold.Value, "queue": p.Queue.Value, "effective": p.Threshold.Value}, p.Queue.At, p.Threshold.At)}
}

func handoffIgnoresThreshold(p limits.Pool) []Finding {
	h := p.Hystrix
	if h == nil || h.MaxQueueSize.Value > 0 || !h.Threshold.Given {
		return nil
	}
	return []Finding{report(HandoffIgnoresThreshold, finding.Warning,
		fmt.Sprintf("pool %s: queueSizeRejectionThreshold %d is ignored: maxQueueSize %d is a direct hand-off, nothing waits, a task finds an idle worker or is refused",
			p.Name, h.Threshold.Value, h.MaxQueueSize.Value),
		fmt.Sprintf("maxQueueSize >= %d where tasks shall wait; it needs a restart", max(h.Threshold.Value, 1)),
		figures{"threshold": h.Threshold.Value, "max_queue_size": h.MaxQueueSize.Value}, h.Threshold.At, h.MaxQueueSize.At)}
}

func thresholdRefusesAll(p limits.Pool) []Finding {
	if !p.Threshold.Known || p.Threshold.Value > 0 || p.Queue.Value == 0 {
		return nil
	}
	return []Finding{report(ThresholdRefusesAll, finding.Critical,
		fmt.Sprintf("pool %s: threshold 0 with a queue of %s refuses every task: a task is admitted while queue depth < threshold, and 0 < 0 is false", p.Name, countOf(p.Queue.Value)),
		"threshold >= 1, or maxQueueSize -1 for a hand-off", figures{"threshold": 0, "queue": p.Queue.Value}, p.Threshold.At, p.Queue.At)}
}

// waiting is how many tasks the pool lets wait at most.
func waiting(p limits.Pool) int {
	if p.Threshold.Known && p.Threshold.Value < p.Queue.Value {
		return p.Threshold.Value
	}
	return p.Queue.Value
}

func timeoutBelowWait(p limits.Pool) []Finding {
	workers, bounded := p.Slots()
	if p.Timeout.Value <= 0 || !p.ServiceTime.Known || !p.Queue.Known || p.Queue.Value < 0 || !bounded || workers <= 0 {
		return nil
	}
	depth, service, timeout := waiting(p), p.ServiceTime.Value, p.Timeout.Value
	wait := time.Duration(float64(depth) * float64(service) / float64(workers))
	if wait+service <= timeout {
		return nil
	}
	evidence := figures{"queue": depth, "workers": workers, "service_time_ms": millis(service), "queue_wait_ms": millis(wait), "timeout_ms": millis(timeout)}
	at := []limits.At{p.Timeout.At, p.Queue.At, p.ServiceTime.At}
	if service > timeout {
		return []Finding{report(finding.TimeoutBelowWait, finding.Critical,
			fmt.Sprintf("pool %s: a task takes %s, above the timeout of %s: every caller leaves before its answer", p.Name, ms(service), ms(timeout)),
			fmt.Sprintf("timeout >= %s", ms(wait+service)), evidence, at...)}
	}
	return []Finding{report(finding.TimeoutBelowWait, finding.Warning,
		fmt.Sprintf("pool %s: queue %d × service %s ÷ %d workers = %s of waiting, + %s = %s > timeout %s: workers serve callers who have left",
			p.Name, depth, ms(service), workers, ms(wait), ms(service), ms(wait+service), ms(timeout)),
		fmt.Sprintf("queue <= (%s - %s) × %d ÷ %s = %d, or timeout >= %s", ms(timeout), ms(service), workers, ms(service), queueFor(p, workers), ms(wait+service)),
		evidence, at...)}
}

func poolTooSmall(p limits.Pool) []Finding {
	workers, bounded := p.Slots()
	if !p.RatePerSec.Known || !p.ServiceTime.Known || !bounded {
		return nil
	}
	busy := p.RatePerSec.Value * p.ServiceTime.Value.Seconds()
	if busy <= float64(workers) {
		return nil
	}
	return []Finding{report(finding.PoolTooSmall, finding.Warning,
		fmt.Sprintf("pool %s: %s/s × %s s = %s workers busy, it has %d: at most %d ÷ %s s = %s/s get through", p.Name, number(p.RatePerSec.Value),
			number(p.ServiceTime.Value.Seconds()), number(busy), workers, workers, number(p.ServiceTime.Value.Seconds()), number(float64(workers)/p.ServiceTime.Value.Seconds())),
		fmt.Sprintf("%.0f to %.0f workers (1.5 to 2 times), as far as the dependency bears them", busy*1.5, busy*2),
		figures{"rate_per_s": p.RatePerSec.Value, "service_time_ms": millis(p.ServiceTime.Value), "busy": busy, "workers": workers}, p.Max.At, p.RatePerSec.At)}
}

func keepAliveWithoutEffect(p limits.Pool) []Finding {
	if !p.KeepAlive.Given || p.CoreTimeout.Value || !p.Core.Known || p.Core.Value != p.Max.Value {
		return nil
	}
	return []Finding{report(KeepAliveWithoutEffect, finding.Info,
		fmt.Sprintf("pool %s: keep-alive %s ends no worker: core = max = %d and core workers do not time out", p.Name, p.KeepAlive.Value, p.Core.Value),
		"allow core workers to time out, where idle ones shall end", nil, p.KeepAlive.At, p.Core.At)}
}

func capacityFixed(p limits.Pool) []Finding {
	var out []Finding
	for _, f := range p.Fixed {
		out = append(out, report(CapacityFixed, finding.Info, fmt.Sprintf("pool %s: %s is fixed when the pool is made: a live change of it is accepted and does nothing", p.Name, f.At.Key),
			"a queue whose capacity can change (dynamic-tp: VariableLinkedBlockingQueue)", nil, f.At))
	}
	return out
}

func timeoutOnlyObserves(p limits.Pool) []Finding {
	var out []Finding
	for _, o := range p.Observed {
		out = append(out, report(TimeoutOnlyObserves, finding.Info,
			fmt.Sprintf("pool %s: %s %s is counted and logged; the task runs on and keeps its worker", p.Name, o.At.Key, ms(o.Value)),
			"a timeout in the client that the task calls", figures{"timeout_ms": millis(o.Value)}, o.At))
	}
	return out
}
