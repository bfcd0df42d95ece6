package sizing

import (
	"math"
	"sort"
	"strconv"

	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/queueing"
)

// objective finds the fewest workers with which the latency terms hold by M/M/c: Poisson arrivals, exponential service, one queue.
func (z *sizer) objective() {
	if len(z.in.SLO.Terms) == 0 {
		return
	}
	o := &Objective{Text: z.in.SLO.String(), Feasible: true}
	z.out.Objective = o
	z.otherTerms(o)
	terms := latencyTerms(z.in.SLO)
	if len(terms) == 0 || !z.feasibleAlone(terms) {
		o.Feasible = o.Feasible && len(terms) == 0
		return
	}
	c, ok := z.fewest(terms)
	if !ok {
		o.Feasible = false
		z.caveat("slo-infeasible", "no pool of up to %d workers meets %s at %s/s", maxWorkers, o.Text, num(z.rate))
		return
	}
	o.Workers = &c
	first := terms[0]
	z.step("objective %s by M/M/c (random arrivals, exponential service of %s ms): %d workers give %s = %s ms", o.Text, ms(z.s), c, first.Name, ms(z.predict(c, first)))
	if c > z.out.Workers.Recommended {
		z.step("the objective needs %d workers where the safety factor gives %d: %d are recommended", c, z.out.Workers.Recommended, c)
		z.out.Workers.Recommended = c
	}
	z.caveat("model", "M/M/c takes service times as exponential: where they vary less, fewer workers meet the objective; where they have a heavier tail, more")
}

// otherTerms looks at what is bounded besides latency.
func (z *sizer) otherTerms(o *Objective) {
	for _, t := range z.in.SLO.Terms {
		if t.Metric == slo.Goodput && t.PerSec > z.in.RatePerSec {
			o.Feasible = false
			z.caveat("slo-infeasible", "%s is more than the %s/s that arrive", t, num(z.in.RatePerSec))
		}
	}
}

func latencyTerms(s slo.SLO) []slo.Term {
	var out []slo.Term
	for _, t := range s.Terms {
		if t.Metric == slo.Percentile || t.Metric == slo.MeanTime {
			out = append(out, t)
		}
	}
	return out
}

// feasibleAlone asks whether the service time by itself already breaks a term: then no size helps.
func (z *sizer) feasibleAlone(terms []slo.Term) bool {
	ok := true
	for _, t := range terms {
		if alone := z.serviceAlone(t); alone >= t.Time.Seconds() {
			ok = false
			z.step("objective %s: the service alone has %s at %s ms", t, t.Name, ms(alone))
			z.caveat("slo-infeasible", "%s is infeasible at any size and any load: an exponential service of %s ms alone takes %s ms at %s; shorten the service or relax the bound",
				t, ms(z.s), ms(alone), t.Name)
		}
	}
	return ok
}

// serviceAlone is the term's figure without any wait, in seconds.
func (z *sizer) serviceAlone(t slo.Term) float64 {
	if t.Metric == slo.MeanTime {
		return z.s
	}
	return -math.Log1p(-t.Q) * z.s
}

// predict is the term's figure with c workers, in seconds.
func (z *sizer) predict(c int, t slo.Term) float64 {
	q := queueing.MMc{ArrivalPerSec: z.rate, ServiceSec: z.s, Servers: c}
	if t.Metric == slo.MeanTime {
		return q.ResponseSec()
	}
	return q.ResponseQuantileSec(t.Q)
}

// holds asks the same without searching for the figure.
func (z *sizer) holds(c int, t slo.Term) bool {
	q := queueing.MMc{ArrivalPerSec: z.rate, ServiceSec: z.s, Servers: c}
	if t.Metric == slo.MeanTime {
		return q.ResponseSec() <= t.Time.Seconds()
	}
	return q.ResponseTail(t.Time.Seconds()) <= 1-t.Q
}

// outcome says what the final workers and queue would do with the objective, after every cap.
func (z *sizer) outcome() {
	w, o := z.out.Workers.Recommended, z.out.Objective
	if w == 0 || z.rate*z.s*float64(w+z.out.Queue) > maxWorkers*10 {
		return
	}
	full := queueing.MMcK{ArrivalPerSec: z.rate, ServiceSec: z.s, Servers: w, Room: w + z.out.Queue}.Figures()
	z.step("%d workers and %d places under random arrivals: %s/s served, %s rejected", w, z.out.Queue, num(full.ThroughputPerSec), pct(full.RejectedRatio))
	if o == nil {
		return
	}
	for _, t := range z.in.SLO.Terms {
		if t.Metric == slo.Success && full.RejectedRatio > 1-t.Ratio {
			o.Feasible = false
			z.caveat("slo-rejections", "%s cannot hold: %d workers and %d places reject %s of %s/s", t, w, z.out.Queue, pct(full.RejectedRatio), num(z.rate))
		}
	}
	if terms := latencyTerms(z.in.SLO); len(terms) > 0 && float64(w) > z.rate*z.s {
		predicted := z.predict(w, terms[0]) * 1000
		o.Predicted = &predicted
	}
	if o.Workers != nil && *o.Workers > w {
		o.Feasible = false
		z.caveat("slo-above-cap", "%s needs %d workers and the caps leave %d", o.Text, *o.Workers, w)
	}
}

// fewest searches the smallest stable pool that meets all terms; responses fall as workers are added.
func (z *sizer) fewest(terms []slo.Term) (int, bool) {
	lowest := int(math.Floor(z.rate*z.s)) + 1 // stable: λS < c
	meets := func(c int) bool {
		for _, t := range terms {
			if !z.holds(c, t) {
				return false
			}
		}
		return true
	}
	span := 1
	for !meets(lowest + span) {
		if lowest+span > maxWorkers {
			return 0, false
		}
		span *= 2
	}
	return lowest + sort.Search(span, func(i int) bool { return meets(lowest + i) }), true
}

// num writes a figure for a reader: whole numbers whole, others to three digits.
func num(v float64) string {
	if a := math.Abs(v); a >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// ms writes seconds as milliseconds.
func ms(sec float64) string { return num(sec * 1000) }

func pct(ratio float64) string { return num(ratio*100) + " %" }
