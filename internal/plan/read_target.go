package plan

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// Defaults of a request.
const (
	DefaultTimeout = 5 * time.Second
	maxTimeout     = time.Hour
)

const tokenChars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" // RFC 9110, section 5.6.2

func (r *reader) target(n *node) Target {
	f := r.mapping(n, "target", "request", "outcomes", "client")
	var out Target
	if req := f.need("request", "a mapping with url"); req != nil {
		out.Request = r.request(req, "target.request", "url", "method", "headers", "body", "body_file", "timeout")
	}
	if rules := f.find("outcomes"); rules != nil {
		out.Outcomes = r.outcomes(rules)
	}
	if c := f.find("client"); c != nil {
		out.Client = r.client(c)
	}
	return out
}

// request reads a request; the keys say which parts of one may be given.
func (r *reader) request(n *node, key string, keys ...string) Request {
	f := r.mapping(n, key, keys...)
	out := Request{Timeout: f.duration("timeout", DefaultTimeout, span{time.Millisecond, maxTimeout})}
	if u := f.need("url", "an http or https URL"); u != nil {
		out.URL = r.url(u, join(key, "url"))
	}
	out.Body = f.textOr("body", "text", "")
	out.BodyFile = f.textOr("body_file", "the path of a file, from the plan's folder", "")
	if f.has("body") && f.has("body_file") {
		f.fail("body_file", "body and body_file", "one of the two", "remove one")
	}
	method := "GET"
	if f.has("body") || f.has("body_file") {
		method = "POST"
	}
	out.Method = f.textOr("method", "an HTTP method such as GET", method)
	if m := f.find("method"); m != nil && (m.value == "" || strings.Trim(m.value, tokenChars) != "" || m.value != strings.ToUpper(m.value)) {
		f.fail("method", m.describe(), "an HTTP method in capitals, such as GET or POST", "")
	}
	if h := f.find("headers"); h != nil {
		out.Headers = r.headers(h, join(key, "headers"))
		r.framing(h, join(key, "headers"))
	}
	return out
}

// framing refuses headers that say where a message ends: they follow from the body, and one that contradicts it would leave the server
// waiting.
func (r *reader) framing(n *node, key string) {
	for _, e := range n.entry {
		if strings.EqualFold(e.key, "Content-Length") || strings.EqualFold(e.key, "Transfer-Encoding") {
			r.add(Fault{Line: e.line, Key: join(key, e.key), Found: "a header that frames the message", Allowed: "any other header",
				Do: "remove it; it follows from the body"})
		}
	}
}

// url reads an absolute http or https URL.
func (r *reader) url(n *node, key string) string {
	const want = "an http or https URL with a host, such as http://127.0.0.1:8080/path"
	out := r.text(n, key, want)
	u, err := url.Parse(n.value)
	bad := err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(n.value, " \t\r\n") ||
		u.Port() != "" && !isPort(u.Port())
	if bad && n.kind == text {
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: want})
	}
	return out
}

func (r *reader) headers(n *node, key string) []Header {
	f := r.open(n, key, "a mapping of header names and values")
	var out []Header
	for _, e := range f.node.entry {
		at := join(key, e.key)
		if e.key == "" || strings.Trim(e.key, tokenChars) != "" {
			r.add(Fault{Line: e.line, Key: at, Found: fmt.Sprintf("the header name %q", shorten(e.key)), Allowed: "letters, digits and -"})
		}
		value := r.text(e.value, at, "text")
		if strings.ContainsAny(e.value.value, "\r\n\x00") {
			r.add(Fault{Line: e.line, Key: at, Found: "a header value of several lines", Allowed: "one line"})
		}
		out = append(out, Header{Name: e.key, Value: value})
	}
	return out
}

func (r *reader) outcomes(n *node) []OutcomeRule {
	const key = "target.outcomes"
	if n.kind != sequence {
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: "a list of rules, the first that matches wins", Do: "write [{status: 500, is: failure}]"})
		return nil
	}
	var out []OutcomeRule
	for i, item := range n.items {
		out = append(out, r.outcome(item, fmt.Sprintf("%s[%d]", key, i)))
	}
	return out
}

// answerOutcomes are the classes that an answer can be put into; the others are what the generator itself sees.
var answerOutcomes = []string{"success", "failure", "rejected", "short_circuited", "timeout"}

func (r *reader) outcome(n *node, key string) OutcomeRule {
	f := r.mapping(n, key, "status", "header", "body_contains", "is")
	var out OutcomeRule
	if !f.has("status") && !f.has("header") && !f.has("body_contains") && !f.broken {
		r.add(Fault{Line: n.line, Key: key, Found: "a rule that matches every answer", Allowed: "status, header, body_contains or several of them"})
	}
	if s := f.find("status"); s != nil {
		out.Status = r.statuses(s, join(key, "status"))
	}
	if h := f.find("header"); h != nil {
		out.Header = r.headers(h, join(key, "header"))
	}
	out.Contains = f.textOr("body_contains", "text", "")
	if c := f.find("body_contains"); c != nil && c.value == "" && c.kind == text {
		f.fail("body_contains", "empty text", "text that the body of such an answer contains", "")
	}
	f.need("is", strings.Join(answerOutcomes, ", "))
	if is, err := record.ParseOutcome(f.word("is", answerOutcomes[0], answerOutcomes...)); err == nil {
		out.Is = is
	}
	return out
}

// statuses reads a status, a class such as 5xx, or a list of both.
func (r *reader) statuses(n *node, key string) StatusMatch {
	items := []*node{n}
	if n.kind == sequence {
		items = n.items
	}
	var out StatusMatch
	if len(items) == 0 {
		r.add(Fault{Line: n.line, Key: key, Found: "an empty list", Allowed: "a status such as 404, a class such as 5xx, or a list"})
	}
	for _, item := range items {
		if class, ok := statusClass(item.value); ok && item.kind == text {
			out.Classes = append(out.Classes, class)
			continue
		}
		v, ok := decimal(item)
		if !ok || !(bounds{min: 100, max: 599, whole: true}).holds(v) {
			r.add(Fault{Line: item.line, Key: key, Found: item.describe(), Allowed: "a status from 100 to 599, a class such as 5xx, or a list"})
			continue
		}
		out.Codes = append(out.Codes, int(v))
	}
	slices.Sort(out.Codes)
	slices.Sort(out.Classes)
	return out
}

func statusClass(s string) (int, bool) {
	if len(s) != 3 || s[0] < '1' || s[0] > '5' || s[1:] != "xx" {
		return 0, false
	}
	return int(s[0] - '0'), true
}
