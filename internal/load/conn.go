package load

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/load/wire"
	"github.com/loadline-dev/loadline/internal/record"
)

type connState uint8

const (
	closed     connState = iota
	connecting           // a request waits for the connection
	sending              // part of the request is still to be written
	waiting              // for the answer
	idle                 // open, without a request
)

const nobody = -1

// conn is a connection and the request on it. Idle ones are many, so the fields are laid out to be small.
type conn struct {
	next, prev *conn // in the wheel
	tick       int64 // of the wheel's slot, 0 when not in it
	response   wire.Response
	message    *message
	session    *session // whose step the request is, nil without a script
	planned    int64    // ns
	sent       int64
	deadline   int64 // when the request's timeout, or the watch after it, ends
	connectAt  int64
	written    int32
	fd         int32
	key        int32  // index among the loop's connections
	generation int32  // tells events of this socket from those of the one before under the same key
	user       int32  // who waits for the answer, nobody when watched or in the open model
	place      int32  // among the idle ones, -1 when not there
	carried    uint32 // requests so far
	addr       int16
	state      connState
	watched    bool // the timeout has passed, its user has gone on
	inside     bool // planned inside the window
	reused     bool // has carried a request before
	again      bool // the request was sent on another connection before
}

func (c *conn) busy() bool { return c.state == connecting || c.state == sending || c.state == waiting }

// newConn takes a connection from the free ones or makes one.
func (l *loop) newConn() *conn {
	if n := len(l.free); n > 0 {
		c := l.free[n-1]
		l.free = l.free[:n-1]
		return c
	}
	c := &conn{key: int32(len(l.conns)), fd: -1, user: nobody, place: -1}
	l.conns = append(l.conns, c)
	return c
}

// request is one request to be sent.
type request struct {
	message       *message
	session       *session
	planned, sent int64
	deadline      int64
	user          int32
	inside        bool
	again         bool
}

func (c *conn) take(r request) {
	c.message, c.session, c.planned, c.sent, c.deadline = r.message, r.session, r.planned, r.sent, r.deadline
	c.user, c.inside, c.again = r.user, r.inside, r.again
	c.written, c.watched = 0, false
}

// dial opens a connection for a request. The request ends there and then when the generator or the kernel refuses.
func (l *loop) dial(c *conn, r request) {
	c.take(r)
	c.reused, c.carried = false, 0
	c.connectAt = l.now
	addr, number := l.book.next()
	c.addr = number
	if n := l.book.failed.Swap(0); n > 0 {
		l.rec.code("dns: a look-up failed, the addresses stay in use")
	}
	fd, err := socketFor(addr, l.sources)
	if err != nil {
		l.refuse(c, err)
		return
	}
	c.fd, c.state = int32(fd), connecting
	l.opened++
	if err := unix.Connect(fd, sockaddr(addr)); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		l.refuse(c, err)
		return
	}
	if err := l.poll.add(fd, c.key, c.generation); err != nil {
		l.refuse(c, err)
		return
	}
	l.wheel.look(c, c.deadline)
}

// refuse ends a request whose connection could not be made.
func (l *loop) refuse(c *conn, err error) {
	l.noteFailure(err)
	outcome := record.Refused
	switch {
	case isLimit(err):
		outcome = record.ClientLimit
	case errors.Is(err, unix.ETIMEDOUT):
		outcome = record.Timeout
	case errors.Is(err, unix.ECONNRESET):
		outcome = record.Reset
	}
	l.rec.code("connect: " + err.Error())
	l.end(c, outcome, false)
}

