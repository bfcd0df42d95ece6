package loop

import (
	"bytes"
	"strconv"
)

type parseStatus uint8

const (
	complete parseStatus = iota
	incomplete
	malformed
	unsupported
)

// head is a request's head as far as this server needs it.
type head struct {
	Request
	reply  reply
	close  bool
	length int // of the whole request, its body included
}

// reply is what the answer needs to know of its request.
type reply struct {
	headOnly bool // HEAD: no body
	tellKeep bool // HTTP/1.0: the client must be told that the connection stays
}

var (
	crlf        = []byte("\r\n")
	endOfHead   = []byte("\r\n\r\n")
	http10      = []byte("HTTP/1.0")
	http11      = []byte("HTTP/1.1")
	methodHEAD  = []byte("HEAD")
	nameLength  = []byte("content-length")
	nameCoding  = []byte("transfer-encoding")
	nameConn    = []byte("connection")
	nameExpect  = []byte("expect")
	valueClose  = []byte("close")
	valueKeep   = []byte("keep-alive")
	singleSpace = []byte(" ")
)

// parse reads the request at the front of b, RFC 9112 sections 2 to 6. Bodies with a Content-Length are passed over; chunked ones and
// expectations are not supported.
func parse(b []byte) (head, parseStatus) {
	end := bytes.Index(b, endOfHead)
	if end < 0 {
		return head{}, incomplete
	}
	line, fields, _ := bytes.Cut(b[:end+len(crlf)], crlf)
	h, ok := requestLine(line)
	if !ok {
		return head{}, malformed
	}
	body, status := h.fields(fields)
	if status != complete {
		return head{}, status
	}
	h.length = end + len(endOfHead) + body
	if h.length > len(b) {
		if h.length > maxRequest {
			return head{}, unsupported
		}
		return head{}, incomplete
	}
	return h, complete
}

func requestLine(line []byte) (head, bool) {
	method, rest, ok := bytes.Cut(line, singleSpace)
	target, version, ok2 := bytes.Cut(rest, singleSpace)
	if !ok || !ok2 || len(method) == 0 || len(target) == 0 {
		return head{}, false
	}
	old := bytes.Equal(version, http10)
	if !old && !bytes.Equal(version, http11) {
		return head{}, false
	}
	return head{Request: Request{Method: method, Target: target}, reply: reply{headOnly: bytes.Equal(method, methodHEAD), tellKeep: old}, close: old}, true
}

// fields reads the header lines that matter and returns the body's length.
func (h *head) fields(lines []byte) (body int, status parseStatus) {
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, crlf)
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(name) == 0 || name[len(name)-1] == ' ' {
			return 0, malformed
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, nameLength):
			n, err := strconv.ParseUint(string(value), 10, 31)
			if err != nil {
				return 0, malformed
			}
			body = int(n)
		case bytes.EqualFold(name, nameCoding), bytes.EqualFold(name, nameExpect):
			return 0, unsupported
		case bytes.EqualFold(name, nameConn):
			h.connection(value)
		}
	}
	return body, complete
}

func (h *head) connection(value []byte) {
	if bytes.EqualFold(value, valueClose) {
		h.close = true
	}
	if bytes.EqualFold(value, valueKeep) {
		h.close = false
	}
}
