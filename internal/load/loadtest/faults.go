package loadtest

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/record"
)

func faults() []rule {
	return []rule{
		{"connection: close", "A connection that the server ends after its answer costs nothing: the next request opens another.", closing("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")},
		{"until the end", "A body without a length ends with the connection.", closing("HTTP/1.1 200 OK\r\n\r\nok")},
		{"1.0", "HTTP/1.0 without keep-alive ends the connection.", closing("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")},
		{"reset", "A reset before the answer is a reset.", losing(reset, "", record.Reset)},
		{"reset in the body", "A reset in the middle of an answer is a reset.", losing(reset, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", record.Reset)},
		{"end before the answer", "A connection that ends without an answer is a reset.", losing(end, "", record.Reset)},
		{"end in the headers", "A connection that ends within the headers is a reset.", losing(end, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", record.Reset)},
		{"end in the body", "A connection that ends within a body of known length is a reset.", losing(end, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", record.Reset)},
		{"end in a chunk", "A connection that ends within a chunked body is a reset.", losing(end, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok", record.Reset)},
		{"nonsense", "An answer that is not HTTP is a failure.", losing(end, "nonsense\r\n\r\n", record.Failure)},
		{"nonsense length", "An answer whose length cannot be read is a failure.", losing(end, "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok", record.Failure)},
		{"nonsense chunk", "A chunk whose size cannot be read is a failure.", losing(end, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok", record.Failure)},
		{"idle close", "A request that may be repeated is sent again when the server had closed the idle connection, and the codes say so.", idleClose},
		{"refused", "A connection refused while the cell goes on is refused; the users wait a little between tries.", refused},
		{"unreachable", "A target to which no connection could be made ends the run with ErrUnreachable.", unreachable},
		{"sink", "An error of the sink ends the run and comes back.", sink},
		{"interrupt", "When the context ends, what is in flight is cut with its age, and the context's error comes back.", interrupt},
	}
}

func closing(text string) func(t *testing.T, e load.Engine) {
	return func(t *testing.T, e load.Engine) {
		s := serve(t, func(x *exchange) then {
			x.write(text)
			return end
		})
		run(t.Context(), t, e, job(s, 2, 20)).only(t, record.Success, 20)
		if s.conns.Load() != 20 {
			t.Errorf("each request has a connection of its own: %d connections for 20", s.conns.Load())
		}
	}
}

func losing(after then, text string, want record.Outcome) func(t *testing.T, e load.Engine) {
	return func(t *testing.T, e load.Engine) {
		s := serve(t, func(x *exchange) then {
			x.write(text)
			return after
		})
		r := run(t.Context(), t, e, job(s, 2, 6))
		r.only(t, want, 6)
		if len(r.codes) == 0 {
			t.Error("codes say why")
		}
	}
}

func idleClose(t *testing.T, e load.Engine) {
	s := serve(t, func(x *exchange) then {
		if x.onConn == 3 {
			return end // As a server does that closes an idle connection while a request is under way.
		}
		x.write(ok)
		return keep
	})
	r := run(t.Context(), t, e, job(s, 1, 20))
	r.only(t, record.Success, 20)
	if n := r.codes["idle connection was closed, sent again"]; n < 9 {
		t.Errorf("codes: got %v, want 9 or more requests sent again", r.codes)
	}
}

func refused(t *testing.T, e load.Engine) {
	s := serve(t, func(x *exchange) then {
		x.write(ok)
		if x.number < 5 {
			return keep
		}
		_ = x.server.listener.Close()
		return end
	})
	j := job(s, 1, 0)
	j.Phases.Window = 500 * time.Millisecond
	r := run(t.Context(), t, e, j)
	if r.err != nil {
		t.Fatalf("Run: %v", r.err)
	}
	// 1, 2, 4, … 64, 100, 100 ms apart, at most 12 fit; on a slow machine fewer do.
	if n := r.all[record.Refused]; r.all[record.Success] != 5 || n < 1 || n > 14 || sum(r.all) != 5+n {
		t.Errorf("got %s, want 5 successes and 1 to 14 refused", describe(r.all))
	}
}

func unreachable(t *testing.T, e load.Engine) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{listener: l}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := run(t.Context(), t, e, job(s, 3, 0))
	if !errors.Is(r.err, load.ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", r.err)
	}
}

func sink(t *testing.T, e load.Engine) {
	s := serve(t, func(x *exchange) then {
		x.write(ok)
		return keep
	})
	full := errors.New("disk full")
	calls := 0
	err := e.Run(t.Context(), job(s, 2, 0), load.SinkFunc(func(record.Interval) error {
		calls++
		return full
	}))
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("got %v after %d calls, want the sink's error after one", err, calls)
	}
}

func interrupt(t *testing.T, e load.Engine) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(x *exchange) then {
		if x.number == 3 {
			cancel()
		}
		<-x.over
		return end
	})
	r := run(ctx, t, e, job(s, 3, 0))
	if !errors.Is(r.err, context.Canceled) {
		t.Errorf("Run: got %v, want the context's error", r.err)
	}
	if r.inside[record.Cut] != 3 || sum(r.all) != 3 {
		t.Errorf("got %s, want 3 cut", describe(r.all))
	}
	for _, i := range r.intervals {
		if i.Phase != record.Window {
			t.Errorf("an interrupt ends the phase under way: found %v", i.Phase)
		}
	}
}
