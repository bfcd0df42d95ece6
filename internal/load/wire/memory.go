package wire

import "bytes"

// Memory remembers how the headers of the last answer were read. The answers of one server differ in their headers once a second, when
// the date changes, so most of them need no reading at all but a comparison of bytes. A Memory is for the answers of one goroutine and
// one Wanted; the zero value is ready to use.
type Memory struct {
	text  []byte // the whole head, from the status line to the empty line; empty: none
	after Response
}

// most is the size of a head up to which one is remembered.
const most = 2 << 10

// recall takes a head that is known, and returns its length; 0: it is not, or not whole.
func (m *Memory) recall(r *Response, data []byte) int {
	n := len(m.text)
	if n == 0 || len(data) < n || m.after.head != r.head || !bytes.Equal(data[:n], m.text) {
		return 0
	}
	k := &m.after
	r.remain, r.length, r.header, r.status, r.state = k.remain, k.length, k.header, k.status, k.state
	r.minor, r.close, r.keep, r.coded, r.chunked = k.minor, k.close, k.keep, k.coded, k.chunked
	r.started = true
	return n
}

// remember keeps a head that was read in one piece. One that held a wanted header is not kept: its values belong to its answer.
func (m *Memory) remember(r *Response, head []byte) {
	if r.present != 0 || r.status < 200 || len(head) > most {
		return
	}
	m.text = append(m.text[:0], head...)
	m.after = *r
	m.after.line, m.after.values, m.after.body, m.after.memory, m.after.wanted = nil, nil, nil, nil, nil
}
