package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader turns nodes into typed values and notes every fault on the way; what is at fault reads as its default.
type reader struct {
	*faults
	// keepRefs leaves ${name} in what is text; otherwise its values stand there.
	keepRefs bool
}

// fields is a mapping under way: its known keys are read one by one.
type fields struct {
	r    *reader
	key  string
	node *node
	// broken: there was no mapping, which has been told; what is missing in it is not told as well.
	broken bool
}

// mapping checks that n is a mapping with no key but the allowed, none twice. The result is usable in any case.
func (r *reader) mapping(n *node, key string, allowed ...string) fields {
	f := fields{r: r, key: key, node: n}
	if n.kind != mapping {
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: "a mapping with the keys " + strings.Join(allowed, ", ")})
		f.node, f.broken = &node{kind: mapping, line: n.line}, true
		return f
	}
	f.checkTwice()
	for _, e := range n.entry {
		if slices.Contains(allowed, e.key) {
			continue
		}
		fault := Fault{Line: e.line, Key: join(key, e.key), Found: "an unknown key", Allowed: strings.Join(allowed, ", "), Do: "remove it"}
		if near := nearest(e.key, allowed); near != "" {
			fault.Do = fmt.Sprintf("did you mean %s?", near)
		}
		r.add(fault)
	}
	return f
}

// open is a mapping whose keys the user names.
func (r *reader) open(n *node, key, what string) fields {
	f := fields{r: r, key: key, node: n}
	if n.kind != mapping {
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: what})
		f.node, f.broken = &node{kind: mapping, line: n.line}, true
		return f
	}
	f.checkTwice()
	return f
}

func (f fields) checkTwice() {
	first := map[string]int{}
	for _, e := range f.node.entry {
		if line, twice := first[e.key]; twice {
			f.r.add(Fault{Line: e.line, Key: join(f.key, e.key), Found: fmt.Sprintf("the key a second time, first on line %d", line),
				Allowed: "each key once", Do: "remove one of the two"})
			continue
		}
		first[e.key] = e.line
	}
}

// find is the value of a key, nil where it is not given.
func (f fields) find(name string) *node {
	for _, e := range f.node.entry {
		if e.key == name {
			return e.value
		}
	}
	return nil
}

func (f fields) has(name string) bool { return f.find(name) != nil }

// need is find for a key that must be there.
func (f fields) need(name, what string) *node {
	n := f.find(name)
	if n == nil && !f.broken {
		f.r.add(Fault{Line: f.node.line, Key: join(f.key, name), Found: "no such key", Allowed: what, Do: "add it"})
	}
	return n
}

// fail notes a fault about one key of the mapping.
func (f fields) fail(name, found, allowed, do string) {
	line := f.node.line
	for _, e := range f.node.entry {
		if e.key == name {
			line = e.line
		}
	}
	f.r.add(Fault{Line: line, Key: join(f.key, name), Found: found, Allowed: allowed, Do: do})
}

// text reads a scalar as text; numbers and true or false are taken as they are written.
func (r *reader) text(n *node, key, what string) string {
	if n.kind == null || n.kind == mapping || n.kind == sequence {
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: what})
		return ""
	}
	if r.keepRefs {
		return n.raw
	}
	return n.value
}

// textOr reads the text of a key that may be missing.
func (f fields) textOr(name, what, fallback string) string {
	n := f.find(name)
	if n == nil {
		return fallback
	}
	return f.r.text(n, join(f.key, name), what)
}

// word reads one of a few words.
func (f fields) word(name, fallback string, allowed ...string) string {
	n := f.find(name)
	if n == nil {
		return fallback
	}
	if n.kind == text && slices.Contains(allowed, n.value) {
		return n.value
	}
	do := ""
	if near := nearest(n.value, allowed); near != "" {
		do = fmt.Sprintf("did you mean %s?", near)
	}
	f.fail(name, n.describe(), strings.Join(allowed, ", "), do)
	return fallback
}

