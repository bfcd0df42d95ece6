// Package audit holds figures against physics: Little's law, the slot ceiling, what a mean and a percentile allow of each other, what a
// bounded queue can explain, sums and ranges. It needs no access to the system that was measured.
//
// Each check shows its arithmetic, so that a reader can repeat it with a pencil. A row that breaks a law under every reading is
// impossible; a row that needs an unusual reading is suspicious and the reading is named; all others are consistent, which is not the same
// as true. CheckRows judges tables of others, CheckCell a cell that Loadline measured itself.
//
// Sources: J. D. C. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9 (1961); P. J. Denning and J. P. Buzen, "The
// Operational Analysis of Queueing Network Models", ACM Computing Surveys 10 (1978): the utilisation law, Little's law and the interactive
// response time law need no assumption on distributions.
package audit

import (
	"fmt"
	"math"
)

// PublishedTolerance is the relative deviation allowed to rounded figures of others.
const PublishedTolerance = 0.05

// queueSlack is how far above what pool and queue explain a tail may lie before it must come from elsewhere: service times vary.
const queueSlack = 1.5

// CheckRows judges each row by every law that its known figures allow. The tolerance is relative (0.05 = 5 %); use PublishedTolerance for
// figures of others.
func CheckRows(rows []Row, tolerance float64) []RowVerdict {
	out := make([]RowVerdict, 0, len(rows))
	for _, r := range rows {
		out = append(out, CheckRow(r, tolerance))
	}
	return out
}

// CheckRow judges one row. A row with a figure below zero or a share above one is judged by that alone: no law holds for such numbers.
func CheckRow(r Row, tolerance float64) RowVerdict {
	if broken := checkRanges(r); len(broken) > 0 && verdictOf(0, "", broken).Verdict == Impossible {
		return verdictOf(r.Row, r.Scenario, broken)
	}
	c := checker{row: r, tolerance: tolerance, rate: ratesOf(r), slots: slotsOf(r)}
	checks := checkRanges(r)
	for _, law := range []func() []Check{c.sums, c.little, c.slotCeiling, c.percentileOrder, c.percentileMean, c.queueBound} {
		checks = append(checks, law()...)
	}
	return verdictOf(r.Row, r.Scenario, checks)
}

// checker holds one row and what follows from it.
type checker struct {
	row       Row
	tolerance float64
	rate      rates
	slots     slots
}

func (c checker) above(found, limit float64) bool { return found > limit*(1+c.tolerance) }
func (c checker) below(found, limit float64) bool { return found < limit*(1-c.tolerance) }
func (c checker) near(a, b float64) bool          { return !c.above(a, b) && !c.below(a, b) }

// little applies Little's law to the users of a closed loop: N = X·(R + Z), so X·R <= N whatever the pause Z.
func (c checker) little() []Check {
	n, okN := c.row.Concurrency.positive()
	x, okX := c.rate.completed.positive()
	r, okR := c.row.MeanMS.positive()
	if !okN || !okX || !okR {
		return nil
	}
	inFlight := x * r / 1000
	product := fmt.Sprintf("%s/s × %s ms = %s in flight", num(x), num(r), num(inFlight))
	verdict := Consistent
	text := fmt.Sprintf("%s of %s users", product, num(n))
	idleMS := n/x*1000 - r
	think, stated := c.row.ThinkMS.Get()
	switch {
	case c.above(inFlight, n):
		verdict, text = Impossible, fmt.Sprintf("%s, not %s: impossible at any think time", product, num(n))
	case stated:
		return []Check{c.littleWithThink(n, x, r, think)}
	case c.below(inFlight, n):
		verdict = Suspicious
		text = fmt.Sprintf("%s, not %s: %s users idle, %s ms each between requests", product, num(n), num(n-inFlight), num(idleMS))
	}
	return []Check{check(LawLittle, verdict, n, inFlight, "requests in flight", text)}
}

// littleWithThink is Little's law where the pause is stated: N = X·(R + Z).
func (c checker) littleWithThink(n, x, r, think float64) Check {
	users := x * (r + think) / 1000
	text := fmt.Sprintf("%s/s × (%s ms + %s ms think time) = %s of %s users", num(x), num(r), num(think), num(users), num(n))
	verdict := Consistent
	switch {
	case c.above(users, n):
		verdict = Suspicious
		text += fmt.Sprintf(": only if users paused %s ms, not the stated %s ms", num(n/x*1000-r), num(think))
	case c.below(users, n):
		verdict = Suspicious
		text += fmt.Sprintf(": %s users idle beyond the stated think time, %s ms each", num(n-users), num(n/x*1000-r-think))
	}
	return check(LawLittle, verdict, n, users, "users", text)
}

