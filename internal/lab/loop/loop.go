// Package loop is the HTTP/1.1 server of the lab's fast services: one thread, one event loop, one read and one write a request, and
// answers that leave within microseconds of their time. It serves clear text, small requests and prepared responses, and nothing else;
// what needs more is served by net/http.
//
// Why not net/http: Go's timers have a grain of one millisecond while the runtime sleeps in the kernel, and a dependency that is to take
// 20.0 ms and share two cores with the service and the load must neither answer at 21 ms nor cost a goroutine switch a request.
package loop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Request is what a handler sees. Its slices are valid during the call only.
type Request struct {
	Method []byte
	Target []byte // path and query, as sent
}

// Handler decides on a request: what to answer, and how long after the request was read; at once where that is zero or less. It runs on the
// loop, so it needs no lock and must not block.
type Handler func(Request) (*Response, time.Duration)

// Config is a server's.
type Config struct {
	Handler Handler
	// FromKernel counts delays from the instant at which the kernel received the last bytes of a request, instead of the one at which they
	// were read. It costs a little more for each read.
	FromKernel bool
	// Answered, where set, is told of each answer given after a delay: how long the request was held, from the instant it was read to the
	// instant before the answer was written. It runs on the loop.
	Answered func(held time.Duration)
	// Left, where set, is told of each client that had gone before its delayed answer was due. It runs on the loop.
	Left func()
}

// Server is a listening server. It is for one Run.
type Server struct {
	config   Config
	address  net.Addr
	listener int // -1 once closed, as the two below
	epoll    int
	wake     int // eventfd that ends a wait
	origin   time.Time
	conns    map[int]*conn
	due      schedule
	date     date
	// acceptAgain: a connection waits that no descriptor was free for.
	acceptAgain bool
	stopping    bool
	watching    bool // the clock, after a long sleep, until something happens
}

// Listen opens a server on a TCP address such as 127.0.0.1:8082; port 0 takes a free one. Run serves and closes it; a server that is not
// run must be closed.
func Listen(address string, config Config) (*Server, error) {
	if config.Handler == nil {
		return nil, errors.New("loop: Handler: found nil, want a function")
	}
	s := &Server{config: config, conns: map[int]*conn{}, listener: -1, epoll: -1, wake: -1}
	if err := s.listen(address); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		s.Close()
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return s, nil
}

// listen binds by way of net, which knows names and IPv6, and keeps a duplicate of the socket.
func (s *Server) listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer l.Close()
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	var dupErr error
	err = raw.Control(func(fd uintptr) { s.listener, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	s.address = l.Addr()
	return errors.Join(err, dupErr)
}

func (s *Server) open() error {
	var err error
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if s.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	if err := s.watch(s.listener, unix.EPOLLIN|unix.EPOLLET); err != nil {
		return err
	}
	return s.watch(s.wake, unix.EPOLLIN)
}

func (s *Server) watch(fd int, events uint32) error {
	event := unix.EpollEvent{Events: events, Fd: int32(fd)}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("watch descriptor: %w", err)
	}
	return nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.address }

// Close frees a server that is not run.
func (s *Server) Close() {
	for fd := range s.conns {
		unix.Close(fd)
	}
	s.conns = nil
	for _, fd := range []*int{&s.listener, &s.epoll, &s.wake} {
		closeFD(fd)
	}
}

func closeFD(fd *int) {
	if *fd >= 0 {
		unix.Close(*fd)
		*fd = -1
	}
}

// Run serves until ctx ends; then it takes no more connections or requests, gives the answers that are due, and returns nil. It keeps
// its thread to itself meanwhile.
func (s *Server) Run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer punctual()()
	defer s.Close()
	wake := s.wake
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		one := [8]byte{1}
		_, _ = unix.Write(wake, one[:]) // Fails only when the counter is full, which wakes as well.
	})
	defer func() {
		if !stop() {
			<-woken
		}
	}()
	s.origin = time.Now()
	return s.loop()
}

