package analysis

import (
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

// importCaveats are what an import says about its own figures.
func importCaveats(i *record.Imported) []Caveat {
	if i == nil {
		return nil
	}
	var out []Caveat
	for _, c := range i.Caveats {
		out = append(out, Caveat{Code: finding.Code(c.Code), Text: c.Text})
	}
	return out
}

// summarised is a cell of which only another tool's own figures are known. What that tool does not tell stays unknown, and no verdict
// rests on it.
func summarised(i record.Imported, r CellResult) CellResult {
	applySummary(*i.Summary, i.Latency.ErrorsIncluded, &r)
	r.Generator.Valid = true // nothing is known against it
	r.Checks, r.Findings = []Check{}, []Finding{}
	r.Caveats = append([]Caveat{}, importCaveats(&i)...)
	return r
}

func applySummary(s record.Summary, errorsIncluded bool, r *CellResult) {
	seconds := valueOr0(s.Seconds)
	r.Window.Seconds = seconds
	count := func(p *float64) int64 { return int64(math.Round(valueOr0(p))) }
	if s.Requests != nil {
		r.Planned = count(s.Requests)
		refused, timedOut, failed, broken := count(s.Rejected), count(s.TimedOut), count(s.Failed), count(s.Connection)
		r.Outcomes = Outcomes{}
		r.Outcomes[record.Rejected], r.Outcomes[record.Timeout], r.Outcomes[record.Failure], r.Outcomes[record.Reset] = refused, timedOut, failed, broken
		r.Outcomes[record.Success] = max(0, r.Planned-refused-timedOut-failed-broken)
		completed := float64(r.Planned - timedOut - broken)
		r.Rates = Rates{Completed: ratio(completed, seconds), Success: ratio(float64(r.Outcomes[record.Success]), seconds),
			Rejected: ratio(float64(refused), seconds)}
		r.RejectedRatio = ratio(float64(refused), completed)
	}
	if r.Rates.Completed == nil {
		r.Rates.Completed = s.RatePerSec
	}
	if len(s.Codes) > 0 {
		r.Codes = s.Codes
	}
	r.Latency = summaryLatency(s, r.Outcomes[record.Success])
	if errorsIncluded {
		r.LatencyAll = r.Latency
	}
}

// summaryLatency takes over what the tool printed, whatever the number of samples; the interval of the p99 stays unknown.
func summaryLatency(s record.Summary, n int64) Latency {
	l := Latency{N: n, Mean: durationMS(s.Mean), Max: durationMS(s.Max)}
	for q, into := range map[float64]**float64{0.5: &l.P50, 0.9: &l.P90, 0.95: &l.P95, 0.99: &l.P99, 0.999: &l.P999} {
		*into = printed(s, q)
	}
	return l
}

// printed finds a quantile among those printed, else within the coarse histogram.
func printed(s record.Summary, q float64) *float64 {
	for _, p := range s.Percentiles {
		if math.Abs(p.Q-q) < 1e-9 {
			return millis(p.Value)
		}
	}
	if s.Buckets == nil {
		return nil
	}
	var d record.Dist
	for i, n := range s.Buckets.Counts {
		d.Count += float64(n)
		upper := s.Buckets.Upper[i].Seconds()
		if s.Buckets.Upper[i] == math.MaxInt64 {
			upper = math.Inf(1)
		}
		d.Buckets = append(d.Buckets, record.DistBucket{UpperSeconds: upper, Count: d.Count})
	}
	if v := observed.Quantile(d, q); v != nil {
		return known(*v * 1000)
	}
	return nil
}

func durationMS(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return millis(*d)
}