// texts reads a list of texts.
func (r *reader) texts(n *node, key, what string) []string {
	if n.kind != sequence {
		do := ""
		if n.kind == text {
			do = fmt.Sprintf("write a list: [%s]", strings.Join(strings.Fields(shorten(n.value)), ", "))
		}
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: what, Do: do})
		return nil
	}
	out := make([]string, 0, len(n.items))
	for i, item := range n.items {
		out = append(out, r.text(item, fmt.Sprintf("%s[%d]", key, i), "text"))
	}
	return out
}

// span is an inclusive range of durations.
type span struct{ min, max time.Duration }

func (s span) String() string {
	return fmt.Sprintf("a duration with its unit, such as 500ms, 10s or 2m, from %v to %v", s.min, s.max)
}

// duration reads a duration of a key that may be missing.
func (f fields) duration(name string, fallback time.Duration, within span) time.Duration {
	n := f.find(name)
	if n == nil {
		return fallback
	}
	return f.r.duration(n, join(f.key, name), fallback, within)
}

func (r *reader) duration(n *node, key string, fallback time.Duration, within span) time.Duration {
	if n.kind != text && n.kind != number {
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: within.String()})
		return fallback
	}
	d, err := time.ParseDuration(n.value)
	switch {
	case n.value == "0" && within.min == 0:
		return 0
	case n.kind == number || (n.filled && isNumber(n.value)):
		r.add(Fault{Line: n.line, Key: key, Found: n.value + " without a unit", Allowed: within.String(), Do: fmt.Sprintf("write %ss or %sms", n.value, n.value)})
		return fallback
	case err != nil || d < within.min || d > within.max:
		r.add(Fault{Line: n.line, Key: key, Found: shorten(n.value), Allowed: within.String()})
		return fallback
	}
	return d
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// number reads a decimal number in a range; whole says that fractions are refused.
func (r *reader) number(n *node, key string, within bounds) (float64, bool) {
	v, ok := decimal(n)
	if ok && within.holds(v) {
		return v, true
	}
	do := ""
	if n.kind == text && !n.filled && isNumber(n.value) {
		do = "remove the quotes"
	}
	r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: within.String(), Do: do})
	return 0, false
}

// bounds is a range of numbers.
type bounds struct {
	min, max float64
	whole    bool
	above    bool // min itself is not in the range
}

func (b bounds) holds(v float64) bool {
	if b.whole && v != math.Trunc(v) {
		return false
	}
	return v <= b.max && (v > b.min || !b.above && v == b.min)
}

func (b bounds) String() string {
	kind := "a number"
	if b.whole {
		kind = "a whole number"
	}
	from := "from "
	if b.above {
		from = "above "
	}
	return fmt.Sprintf("%s %s%s to %s", kind, from, valueText(b.min), valueText(b.max))
}

// decimal reads plain decimal notation only: 010, 0x10 and 1_000 mean different things to different readers.
func decimal(n *node) (float64, bool) {
	if n.kind != number && !n.filled {
		return 0, false
	}
	digits := strings.TrimPrefix(n.value, "-")
	if digits == "" || strings.Trim(digits, "0123456789.eE+-") != "" || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		return 0, false
	}
	v, err := strconv.ParseFloat(n.value, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// whole reads a whole number of a key that may be missing.
func (f fields) whole(name string, fallback int, from, to int) int {
	n := f.find(name)
	if n == nil {
		return fallback
	}
	v, ok := f.r.number(n, join(f.key, name), bounds{min: float64(from), max: float64(to), whole: true})
	if !ok {
		return fallback
	}
	return int(v)
}

// fixed refuses a varied value under the key: it must be the same for all settings.
func (f fields) fixed(names ...string) {
	for _, name := range names {
		if n := f.find(name); n != nil && n.hasReference() {
			f.fail(name, n.describe(), "a value that is the same for all settings", "write it without ${…}")
		}
	}
}

func (n *node) hasReference() bool {
	if n.filled {
		return true
	}
	return slices.ContainsFunc(n.items, (*node).hasReference) ||
		slices.ContainsFunc(n.entry, func(e entry) bool { return e.value.hasReference() })
}
