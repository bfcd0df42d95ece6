package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/pool"
)

// Section is what a document says of one member: keys of its settings in lower case with underscores, such as keep_alive, and values as in
// JSON. Durations are text (500ms), choices their names, and a command's breaker is a section of its own.
type Section map[string]any

// special are numbers that settings documents write as words.
var special = map[string]map[int64]string{
	"queue":       {int64(pool.Unbounded): "unbounded"},
	"max_waiting": {int64(bulkhead.Unbounded): "unbounded"},
	"threshold":   {pool.RefuseAll: "refuse-all"},
}

// snake turns a field's name into a document's key: KeepAlive into keep_alive.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

var durationType = reflect.TypeFor[time.Duration]()

// encode writes every field of settings.
func encode(v reflect.Value) Section {
	out := Section{}
	for i := range v.NumField() {
		key, f := snake(v.Type().Field(i).Name), v.Field(i)
		switch {
		case f.Kind() == reflect.Struct:
			out[key] = encode(f)
		case f.Type() == durationType:
			out[key] = time.Duration(f.Int()).String()
		case f.Kind() == reflect.Uint8:
			out[key] = fmt.Sprint(f.Interface())
		case f.Kind() == reflect.Int:
			out[key] = intValue(key, f.Int())
		case f.Kind() == reflect.Float64:
			out[key] = f.Float()
		default:
			out[key] = f.Interface()
		}
	}
	return out
}

func intValue(key string, n int64) any {
	if word, ok := special[key][n]; ok {
		return word
	}
	return int(n)
}

// decode lays a section over settings. Each fault names the key, what was found and what is allowed.
func decode(v reflect.Value, s Section, path string) []error {
	var faults []error
	fields := map[string]int{}
	for i := range v.NumField() {
		fields[snake(v.Type().Field(i).Name)] = i
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		i, ok := fields[key]
		if !ok {
			faults = append(faults, unknownKey(path+key, key, slices.Sorted(maps.Keys(fields))))
			continue
		}
		if err := set(v.Field(i), key, s[key], path); err != nil {
			faults = append(faults, err...)
		}
	}
	return faults
}

func unknownKey(path, key string, known []string) error {
	if near, ok := limits.Nearest(key, known); ok {
		return fmt.Errorf("%s: no such key; did you mean %s?", path, near)
	}
	return fmt.Errorf("%s: no such key; known are %s", path, strings.Join(known, ", "))
}

func set(f reflect.Value, key string, value any, path string) []error {
	if f.Kind() == reflect.Struct {
		inner, ok := sectionOf(value)
		if !ok {
			return []error{wrong(path+key, value, "an object")}
		}
		return decode(f, inner, path+key+".")
	}
	if err := setLeaf(f, key, value, path); err != nil {
		return []error{err}
	}
	return nil
}

func setLeaf(f reflect.Value, key string, value any, path string) error {
	switch {
	case f.Type() == durationType:
		d, ok := durationOf(value)
		if !ok {
			return wrong(path+key, value, `a duration such as "500ms" or "10s"`)
		}
		f.SetInt(int64(d))
	case f.Kind() == reflect.Uint8:
		names := choices(f.Type())
		i := slices.Index(names, fmt.Sprint(value))
		if i < 0 {
			return wrong(path+key, value, "one of "+strings.Join(names, ", "))
		}
		f.SetUint(uint64(i))
	case f.Kind() == reflect.Int:
		n, ok := intOf(key, value)
		if !ok {
			return wrong(path+key, value, "a whole number"+words(key))
		}
		f.SetInt(n)
	case f.Kind() == reflect.Float64:
		x, ok := floatOf(value)
		if !ok {
			return wrong(path+key, value, "a number")
		}
		f.SetFloat(x)
	case f.Kind() == reflect.Bool:
		b, ok := value.(bool)
		if !ok {
			return wrong(path+key, value, "true or false")
		}
		f.SetBool(b)
	default:
		return fmt.Errorf("%s: cannot be set by a document", path+key)
	}
	return nil
}

