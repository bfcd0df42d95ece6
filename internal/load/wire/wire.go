// Package wire reads HTTP/1.1 responses as they arrive, in pieces of whatever size, without allocating on the usual path. It keeps of a
// response what a load engine needs: the status, how the body is framed, whether the connection can be used again, the headers that
// were asked for, and the body where it was asked for. It does no I/O. Its opinion: what net/http accepts is accepted, and anything
// that makes the end of a response doubtful is an error, never a guess.
//
// Source of the framing rules: RFC 9112, sections 4, 6, 7 and 9.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Errors that end a connection. What Feed returns wraps one of them.
var (
	ErrStatusLine = errors.New("malformed status line")
	ErrHeader     = errors.New("malformed header")
	ErrLength     = errors.New("malformed body length")
	ErrChunk      = errors.New("malformed chunk")
	ErrTooLarge   = errors.New("headers too large")
)

const (
	// MaxHeaderBytes bounds the status line and headers of one response, interim ones included; trailers count anew.
	MaxHeaderBytes = 256 << 10
	// maxChunkLine bounds a chunk's size with its extensions.
	maxChunkLine = 4 << 10
	// maxWanted is how many headers can be asked for.
	maxWanted = 64
)

// Wanted is the set of headers to keep, and how much of a body. It is not changed once made and may be shared.
type Wanted struct {
	names   []string // lower case
	lengths uint64   // bit n: a name of n bytes is looked for; bit 63 stands for all longer ones
	body    int
}

// NewWanted makes a set of header names, in any case and in the order in which Response.Value counts them. body is how many bytes of a
// body to keep, 0 for none.
func NewWanted(body int, names ...string) (*Wanted, error) {
	if len(names) > maxWanted {
		return nil, fmt.Errorf("headers to keep: found %d, allowed: at most %d", len(names), maxWanted)
	}
	w := &Wanted{body: body, lengths: 1<<len("connection") | 1<<len("content-length") | 1<<len("transfer-encoding")}
	for _, n := range names {
		w.names = append(w.names, strings.ToLower(n))
		w.lengths |= 1 << min(len(n), 63)
	}
	return w, nil
}

type state uint8

const (
	inStatusLine state = iota
	inHeader
	inBody      // of known length
	inUntilEnd  // the body ends with the connection
	inChunkSize // the line before a chunk
	inChunk
	inChunkEnd // the line end after a chunk
	inTrailer
	done
)

// Response reads one response after another on one connection. Use Begin before each; the zero value is not ready.
type Response struct {
	wanted  *Wanted
	memory  *Memory
	line    []byte   // the part of a line that has come so far
	values  [][]byte // of the wanted headers
	body    []byte
	present uint64 // bit i: wanted header i came
	remain  int64  // bytes of the body or chunk still to come
	length  int64  // Content-Length; -1: none
	header  int32  // bytes of headers so far
	status  uint16
	state   state
	head    bool // the answer to a HEAD request
	minor   bool // HTTP/1.1 and later, rather than 1.0
	close   bool // Connection: close
	keep    bool // Connection: keep-alive
	coded   bool // Transfer-Encoding was given
	chunked bool // its last coding is chunked
	started bool // a byte of the response has come
}

// Begin gets ready for the next response. m may be nil. head says that it answers a HEAD request, which has no body.
func (r *Response) Begin(w *Wanted, m *Memory, head bool) {
	r.wanted, r.memory, r.head = w, m, head
	r.line, r.body = r.line[:0], r.body[:0]
	r.started, r.header = false, 0
	r.restart()
}

// restart forgets an interim response.
func (r *Response) restart() {
	r.present, r.remain, r.length, r.status = 0, 0, -1, 0
	r.state = inStatusLine
	r.minor, r.close, r.keep, r.coded, r.chunked = false, false, false, false, false
}

// Done tells whether the response is complete.
func (r *Response) Done() bool { return r.state == done }

// Started tells whether any byte of the response has come.
func (r *Response) Started() bool { return r.started }

// Status is the status code, 0 before it was read.
func (r *Response) Status() int { return int(r.status) }

// Reusable tells, of a complete response, whether the connection may carry another request.
func (r *Response) Reusable() bool {
	if r.close || r.state != done {
		return false
	}
	return r.minor || r.keep
}

// Value is the value of the i-th wanted header and whether it came; of a header that came twice, the values joined by a comma, of
// Set-Cookie by a line feed. It is valid until the next Begin.
func (r *Response) Value(i int) ([]byte, bool) {
	if r.present&(1<<i) == 0 {
		return nil, false
	}
	return r.values[i], true
}

// Body is what was kept of the body. It is valid until the next Begin.
func (r *Response) Body() []byte { return r.body }

