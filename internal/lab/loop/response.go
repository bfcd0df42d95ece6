package loop

import (
	"fmt"
	"net/http"
)

// Response is a prepared answer. It may be given any number of times and must not be changed meanwhile.
type Response struct {
	head []byte // status line and header lines, without Date, Connection and the empty line
	body []byte
}

// NewResponse prepares an answer. Every header is a whole line without its end, such as «Cache-Control: no-store».
func NewResponse(status int, contentType string, body []byte, headers ...string) *Response {
	head := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), contentType, len(body))
	for _, h := range headers {
		head = fmt.Appendf(head, "%s\r\n", h)
	}
	return &Response{head: head, body: body}
}

// appendTo writes the answer to b.
func (r *Response) appendTo(b, date []byte, to reply, closing bool) []byte {
	b = append(b, r.head...)
	b = append(b, date...)
	switch {
	case closing:
		b = append(b, "Connection: close\r\n"...)
	case to.tellKeep:
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	b = append(b, crlf...)
	if to.headOnly {
		return b
	}
	return append(b, r.body...)
}

var (
	badRequest     = NewResponse(http.StatusBadRequest, "text/plain", []byte("not an HTTP/1.1 request\n"))
	notImplemented = NewResponse(http.StatusNotImplemented, "text/plain", []byte("chunked bodies, expectations and large bodies are not supported here\n"))
	tooLarge       = NewResponse(http.StatusRequestHeaderFieldsTooLarge, "text/plain", []byte("the request's head is too large\n"))
)
