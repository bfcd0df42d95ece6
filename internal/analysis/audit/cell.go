package audit

import "fmt"

// Cell is what Loadline measured itself, at one setting and one load. Figures of the zero value are unknown and their laws not applied.
type Cell struct {
	Row           int    // 1…
	Scenario      string // setting and load in words
	WindowSeconds float64

	Closed      bool    // Little's law against the number of users needs a closed loop
	Concurrency float64 // users
	ThinkMS     float64 // mean think time as measured, or the constant one; 0: none
	EndedPerSec Figure  // requests that ended in the window, whatever their outcome
	MeanHeldMS  Figure  // mean time for which each of those held its user

	Planned  int64   // requests planned inside the window
	Outcomes []Count // how they ended, every class
	Success  int64   // successes that ended inside the window

	Slots       []SlotLimit
	Utilisation []Utilisation

	// Latency of successes. MaxMS unknown leaves the upper bound of the mean unchecked.
	MeanMS, MaxMS Figure
	Percentiles   []Percentile
}

// Count is how many requests ended in one class.
type Count struct {
	Name  string
	Count int64
}

// SlotLimit is a pool or bulkhead that every success passes.
type SlotLimit struct {
	Name      string
	Slots     float64
	ServiceMS float64 // measured mean time that one request holds one slot; 0: unknown
}

// Utilisation is the busy time of a resource, in the unit of its capacity: 1.7 of 2 cores, 12 of 30 workers.
type Utilisation struct {
	Name           string
	Busy, Capacity float64
}

const (
	longWindowSeconds = 10    // from here on edges weigh little
	longTolerance     = 0.01  // of Little's law for windows of 10 s and more
	shortTolerance    = 0.02  // and for shorter ones
	measuredSlack     = 0.005 // of a ceiling built on a measured service time
	histogramSlack    = 0.002 // two values of an HDR histogram with three digits
	// edgeLimit is the response time, as a share of the window, above which requests that cross the window's edges outweigh those
	// inside and Little's law is not applied.
	edgeLimit = 0.25
	// shortestWindow (s) is where a pause of the machine of some 10 ms at an edge is as large as the tolerance.
	shortestWindow = 1
)

// ToleranceForWindow is the deviation from Little's law allowed to a window of that length: 1 % from 10 s up, 2 % below.
func ToleranceForWindow(seconds float64) float64 {
	if seconds >= longWindowSeconds {
		return longTolerance
	}
	return shortTolerance
}

// CheckCell judges a cell of our own by every law that its figures allow.
func CheckCell(c Cell) RowVerdict {
	var checks []Check
	for _, law := range []func(Cell) []Check{cellLittle, cellSlots, cellSum, cellUtilisation, cellPercentiles} {
		checks = append(checks, law(c)...)
	}
	return verdictOf(c.Row, c.Scenario, checks)
}

// cellLittle is the interactive response time law, N = X·(R + Z), with X and R over all requests that ended. More in flight than
// there are users cannot be; fewer means users who did not work as planned.
func cellLittle(c Cell) []Check {
	x, okX := c.EndedPerSec.positive()
	r, okR := c.MeanHeldMS.positive()
	if !c.Closed || c.Concurrency <= 0 || !okX || !okR || c.WindowSeconds < shortestWindow || r/1000 > edgeLimit*c.WindowSeconds {
		return nil
	}
	tolerance := ToleranceForWindow(c.WindowSeconds)
	users := x * (r + c.ThinkMS) / 1000
	deviation := users/c.Concurrency - 1
	text := fmt.Sprintf("%s/s × (%s ms + %s ms think time) = %s of %s users, %+.2f %% where ±%s is allowed",
		num(x), num(r), num(c.ThinkMS), num(users), num(c.Concurrency), deviation*100, pct(tolerance))
	verdict := Consistent
	switch {
	case deviation > tolerance:
		verdict = Impossible
	case deviation < -tolerance:
		verdict = Suspicious
		text += ": users stood idle, or requests were lost"
	}
	return []Check{check(LawLittle, verdict, c.Concurrency, users, "users", text)}
}

// cellSlots: each slot ends at most window / service + 1 requests in a window, the last one begun before it.
func cellSlots(c Cell) []Check {
	var out []Check
	for _, s := range c.Slots {
		if s.Slots <= 0 || s.ServiceMS <= 0 || c.WindowSeconds <= 0 {
			continue
		}
		limit := s.Slots * (c.WindowSeconds*1000/s.ServiceMS + 1)
		verdict := Consistent
		if float64(c.Success) > limit*(1+measuredSlack) {
			verdict = Impossible
		}
		text := fmt.Sprintf("%s: %s slots × (%s s / %s ms + 1) = %s successes at most, found %d",
			s.Name, num(s.Slots), num(c.WindowSeconds), num(s.ServiceMS), num(limit), c.Success)
		out = append(out, check(LawSlotCeiling, verdict, limit, float64(c.Success), "successes", text))
	}
	return out
}

// cellSum: every request planned ends in exactly one class.
func cellSum(c Cell) []Check {
	if len(c.Outcomes) == 0 {
		return nil
	}
	var sum int64
	for _, o := range c.Outcomes {
		sum += o.Count
	}
	verdict := Consistent
	if sum != c.Planned {
		verdict = Impossible
	}
	text := fmt.Sprintf("outcomes sum to %d of %d planned", sum, c.Planned)
	return []Check{check(LawSum, verdict, float64(c.Planned), float64(sum), "requests", text)}
}

// cellUtilisation: a resource is busy at most all the time (the utilisation law, U = X·S <= m).
func cellUtilisation(c Cell) []Check {
	var out []Check
	for _, u := range c.Utilisation {
		if u.Capacity <= 0 {
			continue
		}
		verdict := Consistent
		if u.Busy > u.Capacity*(1+ToleranceForWindow(c.WindowSeconds)) {
			verdict = Impossible
		}
		text := fmt.Sprintf("%s: busy %s of %s = %s", u.Name, num(u.Busy), num(u.Capacity), pct(u.Busy/u.Capacity))
		out = append(out, check(LawUtilisation, verdict, u.Capacity, u.Busy, u.Name, text))
	}
	return out
}

// cellPercentiles bounds the mean by each percentile: the share 1−q took at least P, and the share q at most P, the rest at most the
// maximum: (1−q)·P <= mean <= q·P + (1−q)·max.
func cellPercentiles(c Cell) []Check {
	mean, ok := c.MeanMS.positive()
	inner := checker{row: Row{MeanMS: c.MeanMS, Percentiles: c.Percentiles}, tolerance: histogramSlack}
	out := inner.percentileOrder()
	if !ok {
		return out
	}
	for _, p := range inner.row.sortedPercentiles() {
		out = append(out, inner.meanBelow(p, mean)...)
		longest, known := c.MaxMS.Get()
		if !known {
			continue
		}
		most := p.Q*p.MS + (1-p.Q)*longest
		verdict := Consistent
		if inner.above(mean, most) {
			verdict = Impossible
		}
		text := fmt.Sprintf("%s of successes took at most %s = %s ms, the rest at most %s ms: mean at most %s ms, found %s ms",
			pct(p.Q), p.Name, num(p.MS), num(longest), num(most), num(mean))
		out = append(out, check(LawPercentileMean, verdict, most, mean, "ms", text))
	}
	return out
}
