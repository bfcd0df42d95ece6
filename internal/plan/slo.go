package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// An SLO is a list of promises, all to be held: p99<100ms,success>99.9%. Terms are a latency (p and a percentile, mean or max) below a
// duration, a share of the answers (success above, any other outcome below), or goodput above a rate per second.

const sloAllowed = "terms such as p99<100ms, mean<20ms, max<1s, success>99.9%, rejected<1%, goodput>1000, joined by commas"

// slo reads the promises as a text or as a mapping of names and limits and writes them in the text's form.
func (r *reader) slo(n *node, key string) string {
	var terms []string
	switch n.kind {
	case mapping:
		for _, e := range r.open(n, key, sloAllowed).node.entry {
			value := r.text(e.value, join(key, e.key), "a limit")
			term, err := sloTerm(e.key, sloDirection(e.key), value)
			if err != nil {
				r.add(Fault{Line: e.line, Key: join(key, e.key), Found: err.Error(), Allowed: sloAllowed})
			}
			terms = append(terms, term)
		}
	case text:
		for part := range strings.SplitSeq(n.value, ",") {
			term, err := sloText(part)
			if err != nil {
				r.add(Fault{Line: n.line, Key: key, Found: err.Error(), Allowed: sloAllowed})
			}
			terms = append(terms, term)
		}
	default:
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: sloAllowed})
	}
	if n.kind == mapping && len(terms) == 0 {
		r.add(Fault{Line: n.line, Key: key, Found: "no promise", Allowed: sloAllowed, Do: "remove slo"})
	}
	return strings.Join(terms, ",")
}

// sloDirection is the side on which a figure is good.
func sloDirection(name string) string {
	if name == "success" || name == "goodput" {
		return ">"
	}
	return "<"
}

func sloText(s string) (string, error) {
	s = strings.TrimSpace(s)
	at := strings.IndexAny(s, "<>")
	if at <= 0 {
		return "", fmt.Errorf("the term %q", shorten(s))
	}
	op, rest := s[at:at+1], s[at+1:]
	if strings.HasPrefix(rest, "=") {
		op, rest = op+"=", rest[1:]
	}
	return sloTerm(strings.TrimSpace(s[:at]), op, strings.TrimSpace(rest))
}

// sloTerm checks one promise and writes it without spaces.
func sloTerm(name, op, value string) (string, error) {
	term := name + op + value
	if !strings.HasPrefix(op, sloDirection(name)) {
		return "", fmt.Errorf("the term %q, which no good result can hold", shorten(term))
	}
	ok := false
	switch {
	case name == "goodput":
		v, err := strconv.ParseFloat(strings.TrimSuffix(value, "/s"), 64)
		ok = err == nil && v > 0 && v <= maxRate
	case isLatency(name):
		d, err := time.ParseDuration(value)
		ok = err == nil && d > 0
	case isShare(name):
		ok = isRatio(value)
	}
	if !ok {
		return "", fmt.Errorf("the term %q", shorten(term))
	}
	return term, nil
}

// isLatency tells whether a name is a figure of latency: mean, max, or p and a percentile. Digits after the second are decimals: p999 is
// the 99.9th percentile, as p99.9 is.
func isLatency(name string) bool {
	digits, isPercentile := strings.CutPrefix(name, "p")
	if !isPercentile {
		return name == "mean" || name == "max"
	}
	whole, fraction, dotted := strings.Cut(digits, ".")
	if strings.Trim(whole+fraction, "0123456789") != "" || len(whole) == 0 || len(whole)+len(fraction) > 6 {
		return false
	}
	if dotted {
		return len(whole) <= 2 && fraction != ""
	}
	return true
}

func isShare(name string) bool {
	_, err := record.ParseOutcome(name)
	return err == nil
}

// isRatio accepts 99.9% and 0.999.
func isRatio(s string) bool {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	return err == nil && v >= 0 && v <= 1
}
