package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// parse reads one JSON object into a value. What encoding/json would let pass is a fault: a key that stands twice, of which the last would
// win, a key in other letters (POOLS), an unknown one, text after the end, and null.
func parse(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return jsonFault(text, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: text after the document's end", lineAt(text, decoder.InputOffset()))
	}
	w := walker{text: text, decoder: json.NewDecoder(bytes.NewReader(text))}
	w.decoder.UseNumber() // else a number that no float64 holds would end the walk
	if first, _ := w.decoder.Token(); first != json.Delim('{') {
		return fmt.Errorf("line 1: found %v: an object is allowed", jsonText(first))
	}
	w.object("", reflect.TypeOf(into).Elem())
	return errors.Join(w.faults...)
}

func jsonText(token json.Token) string {
	text, err := json.Marshal(token)
	if err != nil {
		return fmt.Sprint(token)
	}
	return string(text)
}

// walker looks at the keys of a text that has been read already, so that it holds no syntax errors and is not too deep.
type walker struct {
	text    []byte
	decoder *json.Decoder
	faults  []error
}

func (w *walker) value(path string, t reflect.Type) {
	switch token, _ := w.decoder.Token(); token {
	case json.Delim('{'):
		w.object(path+".", t)
	case json.Delim('['):
		for i := 0; w.decoder.More(); i++ {
			w.value(fmt.Sprintf("%s[%d]", path, i), elemOf(t))
		}
		_, _ = w.decoder.Token() // its end
	}
}

func (w *walker) object(prefix string, t reflect.Type) {
	seen := map[string]int{}
	for w.decoder.More() {
		token, _ := w.decoder.Token()
		key, _ := token.(string)
		line := lineAt(w.text, w.decoder.InputOffset())
		if first, twice := seen[key]; twice {
			w.faults = append(w.faults, fmt.Errorf("line %d: %s: the key stands twice, on line %d too; keep one of the two", line, prefix+key, first))
		}
		seen[key] = line
		inner := elemOf(t)
		if t != nil && t.Kind() == reflect.Struct {
			var known []string
			inner, known = fieldOf(t, key)
			if inner == nil {
				w.faults = append(w.faults, fmt.Errorf("line %d: %w", line, unknownKey(prefix+key, key, known)))
			}
		}
		w.value(prefix+key, inner)
	}
	_, _ = w.decoder.Token() // its end
}

// elemOf is what a map or a list holds; nil where anything may stand.
func elemOf(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Map && t.Kind() != reflect.Slice {
		return nil
	}
	return t.Elem()
}

// fieldOf is the type of the field that JSON writes under the key, nil where there is none, and the keys that there are.
func fieldOf(t reflect.Type, key string) (found reflect.Type, known []string) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known = append(known, name)
		if name == key {
			found = t.Field(i).Type
		}
	}
	return found, known
}