// punctual makes the kernel wake the calling thread on time and returns what undoes it: a sleeping thread may be woken late by its slack, 50 µs
// unless told otherwise, prctl(2).
//
// Note: a nice value of -10 beside it changed nothing under a storm of refusals on two cores, and cost a third more CPU.
func punctual() (undo func()) {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return func() {}
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // Without it answers leave a little later.
	return func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) }
}

func (s *Server) now() time.Duration { return time.Since(s.origin) }

func (s *Server) loop() error {
	events := make([]unix.EpollEvent, 256)
	for !s.stopping || len(s.due) > 0 {
		n, err := s.wait(events)
		if err != nil {
			return err
		}
		s.watching = false
		for _, e := range events[:n] {
			s.event(e)
		}
		s.answerDue()
	}
	return nil
}

// A core that has been idle for a while takes 100 to 300 µs to run a thread again, on a virtual machine that is (measured on one: median
// 150 µs, p99 300 µs). So the loop rises early from a long sleep and watches the clock for the rest. After short sleeps, which is what
// there is under load, it does not: they cost no such delay, and the core has others to serve.
const (
	longSleep = 2 * time.Millisecond
	riseEarly = 250 * time.Microsecond
)

// wait returns what is ready. It looks first without sleeping, which costs less than a sleep when there is work.
func (s *Server) wait(events []unix.EpollEvent) (int, error) {
	for {
		n, err := pollNow(s.epoll, events)
		if n > 0 || err != nil {
			return n, err
		}
		due, forever := s.untilDue()
		switch {
		case forever:
			err = s.sleep(nil)
		case due <= 0:
			return 0, nil
		case due >= longSleep:
			s.watching = true
			err = s.sleepFor(due - riseEarly)
		case !s.watching:
			err = s.sleepFor(due)
		}
		if err != nil {
			return 0, err
		}
	}
}

func (s *Server) sleepFor(d time.Duration) error {
	t := unix.NsecToTimespec(int64(d))
	return s.sleep(&t)
}

// sleep waits until something is ready or the time is over. It is ppoll since that takes nanoseconds; epoll_wait takes milliseconds.
func (s *Server) sleep(timeout *unix.Timespec) error {
	fds := [1]unix.PollFd{{Fd: int32(s.epoll), Events: unix.POLLIN}}
	if _, err := unix.Ppoll(fds[:], timeout, nil); err != nil && err != unix.EINTR {
		return fmt.Errorf("ppoll: %w", err)
	}
	return nil
}

// untilDue is the time until the next answer is due.
func (s *Server) untilDue() (d time.Duration, forever bool) {
	if len(s.due) == 0 {
		return 0, true
	}
	return s.due[0].at - s.now(), false
}

func (s *Server) event(e unix.EpollEvent) {
	switch fd := int(e.Fd); {
	case fd == s.wake:
		s.stop()
	case fd == s.listener:
		s.accept()
	default:
		if c := s.conns[fd]; c != nil {
			s.connEvent(c, e.Events)
		}
	}
}

// stop takes no more connections and ends those that wait for nothing.
func (s *Server) stop() {
	s.stopping = true
	closeFD(&s.listener)
	_ = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_DEL, s.wake, nil)
	for _, c := range s.conns {
		c.closing = true
		if !c.waiting && len(c.out) == 0 {
			s.drop(c)
		}
	}
}

func (s *Server) accept() {
	s.acceptAgain = false
	for {
		fd, _, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			s.admit(fd)
		case unix.EINTR, unix.ECONNABORTED:
		case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
			s.acceptAgain = true // Tried again when a connection ends.
			return
		default:
			return // EAGAIN: there is none.
		}
	}
}

func (s *Server) admit(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // Only costs time where it fails.
	if s.config.FromKernel {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) // Where it fails, reads carry no stamp, and their own instant counts.
	}
	if err := s.watch(fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET); err != nil {
		unix.Close(fd)
		return
	}
	s.conns[fd] = &conn{fd: fd, in: make([]byte, firstBuffer)}
}

// drop ends a connection.
func (s *Server) drop(c *conn) {
	if c.fd < 0 {
		return
	}
	delete(s.conns, c.fd)
	unix.Close(c.fd)
	c.fd = -1
	if s.acceptAgain && s.listener >= 0 {
		s.accept()
	}
}
