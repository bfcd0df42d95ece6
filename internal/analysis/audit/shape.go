package audit

import (
	"fmt"
	"math"
)

// percentileOrder tells whether a higher percentile is reported as smaller than a lower one.
func (c checker) percentileOrder() []Check {
	var out []Check
	ps := c.row.sortedPercentiles()
	for i := 1; i < len(ps); i++ {
		lo, hi := ps[i-1], ps[i]
		if hi.MS < lo.MS {
			out = append(out, check(LawPercentileOrder, Impossible, lo.MS, hi.MS, "ms",
				fmt.Sprintf("%s = %s ms lies below %s = %s ms", hi.Name, num(hi.MS), lo.Name, num(lo.MS))))
		}
	}
	return out
}

// percentileMean holds the mean response against each percentile from p95 up, and each percentile against the mean. The mean is what was
// reported, and what a closed loop leaves for it: N/X, with the users' idle time in it.
func (c checker) percentileMean() []Check {
	left, how, okLeft := c.closedLoopMean()
	mean, okMean := c.row.MeanMS.positive()
	var out []Check
	for _, p := range c.row.sortedPercentiles() {
		if okLeft && p.Q >= 0.95 {
			idle := fmt.Sprintf("users paused at least %s ms between requests, or ", num(left-p.MS))
			out = append(out, c.meanAbove(p, left, how, idle))
		}
		if okMean && p.Q >= 0.95 {
			out = append(out, c.meanAbove(p, mean, fmt.Sprintf("mean = %s ms", num(mean)), ""))
		}
		if okMean {
			out = append(out, c.meanBelow(p, mean)...)
		}
	}
	return out
}

// closedLoopMean is N/X, less the stated think time, for a success where refusals are taken as instant.
func (c checker) closedLoopMean() (mean float64, how string, ok bool) {
	n, okN := c.row.Concurrency.positive()
	x, okX := c.rate.completed.positive()
	if !okN || !okX {
		return 0, "", false
	}
	mean = n / x * 1000
	how = fmt.Sprintf("N/X = %s / %s = %s ms", num(n), num(x), num(mean))
	if think, stated := c.row.ThinkMS.positive(); stated {
		mean -= think
		how += fmt.Sprintf(", less %s ms think time = %s ms", num(think), num(mean))
	}
	if r := c.rate.refusedLow; r > 0 && r < 1 {
		mean /= 1 - r
		how += fmt.Sprintf(" with %s instant refusals means %s ms per success", pct(r), num(mean))
	}
	return mean, how, mean > 0
}

// meanAbove: a mean above a percentile needs a heavy tail or users who paused; both are said. The slowest 1−q average at least
// (mean − q·P)/(1−q), since the others took at most P each.
func (c checker) meanAbove(p Percentile, mean float64, how, idle string) Check {
	text := fmt.Sprintf("%s against %s = %s ms", how, p.Name, num(p.MS))
	if !c.above(mean, p.MS) {
		return check(LawPercentileMean, Consistent, p.MS, mean, "ms", text)
	}
	tail := (mean - p.Q*p.MS) / (1 - p.Q)
	slowest := fmt.Sprintf("the slowest %s average at least %s ms", pct(1-p.Q), num(tail))
	text = fmt.Sprintf("%s above %s = %s ms: ", how, p.Name, num(p.MS))
	return check(LawPercentileMean, Suspicious, p.MS, mean, "ms", text+idle+slowest)
}

// meanBelow: the share 1−q of responses took at least P, so the mean is at least (1−q)·P (Markov's inequality).
func (c checker) meanBelow(p Percentile, mean float64) []Check {
	floor := (1 - p.Q) * p.MS
	if !c.below(mean, floor) {
		return nil
	}
	text := fmt.Sprintf("%s of responses took %s = %s ms or more, so the mean is at least %s ms, not %s ms: impossible",
		pct(1-p.Q), p.Name, num(p.MS), num(floor), num(mean))
	return []Check{check(LawPercentileMean, Impossible, floor, mean, "ms", text)}
}

