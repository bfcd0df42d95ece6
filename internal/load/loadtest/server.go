package loadtest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// then says what the server does with a connection after an exchange.
type then int

const (
	keep  then = iota // wait for the next request
	end               // close in order
	reset             // close with a reset
)

// server answers requests as a script says.
type server struct {
	listener net.Listener
	script   func(x *exchange) then
	conns    atomic.Int64
	requests atomic.Int64
	group    sync.WaitGroup
	mu       sync.Mutex // guards open
	open     map[net.Conn]struct{}
	over     chan struct{} // closed when the case ends
}

// exchange is one request as the server sees it.
type exchange struct {
	conn   net.Conn
	server *server
	over   <-chan struct{} // closed when the case ends
	req    *http.Request
	body   []byte
	number int64 // of the request, 1…
	onConn int   // of the request on its connection, 1…
}

func (x *exchange) write(text string) {
	// The other side may be gone, which is what some scripts are about.
	_, _ = io.WriteString(x.conn, text)
}

func serve(t *testing.T, script func(x *exchange) then) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{listener: l, script: script, open: map[net.Conn]struct{}{}, over: make(chan struct{})}
	s.group.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

// connections checks how many there were. An engine whose connections are pooled may open some more while all are busy for a moment.
func (s *server) connections(t *testing.T, users int64) {
	t.Helper()
	if n := s.conns.Load(); n < users || n > 2*users {
		t.Errorf("%d connections, want %d, or a few more where they are pooled", n, users)
	}
}

func (s *server) url(path string) string { return "http://" + s.listener.Addr().String() + path }

func (s *server) close() {
	close(s.over)
	_ = s.listener.Close() // Some scripts have closed it.
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.group.Wait()
}

func (s *server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.conns.Add(1)
		s.mu.Lock()
		s.open[c] = struct{}{}
		s.mu.Unlock()
		s.group.Go(func() { s.talk(c) })
	}
}

func (s *server) talk(c net.Conn) {
	defer func() {
		_ = c.Close()
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
	}()
	r := bufio.NewReader(c)
	for n := 1; ; n++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		x := &exchange{conn: c, server: s, over: s.over, req: req, body: body, number: s.requests.Add(1), onConn: n}
		switch s.script(x) {
		case end:
			return
		case reset:
			_ = c.(*net.TCPConn).SetLinger(0)
			return
		}
	}
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func status(code int, headers string) string {
	return "HTTP/1.1 " + strconv.Itoa(code) + " X\r\n" + headers + "Content-Length: 0\r\n\r\n"
}
