package loop

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	firstBuffer = 4 << 10
	maxRequest  = 64 << 10 // bytes of a request, its body included
)

// conn is one connection. It serves one request after the other; what arrives meanwhile waits in its buffer or in the kernel.
type conn struct {
	fd      int // -1 once closed
	in      []byte
	n       int    // bytes of in that are filled
	out     []byte // what the kernel has not taken yet
	waiting bool   // an answer is due later
	// unread: the kernel may hold more, for which edge-triggered epoll will not call again.
	unread  bool
	closing bool // closed after the answer under way
	readAt  time.Duration
	reply   reply
}

func (s *Server) connEvent(c *conn, events uint32) {
	if events&unix.EPOLLERR != 0 {
		s.drop(c)
		return
	}
	if len(c.out) > 0 && events&unix.EPOLLOUT != 0 && !s.flush(c) {
		return
	}
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP) != 0 {
		c.unread = true
	}
	s.serve(c)
}

// serve reads and answers until the connection waits for its peer or for an answer's time.
func (s *Server) serve(c *conn) {
	for !c.waiting && len(c.out) == 0 && c.fd >= 0 {
		if c.unread && !s.read(c) {
			return
		}
		used, ok := s.take(c)
		if !ok {
			if !c.unread {
				return
			}
			if c.n == len(c.in) && !c.grow() {
				s.refuse(c, tooLarge)
				return
			}
			continue
		}
		c.n = copy(c.in, c.in[used:c.n])
	}
}

// grow makes room for the rest of a request; false at the limit.
func (c *conn) grow() bool {
	if len(c.in) >= maxRequest {
		return false
	}
	bigger := make([]byte, 2*len(c.in))
	copy(bigger, c.in[:c.n])
	c.in = bigger
	return true
}

// read fills the buffer once; false when the connection has ended.
func (s *Server) read(c *conn) bool {
	room := c.in[c.n:]
	if len(room) == 0 {
		return true
	}
	n, errno := s.fill(c, room)
	switch {
	case errno == unix.EAGAIN:
		c.unread = false
	case errno == unix.EINTR:
	case errno != 0 || n == 0:
		s.drop(c)
		return false
	default:
		c.n += n
		// A socket that gave less than was asked for is empty: epoll(7), edge-triggered.
		c.unread = n == len(room)
	}
	return true
}

// fill reads bytes and notes when they came.
func (s *Server) fill(c *conn, room []byte) (int, unix.Errno) {
	if !s.config.FromKernel {
		n, errno := rawRead(c.fd, room)
		c.readAt = s.now()
		return n, errno
	}
	n, stamp, errno := stampedRead(c.fd, room)
	now := time.Now()
	c.readAt = now.Sub(s.origin)
	// The stamp is of the wall clock, which may be set meanwhile: an age that cannot be is not believed.
	if age := now.UnixNano() - stamp; stamp != 0 && age > 0 && age < int64(time.Minute) {
		c.readAt -= time.Duration(age)
	}
	return n, errno
}

// take answers the request at the front of the buffer, if it is complete, and says how long it was.
func (s *Server) take(c *conn) (used int, ok bool) {
	head, status := parse(c.in[:c.n])
	switch status {
	case incomplete:
		return 0, false
	case malformed:
		s.refuse(c, badRequest)
		return c.n, true
	case unsupported:
		s.refuse(c, notImplemented)
		return c.n, true
	}
	c.reply = head.reply
	c.closing = c.closing || head.close
	response, after := s.config.Handler(head.Request)
	if after <= 0 {
		s.send(c, response)
		return head.length, true
	}
	c.waiting = true
	s.due.push(answer{at: c.readAt + after, read: c.readAt, conn: c, response: response})
	return head.length, true
}

// refuse answers what is no request that this server takes, and ends the connection: where the next one begins is unknown.
func (s *Server) refuse(c *conn, r *Response) {
	c.closing = true
	s.send(c, r)
}

// answerDue gives the answers whose time has come, none before it.
func (s *Server) answerDue() {
	for len(s.due) > 0 {
		now := s.now()
		if s.due[0].at > now {
			return
		}
		a := s.due.pop()
		if a.conn.fd < 0 {
			if s.config.Left != nil {
				s.config.Left()
			}
			continue
		}
		if s.config.Answered != nil {
			s.config.Answered(now - a.read)
		}
		a.conn.waiting = false
		s.send(a.conn, a.response)
		s.serve(a.conn)
	}
}

func (s *Server) send(c *conn, r *Response) {
	c.out = r.appendTo(c.out[:0], s.date.at(time.Now), c.reply, c.closing)
	s.flush(c)
}

// flush writes what is left; false when the connection has ended.
func (s *Server) flush(c *conn) bool {
	for len(c.out) > 0 {
		n, errno := rawWrite(c.fd, c.out)
		switch {
		case errno == unix.EAGAIN:
			return true // EPOLLOUT calls again.
		case errno == unix.EINTR:
		case errno != 0:
			s.drop(c)
			return false
		default:
			c.out = c.out[:copy(c.out, c.out[n:])]
		}
	}
	if c.closing {
		s.drop(c)
		return false
	}
	return true
}
