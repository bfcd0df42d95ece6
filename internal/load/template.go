package load

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// names gives every value that texts may refer to a slot in a session's values.
type names struct{ slots map[string]int }

func newNames() *names { return &names{slots: map[string]int{}} }

// declare adds a name; one that is there keeps its slot.
func (n *names) declare(name string) int {
	slot, ok := n.slots[name]
	if !ok {
		slot = len(n.slots)
		n.slots[name] = slot
	}
	return slot
}

// template is a text with values to be filled in.
type template struct{ parts []part }

// part is a literal, or a slot where its text is empty.
type part struct {
	text   string
	slot   int
	escape func(string) string // of the value; nil: as it is
}

var placeholder = regexp.MustCompile(`\{\{ *([A-Za-z_][A-Za-z0-9_.-]*) *\}\}`)

// marks stand for the placeholders of a text while it is parsed as something else; they consist of letters and digits only.
const mark = "xLoadlineSlot"

var marked = regexp.MustCompile(mark + `([0-9]+)x`)

// markAll replaces placeholders by marks. Names that nobody declared are an error.
func (n *names) markAll(text string) (string, error) {
	var fault error
	out := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		slot, ok := n.slots[name]
		if !ok && fault == nil {
			fault = fmt.Errorf("found {{%s}}, allowed: a feeder's column as {{feeder.column}}, a value that a step before has extracted, {{user}}, {{iteration}}", name)
		}
		return mark + strconv.Itoa(slot) + "x"
	})
	return out, fault
}

// unmark makes a template of a text with marks.
func unmark(text string, escape func(string) string) template {
	var t template
	last := 0
	for _, m := range marked.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > last {
			t.parts = append(t.parts, part{text: text[last:m[0]]})
		}
		slot, err := strconv.Atoi(text[m[2]:m[3]])
		if err != nil {
			continue // The expression matches digits only; a number that does not fit was never declared.
		}
		t.parts = append(t.parts, part{slot: slot, escape: escape})
		last = m[1]
	}
	if last < len(text) {
		t.parts = append(t.parts, part{text: text[last:]})
	}
	return t
}

// template reads a text whose values stand as they are.
func (n *names) template(text string) (template, error) {
	m, err := n.markAll(text)
	return unmark(m, nil), err
}

// path reads the path and query of a URL. Values in the path and in the query are escaped as their place demands.
func (n *names) path(text string) (endpoint, template, error) {
	m, err := n.markAll(text)
	if err != nil {
		return endpoint{}, template{}, err
	}
	e, err := endpointOf(m)
	if err != nil {
		return e, template{}, err
	}
	if marked.MatchString(e.host + e.port) {
		return e, template{}, fmt.Errorf("found a value in the host of %q, allowed: in path and query", text)
	}
	path, query, has := strings.Cut(e.path, "?")
	t := unmark(path, url.PathEscape)
	if has {
		t.parts = append(t.parts, part{text: "?"})
		t.parts = append(t.parts, unmark(query, url.QueryEscape).parts...)
	}
	return e, t, nil
}

// fixed tells whether a template holds no values.
func (t template) fixed() bool {
	for _, p := range t.parts {
		if p.text == "" {
			return false
		}
	}
	return true
}

func (t template) render(b []byte, values []string) []byte {
	for _, p := range t.parts {
		switch {
		case p.text != "":
			b = append(b, p.text...)
		case p.escape != nil:
			b = append(b, p.escape(values[p.slot])...)
		default:
			b = append(b, values[p.slot]...)
		}
	}
	return b
}

func (t template) text(values []string) string { return string(t.render(nil, values)) }

// oneLine takes out of a header's value what would end its line.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}