// sums checks that counts and rates of the row add up.
func (c checker) sums() []Check {
	var out []Check
	requests, okN := c.row.Requests.Get()
	failed, okF := c.row.Failed.Get()
	if okN && okF {
		verdict, text := Consistent, fmt.Sprintf("%s failed of %s requests", num(failed), num(requests))
		if failed > requests {
			verdict, text = Impossible, text+": more than there were"
		}
		out = append(out, check(LawSum, verdict, requests, failed, "requests", text))
	}
	out = append(out, c.rateOfRequests()...)
	out = append(out, c.successesOfCompleted()...)
	if rps, tps := c.row.RPS, c.row.TPS; rps.known && tps.known && !c.near(tps.value, rps.value) {
		out = append(out, check(LawRate, Suspicious, rps.value, tps.value, "1/s",
			fmt.Sprintf("rps %s and tps %s differ: only if a transaction is not one request; the larger is held against the ceilings", num(rps.value), num(tps.value))))
	}
	return out
}

// rateOfRequests compares the reported rate with requests / seconds.
func (c checker) rateOfRequests() []Check {
	per, ok := requestsPerSecond(c.row).Get()
	rate, okX := c.row.RPSCompleted.or(c.row.RPS).or(c.row.TPS).Get()
	if !ok || !okX {
		return nil
	}
	requests, seconds := c.row.Requests.value, c.row.Seconds.value
	text := fmt.Sprintf("%s requests / %s s = %s/s, reported %s/s", num(requests), num(seconds), num(per), num(rate))
	share, _ := failedShare(c.row)
	switch {
	case c.near(rate, per):
		return []Check{check(LawRate, Consistent, per, rate, "1/s", text)}
	case share > 0 && c.near(rate, per*(1-share)):
		return []Check{check(LawRate, Consistent, per*(1-share), rate, "1/s", text+": the rate counts what did not fail")}
	default:
		return []Check{check(LawRate, Impossible, per, rate, "1/s", text+": not the same")}
	}
}

// successesOfCompleted compares successes and completions where both rates are given.
func (c checker) successesOfCompleted() []Check {
	completed, okC := c.row.RPSCompleted.Get()
	success, okS := c.row.TPS.larger(c.row.RPS).Get()
	if !okC || !okS {
		return nil
	}
	text := fmt.Sprintf("%s successes/s of %s completed/s", num(success), num(completed))
	if c.above(success, completed) {
		return []Check{check(LawSum, Impossible, completed, success, "1/s", text+": more than completed")}
	}
	low, high, known := refusedShare(c.row)
	if !known {
		return []Check{check(LawSum, Consistent, completed, success, "1/s", text)}
	}
	most, least := completed*(1-low), completed*(1-high)
	text += fmt.Sprintf(", %s refused leave %s/s", pct(low), num(most))
	if c.above(success, most) || c.below(success, least) {
		return []Check{check(LawSum, Impossible, most, success, "1/s", text)}
	}
	return []Check{check(LawSum, Consistent, most, success, "1/s", text)}
}

// checkRanges finds figures below zero, shares above one and a CPU above 100 %. It gives nothing where all is in range.
func checkRanges(r Row) []Check {
	var out []Check
	for _, f := range r.named() {
		if v, ok := f.figure.Get(); ok && v < 0 {
			out = append(out, check(LawRange, Impossible, 0, v, f.name, fmt.Sprintf("%s = %s is below zero", f.name, num(v))))
		}
	}
	if v, ok := r.RejectedPct.Get(); ok && v > 100 {
		out = append(out, check(LawRange, Impossible, 100, v, "%", fmt.Sprintf("rejected_pct = %s: more than all of them", num(v))))
	}
	if v, ok := r.CPUPct.Get(); ok && v > 100 {
		out = append(out, check(LawUtilisation, Suspicious, 100, v, "%",
			fmt.Sprintf("cpu_pct = %s: only if it is the sum over cores, which the row does not say", num(v))))
	}
	return out
}

type namedFigure struct {
	name   string
	figure Figure
}

// named lists the row's figures by their column names.
func (r Row) named() []namedFigure {
	out := []namedFigure{
		{"concurrency", r.Concurrency}, {"think_ms", r.ThinkMS}, {"slots", r.Slots}, {"core", r.Core}, {"max", r.Max}, {"queue", r.Queue},
		{"service_time_ms", r.ServiceTimeMS}, {"requests", r.Requests}, {"failed", r.Failed}, {"seconds", r.Seconds}, {"rps", r.RPS},
		{"tps", r.TPS}, {"rps_completed", r.RPSCompleted}, {"rejected_pct", r.RejectedPct}, {"mean_ms", r.MeanMS}, {"cpu_pct", r.CPUPct},
		{"context_switches_per_s", r.ContextSwitchesPerSec},
	}
	for _, p := range r.Percentiles {
		if !math.IsNaN(p.MS) {
			out = append(out, namedFigure{p.Name + "_ms", Known(p.MS)})
		}
	}
	return out
}
