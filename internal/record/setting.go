package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Factor is one varied name with one value: a string, int64, float64 or bool.
type Factor struct {
	Name  string
	Value any
}

// Setting is one combination of the varied values, in the plan's order. The zero value is the only setting of a plan that varies
// nothing.
type Setting []Factor

// Value finds a factor by name.
func (s Setting) Value(name string) (any, bool) {
	for _, f := range s {
		if f.Name == name {
			return f.Value, true
		}
	}
	return nil, false
}

// Key identifies the setting: equal settings have equal keys, whatever the order of their factors' declaration in one plan.
func (s Setting) Key() string {
	parts := make([]string, len(s))
	for i, f := range s {
		parts[i] = fmt.Sprintf("%s=%v", f.Name, f.Value)
	}
	return strings.Join(parts, " ")
}

// String is the form shown to people: «isolation=thread slots=10», or «default» where nothing varies.
func (s Setting) String() string {
	if len(s) == 0 {
		return "default"
	}
	return s.Key()
}

// MarshalJSON writes an object whose keys keep the plan's order.
func (s Setting) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, fmt.Errorf("setting %s: %w", f.Name, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object and keeps the order of its keys. Whole numbers become int64, others float64.
func (s *Setting) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("setting: want an object, found %.40s", data)
	}
	*s = nil
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if n, ok := value.(json.Number); ok {
			value = number(n)
		}
		*s = append(*s, Factor{Name: name.(string), Value: value})
	}
	return nil
}

func number(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return f
}
