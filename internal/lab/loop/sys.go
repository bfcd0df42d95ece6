package loop

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below do not block: the sockets are non-blocking and the timeout is zero. So they go past the scheduler's book-keeping, which
// costs about as much as a short call itself.

func pollNow(epoll int, events []unix.EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return 0, fmt.Errorf("epoll: %w", errno)
	}
	if errno != 0 {
		return 0, nil
	}
	return int(n), nil
}

func rawRead(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return int(n), errno
}

// stampedRead is rawRead with the instant at which the kernel received the last of the bytes, in ns of the wall clock; 0: unknown.
func stampedRead(fd int, b []byte) (n int, stamp int64, errno unix.Errno) {
	var control struct { // As the kernel lays it out: a header and its data, socket(7) and cmsg(3).
		header unix.Cmsghdr
		at     unix.Timespec
	}
	iov := unix.Iovec{Base: &b[0]}
	iov.SetLen(len(b))
	message := unix.Msghdr{Iov: &iov, Iovlen: 1, Control: (*byte)(unsafe.Pointer(&control))}
	message.SetControllen(int(unsafe.Sizeof(control)))
	got, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), 0)
	if errno != 0 {
		return 0, 0, errno
	}
	if control.header.Level == unix.SOL_SOCKET && control.header.Type == unix.SO_TIMESTAMPNS {
		stamp = control.at.Nano()
	}
	return int(got), stamp, 0
}

// rawWrite sends without a signal where the peer has gone.
func rawWrite(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// date is the Date line, made anew each second.
type date struct {
	second int64
	line   []byte
}

func (d *date) at(now func() time.Time) []byte {
	t := now()
	if t.Unix() != d.second || d.line == nil {
		d.second = t.Unix()
		d.line = t.UTC().AppendFormat(append(d.line[:0], "Date: "...), "Mon, 02 Jan 2006 15:04:05 GMT\r\n")
	}
	return d.line
}
