package audit

import (
	"fmt"
	"math"
)

// rates is what a row's rate columns say together.
type rates struct {
	completed Figure // completions per second; at least this many where only successes are known
	success   Figure // successes per second where a column gives them apart from completions
	// The share of the rate that was refused lies in this range: equal ends where it is known, 0…1 where nothing is known.
	refusedLow, refusedHigh float64
	reading                 string // why refusals cannot be excluded
}

// any is the rate to hold against ceilings, of which refusedLow…refusedHigh were refusals.
func (r rates) any() Figure { return r.success.or(r.completed) }

// describe names the rate with its meaning.
func (r rates) describe(x float64) string {
	if r.success.known {
		return num(x) + " successes/s as reported"
	}
	return num(x) + " completed/s"
}

// successes writes the success rate and how it follows from completions; where the refused share is unknown, the rate as it stands.
func (r rates) successes(x float64) string {
	switch {
	case r.refusedHigh > r.refusedLow && r.refusedLow == 0:
		return r.describe(x)
	case r.refusedLow == 0:
		return num(x) + " successes/s"
	default:
		return fmt.Sprintf("%s successes/s (%s × %s)", num(x*(1-r.refusedLow)), num(x), pct(1-r.refusedLow))
	}
}

// ratesOf reads the rate columns of a row. Columns named tps or rps count successes unless refusals stand beside them or cannot be
// excluded; a column named completed counts every completion.
func ratesOf(r Row) rates {
	reported := r.TPS.larger(r.RPS)
	low, high, known := refusedShare(r)
	if r.RPSCompleted.known && reported.known {
		return rates{completed: r.RPSCompleted, success: reported}
	}
	counted := r.RPSCompleted
	if !counted.known && r.RefusalsBeside {
		counted = reported
	}
	if !counted.known && !reported.known {
		counted = requestsPerSecond(r)
	}
	if counted.known {
		if !known {
			return rates{completed: counted, refusedHigh: 1, reading: "the rate counts completions and the refused share is unknown"}
		}
		return rates{completed: counted, refusedLow: low, refusedHigh: high}
	}
	out := rates{completed: reported, success: reported}
	if limit, excluded := refusalsExcluded(r); !excluded {
		out.refusedHigh = 1
		out.reading = fmt.Sprintf("policy %s, and %s: refusals may have been counted", r.Policy, limit)
	}
	return out
}

// refusedShare is the range in which the refused share of completions lies. Where rejected and failed requests are both given, failed
// ones may contain the rejected ones or stand beside them.
func refusedShare(r Row) (low, high float64, known bool) {
	rejected, okR := r.RejectedPct.Get()
	rejected /= 100
	failed, okF := failedShare(r)
	switch {
	case okR && okF:
		return max(rejected, failed), min(1, rejected+failed), true
	case okR:
		return rejected, rejected, true
	case okF:
		return failed, failed, true
	default:
		return 0, 0, false
	}
}

func failedShare(r Row) (float64, bool) {
	failed, okF := r.Failed.Get()
	requests, okN := r.Requests.positive()
	if !okF || !okN {
		return 0, false
	}
	return min(1, failed/requests), true
}

func requestsPerSecond(r Row) Figure {
	requests, okN := r.Requests.Get()
	seconds, okS := r.Seconds.positive()
	if !okN || !okS {
		return Figure{}
	}
	return Known(requests / seconds)
}

// refusalsExcluded tells whether every user of a closed loop finds a place in pool and queue, or no policy that refuses is stated.
func refusalsExcluded(r Row) (why string, excluded bool) {
	if !r.refuses() {
		return "", true
	}
	n, okN := r.Concurrency.Get()
	q, okQ := r.Queue.Get()
	m, okM := r.Max.or(r.Slots).positive()
	if !okN || !okQ || !okM {
		return "the room in pool and queue is not known", false
	}
	if n <= m+q {
		return "", true
	}
	return fmt.Sprintf("%s users exceed max + queue = %s", num(n), num(m+q)), false
}

// slots is the number of requests that can be served at once, and why.
type slots struct {
	count Figure
	why   string
	soft  bool // callers run tasks too when the pool is full, so that the count is no ceiling
}

// slotsOf follows the pool's own rules: workers above core exist only once the queue is full, so a closed loop that fits into core and
// queue never has more than core workers, whatever the policy. Zero slots mean no limit.
func slotsOf(r Row) slots {
	if m, ok := r.Slots.Get(); ok {
		if m <= 0 {
			return slots{}
		}
		return slots{count: r.Slots, why: num(m) + " slots", soft: r.callerRuns()}
	}
	core, okC := r.Core.positive()
	q, okQ := r.Queue.Get()
	n, okN := r.Concurrency.Get()
	if okC && okQ && okN && n <= core+q {
		room := num(core + q)
		if math.IsInf(q, 1) {
			room = "unbounded"
		}
		return slots{count: r.Core, why: fmt.Sprintf("%s users <= core + queue = %s, so %s workers", num(n), room, num(core))}
	}
	if m, ok := r.Max.positive(); ok {
		return slots{count: r.Max, why: fmt.Sprintf("at most max = %s workers", num(m)), soft: r.callerRuns()}
	}
	return slots{}
}
