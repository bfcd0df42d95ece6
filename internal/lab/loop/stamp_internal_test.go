package loop

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAStampedReadTellsWhenTheKernelReceivedTheBytes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	file, err := accepted.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fd := int(file.Fd())
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		t.Fatal(err)
	}
	const late = 20 * time.Millisecond
	for range 50 { // The kernel begins to stamp some time after it was asked to for the first time.
		before := time.Now().UnixNano()
		if _, err := client.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		after := time.Now().UnixNano()
		for time.Now().UnixNano() < after+int64(late) { // The read comes later, the stamp must not.
		}
		n, stamp, errno := stampedRead(fd, make([]byte, 64))
		if errno != 0 || n != 5 {
			t.Fatalf("read %d bytes: %v", n, errno)
		}
		if stamp == 0 {
			continue
		}
		if stamp < before || stamp > after+int64(late)/2 {
			t.Errorf("stamped %v after the write began, which took %v", time.Duration(stamp-before), time.Duration(after-before))
		}
		return
	}
	t.Error("no read in a second was stamped")
}
