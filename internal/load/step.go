package load

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loadline-dev/loadline/internal/plan"
)

// step is a request of a flow, ready to be filled in.
type step struct {
	fixed   *message // where nothing varies
	plain   message  // what does not vary
	base    *url.URL // scheme and host
	path    template
	headers []headerTemplate
	body    template
	timeout int64
	think   int64
	goOn    bool
	checks  []check
	extract []extraction
}

type headerTemplate struct {
	name  string
	value template
}

func stepOf(from plan.Step, n *names, client plan.Client, folder string, classes *classifier, cookies bool) (step, error) {
	target, path, err := n.path(from.Request.URL)
	if err != nil {
		return step{}, fmt.Errorf("url: %w", err)
	}
	out := step{path: path, think: int64(from.Think), goOn: from.Continue, base: &url.URL{Scheme: target.scheme(), Host: target.header, Path: "/"}}
	varies := cookies || !path.fixed()
	request := from.Request
	text, err := bodyText(request, folder)
	if err != nil {
		return step{}, err
	}
	if out.body, err = bodyTemplate(n, request, text); err != nil {
		return step{}, fmt.Errorf("body: %w", err)
	}
	out.plain = messageOf(request, target, nil, client.Close)
	out.timeout = out.plain.timeout
	for _, h := range out.plain.header {
		value, err := n.template(h.Value)
		if err != nil {
			return step{}, fmt.Errorf("header %s: %w", h.Name, err)
		}
		out.headers = append(out.headers, headerTemplate{h.Name, value})
		varies = varies || !value.fixed()
	}
	if err := out.conditions(from, n, classes); err != nil {
		return step{}, err
	}
	if !varies && out.body.fixed() {
		out.fixed = out.fill(make([]string, len(n.slots)), "")
	}
	return out, nil
}

// bodyTemplate reads a body. The values of a form are escaped, those of other bodies stand as they are.
func bodyTemplate(n *names, r plan.Request, text []byte) (template, error) {
	if len(r.Form) == 0 {
		return n.template(string(text))
	}
	var fields []string
	for _, f := range r.Form {
		m, err := n.markAll(f.Value)
		if err != nil {
			return template{}, err
		}
		fields = append(fields, url.QueryEscape(f.Name)+"="+url.QueryEscape(m))
	}
	return unmark(strings.Join(fields, "&"), url.QueryEscape), nil
}

// conditions compiles checks and extractions. What is extracted can be used from the next step on.
func (s *step) conditions(from plan.Step, n *names, classes *classifier) error {
	for _, c := range from.Checks {
		s.checks = append(s.checks, checkOf(c, classes))
	}
	for _, e := range from.Extract {
		if (e.JSON == "") == (e.Header == "") || e.Name == "" {
			return errors.New("extract: allowed: a name and exactly one of json and header")
		}
		x := extraction{name: e.Name, slot: n.declare(e.Name), json: e.JSON, header: -1}
		if e.Header != "" {
			x.header = classes.header(e.Header)
		} else {
			classes.body = maxBody
		}
		s.extract = append(s.extract, x)
	}
	return nil
}

// message is the step's request in a session.
func (s *step) message(x *session) *message {
	if s.fixed != nil {
		return s.fixed
	}
	cookies := ""
	if x.jar != nil {
		var pairs []string
		for _, c := range x.jar.Cookies(s.base) {
			pairs = append(pairs, c.Name+"="+c.Value)
		}
		cookies = strings.Join(pairs, "; ")
	}
	return s.fill(x.values, cookies)
}

func (s *step) fill(values []string, cookies string) *message {
	m := s.plain
	path := s.path.text(values)
	m.url = s.base.Scheme + "://" + s.base.Host + path
	m.body = s.body.render(nil, values)
	m.header = make([]plan.Header, 0, len(s.headers)+1)
	for _, h := range s.headers {
		m.header = append(m.header, plan.Header{Name: h.name, Value: oneLine(h.value.text(values))})
	}
	if cookies != "" {
		m.header = append(m.header, plan.Header{Name: "Cookie", Value: cookies})
	}
	m.bytes = m.encode(path)
	return &m
}

// check is what a right answer has.
type check struct {
	name  string
	rule  rule
	json  string
	equal string
}

func checkOf(c plan.Check, classes *classifier) check {
	out := check{name: c.Name, json: c.JSON, equal: c.Equals, rule: classes.rule(plan.OutcomeRule{Status: c.Status, Header: c.Header, Contains: c.Contains})}
	if c.JSON != "" {
		classes.body = maxBody
	}
	if out.name == "" {
		out.name = cmpOr(cmpOr(c.JSON, c.Contains), "answer")
	}
	return out
}

func (c *check) holds(a answer) bool {
	if !c.rule.matches(a) {
		return false
	}
	if c.json == "" {
		return true
	}
	found := gjson.GetBytes(a.Body(), c.json)
	return found.Exists() && (c.equal == "" || found.String() == c.equal)
}

// extraction takes a value out of an answer.
type extraction struct {
	name   string
	slot   int
	json   string
	header int // -1: none
}

func (e *extraction) from(a answer) (string, bool) {
	if e.header >= 0 {
		value, ok := a.Value(e.header)
		return string(bytes.TrimSpace(value)), ok
	}
	found := gjson.GetBytes(a.Body(), e.json)
	return found.String(), found.Exists()
}
