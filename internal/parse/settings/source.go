package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// source is the properties of an application, looked up as Spring does: the last of a key wins; case, dashes and underscores in a
// property's name do not count; ${name:default} is resolved within the files. Names that people choose (routes, instances) are kept.
type source struct {
	all    []limits.Property
	last   map[string]limits.Property // by canonical key
	faults []limits.Fault
	seen   map[limits.At]bool // places whose faults are noted
}

func newSource(all []limits.Property) *source {
	s := &source{all: all, last: make(map[string]limits.Property, len(all)), seen: map[limits.At]bool{}}
	for _, p := range all {
		s.last[canonical(p.At.Key)] = p
	}
	return s
}

// canonical is a key in Spring's uniform form.
func canonical(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return r
	}, strings.ToLower(key))
}

// has tells whether any key begins with a prefix (canonical, with its dot).
func (s *source) has(prefix string) bool {
	for key := range s.last {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// names are the parts of keys right below a prefix, as they are written, in order of appearance.
func (s *source) names(prefix string) []string {
	var out []string
	dots := strings.Count(prefix, ".")
	for _, p := range s.all {
		if !strings.HasPrefix(canonical(p.At.Key)+".", canonical(prefix)) {
			continue
		}
		parts := strings.Split(p.At.Key, ".")
		if len(parts) > dots && parts[dots] != "" && !slices.Contains(out, parts[dots]) {
			out = append(out, parts[dots])
		}
	}
	return out
}

// find is the property of the first key that is written.
func (s *source) find(keys ...string) (limits.Property, bool) {
	for _, key := range keys {
		if p, ok := s.last[canonical(key)]; ok {
			return s.resolve(p, 0)
		}
	}
	return limits.Property{}, false
}

// exact is find for names whose case matters (Ribbon, Hystrix).
func (s *source) exact(keys ...string) (limits.Property, bool) {
	for _, key := range keys {
		for _, p := range slices.Backward(s.all) {
			if p.At.Key == key {
				return s.resolve(p, 0)
			}
		}
	}
	return limits.Property{}, false
}

// resolve replaces a value that is one placeholder.
func (s *source) resolve(p limits.Property, depth int) (limits.Property, bool) {
	inner, ok := strings.CutPrefix(p.Value, "${")
	if !ok || !strings.HasSuffix(inner, "}") {
		return p, true
	}
	name, fallback, hasDefault := strings.Cut(strings.TrimSuffix(inner, "}"), ":")
	if q, ok := s.last[canonical(name)]; ok && depth < 8 {
		if r, known := s.resolve(q, depth+1); known {
			p.Value = r.Value
			return p, true
		}
	}
	if hasDefault {
		p.Value = fallback
		return p, true
	}
	s.fault(limits.Fault{Kind: limits.Unresolved, At: p.At, Text: fmt.Sprintf("%s is not in these files", p.Value),
		Next: "give the file that sets it too, or write a default: ${" + name + ":value}"})
	return p, false
}

// fault notes what is wrong at a place, once.
func (s *source) fault(f limits.Fault) {
	if s.seen[f.At] {
		return
	}
	s.seen[f.At] = true
	s.faults = append(s.faults, f)
}

func of[T any](s *source, p limits.Property, ok bool, parse func(string) (T, error), allowed string) limits.Of[T] {
	if !ok || p.Value == "" {
		return limits.Of[T]{}
	}
	v, err := parse(strings.TrimSpace(p.Value))
	if err != nil {
		s.fault(limits.Fault{Kind: limits.Invalid, At: p.At, Text: fmt.Sprintf("found %q", p.Value), Next: allowed + " is allowed"})
		return limits.Of[T]{}
	}
	return limits.Written(v, p.At)
}

func (s *source) int(keys ...string) limits.Of[int] {
	p, ok := s.find(keys...)
	return of(s, p, ok, parseCount, "a whole number")
}

func (s *source) exactInt(keys ...string) limits.Of[int] {
	p, ok := s.exact(keys...)
	return of(s, p, ok, parseCount, "a whole number")
}

func (s *source) bool(keys ...string) limits.Of[bool] {
	p, ok := s.find(keys...)
	return of(s, p, ok, parseSwitch, "true or false")
}

func (s *source) text(keys ...string) limits.Of[string] {
	p, ok := s.find(keys...)
	return of(s, p, ok, func(v string) (string, error) { return v, nil }, "text")
}

func (s *source) duration(unit time.Duration, keys ...string) limits.Of[time.Duration] {
	p, ok := s.find(keys...)
	return of(s, p, ok, durations(unit), "a duration such as 500ms, 10s or PT10S, or a number of "+unitName(unit))
}

func (s *source) exactMillis(keys ...string) limits.Of[time.Duration] {
	p, ok := s.exact(keys...)
	return of(s, p, ok, durations(time.Millisecond), "a number of milliseconds")
}

func (s *source) float(keys ...string) limits.Of[float64] {
	p, ok := s.find(keys...)
	return of(s, p, ok, parseFloat, "a number")
}

func parseFloat(v string) (float64, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return 0, strconv.ErrRange
	}
	return f, err
}

// parseCount reads a whole number within what Java's int and Go's int on every machine hold.
func parseCount(v string) (int, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(v, "_", ""), 10, 32)
	return int(n), err
}

func parseSwitch(v string) (bool, error) {
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, strconv.ErrSyntax
}

func unitName(unit time.Duration) string {
	if unit == time.Second {
		return "seconds"
	}
	return "milliseconds"
}

// durations reads Go's and Spring's simple form (10s, 500ms, 1d), ISO 8601 (PT1M30S), and a plain number in the unit.
func durations(unit time.Duration) func(string) (time.Duration, error) {
	return func(v string) (time.Duration, error) {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			if n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
				return 0, strconv.ErrRange
			}
			return time.Duration(n) * unit, nil
		}
		lower := strings.ToLower(v)
		if iso, ok := strings.CutPrefix(lower, "pt"); ok {
			return time.ParseDuration(iso)
		}
		if days, ok := strings.CutSuffix(lower, "d"); ok {
			n, err := strconv.ParseInt(days, 10, 32)
			return time.Duration(n) * 24 * time.Hour, err
		}
		return time.ParseDuration(lower)
	}
}
