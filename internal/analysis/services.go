package analysis

import (
	"math"
	"slices"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// edge is how far outside the window a sample may lie and still count as taken at its edge: collectors tick beside the load.
const edge = 50 * time.Millisecond

// servicesOf reads the samples that fall into the window.
func servicesOf(cell record.Cell, window span) map[string]ServiceResult {
	within := span{window.start - edge, window.end + edge}
	out := map[string]ServiceResult{}
	for name, samples := range processesIn(cell.Processes, within) {
		out[name] = processResult(samples)
	}
	for key, samples := range poolsIn(cell.Pools, within) {
		s, ok := out[key.service]
		if !ok {
			s = ServiceResult{Pools: map[string]PoolResult{}}
		}
		s.Pools[key.pool] = poolResult(samples)
		out[key.service] = s
	}
	return out
}

func processesIn(samples []record.ProcessSample, within span) map[string][]record.ProcessSample {
	out := map[string][]record.ProcessSample{}
	for _, s := range samples {
		if within.contains(s.At) {
			out[s.Service] = append(out[s.Service], s)
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b record.ProcessSample) int { return int(a.At - b.At) })
	}
	return out
}

func processResult(samples []record.ProcessSample) ServiceResult {
	return ServiceResult{
		CPURatio: cpuRate(samples),
		Threads:  mostOf(samples, func(s record.ProcessSample) int64 { return s.Threads }),
		RSSBytes: mostOf(samples, func(s record.ProcessSample) int64 { return s.RSSBytes }),
		Switches: Switches{
			Voluntary:   counterRate(samples, func(s record.ProcessSample) float64 { return float64(s.Voluntary) }),
			Involuntary: counterRate(samples, func(s record.ProcessSample) float64 { return float64(s.Involuntary) }),
		},
		Pools: map[string]PoolResult{},
	}
}

func cpuRate(samples []record.ProcessSample) *float64 {
	return counterRate(samples, func(s record.ProcessSample) float64 {
		if s.CPUUser < 0 || s.CPUSystem < 0 {
			return -1
		}
		return (s.CPUUser + s.CPUSystem).Seconds()
	})
}

// counterRate is the rise per second of a cumulative figure. A pair of samples across which it fell (the process was restarted, or a
// child that was counted has ended) is left out with its time; a negative figure is unknown. Fewer than one usable pair: unknown.
func counterRate(samples []record.ProcessSample, figure func(record.ProcessSample) float64) *float64 {
	var rise, seconds float64
	for i := 1; i < len(samples); i++ {
		a, b := figure(samples[i-1]), figure(samples[i])
		if a < 0 || b < a {
			continue
		}
		rise += b - a
		seconds += (samples[i].At - samples[i-1].At).Seconds()
	}
	return ratio(rise, seconds)
}

func mostOf(samples []record.ProcessSample, figure func(record.ProcessSample) int64) *float64 {
	most := int64(-1)
	for _, s := range samples {
		most = max(most, figure(s))
	}
	if most < 0 {
		return nil
	}
	return known(float64(most))
}

// poolKey names a pool of a service.
type poolKey struct{ service, pool string }

func poolsIn(samples []record.PoolSample, within span) map[poolKey][]record.PoolSample {
	out := map[poolKey][]record.PoolSample{}
	for _, s := range samples {
		if within.contains(s.At) {
			key := poolKey{s.Service, s.Pool}
			out[key] = append(out[key], s)
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b record.PoolSample) int { return int(a.At - b.At) })
	}
	return out
}

