package procfs_test

import (
	"net"
	"os"
	"slices"
	"testing"

	"github.com/loadline-dev/loadline/internal/parse/procfs"
)

func TestALineOfTheSocketTableIsRead(t *testing.T) {
	text := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0\n" +
		"   1: 0100007F:1F90 0100007F:C350 01 00000000:00000010 00:00000000 00000000     0        0 12346 1 0 20 4 30 10 -1\n" +
		"garbage\n"
	got := slices.Collect(procfs.Sockets([]byte(text)))
	want := []procfs.Socket{
		{State: procfs.Listen, LocalPort: 8080, Received: 3, Inode: 12345},
		{State: procfs.Established, LocalPort: 8080, RemotePort: 50000, Received: 16, Inode: 12346},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s := got[0].State.String(); s != "listen" {
		t.Errorf("state %q", s)
	}
}

func TestAListenerOfOursIsFoundWithWhatWaitsToBeAccepted(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip("no proc here")
	}
	for s := range procfs.Sockets(text) {
		if s.State == procfs.Listen && s.LocalPort == l.Addr().(*net.TCPAddr).Port {
			if s.Received != 1 {
				t.Errorf("%d connections wait, want the one that was not accepted", s.Received)
			}
			return
		}
	}
	t.Error("listener not found")
}
