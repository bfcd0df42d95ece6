// Package file brings settings documents from files into a registry: YAML or JSON (docs/formats/settings.md), or Hystrix's .properties, read
// once or watched. It stands apart from package registry so that the YAML library stays out of the core.
//
//	w, err := file.New(file.Config{Path: "settings.yaml", Registry: r})
//	…
//	if _, err := w.Apply(); err != nil { … }   // at the start: a faulty file is a reason not to begin
//	go func() { done <- w.Run(ctx) }()         // from then on: a faulty file leaves the old settings in force
package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loadline-dev/loadline/internal/parse/settings"
	"github.com/loadline-dev/loadline/registry"
)

// maxFile is the longest file that is read, in bytes.
const maxFile = 4 << 20

// Load reads a document from a YAML or JSON file.
func Load(name string) (registry.Document, error) {
	text, err := read(name)
	if err != nil {
		return registry.Document{}, err
	}
	return Parse(name, text)
}

func read(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("read settings: %s has %d bytes: at most %d are read", name, info.Size(), maxFile)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return text, nil
}

// Parse reads a document from YAML or JSON, which is a part of it. name is for errors, which give file, line, key, what was found and
// what is allowed, one fault a line.
func Parse(name string, text []byte) (registry.Document, error) {
	var tree map[string]any
	if err := decode(text, &tree); err != nil {
		return registry.Document{}, located(name, text, err)
	}
	if tree == nil {
		tree = map[string]any{} // An empty file says nothing, which is allowed.
	}
	if faults := errors.Join(textKeys("", tree)...); faults != nil {
		return registry.Document{}, located(name, text, faults)
	}
	plain, err := json.Marshal(tree)
	if err != nil {
		return registry.Document{}, fmt.Errorf("%s: %w", name, err)
	}
	d, err := registry.ParseDocument(plain)
	if err != nil {
		return registry.Document{}, located(name, text, err)
	}
	return d, nil
}

func decode(text []byte, into *map[string]any) (err error) {
	defer func() {
		if r := recover(); r != nil { // The decoder is not ours; whatever it meets must not end the program.
			err = fmt.Errorf("not YAML: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var second any
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return errors.New("text after the document's end (---): one document a file is read")
	}
	return nil
}

// textKeys reports keys that YAML takes for numbers and the like, which no member is called.
func textKeys(path string, tree any) (faults []error) {
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			faults = append(faults, textKeys(path+"."+key, v[key])...)
		}
	case map[any]any:
		for key, value := range v {
			if _, ok := key.(string); !ok {
				faults = append(faults, fmt.Errorf("%s: found the key %v, which is no text: put it in quotes", strings.TrimPrefix(path, "."), key))
			}
			faults = append(faults, textKeys(fmt.Sprintf("%s.%v", path, key), value)...)
		}
	case []any:
		for i, value := range v {
			faults = append(faults, textKeys(fmt.Sprintf("%s[%d]", path, i), value)...)
		}
	}
	return faults
}

// inLine is the line that the JSON reader names: of a text that the user never saw.
var inLine = regexp.MustCompile(`^line \d+: `)

// located puts file and line before each fault whose key stands in the file.
func located(name string, text []byte, err error) error {
	lines, syntax := settings.Lines(settings.File{Name: name, Text: text})
	if syntax != nil {
		if !strings.HasPrefix(syntax.Error(), name) {
			return fmt.Errorf("%s: %w", name, syntax)
		}
		return syntax
	}
	var faults []error
	for _, line := range strings.Split(err.Error(), "\n") {
		line = inLine.ReplaceAllString(line, "")
		key, _, _ := strings.Cut(line, ":")
		if n := lineOf(lines, key); n > 0 {
			faults = append(faults, fmt.Errorf("%s:%d: %s", name, n, line))
			continue
		}
		faults = append(faults, fmt.Errorf("%s: %s", name, line))
	}
	return errors.Join(faults...)
}

// lineOf is the line of a key, or of the first that stands below it.
func lineOf(lines map[string]int, key string) int {
	if n, ok := lines[key]; ok {
		return n
	}
	first := 0
	for k, n := range lines {
		if (strings.HasPrefix(k, key+".") || strings.HasPrefix(k, key+"[")) && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}

// document reads what a file says, in the form that its name tells.
func document(r *registry.Registry, name string, text []byte) (registry.Document, []registry.Finding, error) {
	if strings.EqualFold(path.Ext(name), ".properties") {
		d, findings, err := r.ParseHystrix(string(text))
		if err != nil {
			return d, findings, fmt.Errorf("%s: %w", name, err)
		}
		return d, findings, nil
	}
	d, err := Parse(name, text)
	return d, nil, err
}