// connected goes on with the request when the connection is made.
func (l *loop) connected(c *conn) {
	errno, err := unix.GetsockoptInt(int(c.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = syscall.Errno(errno)
	}
	if err != nil {
		l.refuse(c, err)
		return
	}
	l.reached = true
	observe(&l.rec.connect, l.now-c.connectAt)
	l.transmit(c)
}

// transmit begins to write the request.
func (l *loop) transmit(c *conn) {
	l.rec.to(c.addr)
	c.carried++
	c.response.Begin(l.wanted, &l.memory, c.message.head)
	c.state = waiting
	l.write(c)
}

// write writes what the socket takes; the rest follows when there is room.
func (l *loop) write(c *conn) {
	data := c.message.bytes[c.written:]
	n, errno := send(c.fd, data)
	switch {
	case errno == 0:
		l.rec.sent += int64(n)
		c.written += int32(n)
		c.state = waiting
		if n < len(data) {
			c.state = sending
		}
	case errno == unix.EAGAIN || errno == unix.EINTR:
		c.state = sending
	default:
		l.broken(c, "write: "+errno.Error())
	}
}

// broken ends a request whose connection was lost. An idle connection may have been closed by the server just before it was used
// again: then nothing was answered, and a request that may be repeated is sent once more (RFC 9112, section 9.3.1).
func (l *loop) broken(c *conn, code string) {
	if c.watched {
		l.end(c, record.Timeout, false)
		return
	}
	if c.reused && !c.again && !c.response.Started() && c.message.safe && l.now < c.deadline {
		l.rec.code("idle connection was closed, sent again")
		r := request{message: c.message, session: c.session, planned: c.planned, sent: c.sent, deadline: c.deadline, user: c.user, inside: c.inside, again: true}
		l.drop(c)
		fresh := l.newConn()
		l.own(fresh, r.user)
		l.dial(fresh, r)
		return
	}
	l.rec.code(code)
	l.end(c, record.Reset, false)
}

// drop closes a connection and forgets it.
func (l *loop) drop(c *conn) {
	l.wheel.remove(c)
	if c.user != nobody && l.users != nil && l.users[c.user].conn == c {
		l.users[c.user].conn = nil
	}
	l.leaveIdle(c)
	if c.fd >= 0 {
		// The error of a close of a socket says nothing that the request does not know already.
		_ = unix.Close(int(c.fd))
		l.opened--
	}
	c.response.Release()
	c.fd, c.state, c.user, c.message, c.session = -1, closed, nobody, nil, nil
	c.generation++
	l.free = append(l.free, c)
}

// event acts on what epoll saw.
func (l *loop) event(ev *unix.EpollEvent) {
	if ev.Fd == wakeKey {
		return // The eventfd is never read: it says stop, and a stopped loop polls no more.
	}
	c := l.conns[ev.Fd]
	if c.generation != ev.Pad {
		return
	}
	const over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if c.state == connecting {
		if ev.Events&(unix.EPOLLOUT|over) == 0 {
			return
		}
		l.tick()
		l.connected(c)
		return
	}
	if c.state == sending && ev.Events&unix.EPOLLOUT != 0 {
		l.write(c)
	}
	if ev.Events&(unix.EPOLLIN|over) != 0 && c.generation == ev.Pad {
		l.readable(c, ev.Events&over != 0)
	}
}

// readable reads until the socket is empty. Edge-triggered events come once: a read that does not fill the buffer has emptied it, and
// only where the other side has closed must the end be read as well.
func (l *loop) readable(c *conn, over bool) {
	generation := c.generation
	for {
		n, errno := receive(c.fd, l.buf)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return
		case errno != 0:
			l.tick()
			l.lost(c, "read: "+errno.Error())
			return
		case n == 0:
			l.tick()
			l.ended(c)
			return
		}
		l.tick()
		l.rec.read += int64(n)
		l.feed(c, l.buf[:n])
		if c.generation != generation || n < len(l.buf) && !over {
			return
		}
	}
}

// lost takes the loss of a connection, idle or not.
func (l *loop) lost(c *conn, code string) {
	if c.state == idle {
		l.drop(c)
		return
	}
	l.broken(c, code)
}

// ended takes the end of the stream: the end of a body that has no other, or a loss.
func (l *loop) ended(c *conn) {
	if c.busy() && c.response.End() {
		l.answered(c)
		return
	}
	l.lost(c, "closed before the answer was complete")
}

func (l *loop) feed(c *conn, data []byte) {
	if !c.busy() {
		l.drop(c) // Bytes that nobody asked for: what they belong to cannot be known.
		return
	}
	n, err := c.response.Feed(data)
	if err != nil {
		l.rec.code("answer: " + err.Error())
		l.end(c, record.Failure, true)
		return
	}
	if !c.response.Done() {
		return
	}
	if n < len(data) {
		l.rec.code("answer: more bytes than one answer")
		l.finish(c, false)
		return
	}
	l.answered(c)
}