// slotCeiling holds successes against what the slots can serve: X <= m / S. Users are slots too: a user has one request at a time.
func (c checker) slotCeiling() []Check {
	s, ok := c.row.ServiceTimeMS.positive()
	x, okX := c.rate.any().positive()
	if !ok || !okX {
		return nil
	}
	var out []Check
	if m, known := c.slots.count.positive(); known {
		if c.slots.soft {
			out = append(out, c.callerRunsNote(m, s, x))
		} else {
			out = append(out, c.ceiling(m, s, x, c.slots.why))
		}
	}
	n, okN := c.row.Concurrency.positive()
	if m, known := c.slots.count.positive(); okN && (!known || c.slots.soft || n < m) {
		out = append(out, c.ceiling(n, s, x, fmt.Sprintf("%s users hold at most one request each", num(n))))
	}
	return out
}

// ceiling compares the success rate with slots / service time. The verdict depends on what share of the rate may be refusals.
func (c checker) ceiling(m, s, x float64, why string) Check {
	limit := m / s * 1000
	success := x * (1 - c.rate.refusedLow)
	text := fmt.Sprintf("%s: %s / %s ms = %s/s", why, num(m), num(s), num(limit))
	verdict := Consistent
	switch {
	case c.above(x*(1-c.rate.refusedHigh), limit):
		verdict = Impossible
		text += " against " + c.rate.successes(x) + ": impossible"
	case c.above(success, limit):
		verdict = Suspicious
		text += fmt.Sprintf(" against %s: holds only if %s or more of it were refusals (%s)", c.rate.describe(x), pct(1-limit/x), c.rate.reading)
	default:
		text += " against " + c.rate.successes(x)
		if success > limit {
			text += fmt.Sprintf(", %s over, within the tolerance of %s", pct(success/limit-1), pct(c.tolerance))
		}
		if c.rate.refusedLow > 0 && c.above(x, limit) {
			text += fmt.Sprintf("; were all %s/s successes it would be impossible", num(x))
		}
	}
	return check(LawSlotCeiling, verdict, limit, success, "successes/s", text)
}

// callerRunsNote says why max is no ceiling where the caller's own thread works when the pool is full.
func (c checker) callerRunsNote(m, s, x float64) Check {
	limit := m / s * 1000
	text := fmt.Sprintf("%s: %s / %s ms = %s/s against %s/s; no ceiling, since callers run tasks too", c.slots.why, num(m), num(s), num(limit), num(x))
	if x > limit {
		text = fmt.Sprintf("%s/s above %s / %s ms = %s/s is possible only because callers run tasks too", num(x), num(m), num(s), num(limit))
	}
	return check(LawSlotCeiling, Consistent, limit, x, "successes/s", text)
}

// queueBound holds the tail against the longest wait that pool and queue explain: S·(1 + ceil(q/w)).
func (c checker) queueBound() []Check {
	s, okS := c.row.ServiceTimeMS.positive()
	w, okW := c.slots.count.positive()
	q, okQ := c.row.Queue.Get()
	if !okS || !okW || !okQ || math.IsInf(q, 1) {
		return nil
	}
	explained := s * (1 + math.Ceil(q/w))
	var out []Check
	for _, p := range c.row.sortedPercentiles() {
		if p.Q != 0.95 && p.Q != 0.99 {
			continue
		}
		verdict := Consistent
		text := fmt.Sprintf("%s workers and a queue of %s explain %s × (1 + ceil(%s / %s)) = %s ms, %s is %s ms",
			num(w), num(q), num(s), num(q), num(w), num(explained), p.Name, num(p.MS))
		if p.MS > queueSlack*explained {
			verdict = Suspicious
			text += fmt.Sprintf(", more than %s × that: the rest must come from elsewhere", num(queueSlack))
		}
		out = append(out, check(LawQueueBound, verdict, explained, p.MS, "ms", text))
	}
	return out
}
