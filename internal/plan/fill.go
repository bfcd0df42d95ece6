package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline-dev/loadline/internal/record"
)

// A reference ${name} stands for a varied value; $${ stands for ${ itself.

// segment is a piece of a text: a literal, or the name of a varied value.
type segment struct {
	literal string
	name    string
}

// segments cuts a text at its references.
func segments(s string) ([]segment, error) {
	var out []segment
	for {
		at := strings.Index(s, "${")
		if at < 0 {
			return append(out, segment{literal: s}), nil
		}
		if at > 0 && s[at-1] == '$' {
			out = append(out, segment{literal: s[:at-1] + "${"})
			s = s[at+2:]
			continue
		}
		end := strings.IndexByte(s[at:], '}')
		if end < 0 {
			return nil, fmt.Errorf("${ without }")
		}
		name := s[at+2 : at+end]
		if !isName(name) {
			return nil, fmt.Errorf("${%s}", shorten(name))
		}
		out = append(out, segment{literal: s[:at]}, segment{name: name})
		s = s[at+end+1:]
	}
}

// isName tells whether a word can name a varied value, a service or a pool: letters, digits, _, - and ., a letter or _ first.
func isName(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// valueText is how a varied value is written into a text.
func valueText(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// fill copies a tree with the setting's values in the place of references. References that the setting does not have stay: check
// has refused them before.
func fill(n *node, setting record.Setting) *node {
	out := *n
	out.entry = make([]entry, len(n.entry))
	for i, e := range n.entry {
		out.entry[i] = entry{key: e.key, line: e.line, value: fill(e.value, setting)}
	}
	out.items = make([]*node, len(n.items))
	for i, item := range n.items {
		out.items[i] = fill(item, setting)
	}
	if n.kind == text && strings.Contains(n.raw, "${") {
		out.value, out.filled = fillText(n.raw, setting)
	}
	return &out
}

// fillText puts values into one text and tells whether there was a reference.
func fillText(s string, setting record.Setting) (string, bool) {
	parts, err := segments(s)
	if err != nil {
		return s, false
	}
	var b strings.Builder
	filled := false
	for _, p := range parts {
		b.WriteString(p.literal)
		if p.name == "" {
			continue
		}
		if v, ok := setting.Value(p.name); ok {
			b.WriteString(valueText(v))
			filled = true
		}
	}
	return b.String(), filled
}

// references checks every reference below a node against the varied names and notes which were used.
func references(n *node, key string, varied []string, used map[string]bool, out *faults) {
	for _, e := range n.entry {
		references(e.value, join(key, e.key), varied, used, out)
	}
	for i, item := range n.items {
		references(item, fmt.Sprintf("%s[%d]", key, i), varied, used, out)
	}
	if n.kind != text {
		return
	}
	parts, err := segments(n.raw)
	if err != nil {
		out.add(Fault{Line: n.line, Key: key, Found: err.Error(), Allowed: "${name}, the name of a varied value",
			Do: "write $${ where ${ itself is meant"})
		return
	}
	for _, p := range parts {
		if p.name == "" {
			continue
		}
		used[p.name] = true
		if !slices.Contains(varied, p.name) {
			out.add(unset(n.line, key, p.name, varied))
		}
	}
}

func unset(line int, key, name string, varied []string) Fault {
	f := Fault{Line: line, Key: key, Found: "${" + name + "}, which vary does not set", Allowed: "no varied value: this plan has none",
		Do: "set " + name + " under vary"}
	if len(varied) > 0 {
		f.Allowed = "one of " + strings.Join(varied, ", ")
	}
	if near := nearest(name, varied); near != "" {
		f.Do = fmt.Sprintf("did you mean ${%s}?", near)
	}
	return f
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
