// Package slo reads service level objectives and judges measured figures by them: pass, fail, or no evidence.
//
// Opinion: an objective on a percentile is a statement on a share of requests, so it is judged by counting those above the bound and by
// exact binomial limits, not by comparing an estimate. Where the samples prove neither side, the verdict is no evidence: no data is never a
// pass, and a p99 of 98 ms from 400 requests does not prove 100 ms.
package slo

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Metric is what a term bounds.
type Metric uint8

// The metrics.
const (
	Percentile Metric = iota // response time of successes, from above
	MeanTime                 // mean response time of successes, from above
	Success                  // share of planned requests that succeeded, from below
	Rejected                 // share of completions that were rejected, from above
	Goodput                  // successes within the objective's latency bound per second, from below
)

// Term is one condition.
type Term struct {
	Metric Metric
	Name   string        // as normalised: p99, mean, success, rejected, goodput
	Q      float64       // of a percentile, 0…1
	Time   time.Duration // bound of a percentile or mean
	Ratio  float64       // bound of success or rejected, 0…1
	PerSec float64       // bound of goodput
	// Inclusive says that the bound itself is allowed (<= or >=).
	Inclusive bool
}

// SLO is a list of conditions that must all hold. The zero value asks nothing.
type SLO struct{ Terms []Term }

// LatencyBound is the longest response that breaks no percentile term by itself: the largest of their bounds, which is what goodput counts
// against. ok is false where no percentile is bounded; then every success is good.
func (s SLO) LatencyBound() (bound time.Duration, ok bool) {
	for _, t := range s.Terms {
		if t.Metric == Percentile {
			bound, ok = max(bound, t.Time), true
		}
	}
	return bound, ok
}

// String is the form that Parse reads.
func (s SLO) String() string {
	parts := make([]string, len(s.Terms))
	for i, t := range s.Terms {
		parts[i] = t.String()
	}
	return strings.Join(parts, ",")
}

// String is the term as Parse reads it.
func (t Term) String() string { return t.Name + t.op() + t.bound() }

func (t Term) above() bool { return t.Metric == Success || t.Metric == Goodput }

func (t Term) op() string {
	op := "<"
	if t.above() {
		op = ">"
	}
	if t.Inclusive {
		op += "="
	}
	return op
}

func (t Term) bound() string {
	switch t.Metric {
	case Success, Rejected:
		return formatPercent(t.Ratio)
	case Goodput:
		return strconv.FormatFloat(t.PerSec, 'f', -1, 64) + "/s"
	default:
		return t.Time.String()
	}
}

// formatPercent writes the shortest percentage that reads back as the same ratio.
func formatPercent(ratio float64) string {
	for digits := 0; digits < 17; digits++ {
		s := strconv.FormatFloat(ratio*100, 'f', digits, 64)
		if v, err := parsePercent(s); err == nil && v == ratio {
			return s + "%"
		}
	}
	return strconv.FormatFloat(ratio*100, 'f', -1, 64) + "%"
}

// parsePercent reads a percentage as the ratio nearest to it: dividing by 100 would round twice, and 99.9 % would not be 0.999.
func parsePercent(digits string) (float64, error) { return strconv.ParseFloat(digits+"e-2", 64) }

const forms = "p99<100ms (any percentile), mean<20ms, success>99.9%, rejected<1%, goodput>100/s"

// Parse reads terms separated by commas, such as p99<10ms,success>99.9%. An empty text asks nothing. Faults of all terms are joined.
func Parse(text string) (SLO, error) {
	var s SLO
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	var faults []error
	for i, part := range strings.Split(text, ",") {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			faults = append(faults, fmt.Errorf("term %d: %w", i+1, err))
			continue
		}
		s.Terms = append(s.Terms, t)
	}
	if err := errors.Join(append(faults, s.twice())...); err != nil {
		return SLO{}, err
	}
	return s, nil
}

