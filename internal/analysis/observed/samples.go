package observed

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/stat"
)

// edge is how far outside the window a sample may lie and still count as taken at its edge: collectors tick beside the load.
const edge = 50 * time.Millisecond

// Span is a stretch of a cell's clock.
type Span struct{ Start, End time.Duration }

// Contains tells whether a sample counts as taken in the span.
func (s Span) Contains(at time.Duration) bool { return at >= s.Start-edge && at <= s.End+edge }

// Of reads the samples that fall into the window.
func Of(cell record.Cell, window Span) map[string]Service {
	out := map[string]Service{}
	of := func(name string) Service {
		if s, ok := out[name]; ok {
			return s
		}
		return Service{Pools: map[string]Pool{}}
	}
	for name, samples := range processesIn(cell.Processes, window) {
		out[name] = processResult(samples)
	}
	for key, samples := range poolsIn(cell.Pools, window) {
		s := of(key.service)
		s.Pools[key.pool] = poolResult(samples)
		out[key.service] = s
	}
	for name, series := range seriesIn(cell.Series, window) {
		s := of(name)
		s.runtime(series)
		out[name] = s
	}
	return out
}

// series are the samples of one source's series by name.
type series map[string][]record.SeriesSample

// Host is the source of the machine's own series, which is no service.
const Host = "host"

func seriesIn(samples []record.SeriesSample, within Span) map[string]series {
	out := map[string]series{}
	for _, s := range samples {
		if s.Source == Host || !within.Contains(s.At) {
			continue
		}
		if out[s.Source] == nil {
			out[s.Source] = series{}
		}
		out[s.Source][s.Name] = append(out[s.Source][s.Name], s)
	}
	return out
}

// grown is by how much a cumulative series rose, and over how many seconds.
func (s series) grown(name string) (rise, seconds float64) {
	list := s[name]
	for i := 1; i < len(list); i++ {
		if list[i].Value >= list[i-1].Value {
			rise += list[i].Value - list[i-1].Value
			seconds += (list[i].At - list[i-1].At).Seconds()
		}
	}
	return rise, seconds
}

// share is a cumulative series of seconds as a share of the time, of the first name that was sampled.
func (s series) share(names ...string) *float64 {
	for _, name := range names {
		if rise, seconds := s.grown(name); seconds > 0 {
			return ratio(rise, seconds)
		}
	}
	return nil
}

// retried is the rate of calls made again, of all that retry.
func (s series) retried() *float64 {
	var sum *float64
	for name := range s {
		if strings.HasPrefix(name, "retried_total{") {
			if rate := s.share(name); rate != nil {
				sum = known(valueOr0(sum) + *rate)
			}
		}
	}
	return sum
}

// runtime takes what a runtime or control group tells.
func (s *Service) runtime(of series) {
	s.GCRatio = of.share("jvm_gc_seconds_total", "jvm_gc_pause_seconds_total", "go_gc_pause_seconds_total")
	s.MutexWait = of.share("go_mutex_wait_seconds_total")
	s.RetriedPerSec = of.retried()
	throttled, _ := of.grown("cgroup_cpu_throttled_periods_total")
	periods, _ := of.grown("cgroup_cpu_periods_total")
	s.ThrottledRatio = ratio(throttled, periods)
	if limit := of["cgroup_cpu_limit_cores"]; len(limit) > 0 {
		s.CPULimitCores = known(limit[len(limit)-1].Value)
	}
}

// known makes a figure of a value; one that is no number is unknown.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// ratio is a/b, unknown where b is not above 0.
func ratio(a, b float64) *float64 {
	if b <= 0 {
		return nil
	}
	return known(a / b)
}

func processesIn(samples []record.ProcessSample, within Span) map[string][]record.ProcessSample {
	out := map[string][]record.ProcessSample{}
	for _, s := range samples {
		if within.Contains(s.At) {
			out[s.Service] = append(out[s.Service], s)
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b record.ProcessSample) int { return int(a.At - b.At) })
	}
	return out
}

