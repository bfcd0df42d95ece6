package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/stat"
)

// terms are an objective, taken apart into what a share of requests expresses and what it does not.
type terms struct {
	shares []slo.Term // percentiles, success, rejected
	sums   []slo.Term // mean, goodput
	bound  time.Duration
}

func termsOf(objective slo.SLO) (terms, error) {
	var out terms
	if bound, ok := objective.LatencyBound(); ok {
		out.bound = bound
	}
	for _, t := range objective.Terms {
		switch t.Metric {
		case slo.Percentile, slo.Success, slo.Rejected:
			out.shares = append(out.shares, t)
		default:
			out.sums = append(out.sums, t)
		}
	}
	// How slow requests hang together is judged by the first share: failures are too rare to tell.
	slices.SortStableFunc(out.shares, func(a, b slo.Term) int { return cmp.Compare(percentileFirst(a), percentileFirst(b)) })
	if len(out.shares) == 0 {
		return terms{}, errors.New("the objective needs a percentile, success or rejected: only a share of requests can be tested step by step")
	}
	return out, nil
}

// Searchable tells why an objective cannot be searched for, if so.
func Searchable(objective slo.SLO) error {
	_, err := termsOf(objective)
	return err
}

func percentileFirst(t slo.Term) int {
	if t.Metric == slo.Percentile {
		return 0
	}
	return 1
}

func (t terms) constraints() []search.Constraint {
	var out []search.Constraint
	for _, term := range t.shares {
		limit := term.Ratio
		switch term.Metric {
		case slo.Percentile:
			limit = 1 - term.Q
		case slo.Success:
			limit = 1 - term.Ratio
		}
		out = append(out, search.Constraint{Name: term.String(), Limit: limit})
	}
	return out
}

// tally gathers what ended in a batch of a trial.
type tally struct {
	seconds   float64
	ended     int64 // of the requests planned inside, without what the end of the trial cut
	success   int64
	completed int64
	rejected  int64
	latency   *hist.Histogram // of successes
}

func newTally() *tally { return &tally{latency: hist.New()} }

func (a *tally) add(iv record.Interval) {
	a.seconds += (iv.End - iv.Start).Seconds()
	for _, c := range iv.Classes {
		if !c.Inside || c.Outcome == record.Cut {
			continue
		}
		a.ended += c.Count
		if c.Answered {
			a.completed += c.Count
		}
		switch c.Outcome {
		case record.Success:
			a.success += c.Count
			a.latency.Merge(c.Latency)
		case record.Rejected:
			a.rejected += c.Count
		}
	}
}

// count gives a term's requests and how many of them were bad.
func (a *tally) count(t slo.Term) search.Count {
	switch t.Metric {
	case slo.Percentile:
		good := a.latency.CountAtOrBelow(t.Time)
		return search.Count{N: a.success, Bad: a.success - good}
	case slo.Rejected:
		return search.Count{N: a.completed, Bad: a.rejected}
	default:
		return search.Count{N: a.ended, Bad: a.ended - a.success}
	}
}

// observation is what a batch says of the objective. Its stretches, the intervals, show how requests hang together.
func (t terms) observation(batch *tally, stretches []*tally) search.Observation {
	out := search.Observation{Seconds: batch.seconds, Broken: t.broken(batch)}
	if batch.ended == 0 {
		return out // Nothing was answered: everything was bad.
	}
	for _, term := range t.shares {
		out.Counts = append(out.Counts, batch.count(term))
	}
	for _, s := range stretches {
		c := s.count(t.shares[0])
		out.Batches = append(out.Batches, stat.Batch{N: c.N, Bad: c.Bad})
	}
	return out
}

// overdue is what the end of a trial cut off although it had taken longer than a percentile allows: slow requests that no batch has seen, and
// the first signs of a service that hangs. ok is false where there was none.
func (t terms) overdue(ages *hist.Histogram) (out search.Observation, ok bool) {
	for _, term := range t.shares {
		n := int64(0)
		if term.Metric == slo.Percentile {
			n = ages.Count() - ages.CountAtOrBelow(term.Time)
		}
		ok = ok || n > 0
		out.Counts = append(out.Counts, search.Count{N: n, Bad: n})
	}
	out.Batches = []stat.Batch{{}} // They belong to many batches, and are no clump.
	return out, ok
}

// broken names the terms on sums that a batch did not meet.
func (t terms) broken(batch *tally) []string {
	var out []string
	for _, term := range t.sums {
		switch term.Metric {
		case slo.MeanTime:
			mean := batch.latency.Mean()
			if batch.success == 0 || mean > term.Time || mean == term.Time && !term.Inclusive {
				out = append(out, term.String())
			}
		case slo.Goodput:
			good := batch.success
			if t.bound > 0 {
				good = batch.latency.CountAtOrBelow(t.bound)
			}
			rate := float64(good) / max(batch.seconds, 1e-9)
			if rate < term.PerSec || rate == term.PerSec && !term.Inclusive {
				out = append(out, term.String())
			}
		default:
			out = append(out, fmt.Sprintf("%s is not known to the search", term))
		}
	}
	return out
}
