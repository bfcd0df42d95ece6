package loop_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loadline-dev/loadline/internal/lab/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server whose path /N answers after N ms with its path as body; stop ends it and waits.
func serve(t *testing.T, config loop.Config) (address string, stop func()) {
	t.Helper()
	if config.Handler == nil {
		config.Handler = func(r loop.Request) (*loop.Response, time.Duration) {
			ms, err := strconv.ParseFloat(strings.TrimPrefix(string(r.Target), "/"), 64)
			if err != nil {
				ms = 0
			}
			return loop.NewResponse(http.StatusOK, "text/plain", bytes.Clone(r.Target)), time.Duration(ms * float64(time.Millisecond))
		}
	}
	s, err := loop.Listen("127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return s.Addr().String(), stop
}

type client struct {
	net.Conn
	*bufio.Reader
	t *testing.T
}

func dial(t *testing.T, address string) client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return client{Conn: conn, Reader: bufio.NewReader(conn), t: t}
}

func (c client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.Reader, &http.Request{Method: method})
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return r, string(body)
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

// ended tells whether the server has closed the connection.
func (c client) ended() bool {
	_, err := c.Reader.ReadByte()
	return err == io.EOF
}

func TestAnswersLeaveNeverBeforeTheirTime(t *testing.T) {
	address, _ := serve(t, loop.Config{Answered: func(held time.Duration) {
		if held < 5*time.Millisecond {
			t.Errorf("answered %v after the request was read, want 5 ms at least", held)
		}
	}})
	var users sync.WaitGroup
	for range 20 {
		c := dial(t, address)
		users.Go(func() {
			for range 20 {
				sent := time.Now()
				c.send(get("/5"))
				_, body := c.answer("GET")
				if took := time.Since(sent); took < 5*time.Millisecond || body != "/5" {
					t.Errorf("%q after %v", body, took)
				}
			}
		})
	}
	users.Wait()
}

func TestShorterAnswersOvertakeLongerOnes(t *testing.T) {
	address, _ := serve(t, loop.Config{})
	slow, fast := dial(t, address), dial(t, address)
	slow.send(get("/300"))
	sent := time.Now()
	fast.send(get("/1"))
	fast.answer("GET")
	if took := time.Since(sent); took > 250*time.Millisecond {
		t.Errorf("the fast one took %v behind the slow one", took)
	}
	slow.answer("GET")
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	address, _ := serve(t, loop.Config{})
	c := dial(t, address)
	c.send(get("/20") + get("/0") + get("/1"))
	for _, want := range []string{"/20", "/0", "/1"} {
		if _, body := c.answer("GET"); body != want {
			t.Fatalf("answered %q, want %q", body, want)
		}
	}
}

func TestARequestMayComeInPieces(t *testing.T) {
	address, _ := serve(t, loop.Config{})
	c := dial(t, address)
	for _, piece := range strings.SplitAfter("POST /0 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody", "") {
		c.send(piece)
	}
	if _, body := c.answer("POST"); body != "/0" {
		t.Errorf("answered %q", body)
	}
	c.send(get("/1"))
	if _, body := c.answer("GET"); body != "/1" {
		t.Errorf("then %q", body)
	}
}

func TestALargeRequestAndALargeAnswerPass(t *testing.T) {
	large := strings.Repeat("x", 4<<20)
	address, _ := serve(t, loop.Config{Handler: func(loop.Request) (*loop.Response, time.Duration) {
		return loop.NewResponse(http.StatusOK, "text/plain", []byte(large)), 0
	}})
	c := dial(t, address)
	c.send("GET / HTTP/1.1\r\nX-Large: " + strings.Repeat("y", 50_000) + "\r\n\r\n")
	if _, body := c.answer("GET"); body != large {
		t.Errorf("%d bytes came, want %d", len(body), len(large))
	}
}

func TestHeadGetsNoBody(t *testing.T) {
	address, _ := serve(t, loop.Config{})
	c := dial(t, address)
	c.send("HEAD /0 HTTP/1.1\r\nHost: x\r\n\r\n" + get("/1"))
	if r, body := c.answer("HEAD"); body != "" || r.ContentLength != 2 {
		t.Errorf("%q, length %d", body, r.ContentLength)
	}
	if r, body := c.answer("GET"); body != "/1" || r.Header.Get("Date") == "" {
		t.Errorf("then %q with %v", body, r.Header)
	}
}

