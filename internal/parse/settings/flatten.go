package settings

import (
	"errors"
	"fmt"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

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
			err = limits.Fault{Kind: limits.Invalid, At: limits.At{Key: "document", File: file}, Text: fmt.Sprintf("not YAML: %v", r), Next: "check the syntax"}
		}
	}()
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntaxFault(err, file)
	}
	f := flattener{file: file, anchors: map[string]ast.Node{}}
	for _, doc := range parsed.Docs {
		if doc.Body != nil {
			f.node("", doc.Body, 0)
		}
	}
	if f.fault != nil {
		return nil, *f.fault
	}
	return f.out, nil
}

func syntaxFault(err error, file string) limits.Fault {
	at := limits.At{Key: "document", File: file}
	var syntax yaml.Error
	message := err.Error()
	if errors.As(err, &syntax) {
		message = syntax.GetMessage()
		if tk := syntax.GetToken(); tk != nil && tk.Position != nil {
			at.Line = tk.Position.Line
		}
	}
	return limits.Fault{Kind: limits.Invalid, At: at, Text: "not YAML: " + message, Next: "check the indentation and the quotes there"}
}

type flattener struct {
	file    string
	anchors map[string]ast.Node
	nodes   int
	out     []limits.Property
	fault   *limits.Fault
}

func (f *flattener) node(key string, n ast.Node, depth int) {
	if f.fault != nil || n == nil {
		return
	}
	f.nodes++
	if depth > maxDepth || f.nodes > maxNodes {
		f.fault = &limits.Fault{Kind: limits.Invalid, At: f.at(key, n), Text: "too deep or too large",
			Next: fmt.Sprintf("at most %d levels and %d values are read", maxDepth, maxNodes)}
		return
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			f.pair(key, v, depth)
		}
	case *ast.MappingValueNode:
		f.pair(key, n, depth)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			f.node(fmt.Sprintf("%s[%d]", key, i), v, depth+1)
		}
	case *ast.AnchorNode:
		f.anchors[nameOf(n.Name)] = n.Value
		f.node(key, n.Value, depth+1)
	case *ast.AliasNode:
		f.node(key, f.anchors[nameOf(n.Value)], depth+1)
	case *ast.TagNode:
		f.node(key, n.Value, depth+1)
	default:
		f.scalar(key, n)
	}
}

func (f *flattener) pair(key string, v *ast.MappingValueNode, depth int) {
	if v.Key == nil {
		return
	}
	if v.Key.Type() == ast.MergeKeyType {
		f.node(key, v.Value, depth+1)
		return
	}
	name := nameOf(v.Key)
	if key != "" && !strings.HasPrefix(name, "[") {
		name = "." + name
	}
	f.node(key+name, v.Value, depth+1)
}

func (f *flattener) scalar(key string, n ast.Node) {
	value := ""
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.LiteralNode:
		value = n.Value.Value
	case *ast.StringNode:
		value = n.Value
	default:
		value = nameOf(n)
	}
	f.out = append(f.out, limits.Property{Value: strings.TrimSpace(value), At: f.at(key, n)})
}

func (f *flattener) at(key string, n ast.Node) limits.At {
	at := limits.At{Key: key, File: f.file}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		at.Line = tk.Position.Line
	}
	return at
}

// nameOf is a scalar's text without quotes, as a key, an anchor's name or a number is read. «[a.b]» is Spring's way to write a key
// with dots.
func nameOf(n ast.Node) string {
	tk := n.GetToken()
	if tk == nil {
		return ""
	}
	name := tk.Value
	if inner, ok := strings.CutPrefix(name, "["); ok && strings.HasSuffix(inner, "]") && strings.Contains(inner, ".") {
		return strings.TrimSuffix(inner, "]")
	}
	return name
}