func processResult(samples []record.ProcessSample) Service {
	threads := growthOf(samples, func(s record.ProcessSample) int64 { return s.Threads })
	return Service{
		ThreadGrowth: threads,
		CPURatio:     cpuRate(samples),
		Threads:      mostOf(samples, func(s record.ProcessSample) int64 { return s.Threads }),
		RSSBytes:     mostOf(samples, func(s record.ProcessSample) int64 { return s.RSSBytes }),
		Switches: Switches{
			Voluntary:   counterRate(samples, func(s record.ProcessSample) float64 { return float64(s.Voluntary) }),
			Involuntary: counterRate(samples, func(s record.ProcessSample) float64 { return float64(s.Involuntary) }),
		},
		Pools: map[string]Pool{},
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

// Growth is how a figure developed over a span: its mean over the first, second and last third of the samples.
type Growth struct{ First, Second, Last float64 }

// growthOf is nil below nine samples, or where one is unknown.
func growthOf(samples []record.ProcessSample, figure func(record.ProcessSample) int64) *Growth {
	third := len(samples) / 3
	if third < 3 {
		return nil
	}
	mean := func(part []record.ProcessSample) (sum float64) {
		for _, s := range part {
			if figure(s) < 0 {
				return math.NaN()
			}
			sum += float64(figure(s))
		}
		return sum / float64(len(part))
	}
	g := Growth{First: mean(samples[:third]), Second: mean(samples[third : len(samples)-third]), Last: mean(samples[len(samples)-third:])}
	if math.IsNaN(g.First + g.Second + g.Last) {
		return nil
	}
	return &g
}

// poolKey names a pool of a service.
type poolKey struct{ service, pool string }

func poolsIn(samples []record.PoolSample, within Span) map[poolKey][]record.PoolSample {
	out := map[poolKey][]record.PoolSample{}
	for _, s := range samples {
		if within.Contains(s.At) {
			key := poolKey{s.Service, s.Pool}
			out[key] = append(out[key], s)
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b record.PoolSample) int { return int(a.At - b.At) })
	}
	return out
}

func poolResult(samples []record.PoolSample) Pool {
	last := samples[len(samples)-1]
	r := Pool{
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
		first, last := samples[:third], samples[len(samples)-third:]
		r.QueueStart, r.QueueEnd = valueOr0(meanOf(first, queue)), valueOr0(meanOf(last, queue))
		r.Start, r.End = partOf(first), partOf(last)
	}
	return r
}

// partOf is a pool over a part of the span.
func partOf(samples []record.PoolSample) Part {
	length := (samples[len(samples)-1].At - samples[0].At).Seconds()
	p := Part{
		Active: meanOf(samples, func(s record.PoolSample) *float64 { return s.Active }),
		Queue:  meanOf(samples, func(s record.PoolSample) *float64 { return s.Queue }),
	}
	if n := increase(samples, func(s record.PoolSample) *float64 { return s.Completed }); n != nil {
		p.CompletedPerSec = ratio(*n, length)
	}
	return p
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

// confidence is that of the least number of samples for a quantile.
const confidence = 0.95

func timingOf(d record.Dist) *Timing {
	const perSecond = 1000 // ms
	t := &Timing{N: d.Count, Mean: ratio(d.Seconds*perSecond, d.Count)}
	at := func(q float64) *float64 {
		if d.Count < float64(stat.MinSamples(q, confidence)) {
			return nil
		}
		if s := Quantile(d, q); s != nil {
			return known(*s * perSecond)
		}
		return nil
	}
	t.P50, t.P95, t.P99 = at(0.5), at(0.95), at(0.99)
	return t
}

// Quantile interpolates within the bucket that holds the quantile, as PromQL's histogram_quantile does; one in the open last
// bucket is unknown.
func Quantile(d record.Dist, q float64) *float64 {
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
