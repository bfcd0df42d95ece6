package provider_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"go.uber.org/goleak"

	"github.com/loadline-dev/loadline/internal/lab/provider"
	"github.com/loadline-dev/loadline/internal/parse/exposition"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a provider that serves.
type running struct {
	http, rpc string
	end       func() error // may be called once; the test's end calls it otherwise
}

func serve(t *testing.T, c provider.Config) running {
	t.Helper()
	c.Listen, c.RPC = "127.0.0.1:0", "127.0.0.1:0"
	s, err := provider.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	end := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := end(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return running{http: "http://" + s.Addr().String(), rpc: s.RPCAddr().String(), end: end}
}

// slowRedis is a Redis whose reads wait until they are let.
type slowRedis struct {
	*miniredis.Miniredis
	came chan struct{} // one value a read that came
	let  chan struct{} // closed: reads go on
	slow atomic.Bool
}

func newSlowRedis(t *testing.T) *slowRedis {
	t.Helper()
	r := &slowRedis{Miniredis: miniredis.NewMiniRedis(), came: make(chan struct{}, 100), let: make(chan struct{})}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	r.Server().SetPreHook(func(_ *server.Peer, cmd string, _ ...string) bool {
		if r.slow.Load() && strings.EqualFold(cmd, "HGETALL") {
			r.came <- struct{}{}
			<-r.let
		}
		return false
	})
	t.Cleanup(r.Close)
	return r
}

func (r *slowRedis) await(t *testing.T) {
	t.Helper()
	select {
	case <-r.came:
	case <-time.After(10 * time.Second):
		t.Fatal("redis was not asked")
	}
}

type answer struct {
	status  int
	outcome string
	body    string
}

func get(t *testing.T, url string) answer {
	r, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{status: r.StatusCode, outcome: r.Header.Get("X-Loadline-Outcome"), body: string(body)}
}

// client speaks the binary protocol, byte by byte as the package's document has it.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, conn: conn, in: bufio.NewReader(conn)}
}

func callBytes(number uint64, method byte, limitMS uint32, user uint64) []byte {
	out := []byte{0, 0, 0, 21}
	out = binary.BigEndian.AppendUint64(out, number)
	out = append(out, method)
	out = binary.BigEndian.AppendUint32(out, limitMS)
	return binary.BigEndian.AppendUint64(out, user)
}

func (c *client) send(frame []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(frame); err != nil {
		c.t.Fatal(err)
	}
}

type reply struct {
	number uint64
	status provider.Status
	body   string
}

func (c *client) receive() reply {
	c.t.Helper()
	var size uint32
	if err := binary.Read(c.in, binary.BigEndian, &size); err != nil {
		c.t.Fatal(err)
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(c.in, frame); err != nil {
		c.t.Fatal(err)
	}
	return reply{number: binary.BigEndian.Uint64(frame), status: provider.Status(frame[8]), body: string(frame[9:])}
}

func wantUser(t *testing.T, body string, id uint64) {
	t.Helper()
	var user struct {
		ID    uint64
		Name  string
		Email string
	}
	if err := json.Unmarshal([]byte(body), &user); err != nil || user.ID != id || user.Name == "" || !strings.Contains(user.Email, "@") {
		t.Errorf("%q: %v, want the record of user %d", body, err, id)
	}
}

func TestARecordIsReadOverBothProtocols(t *testing.T) {
	p := serve(t, provider.Config{Embedded: true, Work: 2})
	got := get(t, p.http+"/user?id=7")
	if got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	wantUser(t, got.body, 7)
	c := dial(t, p.rpc)
	c.send(callBytes(41, 1, 0, 7))
	r := c.receive()
	if r.number != 41 || r.status != provider.OK || r.body != got.body {
		t.Errorf("%+v, want the answer that HTTP gave, %q", r, got.body)
	}
}

func TestRecordsComeFromARealRedis(t *testing.T) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	redis := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = redis.Process.Kill()
		_ = redis.Wait()
	})
	awaitListener(t, addr)
	p := serve(t, provider.Config{Redis: addr})
	wantUser(t, get(t, p.http+"/user?id=1000").body, 1000)
	// Redis itself tells that it holds the record.
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "EXISTS user:1000\r\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || line != ":1\r\n" {
		t.Errorf("%q, %v", line, err)
	}
}

func awaitListener(t *testing.T, addr string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return
		}
	}
	t.Fatalf("nothing listens at %s", addr)
}

func TestAPoolThatIsFullRefusesOnBothProtocols(t *testing.T) {
	r := newSlowRedis(t)
	p := serve(t, provider.Config{Mode: provider.Fixed, Size: 1, Redis: r.Addr()})
	r.slow.Store(true)
	first := make(chan answer, 1)
	go func() { first <- get(t, p.http+"/user?id=1") }()
	r.await(t)
	if got := get(t, p.http+"/user?id=2"); got.status != http.StatusServiceUnavailable || got.outcome != "rejected" {
		t.Errorf("%+v, want it rejected", got)
	}
	c := dial(t, p.rpc)
	c.send(callBytes(1, 1, 0, 3))
	if got := c.receive(); got.status != provider.Rejected {
		t.Errorf("%+v, want it rejected", got)
	}
	close(r.let)
	wantUser(t, (<-first).body, 1)
}