func TestTheConnectionEndsWhenTheClientWishesSo(t *testing.T) {
	address, _ := serve(t, loop.Config{})
	for text, connection := range map[string]string{
		"GET /1 HTTP/1.1\r\nConnection: close\r\n\r\n": "close",
		"GET /0 HTTP/1.0\r\n\r\n":                      "close",
	} {
		c := dial(t, address)
		c.send(text)
		if r, _ := c.answer("GET"); !r.Close && r.Header.Get("Connection") != connection {
			t.Errorf("%q: connection %q", text, r.Header.Get("Connection"))
		}
		if !c.ended() {
			t.Errorf("%q: the connection stayed", text)
		}
	}
	c := dial(t, address)
	c.send("GET /0 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if r, _ := c.answer("GET"); r.Header.Get("Connection") != "keep-alive" {
		t.Errorf("an old client is not told that its connection stays: %v", r.Header)
	}
}

func TestNonsenseIsRefusedAndTheConnectionEnded(t *testing.T) {
	address, _ := serve(t, loop.Config{})
	for text, status := range map[string]int{
		"nonsense\r\n\r\n": http.StatusBadRequest,
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n":             http.StatusNotImplemented,
		"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 100_000) + "\r\n\r\n": http.StatusRequestHeaderFieldsTooLarge,
	} {
		c := dial(t, address)
		_, _ = io.WriteString(c.Conn, text) // May fail at the end, once the server has closed.
		if r, _ := c.answer("GET"); r.StatusCode != status {
			t.Errorf("%.20q: status %d, want %d", text, r.StatusCode, status)
		}
	}
}

func TestAClientThatLeavesIsNoticedAndHarmsNobody(t *testing.T) {
	asked, left := make(chan struct{}, 2), make(chan struct{}, 1)
	address, _ := serve(t, loop.Config{Left: func() { left <- struct{}{} }, Handler: func(loop.Request) (*loop.Response, time.Duration) {
		asked <- struct{}{}
		return loop.NewResponse(http.StatusOK, "text/plain", nil), 50 * time.Millisecond
	}})
	c := dial(t, address)
	c.send(get("/"))
	<-asked                                                    // What is not read yet when the reset comes is never seen.
	if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil { // So that it leaves with a reset.
		t.Fatal(err)
	}
	c.Conn.Close()
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("nobody noticed")
	}
	other := dial(t, address)
	other.send(get("/"))
	other.answer("GET")
}

func TestStoppingGivesTheAnswersThatAreDueAndTakesNoMore(t *testing.T) {
	asked := make(chan struct{}, 1)
	address, stop := serve(t, loop.Config{Handler: func(loop.Request) (*loop.Response, time.Duration) {
		asked <- struct{}{}
		return loop.NewResponse(http.StatusOK, "text/plain", []byte("late")), 100 * time.Millisecond
	}})
	waiting, idle := dial(t, address), dial(t, address)
	waiting.send(get("/"))
	<-asked
	stop()
	if _, body := waiting.answer("GET"); body != "late" {
		t.Errorf("answered %q", body)
	}
	if !waiting.ended() || !idle.ended() {
		t.Error("a connection stayed")
	}
	if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
}

func TestAThousandConnectionsAreServedAtOnce(t *testing.T) {
	address, _ := serve(t, loop.Config{})
	const users = 1000
	clients := make([]client, users)
	for i := range clients {
		clients[i] = dial(t, address)
	}
	for round := range 3 {
		for _, c := range clients {
			c.send(get("/" + fmt.Sprint(10+round)))
		}
		for _, c := range clients {
			if _, body := c.answer("GET"); body != "/"+fmt.Sprint(10+round) {
				t.Fatalf("answered %q", body)
			}
		}
	}
}

func TestATakenAddressIsToldAndNoDescriptorIsLeft(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	handler := func(loop.Request) (*loop.Response, time.Duration) { return nil, 0 }
	before := descriptors(t)
	if _, err := loop.Listen(l.Addr().String(), loop.Config{Handler: handler}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("found %v", err)
	}
	s, err := loop.Listen("127.0.0.1:0", loop.Config{Handler: handler})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if _, err := loop.Listen("127.0.0.1:0", loop.Config{}); err == nil {
		t.Error("a server without a handler was made")
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
