package audit

import (
	"math"
	"sort"
	"strconv"
	"strings"
)

// Figure is a number that may be unknown. The zero value is unknown, which is never 0.
type Figure struct {
	value float64
	known bool
}

// Known is a figure that was reported. NaN counts as unknown.
func Known(v float64) Figure {
	if math.IsNaN(v) {
		return Figure{}
	}
	return Figure{value: v, known: true}
}

// Get is the number and whether it is known.
func (f Figure) Get() (float64, bool) { return f.value, f.known }

// positive is the number where it is known and above zero.
func (f Figure) positive() (float64, bool) { return f.value, f.known && f.value > 0 }

// or is f where it is known, else other.
func (f Figure) or(other Figure) Figure {
	if f.known {
		return f
	}
	return other
}

// larger is the larger of two figures, or the known one.
func (f Figure) larger(other Figure) Figure {
	if f.known && other.known {
		return Known(max(f.value, other.value))
	}
	return f.or(other)
}

// Row is one line of somebody's result table. Every figure is optional; the zero value is a row of which nothing is known.
type Row struct {
	Row      int // 1…, its place in the table
	Line     int // in the file it was read from; 0 where there is none
	Scenario string

	Concurrency   Figure // users of a closed loop
	ThinkMS       Figure // stated mean pause of a user between an answer and the next request
	Slots         Figure // workers or permits, whichever limit; 0: no limit
	Core          Figure // workers of a pool that exist before its queue fills
	Max           Figure // workers of a pool at most
	Queue         Figure // capacity; +Inf: unbounded
	Policy        string // what the pool does when full: abort, caller-runs, discard, discard-oldest, or another's own
	ServiceTimeMS Figure // how long one request holds one slot

	Requests Figure
	Failed   Figure
	Seconds  Figure

	RPS          Figure // requests per second
	TPS          Figure // transactions per second
	RPSCompleted Figure // completions per second, refusals among them
	// RefusalsBeside says that a column of failed or rejected requests stands beside the rates, so that RPS and TPS count every
	// completion, in this row even where the share itself is unknown.
	RefusalsBeside bool
	RejectedPct    Figure // 0…100, of completions

	MeanMS      Figure
	Percentiles []Percentile // in any order

	CPUPct                Figure
	ContextSwitchesPerSec Figure
}

// Percentile is a reported percentile: the share Q (0…1, exclusive) of responses took at most MS milliseconds.
type Percentile struct {
	Name string // as reported, such as p99
	Q    float64
	MS   float64
}

// sortedPercentiles is a copy in rising order of Q.
func (r Row) sortedPercentiles() []Percentile {
	out := append([]Percentile(nil), r.Percentiles...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].Q < out[j].Q })
	return out
}

// policy is the rejection policy in one spelling: CallerRunsPolicy, caller_runs and Caller Runs are one.
func (r Row) policy() string {
	p := strings.ToLower(r.Policy)
	p = strings.NewReplacer("-", "", "_", "", " ", "").Replace(p)
	return strings.TrimSuffix(p, "policy")
}

func (r Row) callerRuns() bool { return r.policy() == "callerruns" }

// refuses tells whether the stated policy drops work when the pool is full.
func (r Row) refuses() bool {
	switch r.policy() {
	case "abort", "discard", "discardoldest":
		return true
	default:
		return false
	}
}

// num writes a figure for a reader: whole from 100 up, else one decimal from 1 up, else three significant digits.
func num(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 100 || a == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 1:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// pct writes a ratio as a percentage.
func pct(ratio float64) string { return num(ratio*100) + " %" }
