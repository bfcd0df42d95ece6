package procfs

import (
	"bytes"
	"iter"
)

// SocketState is a TCP state as the kernel numbers it (include/net/tcp_states.h).
type SocketState uint8

// The states that are asked for by name.
const (
	Established SocketState = 1
	Listen      SocketState = 10
)

var socketStates = [...]string{"", "established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2", "time_wait", "close", "close_wait", "last_ack", "listen", "closing", "new_syn_recv"}

// String is the state's name in lower case.
func (s SocketState) String() string {
	if int(s) >= len(socketStates) || s == 0 {
		return "unknown"
	}
	return socketStates[s]
}

// Socket is one line of /proc/net/tcp or tcp6.
type Socket struct {
	State      SocketState
	LocalPort  int
	RemotePort int
	Received   int64 // bytes not read yet; of a listening socket: connections that wait to be accepted
	Inode      int64 // 0 for a socket without a process
}

// Sockets reads the lines of /proc/net/tcp or tcp6. Lines of another form are left out.
func Sockets(text []byte) iter.Seq[Socket] {
	return func(yield func(Socket) bool) {
		for line := range bytes.Lines(text) {
			if s, ok := socket(line); ok && !yield(s) {
				return
			}
		}
	}
}

func socket(line []byte) (Socket, bool) {
	var w [10][]byte
	for i := range w {
		w[i], line = word(line)
	}
	local, ok1 := port(w[1])
	remote, ok2 := port(w[2])
	state, ok3 := hex(w[3])
	queues := bytes.IndexByte(w[4], ':')
	if queues < 0 || !ok1 || !ok2 || !ok3 {
		return Socket{}, false
	}
	received, ok4 := hex(w[4][queues+1:])
	inode, ok5 := number(w[9])
	return Socket{SocketState(state), int(local), int(remote), received, inode}, ok4 && ok5 && state <= 0xff
}

// port is what stands behind the colon of an address.
func port(address []byte) (int64, bool) {
	at := bytes.IndexByte(address, ':')
	if at < 0 {
		return 0, false
	}
	return hex(address[at+1:])
}

func hex(w []byte) (int64, bool) {
	const digits = 15 // Fits an int64.
	if len(w) == 0 || len(w) > digits {
		return 0, false
	}
	var v int64
	for _, c := range w {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | int64(c-'0')
		case c >= 'A' && c <= 'F':
			v = v<<4 | int64(c-'A'+10)
		case c >= 'a' && c <= 'f':
			v = v<<4 | int64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