func poolResult(samples []record.PoolSample) PoolResult {
	last := samples[len(samples)-1]
	r := PoolResult{
		Kind: last.Kind, Core: last.Core, Size: last.Size, Max: last.Max, Capacity: last.Capacity,
		Completed: increase(samples, func(s record.PoolSample) *float64 { return s.Completed }),
		Rejected:  increase(samples, func(s record.PoolSample) *float64 { return s.Rejected }),
		TimedOut:  increase(samples, func(s record.PoolSample) *float64 { return s.TimedOut }),
	}
	active := func(s record.PoolSample) *float64 { return s.Active }
	queue := func(s record.PoolSample) *float64 { return s.Queue }
	r.ActiveMean, r.QueueMean = meanOf(samples, active), meanOf(samples, queue)
	r.Waiting = meanOf(samples, func(s record.PoolSample) *float64 { return s.Waiting })
	// A high-water mark covers the time since the sample before it, so that of the first sample reaches back before the window.
	r.ActiveMax = higher(highest(samples, active), highest(samples[1:], func(s record.PoolSample) *float64 { return s.ActiveMax }))
	r.QueueMax = higher(highest(samples, queue), highest(samples[1:], func(s record.PoolSample) *float64 { return s.QueueMax }))
	r.QueueWait = timing(samples, func(s record.PoolSample) *record.Dist { return s.QueueWait })
	r.Execution = timing(samples, func(s record.PoolSample) *record.Dist { return s.Execution })
	if third := len(samples) / 3; third > 0 {
		r.queueStart, r.queueEnd = valueOr0(meanOf(samples[:third], queue)), valueOr0(meanOf(samples[len(samples)-third:], queue))
	}
	return r
}

// increase is the rise of a cumulative figure over the samples; after a restart it begins again from 0. Unknown below two samples.
func increase(samples []record.PoolSample, figure func(record.PoolSample) *float64) *float64 {
	var previous *float64
	var sum float64
	pairs := 0
	for _, s := range samples {
		now := figure(s)
		if now == nil {
			continue
		}
		if previous != nil {
			pairs++
			sum += rise(*previous, *now)
		}
		previous = now
	}
	if pairs == 0 {
		return nil
	}
	return known(sum)
}

// rise is how much a counter grew; one that fell was reset to 0 in between.
func rise(from, to float64) float64 {
	if to < from {
		return to
	}
	return to - from
}

func meanOf(samples []record.PoolSample, figure func(record.PoolSample) *float64) *float64 {
	var sum, n float64
	for _, s := range samples {
		if v := figure(s); v != nil {
			sum += *v
			n++
		}
	}
	return ratio(sum, n)
}

func highest(samples []record.PoolSample, figure func(record.PoolSample) *float64) *float64 {
	var most *float64
	for _, s := range samples {
		most = higher(most, figure(s))
	}
	return most
}

func higher(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case *b > *a:
		return b
	default:
		return a
	}
}

// timing is what was added to a cumulative distribution between the first and the last sample that carry it. When it was reset in
// between, only what came after the last reset counts.
func timing(samples []record.PoolSample, figure func(record.PoolSample) *record.Dist) *Timing {
	var first, last *record.Dist
	for _, s := range samples {
		d := figure(s)
		if d == nil {
			continue
		}
		if first == nil {
			first = d
		}
		if last != nil && d.Count < last.Count {
			first = &record.Dist{}
		}
		last = d
	}
	if first == last {
		return nil
	}
	return timingOf(difference(*first, *last))
}

func difference(from, to record.Dist) record.Dist {
	out := record.Dist{Count: to.Count - from.Count, Seconds: to.Seconds - from.Seconds}
	before := map[float64]float64{}
	for _, b := range from.Buckets {
		before[b.UpperSeconds] = b.Count
	}
	for _, b := range to.Buckets {
		out.Buckets = append(out.Buckets, record.DistBucket{UpperSeconds: b.UpperSeconds, Count: b.Count - before[b.UpperSeconds]})
	}
	return out
}

func timingOf(d record.Dist) *Timing {
	const perSecond = 1000 // ms
	t := &Timing{N: d.Count, Mean: ratio(d.Seconds*perSecond, d.Count)}
	at := func(q float64) *float64 {
		if d.Count < float64(minimumSamples(q)) {
			return nil
		}
		if s := quantileOf(d, q); s != nil {
			return known(*s * perSecond)
		}
		return nil
	}
	t.P50, t.P95, t.P99 = at(0.5), at(0.95), at(0.99)
	return t
}

// quantileOf interpolates within the bucket that holds the quantile, as PromQL's histogram_quantile does; one in the open last
// bucket is unknown.
func quantileOf(d record.Dist, q float64) *float64 {
	rank := q * d.Count
	var lower, below float64
	for _, b := range d.Buckets {
		if b.Count >= rank && b.Count > below {
			if math.IsInf(b.UpperSeconds, 1) {
				return nil
			}
			return known(lower + (b.UpperSeconds-lower)*(rank-below)/(b.Count-below))
		}
		lower, below = b.UpperSeconds, b.Count
	}
	return nil
}

func valueOr0(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