// Release gives memory back that an idle connection does not need.
func (r *Response) Release() { r.line, r.values, r.body = nil, nil, nil }

// End tells the response that the connection was closed. It returns whether the response is complete by that.
func (r *Response) End() bool {
	if r.state == inUntilEnd {
		r.state, r.close = done, true
	}
	return r.state == done
}

// Feed takes bytes and returns how many of them belong to the response: all, unless it became complete before. After an error the
// connection is of no further use.
func (r *Response) Feed(data []byte) (int, error) {
	if r.memory == nil || r.started {
		return r.read(data)
	}
	if n := r.memory.recall(r, data); n > 0 {
		more, err := r.read(data[n:])
		return n + more, err
	}
	return r.readNew(data)
}

// readNew reads an answer that begins with the bytes, and remembers its head when all of it is among them.
func (r *Response) readNew(data []byte) (int, error) {
	at := 0
	for at < len(data) && (r.state == inStatusLine || r.state == inHeader) {
		n, err := r.step(data[at:])
		at += n
		if err != nil {
			return at, err
		}
	}
	if r.state > inHeader {
		r.memory.remember(r, data[:at])
	}
	n, err := r.read(data[at:])
	return at + n, err
}

func (r *Response) read(data []byte) (int, error) {
	at := 0
	for at < len(data) && r.state != done {
		n, err := r.step(data[at:])
		at += n
		if err != nil {
			return at, err
		}
	}
	return at, nil
}

func (r *Response) step(data []byte) (int, error) {
	r.started = true
	switch r.state {
	case inBody, inChunk:
		return r.take(data), nil
	case inUntilEnd:
		r.keepBody(data)
		return len(data), nil
	}
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		r.line = append(r.line, data...)
		return len(data), r.lineLimit(len(r.line))
	}
	line := data[:end]
	if len(r.line) > 0 {
		r.line = append(r.line, line...)
		line = r.line
	}
	err := r.lineLimit(len(line) + 1)
	if err == nil {
		err = r.takeLine(line)
	}
	r.line = r.line[:0]
	return end + 1, err
}

// lineLimit refuses lines and header blocks that are too long. n is the length of the line so far.
func (r *Response) lineLimit(n int) error {
	switch r.state {
	case inChunkSize, inChunkEnd:
		if n > maxChunkLine {
			return fmt.Errorf("%w: a line of more than %d bytes", ErrChunk, maxChunkLine)
		}
	default:
		if int(r.header)+n > MaxHeaderBytes {
			return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxHeaderBytes)
		}
	}
	return nil
}

// take takes bytes of a body or chunk.
func (r *Response) take(data []byte) int {
	n := int(min(int64(len(data)), r.remain))
	r.keepBody(data[:n])
	r.remain -= int64(n)
	if r.remain > 0 {
		return n
	}
	if r.state == inChunk {
		r.state = inChunkEnd
	} else {
		r.state = done
	}
	return n
}

func (r *Response) keepBody(data []byte) {
	if room := r.wanted.body - len(r.body); room > 0 {
		r.body = append(r.body, data[:min(room, len(data))]...)
	}
}

// takeLine takes a line without its line feed.
func (r *Response) takeLine(line []byte) error {
	full := len(line) + 1
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	switch r.state {
	case inChunkSize:
		return r.chunkSize(line)
	case inChunkEnd:
		if len(line) > 0 {
			return fmt.Errorf("%w: bytes after its data", ErrChunk)
		}
		r.state = inChunkSize
		return nil
	}
	r.header += int32(full)
	switch {
	case r.state == inStatusLine:
		return r.statusLine(line)
	case len(line) == 0 && r.state == inTrailer:
		r.state = done
		return nil
	case len(line) == 0:
		return r.headersEnd()
	case r.state == inTrailer:
		if bytes.IndexByte(line, ':') < 1 {
			return fmt.Errorf("%w: a trailer without a name", ErrHeader)
		}
		return nil
	}
	return r.headerLine(line)
}

// statusLine reads «HTTP/1.1 200 OK»; the reason may be missing.
func (r *Response) statusLine(line []byte) error {
	const shortest = len("HTTP/1.1 200")
	if len(line) < shortest || string(line[:7]) != "HTTP/1." || line[7] < '0' || line[7] > '1' || line[8] != ' ' ||
		len(line) > shortest && line[shortest] != ' ' {
		return fmt.Errorf("%w: %.40q", ErrStatusLine, line)
	}
	var status uint16
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return fmt.Errorf("%w: %.40q", ErrStatusLine, line)
		}
		status = status*10 + uint16(c-'0')
	}
	if status < 100 {
		return fmt.Errorf("%w: %.40q", ErrStatusLine, line)
	}
	r.status, r.minor, r.state = status, line[7] == '1', inHeader
	return nil
}
