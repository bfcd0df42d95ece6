package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// An SLO is a list of promises, all to be held. This file checks and normalises their text; judging them is a question of a floor above.

const sloAllowed = "p99<100ms (any percentile), mean<20ms, success>99.9%, rejected<1%, goodput>100/s, joined by commas; or a mapping such as {p99: 100ms, success: 99.9%}"

// slo reads the promises as a text, or as a mapping whose limits are themselves allowed, and writes them in the text's form.
func (r *reader) slo(n *node, key string) string {
	var terms []string
	seen := map[string]bool{}
	add := func(line int, key string, t sloTerm) {
		if fault := t.fault(); fault != "" {
			r.add(Fault{Line: line, Key: key, Found: fault, Allowed: sloAllowed})
			return
		}
		if seen[t.figure()] {
			r.add(Fault{Line: line, Key: key, Found: t.name + " a second time", Allowed: "each figure once", Do: "keep one"})
		}
		seen[t.figure()] = true
		terms = append(terms, t.String())
	}
	switch {
	case n.kind == mapping && len(n.entry) > 0:
		for _, e := range r.open(n, key, sloAllowed).node.entry {
			at := join(key, e.key)
			add(e.line, at, sloTerm{name: e.key, op: sloSide(e.key) + "=", limit: r.text(e.value, at, "a limit")})
		}
	case n.kind == text:
		for part := range strings.SplitSeq(n.value, ",") {
			add(n.line, key, cutTerm(part))
		}
	default:
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: sloAllowed, Do: "remove slo if nothing is promised"})
	}
	return strings.Join(terms, ",")
}

// sloTerm is one promise: a figure and the limit that it must stay below or above.
type sloTerm struct{ name, op, limit string }

func (t sloTerm) String() string { return t.name + t.op + t.limit }

// cutTerm takes a text apart; what is no term comes back without an op.
func cutTerm(s string) sloTerm {
	s = strings.TrimSpace(s)
	at := strings.IndexAny(s, "<>")
	if at < 0 {
		return sloTerm{name: s}
	}
	t := sloTerm{name: strings.TrimSpace(s[:at]), op: s[at : at+1]}
	limit, inclusive := strings.CutPrefix(s[at+1:], "=")
	if inclusive {
		t.op += "="
	}
	t.limit = strings.TrimSpace(limit)
	return t
}

// sloSide is the side on which a figure is good.
func sloSide(name string) string {
	if name == "success" || name == "goodput" {
		return ">"
	}
	return "<"
}

// figure is what the term bounds: p99.9 and p999 are the same.
func (t sloTerm) figure() string {
	if q, ok := percentile(t.name); ok {
		return "p" + strconv.FormatFloat(q, 'g', 12, 64)
	}
	return t.name
}

// fault says what was found where the term is wrong; empty: it is right.
func (t sloTerm) fault() string {
	_, isPercentile := percentile(t.name)
	ok := false
	switch {
	case t.name == "goodput":
		ok = inUnit(t.limit, "/s", math.MaxFloat64) && !inUnit(t.limit, "/s", 0)
	case t.name == "success" || t.name == "rejected":
		ok = inUnit(t.limit, "%", 100)
	case isPercentile || t.name == "mean":
		d, err := time.ParseDuration(t.limit)
		ok = err == nil && d > 0
	}
	term := fmt.Sprintf("the term %q", shorten(t.String()))
	if !ok {
		return term
	}
	if !strings.HasPrefix(t.op, sloSide(t.name)) {
		return term + ", which is bounded from the wrong side"
	}
	return ""
}

// inUnit tells whether s is a number from 0 to most with the unit.
func inUnit(s, unit string, most float64) bool {
	digits, ok := strings.CutSuffix(s, unit)
	v, err := strconv.ParseFloat(digits, 64)
	return ok && err == nil && v >= 0 && v <= most
}

// percentile reads p50, p99.9 or p999: from the third digit on, digits after a nine are decimals.
func percentile(name string) (float64, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	if !ok || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	if len(digits) > 2 && digits[0] == '9' && !strings.Contains(digits, ".") {
		digits = digits[:2] + "." + digits[2:]
	}
	v, err := strconv.ParseFloat(digits, 64)
	return v, err == nil && v > 0 && v < 100
}
