package load

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/plan"
)

// message is a request as it is sent.
type message struct {
	method  string
	url     string
	header  []plan.Header // all but what the engine frames the body with
	body    []byte
	bytes   []byte // the whole request in HTTP/1.1's form, for the fast engine
	head    bool   // the answer has no body
	safe    bool   // may be sent again where an idle connection turned out to be closed (RFC 9110, section 9.2.2)
	timeout int64  // ns
}

// endpoint is whom a URL names.
type endpoint struct {
	secure bool
	host   string // name or address, without port and brackets
	port   string
	header string // for the Host header
	path   string // path and query, as sent
}

func endpointOf(text string) (endpoint, error) {
	u, err := url.Parse(text)
	if err != nil {
		return endpoint{}, fmt.Errorf("target: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return endpoint{}, fmt.Errorf("target: found URL %q, allowed: http or https with a host, such as http://127.0.0.1:8080/path", text)
	}
	e := endpoint{secure: u.Scheme == "https", host: u.Hostname(), port: u.Port(), header: u.Host, path: u.RequestURI()}
	if e.port == "" {
		e.port = "80"
		if e.secure {
			e.port = "443"
		}
	}
	return e, nil
}

func (e endpoint) scheme() string {
	if e.secure {
		return "https"
	}
	return "http"
}

// bodyOf makes a request's body.
func bodyOf(r plan.Request, folder string) ([]byte, error) {
	if len(r.Form) == 0 {
		return bodyText(r, folder)
	}
	var fields []string
	for _, f := range r.Form {
		fields = append(fields, url.QueryEscape(f.Name)+"="+url.QueryEscape(f.Value))
	}
	return []byte(strings.Join(fields, "&")), nil
}

// bodyText reads a body that is no form.
func bodyText(r plan.Request, folder string) ([]byte, error) {
	if r.BodyFile == "" {
		return []byte(r.Body), nil
	}
	body, err := os.ReadFile(inFolder(folder, r.BodyFile))
	if err != nil {
		return nil, fmt.Errorf("target: request body: %w", err)
	}
	return body, nil
}

// inFolder is where a name given in a plan lies.
func inFolder(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

// methodOf is the method with its default.
func methodOf(r plan.Request) string {
	switch {
	case r.Method != "":
		return r.Method
	case r.Body != "" || r.BodyFile != "" || len(r.Form) > 0:
		return "POST"
	}
	return "GET"
}

// UserAgent is sent unless the request names another.
const UserAgent = "loadline"

// messageOf builds a request; once says that its connection carries no other.
func messageOf(r plan.Request, e endpoint, body []byte, once bool) message {
	m := message{method: methodOf(r), url: r.URL, body: body, timeout: int64(r.Timeout)}
	m.head, m.safe = m.method == "HEAD", isSafe(m.method)
	m.header = withDefaults(r, e)
	if once {
		m.header = append(m.header, plan.Header{Name: "Connection", Value: "close"})
	}
	if m.timeout <= 0 {
		m.timeout = int64(plan.DefaultTimeout)
	}
	m.bytes = m.encode(e.path)
	return m
}

// encode gives the request in HTTP/1.1's form.
func (m *message) encode(path string) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", m.method, path)
	for _, h := range m.header {
		b = fmt.Appendf(b, "%s: %s\r\n", h.Name, h.Value)
	}
	if len(m.body) > 0 || m.method == "POST" || m.method == "PUT" || m.method == "PATCH" {
		b = fmt.Appendf(b, "Content-Length: %d\r\n", len(m.body))
	}
	b = append(b, "\r\n"...)
	return append(b, m.body...)
}

// withDefaults puts the headers that every request needs before those given, unless they were given. Framing is the engine's own
// affair: a length that contradicts the body would leave the server waiting.
func withDefaults(r plan.Request, e endpoint) []plan.Header {
	given := r.Headers
	has := func(name string) bool {
		return slices.ContainsFunc(given, func(h plan.Header) bool { return strings.EqualFold(h.Name, name) })
	}
	defaults := []plan.Header{{Name: "Host", Value: e.header}, {Name: "User-Agent", Value: UserAgent}, {Name: "Accept", Value: "*/*"}}
	if len(r.Form) > 0 {
		defaults = append(defaults, plan.Header{Name: "Content-Type", Value: "application/x-www-form-urlencoded"})
	}
	switch {
	case r.Auth.Bearer != "":
		defaults = append(defaults, plan.Header{Name: "Authorization", Value: "Bearer " + r.Auth.Bearer})
	case r.Auth.User != "":
		defaults = append(defaults, plan.Header{Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(r.Auth.User+":"+r.Auth.Password))})
	}
	var out []plan.Header
	for _, d := range defaults {
		if !has(d.Name) {
			out = append(out, d)
		}
	}
	for _, h := range given {
		if !strings.EqualFold(h.Name, "Content-Length") && !strings.EqualFold(h.Name, "Transfer-Encoding") {
			out = append(out, h)
		}
	}
	return out
}

func isSafe(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE":
		return true
	}
	return false
}