func TestAQueueAdmitsWhatAPoolWithoutOneRefuses(t *testing.T) {
	r := newSlowRedis(t)
	p := serve(t, provider.Config{Mode: provider.Fixed, Size: 1, Queue: 1, Redis: r.Addr()})
	r.slow.Store(true)
	c := dial(t, p.rpc)
	for n := range uint64(3) {
		c.send(callBytes(n, 1, 0, n+1))
	}
	if got := c.receive(); got.number != 2 || got.status != provider.Rejected {
		t.Errorf("%+v, want the third call refused", got)
	}
	close(r.let)
	for n := range uint64(2) {
		got := c.receive()
		if got.number != n || got.status != provider.OK {
			t.Errorf("%+v, want call %d done", got, n)
		}
		wantUser(t, got.body, n+1)
	}
}

func TestACallPastItsTimeoutIsAnsweredSo(t *testing.T) {
	r := newSlowRedis(t)
	p := serve(t, provider.Config{Redis: r.Addr(), Timeout: 50 * time.Millisecond})
	r.slow.Store(true)
	defer close(r.let)
	if got := get(t, p.http+"/user?id=1"); got.status != http.StatusGatewayTimeout || got.outcome != "timeout" {
		t.Errorf("%+v, want a timeout", got)
	}
	c := dial(t, p.rpc)
	c.send(callBytes(9, 1, 20, 1))
	if got := c.receive(); got.status != provider.Timeout {
		t.Errorf("%+v, want a timeout", got)
	}
}

func TestWhatIsNoCallIsToldSo(t *testing.T) {
	p := serve(t, provider.Config{Embedded: true})
	c := dial(t, p.rpc)
	c.send([]byte{0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5, 1})
	if got := c.receive(); got.number != 5 || got.status != provider.BadCall || !strings.Contains(got.body, "21") {
		t.Errorf("%+v, want a bad call with the length it should have", got)
	}
	c.send(callBytes(6, 2, 0, 1))
	if got := c.receive(); got.number != 6 || got.status != provider.BadCall {
		t.Errorf("%+v, want an unknown method refused", got)
	}
	c.send(callBytes(7, 1, 0, 1_000_000))
	if got := c.receive(); got.status != provider.Failed || !strings.Contains(got.body, "no such user") {
		t.Errorf("%+v, want no such user", got)
	}
	c.send([]byte{255, 255, 255, 255})
	if _, err := c.in.ReadByte(); err != io.EOF {
		t.Errorf("%v, want the connection closed", err)
	}
	for path, status := range map[string]int{"/user": 400, "/user?id=-1": 400, "/user?id=0": 404, "/": 404, "/ready": 200} {
		if got := get(t, p.http+path); got.status != status {
			t.Errorf("%s: status %d, want %d", path, got.status, status)
		}
	}
}

func TestTheEndLetsCallsUnderWayEnd(t *testing.T) {
	r := newSlowRedis(t)
	p := serve(t, provider.Config{Redis: r.Addr()})
	r.slow.Store(true)
	c := dial(t, p.rpc)
	c.send(callBytes(1, 1, 0, 1))
	r.await(t)
	ended := make(chan error, 1)
	go func() { ended <- p.end() }()
	// The end has begun when nothing new is let in.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		conn, err := net.Dial("tcp", p.rpc)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(r.let)
	if got := c.receive(); got.status != provider.OK {
		t.Errorf("%+v, want the call done", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestMetricsTellOfThePoolAndOfRedis(t *testing.T) {
	p := serve(t, provider.Config{Mode: provider.Fixed, Size: 4, Queue: 8, Embedded: true, Connections: 32})
	for range 25 {
		get(t, p.http+"/user?id=1")
	}
	reading, err := exposition.Read(strings.NewReader(get(t, p.http+"/metrics").body))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, pool := range reading.Pools {
		switch pool.Pool {
		case "business":
			found++
			if *pool.Core != 4 || *pool.Max != 4 || *pool.Capacity != 8 || *pool.Completed != 25 || pool.Execution.Count != 25 || *pool.Rejected != 0 {
				t.Errorf("business: %+v", pool)
			}
			if last := pool.Execution.Buckets[len(pool.Execution.Buckets)-1]; last.Count != 25 {
				t.Errorf("the last bucket counts %v", last)
			}
		case "redis":
			found++
			if *pool.Max != 32 {
				t.Errorf("redis: %+v", pool)
			}
		}
	}
	if found != 2 {
		t.Errorf("pools %+v, want business and redis", reading.Pools)
	}
}

func TestFaultsOfTheConfigurationAreNamed(t *testing.T) {
	err := provider.Config{Listen: "x", RPC: "y", Mode: "elastic", Queue: -1, Redis: "z", Connections: -1, Work: -1, Timeout: time.Nanosecond}.Validate()
	for _, says := range []string{"listen", "rpc", "elastic", "queue", "redis", "connections", "work", "timeout"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not name %s", err, says)
		}
	}
	for _, c := range []provider.Config{{Mode: provider.Fixed}, {Mode: provider.Cached, Size: 3}, {Embedded: true, Redis: "127.0.0.1:1"}} {
		if c.Validate() == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestARedisThatIsNotThereIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, err = provider.New(t.Context(), provider.Config{Listen: "127.0.0.1:0", RPC: "127.0.0.1:0", Redis: addr})
	if err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("%v, want the address in it", err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(callBytes(1, 1, 0, 1))
	f.Add([]byte{0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5, 1})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		var frame []byte
		for {
			var err error
			if frame, err = provider.ReadFrame(in, frame); err != nil {
				return
			}
			number, err := provider.ParseCall(frame)
			if err == nil && !bytes.Equal(callBytes(number, 1, binary.BigEndian.Uint32(frame[9:]), binary.BigEndian.Uint64(frame[13:]))[4:], frame) {
				t.Fatalf("%x was read as call %d", frame, number)
			}
		}
	})
}
