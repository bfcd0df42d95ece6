package plan

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// The size of what is read. A plan is written by a person; the bounds keep a hostile file from taking the machine.
const (
	maxBytes = 256 << 10
	maxNodes = 100_000 // after aliases are filled in
	maxDepth = 100
)

type kind uint8

const (
	null kind = iota
	text
	number
	boolean
	mapping
	sequence
)

// node is a YAML value with the line it stands on, as plain as a plan needs it.
type node struct {
	kind  kind
	line  int
	value string // of a scalar, with varied values filled in
	raw   string // of a scalar, as written
	entry []entry
	items []*node
	// filled: a varied value was put in, so what was text in the file may now be read as a number.
	filled bool
}

type entry struct {
	key   string
	line  int
	value *node
}

// describe tells a person what stands at a node.
func (n *node) describe() string {
	switch n.kind {
	case null:
		return "nothing"
	case text:
		return fmt.Sprintf("text %q", shorten(n.value))
	case mapping:
		return "a mapping"
	case sequence:
		return "a list"
	default:
		return shorten(n.value)
	}
}

func shorten(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// readTree turns YAML into nodes. It refuses what a plan has no use for: several documents, tags, merge keys, keys that are not scalars.
func readTree(data []byte, out *faults) *node {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if f, bad := unreadable(data); bad {
		out.add(f)
		return nil
	}
	file, err := parseYAML(data)
	if err != nil {
		out.add(syntaxFault(err))
		return nil
	}
	if len(file.Docs) > 1 && file.Docs[1].Body != nil {
		out.add(Fault{Line: lineOf(file.Docs[1].Body), Found: "a second YAML document", Allowed: "one plan a file", Do: "move it to a file of its own"})
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		out.add(Fault{Found: "an empty file", Allowed: "a plan with name, target and load", Do: "see docs/formats/plan.md"})
		return nil
	}
	t := &treeReader{out: out, anchors: map[string]*node{}}
	return t.read(file.Docs[0].Body, 0)
}

func unreadable(data []byte) (Fault, bool) {
	if len(data) > maxBytes {
		return Fault{Found: fmt.Sprintf("%d bytes", len(data)), Allowed: fmt.Sprintf("at most %d bytes", maxBytes),
			Do: "check that this file is a plan"}, true
	}
	if !utf8.Valid(data) {
		return Fault{Found: "bytes that are not UTF-8", Allowed: "UTF-8 text", Do: "check that this file is a plan"}, true
	}
	if line, deep := tooDeep(data); deep {
		return Fault{Line: line, Found: "brackets nested too deep", Allowed: fmt.Sprintf("%d levels", maxDepth), Do: "check that this file is a plan"}, true
	}
	return Fault{}, false
}

// tooDeep counts opening brackets that no closing one has ended, whatever they stand in: the parser's stack grows with them.
func tooDeep(data []byte) (line int, deep bool) {
	depth, line := 0, 1
	for _, c := range data {
		switch c {
		case '\n':
			line++
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxDepth {
			return line, true
		}
	}
	return 0, false
}

// parseYAML guards against faults of the parser itself: a file must never end the program.
func parseYAML(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML cannot be read (%v)", p)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

func syntaxFault(err error) Fault {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		return Fault{Found: strings.SplitN(err.Error(), "\n", 2)[0], Allowed: "YAML"}
	}
	f := Fault{Found: "a YAML syntax fault: " + syntax.Message, Allowed: "YAML", Do: "values that hold ${…}, {, [, # or : need quotes"}
	if syntax.Token != nil && syntax.Token.Position != nil {
		f.Line = syntax.Token.Position.Line
	}
	return f
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

type treeReader struct {
	out     *faults
	anchors map[string]*node
	nodes   int
}

// refuse notes a fault and stands in for the value, so that the rest is read on.
func (t *treeReader) refuse(n ast.Node, found, allowed, do string) *node {
	t.out.add(Fault{Line: lineOf(n), Found: found, Allowed: allowed, Do: do})
	return &node{kind: null, line: lineOf(n)}
}

func (t *treeReader) read(n ast.Node, depth int) *node {
	if depth > maxDepth {
		return t.refuse(n, "values nested too deep", fmt.Sprintf("%d levels", maxDepth), "")
	}
	if t.nodes++; t.nodes > maxNodes {
		return t.refuse(n, fmt.Sprintf("more than %d values", maxNodes), "a plan", "")
	}
	switch v := n.(type) {
	case nil:
		return &node{kind: null}
	case *ast.MappingNode:
		return t.mapping(lineOf(v), v.Values, depth)
	case *ast.MappingValueNode:
		return t.mapping(lineOf(v.Key), []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		out := &node{kind: sequence, line: lineOf(v)}
		for _, item := range v.Values {
			out.items = append(out.items, t.read(item, depth+1))
		}
		return out
	case *ast.AnchorNode:
		out := t.read(v.Value, depth+1)
		t.anchors[nameOf(v.Name)] = out
		return out
	case *ast.AliasNode:
		return t.alias(v)
	default:
		return t.scalar(n)
	}
}

func (t *treeReader) scalar(n ast.Node) *node {
	out := &node{line: lineOf(n)}
	switch v := n.(type) {
	case *ast.NullNode:
		return out
	case *ast.StringNode:
		out.kind, out.value = text, v.Value
	case *ast.LiteralNode:
		out.kind, out.value = text, v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.kind, out.value = number, n.GetToken().Value
	case *ast.BoolNode:
		out.kind, out.value = boolean, v.GetToken().Value
	case *ast.TagNode:
		return t.refuse(n, "the tag "+v.GetToken().Value, "plain values", "quote the value if it is text")
	default:
		return t.refuse(n, fmt.Sprintf("a YAML %s", n.Type()), "mappings, lists and plain values", "")
	}
	out.raw = out.value
	return out
}

func (t *treeReader) alias(v *ast.AliasNode) *node {
	name := nameOf(v.Value)
	target, ok := t.anchors[name]
	if !ok {
		return t.refuse(v, "*"+name, "the name of an anchor above this line", "write the anchor as &"+name)
	}
	t.nodes += target.count()
	if t.nodes > maxNodes {
		return t.refuse(v, fmt.Sprintf("more than %d values", maxNodes), "a plan", "")
	}
	return target
}

func (n *node) count() int {
	total := 1
	for _, e := range n.entry {
		total += e.value.count()
	}
	for _, i := range n.items {
		total += i.count()
	}
	return total
}

func (t *treeReader) mapping(line int, values []*ast.MappingValueNode, depth int) *node {
	out := &node{kind: mapping, line: line}
	for i, v := range values {
		if i == 0 {
			out.line = lineOf(v.Key)
		}
		key, ok := t.key(v.Key)
		if !ok {
			continue
		}
		value := t.read(v.Value, depth+1)
		if value.line == 0 {
			value.line = key.line
		}
		out.entry = append(out.entry, entry{key: key.value, line: key.line, value: value})
	}
	return out
}

// key reads the name of an entry. A key cannot hold a varied value: what a plan consists of is the same for all settings.
func (t *treeReader) key(k ast.MapKeyNode) (*node, bool) {
	if _, merge := k.(*ast.MergeKeyNode); merge {
		t.refuse(k, "the merge key <<", "keys by name", "write the keys out")
		return nil, false
	}
	out := t.scalarKey(k)
	if out == nil {
		t.refuse(k, "a key that is not plain text", "a name", "")
		return nil, false
	}
	if strings.Contains(out.value, "${") {
		t.refuse(k, fmt.Sprintf("the key %q", out.value), "${…} in values only", "")
		return nil, false
	}
	return out, true
}

func (t *treeReader) scalarKey(k ast.MapKeyNode) *node {
	switch k.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return &node{line: lineOf(k), value: k.GetToken().Value}
	default:
		return nil
	}
}

func nameOf(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}
