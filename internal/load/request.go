package load

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/loadline-dev/loadline/internal/plan"
)

// message is a request as it is sent.
type message struct {
	bytes   []byte // the whole request in HTTP/1.1's form
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

// bodyOf reads a request's body.
func bodyOf(r plan.Request, folder string) ([]byte, error) {
	if r.BodyFile == "" {
		return []byte(r.Body), nil
	}
	name := r.BodyFile
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, name)
	}
	body, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("target: request body: %w", err)
	}
	return body, nil
}

// methodOf is the method with its default.
func methodOf(r plan.Request) string {
	switch {
	case r.Method != "":
		return r.Method
	case r.Body != "" || r.BodyFile != "":
		return "POST"
	}
	return "GET"
}

// UserAgent is sent unless the request names another.
const UserAgent = "loadline"

// messageOf builds the bytes of a request.
func messageOf(r plan.Request, e endpoint, body []byte) message {
	method := methodOf(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", method, e.path)
	for _, h := range withDefaults(r.Headers, e, len(body), method) {
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	b.WriteString("\r\n")
	b.Write(body)
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = plan.DefaultTimeout
	}
	return message{bytes: []byte(b.String()), head: method == "HEAD", safe: isSafe(method), timeout: int64(timeout)}
}

// withDefaults puts the headers that every request needs before those given, unless they were given. Framing is the engine's own
// affair: a length that contradicts the body would leave the server waiting.
func withDefaults(given []plan.Header, e endpoint, body int, method string) []plan.Header {
	has := func(name string) bool {
		for _, h := range given {
			if strings.EqualFold(h.Name, name) {
				return true
			}
		}
		return false
	}
	var out []plan.Header
	for _, d := range []plan.Header{{Name: "Host", Value: e.header}, {Name: "User-Agent", Value: UserAgent}, {Name: "Accept", Value: "*/*"}} {
		if !has(d.Name) {
			out = append(out, d)
		}
	}
	for _, h := range given {
		if !strings.EqualFold(h.Name, "Content-Length") && !strings.EqualFold(h.Name, "Transfer-Encoding") {
			out = append(out, h)
		}
	}
	if body > 0 || method == "POST" || method == "PUT" || method == "PATCH" {
		out = append(out, plan.Header{Name: "Content-Length", Value: strconv.Itoa(body)})
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
