package load

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxEvents = 512
	// rawWait bounds how long a loop waits without telling the scheduler. Longer waits give the processor back, which costs a wake-up
	// through the scheduler; shorter ones keep it, and the garbage collector and other goroutines may wait as long.
	rawWait = 2 * time.Millisecond
	// readEvents are what a connection is registered for, once.
	readEvents = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | (unix.EPOLLET & 0xffffffff)
)

// poller is an epoll instance with an eventfd that wakes it. All but wake is for the loop's thread.
type poller struct {
	epoll, event int
	events       [maxEvents]unix.EpollEvent
}

// wakeKey marks the eventfd among the events.
const wakeKey = -1

func newPoller() (*poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, limits("epoll", err)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(limits("eventfd", err), unix.Close(epoll))
	}
	p := &poller{epoll: epoll, event: event}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, event, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: wakeKey}); err != nil {
		return nil, errors.Join(fmt.Errorf("epoll: %w", err), p.close())
	}
	return p, nil
}

func (p *poller) close() error { return errors.Join(unix.Close(p.epoll), unix.Close(p.event)) }

// wake ends the loop's wait; it may be called from any goroutine until close.
func (p *poller) wake() error {
	one := [8]byte{1}
	_, err := unix.Write(p.event, one[:])
	if errors.Is(err, unix.EAGAIN) {
		return nil // The counter is full: the loop is woken already.
	}
	return err
}

// add registers a socket; key and generation come back with its events.
func (p *poller) add(fd int, key, generation int32) error {
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: readEvents, Fd: key, Pad: generation})
}

// wait returns the events that came within d, at most maxEvents, or none some time before d has passed. A d of 0 or less only looks.
func (p *poller) wait(d time.Duration) ([]unix.EpollEvent, error) {
	events, err := p.waitRaw(min(max(d, 0), rawWait))
	if len(events) > 0 || err != nil || d < 3*rawWait {
		return events, err
	}
	// The scheduler may wake the loop late, so the rest of the time is left to a raw wait.
	return p.waitBlocking(d - 2*rawWait)
}

func (p *poller) waitRaw(d time.Duration) ([]unix.EpollEvent, error) {
	ts := unix.NsecToTimespec(int64(d))
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events)), maxEvents, uintptr(unsafe.Pointer(&ts)), 0, 0)
	return p.got(n, errno)
}

func (p *poller) waitBlocking(d time.Duration) ([]unix.EpollEvent, error) {
	ts := unix.NsecToTimespec(int64(d))
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events)), maxEvents, uintptr(unsafe.Pointer(&ts)), 0, 0)
	return p.got(n, errno)
}

func (p *poller) got(n uintptr, errno syscall.Errno) ([]unix.EpollEvent, error) {
	switch errno {
	case 0:
		return p.events[:n], nil
	case unix.EINTR:
		return nil, nil
	}
	return nil, fmt.Errorf("epoll: %w", errno)
}

// socketFor opens a socket for an address that does not block, from the next of the sources where there are any.
func socketFor(addr netip.AddrPort, from *sources) (int, error) {
	family := unix.AF_INET
	if addr.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	if from == nil {
		return fd, nil
	}
	// The port is chosen when connecting: it need only be free towards this target.
	err = unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if err == nil {
		err = unix.Bind(fd, sockaddr(netip.AddrPortFrom(from.next(), 0)))
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

// sockaddr is an address in the kernel's form.
func sockaddr(addr netip.AddrPort) unix.Sockaddr {
	if addr.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
}

// receive and send are the two calls of every request. They tell the scheduler nothing: neither blocks.
func receive(fd int32, buf []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0, 0)
	return int(n), errno
}

func send(fd int32, buf []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// limits says of an error whether the generator's own limits are the cause.
func limits(what string, err error) error {
	if isLimit(err) {
		return fmt.Errorf("%w: %s: %w; raise the limit of open files (ulimit -n) or lower the load", ErrLimits, what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// isLimit tells an error that is the generator's own fault: descriptors, memory for sockets, or local ports ran out.
func isLimit(err error) bool {
	for _, own := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.EADDRNOTAVAIL, unix.EADDRINUSE} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// nap waits without telling the scheduler, for short waits that must end in time.
func nap(ns int64) {
	ts := unix.NsecToTimespec(ns)
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0) // When a signal ends it, the caller looks at the clock anyway.
}