func parseTerm(text string) (Term, error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return Term{}, fmt.Errorf("%q has no < or >; allowed: %s", text, forms)
	}
	name, op, value := strings.TrimSpace(text[:at]), text[at:at+1], text[at+1:]
	value, inclusive := strings.CutPrefix(value, "=")
	t, err := newTerm(name, strings.TrimSpace(value))
	if err != nil {
		return Term{}, err
	}
	t.Inclusive = inclusive
	if (op == ">") != t.above() {
		return Term{}, fmt.Errorf("%q is bounded from the wrong side; write %s", text, t)
	}
	return t, nil
}

// Pair is one entry of the YAML form {p99: 100ms, success: 99.9%}: the side of the bound follows from the name, the bound itself is allowed.
type Pair struct{ Name, Value string }

// FromPairs reads the YAML form. Faults of all entries are joined.
func FromPairs(pairs []Pair) (SLO, error) {
	var s SLO
	var faults []error
	for _, p := range pairs {
		t, err := newTerm(strings.TrimSpace(p.Name), strings.TrimSpace(p.Value))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		t.Inclusive = true
		s.Terms = append(s.Terms, t)
	}
	if err := errors.Join(append(faults, s.twice())...); err != nil {
		return SLO{}, err
	}
	return s, nil
}

// twice finds metrics bounded more than once.
func (s SLO) twice() error {
	seen := map[string]bool{}
	var faults []error
	for _, t := range s.Terms {
		if seen[t.Name] {
			faults = append(faults, fmt.Errorf("%s is bounded twice; keep one", t.Name))
		}
		seen[t.Name] = true
	}
	return errors.Join(faults...)
}

func newTerm(name, value string) (Term, error) {
	lower := strings.ToLower(name)
	switch lower {
	case "mean":
		return timeTerm(Term{Metric: MeanTime, Name: lower}, value)
	case "success":
		return ratioTerm(Term{Metric: Success, Name: lower}, value)
	case "rejected":
		return ratioTerm(Term{Metric: Rejected, Name: lower}, value)
	case "goodput":
		return rateTerm(Term{Metric: Goodput, Name: lower}, value)
	}
	q, canonical, ok := parsePercentile(lower)
	if !ok {
		return Term{}, fmt.Errorf("unknown metric %q; allowed: %s", name, forms)
	}
	return timeTerm(Term{Metric: Percentile, Name: canonical, Q: q}, value)
}

// parsePercentile reads p50, p99, p99.9 and p999: two digits are a percentage, three and more, beginning with a nine, a decimal fraction.
func parsePercentile(name string) (q float64, canonical string, ok bool) {
	digits, cut := strings.CutPrefix(name, "p")
	if !cut || strings.ContainsAny(digits, "+-eExX_") {
		return 0, "", false
	}
	if len(digits) > 2 && digits[0] == '9' && !strings.Contains(digits, ".") {
		digits = digits[:2] + "." + digits[2:] // 999 is 99.9
	}
	q, err := parsePercent(digits)
	if err != nil || !(q > 0 && q < 1) {
		return 0, "", false
	}
	return q, "p" + strings.TrimSuffix(formatPercent(q), "%"), true
}

func timeTerm(t Term, value string) (Term, error) {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return Term{}, fmt.Errorf("%s: found %q, allowed: a duration above zero with its unit, such as 100ms or 1.5s", t.Name, value)
	}
	t.Time = d
	return t, nil
}

func ratioTerm(t Term, value string) (Term, error) {
	digits, cut := strings.CutSuffix(value, "%")
	v, err := parsePercent(strings.TrimSpace(digits))
	if err != nil || !cut || !(v >= 0 && v <= 1) {
		return Term{}, fmt.Errorf("%s: found %q, allowed: 0%% to 100%%, with the sign, such as 99.9%%", t.Name, value)
	}
	t.Ratio = v
	return t, nil
}

func rateTerm(t Term, value string) (Term, error) {
	digits, cut := strings.CutSuffix(value, "/s")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || !cut || !(v > 0) || math.IsInf(v, 0) {
		return Term{}, fmt.Errorf("%s: found %q, allowed: a rate above zero, such as 100/s", t.Name, value)
	}
	t.PerSec = v
	return t, nil
}
