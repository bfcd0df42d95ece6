package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The size of what is read. A plan is written by a person; the bounds keep a hostile file from taking the machine.
const (
	maxBytes = 256 << 10
	maxLines = 20_000
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
	root, second, err := parseYAML(data)
	if err != nil {
		out.add(syntaxFault(err, data))
		return nil
	}
	if second != nil {
		out.add(Fault{Line: second.Line, Found: "a second YAML document", Allowed: "one plan a file", Do: "move it to a file of its own"})
		return nil
	}
	if root == nil || root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		out.add(Fault{Found: "an empty file", Allowed: "a plan with name, target and load", Do: "see docs/formats/plan.md"})
		return nil
	}
	t := &treeReader{out: out, anchors: map[*yaml.Node]*node{}}
	return t.read(root, 0)
}

func unreadable(data []byte) (Fault, bool) {
	if len(data) > maxBytes {
		return Fault{Found: fmt.Sprintf("%d bytes", len(data)), Allowed: fmt.Sprintf("at most %d bytes", maxBytes),
			Do: "check that this file is a plan"}, true
	}
	if !utf8.Valid(data) {
		return Fault{Found: "bytes that are not UTF-8", Allowed: "UTF-8 text", Do: "check that this file is a plan"}, true
	}
	if n := bytes.Count(data, []byte("\n")); n > maxLines {
		return Fault{Found: fmt.Sprintf("%d lines", n), Allowed: fmt.Sprintf("at most %d lines", maxLines), Do: "check that this file is a plan"}, true
	}
	if line, deep := tooDeep(data); deep {
		return Fault{Line: line, Found: "brackets or dashes nested too deep", Allowed: fmt.Sprintf("%d levels", maxDepth), Do: "check that this file is a plan"}, true
	}
	return Fault{}, false
}

// tooDeep counts opening brackets that no closing one has ended, whatever they stand in, and the dashes of lists in lists on one line: the
// parser's stack and time grow with them.
func tooDeep(data []byte) (line int, deep bool) {
	depth, dashes, line := 0, 0, 1
	for i, c := range data {
		switch c {
		case '\n':
			line++
			dashes = 0
		case '-':
			if i+1 < len(data) && data[i+1] == ' ' {
				dashes++
			}
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxDepth || dashes > maxDepth {
			return line, true
		}
	}
	return 0, false
}

// parseYAML reads the first document and, where there is one with content, the second. It guards against faults of the parser itself: a
// file must never end the program.
func parseYAML(data []byte) (root, second *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML cannot be read (%v)", p)
		}
	}()
	in := yaml.NewDecoder(bytes.NewReader(data))
	var docs [2]*yaml.Node
	for i := range docs {
		var doc yaml.Node
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if len(doc.Content) > 0 && !(i > 0 && doc.Content[0].Tag == "!!null") {
			docs[i] = doc.Content[0]
		}
	}
	return docs[0], docs[1], nil
}

// faultLine finds the line in the words of the YAML reader.
var faultLine = regexp.MustCompile(`^yaml: line (\d+): `)

// unknownAnchor is what the YAML reader says, without a line, of an alias for nothing.
var unknownAnchor = regexp.MustCompile(`unknown anchor '([^']+)' referenced`)

func syntaxFault(err error, data []byte) Fault {
	words := strings.SplitN(err.Error(), "\n", 2)[0]
	if m := unknownAnchor.FindStringSubmatch(words); m != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+m[1]))
		return Fault{Line: 1 + bytes.Count(before, []byte("\n")), Found: "*" + m[1], Allowed: "the name of an anchor above this line",
			Do: "write the anchor as &" + m[1]}
	}
	f := Fault{Found: "a YAML syntax fault: " + strings.TrimPrefix(words, "yaml: "), Allowed: "YAML", Do: "values that hold ${…}, {, [, # or : need quotes"}
	if m := faultLine.FindStringSubmatch(words); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		f.Found = "a YAML syntax fault: " + strings.TrimPrefix(words, m[0])
	}
	return f
}

type treeReader struct {
	out     *faults
	anchors map[*yaml.Node]*node
	nodes   int
}

// refuse notes a fault and stands in for the value, so that the rest is read on.
func (t *treeReader) refuse(n *yaml.Node, found, allowed, do string) *node {
	t.out.add(Fault{Line: n.Line, Found: found, Allowed: allowed, Do: do})
	return &node{kind: null, line: n.Line}
}

func (t *treeReader) read(n *yaml.Node, depth int) *node {
	if depth > maxDepth {
		return t.refuse(n, "values nested too deep", fmt.Sprintf("%d levels", maxDepth), "")
	}
	if t.nodes++; t.nodes > maxNodes {
		return t.refuse(n, fmt.Sprintf("more than %d values", maxNodes), "a plan", "")
	}
	var out *node
	switch n.Kind {
	case yaml.MappingNode:
		out = t.mapping(n, depth)
	case yaml.SequenceNode:
		out = &node{kind: sequence, line: n.Line}
		for _, item := range n.Content {
			out.items = append(out.items, t.read(item, depth+1))
		}
	case yaml.AliasNode:
		return t.alias(n)
	default:
		out = t.scalar(n)
	}
	if n.Anchor != "" {
		t.anchors[n] = out
	}
	return out
}

// scalar reads a plain value. Its kind follows the core schema, not YAML 1.1: «yes» and «on» are text.
func (t *treeReader) scalar(n *yaml.Node) *node {
	out := &node{line: n.Line}
	if n.Style&yaml.TaggedStyle != 0 {
		return t.refuse(n, "the tag "+n.Tag, "plain values", "quote the value if it is text")
	}
	switch n.Tag {
	case "!!null":
		return out
	case "!!int", "!!float":
		out.kind = number
	case "!!bool":
		out.kind = boolean
	case "!!str", "!!timestamp", "!!binary":
		out.kind = text
	default:
		return t.refuse(n, "a YAML "+n.Tag, "mappings, lists and plain values", "")
	}
	out.value, out.raw = n.Value, n.Value
	return out
}

func (t *treeReader) alias(n *yaml.Node) *node {
	target, ok := t.anchors[n.Alias]
	if !ok {
		return t.refuse(n, "*"+n.Value, "the name of an anchor above this line", "write the anchor as &"+n.Value)
	}
	t.nodes += target.count()
	if t.nodes > maxNodes {
		return t.refuse(n, fmt.Sprintf("more than %d values", maxNodes), "a plan", "")
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

func (t *treeReader) mapping(n *yaml.Node, depth int) *node {
	out := &node{kind: mapping, line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, ok := t.key(n.Content[i])
		if !ok {
			continue
		}
		out.entry = append(out.entry, entry{key: key.value, line: key.line, value: t.read(n.Content[i+1], depth+1)})
	}
	return out
}

// key reads the name of an entry. A key cannot hold a varied value: what a plan consists of is the same for all settings.
func (t *treeReader) key(k *yaml.Node) (*node, bool) {
	if k.Tag == "!!merge" {
		t.refuse(k, "the merge key <<", "keys by name", "write the keys out")
		return nil, false
	}
	if k.Kind != yaml.ScalarNode {
		t.refuse(k, "a key that is not plain text", "a name", "")
		return nil, false
	}
	if strings.Contains(k.Value, "${") {
		t.refuse(k, fmt.Sprintf("the key %q", k.Value), "${…} in values only", "")
		return nil, false
	}
	return &node{line: k.Line, value: k.Value}, true
}
