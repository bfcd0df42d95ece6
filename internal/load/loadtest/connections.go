package loadtest

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/record"
)

func connections(f Features) []rule {
	rules := []rule{
		{"close", "Asked to, an engine opens a connection for every request and says so to the server.", closeEach},
		{"connect rate", "A connect rate bounds the new connections per second.", connectRate},
		{"sources", "Connections come from the source addresses in turn.", fromSources},
		{"name", "A name is looked up, its addresses that answer are used, and the requests are counted by address.", byName},
		{"unknown name", "A name that does not exist is unreachable.", unknownName},
		{"connect time", "The time to connect is recorded apart, once for every connection.", connectTime},
	}
	if f.MaxRequests {
		rules = append(rules, rule{"max requests", "A connection carries so many requests and is replaced.", maxRequests})
	}
	return rules
}

func answerOK(x *exchange) then {
	x.write(ok)
	return keep
}

func closeEach(t *testing.T, e load.Engine) {
	s := serve(t, func(x *exchange) then {
		if !x.req.Close {
			return reset
		}
		return answerOK(x)
	})
	j := job(s, 2, 20)
	j.Target.Client.Close = true
	run(t.Context(), t, e, j).only(t, record.Success, 20)
	if s.conns.Load() != 20 {
		t.Errorf("%d connections for 20 requests", s.conns.Load())
	}
}

func maxRequests(t *testing.T, e load.Engine) {
	s := serve(t, answerOK)
	j := job(s, 1, 20)
	j.Target.Client.MaxRequests = 7
	run(t.Context(), t, e, j).only(t, record.Success, 20)
	if s.conns.Load() != 3 {
		t.Errorf("%d connections for 20 requests of 7 each at most, want 3", s.conns.Load())
	}
}

func connectRate(t *testing.T, e load.Engine) {
	s := serve(t, answerOK)
	j := job(s, 30, 0)
	j.Phases.Window = 500 * time.Millisecond
	j.Target.Client.ConnectRate = 20
	r := run(t.Context(), t, e, j)
	r.only(t, record.Success, r.planned)
	// One at once and one every 50 ms; a busy machine may be late with them, and some may be made in the drain.
	took := r.intervals[len(r.intervals)-1].End
	if n := s.conns.Load(); n < 4 || float64(n) > 2+20*took.Seconds() {
		t.Errorf("%d connections in %v at 20 per second", n, took)
	}
}

func fromSources(t *testing.T, e load.Engine) {
	var mu sync.Mutex
	from := map[string]bool{}
	s := serve(t, func(x *exchange) then {
		host, _, err := net.SplitHostPort(x.conn.RemoteAddr().String())
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		from[host] = true
		mu.Unlock()
		return answerOK(x)
	})
	j := job(s, 4, 40)
	j.Target.Client.Sources = []string{"127.0.0.9", "127.7.7.0/30"}
	j.Target.Client.Close = true
	run(t.Context(), t, e, j).only(t, record.Success, 40)
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 3 || !from["127.0.0.9"] || !from["127.7.7.1"] || !from["127.7.7.2"] {
		t.Errorf("connections came from %v, want 127.0.0.9, 127.7.7.1 and 127.7.7.2", from)
	}
}

func byName(t *testing.T, e load.Engine) {
	s := serve(t, answerOK)
	j := job(s, 2, 10)
	j.Target.Request.URL = strings.Replace(s.url("/"), "127.0.0.1", "localhost", 1)
	j.Target.Client.DNSTTL = 50 * time.Millisecond
	r := run(t.Context(), t, e, j)
	r.only(t, record.Success, 10)
	got := map[string]int64{}
	for _, i := range r.intervals {
		for a, n := range i.Addresses {
			got[a] += n
		}
	}
	if len(got) != 1 || got[s.listener.Addr().String()] != 10 {
		t.Errorf("addresses: got %v, want 10 to %v", got, s.listener.Addr())
	}
}

func unknownName(t *testing.T, e load.Engine) {
	s := serve(t, answerOK)
	j := job(s, 1, 1)
	j.Target.Request.URL = "http://no-such-name.invalid/"
	if err := e.Run(t.Context(), j, load.SinkFunc(func(record.Interval) error { return nil })); err == nil || !strings.Contains(err.Error(), "no-such-name.invalid") {
		t.Errorf("got %v, want an error that names the host", err)
	}
}

func connectTime(t *testing.T, e load.Engine) {
	s := serve(t, answerOK)
	r := run(t.Context(), t, e, job(s, 3, 30))
	r.only(t, record.Success, 30)
	var n int64
	for _, i := range r.intervals {
		n += i.Connect.Count()
	}
	if n < 3 || n > s.conns.Load() {
		t.Errorf("%d times to connect for %d connections", n, s.conns.Load())
	}
	s.connections(t, 3)
}