func wrong(path string, found any, allowed string) error {
	text, err := json.Marshal(found)
	if err != nil {
		text = fmt.Append(nil, found)
	}
	return fmt.Errorf("%s: found %s: %s is allowed", path, text, allowed)
}

func words(key string) string {
	out := ""
	for _, word := range special[key] {
		out += ", or " + word
	}
	return out
}

// choices are the names of an enumeration's values: those that its String gives up to the first that is only a number.
func choices(t reflect.Type) []string {
	var out []string
	for i := range 256 {
		v := reflect.New(t).Elem()
		v.SetUint(uint64(i))
		name := fmt.Sprint(v.Interface())
		if strings.ContainsAny(name, "(0123456789") {
			break
		}
		out = append(out, name)
	}
	return out
}

func sectionOf(value any) (Section, bool) {
	switch v := value.(type) {
	case Section:
		return v, true
	case map[string]any:
		return v, true
	default:
		return nil, false
	}
}

func durationOf(value any) (time.Duration, bool) {
	switch v := value.(type) {
	case time.Duration:
		return v, true
	case string:
		d, err := time.ParseDuration(v)
		return d, err == nil
	case json.Number:
		return 0, v == "0"
	default:
		return 0, false
	}
}

func intOf(key string, value any) (int64, bool) {
	switch v := value.(type) {
	case int:
		return int64(v), true
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 32)
		return n, err == nil
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < 1<<31
	case string:
		for n, word := range special[key] {
			if word == v {
				return n, true
			}
		}
	}
	return 0, false
}

func floatOf(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case int:
		return float64(v), true
	case json.Number:
		x, err := v.Float64()
		return x, err == nil
	default:
		return 0, false
	}
}

// keys are the paths of all leaves, sorted, joined by dots.
func (s Section) keys(prefix string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if inner, ok := sectionOf(s[key]); ok {
			out = append(out, inner.keys(prefix+key+".")...)
			continue
		}
		out = append(out, prefix+key)
	}
	return out
}

// at is the value of a leaf.
func (s Section) at(path string) (any, bool) {
	head, tail, nested := strings.Cut(path, ".")
	value, ok := s[head]
	if !nested || !ok {
		return value, ok
	}
	inner, ok := sectionOf(value)
	if !ok {
		return nil, false
	}
	return inner.at(tail)
}

func (s Section) clone() Section {
	out := make(Section, len(s))
	for key, value := range s {
		if inner, ok := sectionOf(value); ok {
			out[key] = inner.clone()
			continue
		}
		out[key] = value
	}
	return out
}

// without is s less one leaf.
func (s Section) without(path string) Section {
	out := s.clone()
	head, tail, nested := strings.Cut(path, ".")
	if !nested {
		delete(out, head)
		return out
	}
	inner, _ := sectionOf(out[head])
	if inner = inner.without(tail); len(inner) > 0 {
		out[head] = inner
	} else {
		delete(out, head)
	}
	return out
}

// over is s with what other says laid over it.
func (s Section) over(other Section) Section {
	out := s.clone()
	for key, value := range other {
		inner, nested := sectionOf(value)
		below, both := sectionOf(out[key])
		switch {
		case nested && both:
			out[key] = below.over(inner)
		case nested:
			out[key] = inner.clone()
		default:
			out[key] = value
		}
	}
	return out
}

// difference is what a says otherwise than b, of two sections with the same keys.
func difference(a, b Section) Section {
	out := Section{}
	for key, value := range a {
		if inner, ok := sectionOf(value); ok {
			below, _ := sectionOf(b[key])
			if d := difference(inner, below); len(d) > 0 {
				out[key] = d
			}
			continue
		}
		if b[key] != value {
			out[key] = value
		}
	}
	return out
}
