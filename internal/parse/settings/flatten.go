package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// The bounds of what a settings file may hold: more is a mistake or an attack (aliases of aliases).
const (
	maxDepth = 64
	maxNodes = 200_000
)

// flatten reads YAML, or JSON, which is a part of it, into properties: keys joined by dots, list entries by [index]. Documents of one
// file follow each other, as Spring's profiles do: the later wins.
func flatten(text []byte, file string) (out []limits.Property, err error) {
	defer func() {
		if r := recover(); r != nil { // The parser is not ours; whatever it meets must not end the program.
			err = syntaxFault(fmt.Errorf("%v", r), file)
		}
	}()
	f := flattener{file: file}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return f.out, nil
		case err != nil:
			return nil, syntaxFault(err, file)
		}
		f.node("", &doc, 0)
		if f.fault != nil {
			return nil, *f.fault
		}
	}
}

var atLine = regexp.MustCompile(`line (\d+): `)

func syntaxFault(err error, file string) limits.Fault {
	at := limits.At{Key: "document", File: file, Line: 1} // The parser leaves out the line where it is the first.
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := atLine.FindStringSubmatch(message); m != nil {
		at.Line, _ = strconv.Atoi(m[1]) // Digits by the expression; one too long is as good as none.
		message = strings.Replace(message, m[0], "", 1)
	}
	return limits.Fault{Kind: limits.Invalid, At: at, Text: "not YAML: " + message, Next: "check the indentation and the quotes there"}
}

type flattener struct {
	file  string
	nodes int
	out   []limits.Property
	fault *limits.Fault
}

func (f *flattener) fail(key string, n *yaml.Node, text, next string) {
	if f.fault == nil {
		f.fault = &limits.Fault{Kind: limits.Invalid, At: f.at(key, n), Text: text, Next: next}
	}
}

func (f *flattener) at(key string, n *yaml.Node) limits.At {
	return limits.At{Key: key, File: f.file, Line: n.Line}
}

func (f *flattener) node(key string, n *yaml.Node, depth int) {
	if f.fault != nil || n == nil {
		return
	}
	f.nodes++
	if depth > maxDepth || f.nodes > maxNodes {
		f.fail(key, n, "too deep or too large", fmt.Sprintf("at most %d levels and %d values are read", maxDepth, maxNodes))
		return
	}
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			f.node(key, c, depth)
		}
	case yaml.MappingNode:
		f.mapping(key, n, depth)
	case yaml.SequenceNode:
		for i, c := range n.Content {
			f.node(fmt.Sprintf("%s[%d]", key, i), c, depth+1)
		}
	case yaml.AliasNode:
		f.node(key, n.Alias, depth+1)
	case yaml.ScalarNode:
		value := strings.TrimSpace(n.Value)
		if n.Tag == "!!null" {
			value = ""
		}
		f.out = append(f.out, limits.Property{Value: value, At: f.at(key, n)})
	}
}

func (f *flattener) mapping(key string, n *yaml.Node, depth int) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			f.fail(key, k, "a key that is not plain text", "write the key as text")
			return
		}
		if k.Tag == "!!merge" {
			f.node(key, v, depth+1)
			continue
		}
		name := plainKey(k.Value)
		if line, twice := seen[name]; twice {
			f.fail(key+"."+name, k, fmt.Sprintf("the key stands twice, on line %d too", line), "keep one of the two")
			return
		}
		seen[name] = k.Line
		if key != "" {
			name = key + "." + name
		}
		f.node(name, v, depth+1)
	}
}

// plainKey takes «[a.b]», Spring's way to write a key with dots, for a.b.
func plainKey(name string) string {
	if inner, ok := strings.CutPrefix(name, "["); ok && strings.HasSuffix(inner, "]") {
		return strings.TrimSuffix(inner, "]")
	}
	return name
}
