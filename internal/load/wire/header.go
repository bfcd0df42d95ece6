package wire

import (
	"bytes"
	"fmt"
	"math"
)

// headerLine reads one header. Names that nobody asked for are told by their length alone, which is the usual case.
func (r *Response) headerLine(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || line[0] == ' ' || line[0] == '\t' || line[colon-1] == ' ' || line[colon-1] == '\t' {
		return fmt.Errorf("%w: %.40q", ErrHeader, line)
	}
	if r.wanted.lengths&(1<<min(colon, 63)) == 0 {
		return nil
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	r.keepValue(name, value)
	switch {
	case colon == len("content-length") && equalFold(name, "content-length"):
		return r.contentLength(value)
	case colon == len("transfer-encoding") && equalFold(name, "transfer-encoding"):
		r.transferEncoding(value)
	case colon == len("connection") && equalFold(name, "connection"):
		r.connection(value)
	}
	return nil
}

func (r *Response) keepValue(name, value []byte) {
	for i, w := range r.wanted.names {
		if len(w) != len(name) || !equalFold(name, w) {
			continue
		}
		if r.values == nil {
			r.values = make([][]byte, len(r.wanted.names))
		}
		if r.present&(1<<i) == 0 {
			r.values[i] = append(r.values[i][:0], value...)
			r.present |= 1 << i
			continue
		}
		between := ", "
		if w == "set-cookie" {
			between = "\n" // A cookie's date holds a comma (RFC 6265, section 3).
		}
		r.values[i] = append(append(r.values[i], between...), value...)
	}
}

// equalFold compares an ASCII name with one in lower case of the same length.
func equalFold(name []byte, lower string) bool {
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// contentLength reads a length. Two lengths that differ leave the end of the body in doubt (RFC 9112, section 6.3).
func (r *Response) contentLength(value []byte) error {
	n, ok := digits(value)
	if !ok || r.length >= 0 && r.length != n {
		return fmt.Errorf("%w: Content-Length %.40q", ErrLength, value)
	}
	r.length = n
	return nil
}

func digits(value []byte) (int64, bool) {
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(value) > 0
}

func (r *Response) transferEncoding(value []byte) {
	r.coded = true
	last := value[bytes.LastIndexByte(value, ',')+1:]
	last = bytes.Trim(last, " \t")
	r.chunked = len(last) == len("chunked") && equalFold(last, "chunked")
}

func (r *Response) connection(value []byte) {
	for len(value) > 0 {
		token := value
		if comma := bytes.IndexByte(value, ','); comma >= 0 {
			token, value = value[:comma], value[comma+1:]
		} else {
			value = nil
		}
		token = bytes.Trim(token, " \t")
		switch {
		case len(token) == len("close") && equalFold(token, "close"):
			r.close = true
		case len(token) == len("keep-alive") && equalFold(token, "keep-alive"):
			r.keep = true
		}
	}
}

// headersEnd decides how the body is framed, in the order of RFC 9112, section 6.3.
func (r *Response) headersEnd() error {
	if r.coded && !r.minor {
		// HTTP/1.0 knows no codings: whoever put the header there did not frame the body by it (RFC 9112, section 6.1).
		r.coded, r.chunked, r.close = false, false, true
	}
	switch {
	case r.status >= 100 && r.status < 200 && r.status != 101:
		r.restart()
	case r.status == 101:
		r.state, r.close = done, true
	case r.head || r.status == 204 || r.status == 304:
		r.state = done
	case r.chunked:
		// Both framings at once may be an attempt at smuggling: the connection is not used again.
		r.close = r.close || r.length >= 0
		r.state = inChunkSize
	case r.coded:
		r.state = inUntilEnd
	case r.length == 0:
		r.state = done
	case r.length > 0:
		r.state, r.remain = inBody, r.length
	default:
		r.state = inUntilEnd
	}
	return nil
}

// chunkSize reads the line before a chunk; extensions are passed over.
func (r *Response) chunkSize(line []byte) error {
	if semi := bytes.IndexByte(line, ';'); semi >= 0 {
		line = line[:semi]
	}
	line = bytes.TrimRight(line, " \t")
	var n int64
	for _, c := range line {
		v := hexValue(c)
		if v < 0 || n > math.MaxInt64>>4 {
			return fmt.Errorf("%w: size %.40q", ErrChunk, line)
		}
		n = n<<4 | v
	}
	if len(line) == 0 {
		return fmt.Errorf("%w: without a size", ErrChunk)
	}
	if n == 0 {
		r.state, r.header = inTrailer, 0
		return nil
	}
	r.state, r.remain = inChunk, n
	return nil
}

func hexValue(c byte) int64 {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0')
	case 'a' <= c && c <= 'f':
		return int64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int64(c-'A') + 10
	}
	return -1
}
