package load_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// total is what a run of a few requests came to.
type total struct {
	outcomes   map[record.Outcome]int64
	codes      map[string]int64
	handshakes int64
}

// few sends a hundred requests of four users.
func few(t *testing.T, e load.Engine, target plan.Target) (total, error) {
	t.Helper()
	out := total{outcomes: map[record.Outcome]int64{}, codes: map[string]int64{}}
	job := load.Job{Target: target, Load: record.Load{Model: record.Closed, Concurrency: 4}, Shape: load.Shape{Requests: 100}, Phases: load.Phases{Window: time.Minute}}
	err := e.Run(t.Context(), job, load.SinkFunc(func(i record.Interval) error {
		for _, c := range i.Classes {
			out.outcomes[c.Outcome] += c.Count
		}
		for code, n := range i.Codes {
			out.codes[code] += n
		}
		out.handshakes += i.TLS.Count()
		return nil
	}))
	return out, err
}

func secure(t *testing.T) (srv *httptest.Server, ca string, versions *[3]atomic.Int64) {
	t.Helper()
	versions = new([3]atomic.Int64)
	srv = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { versions[r.ProtoMajor].Add(1) }))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // It would tell of handshakes that fail on purpose.
	srv.StartTLS()
	t.Cleanup(srv.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return srv, ca, versions
}

func TestTLSTargetsAreLoadedOverTheProtocolAskedFor(t *testing.T) {
	for protocol, version := range map[string]int{plan.ProtocolAuto: 2, plan.ProtocolHTTP1: 1, plan.ProtocolHTTP2: 2} {
		srv, ca, versions := secure(t)
		got, err := few(t, engine(t, load.Config{}), plan.Target{Request: plan.Request{URL: srv.URL}, Client: plan.Client{Protocol: protocol, TLS: plan.TLS{CAFile: ca}}})
		if err != nil || got.outcomes[record.Success] != 100 || versions[version].Load() != 100 {
			t.Errorf("protocol %q: got %v (%v), %d over HTTP/%d", protocol, got.outcomes, err, versions[version].Load(), version)
		}
		if got.handshakes < 1 {
			t.Errorf("protocol %q: no handshake was timed", protocol)
		}
	}
}

func TestACertificateThatNobodyTrustsIsATLSFault(t *testing.T) {
	srv, _, _ := secure(t)
	got, err := few(t, engine(t, load.Config{}), plan.Target{Request: plan.Request{URL: srv.URL}})
	if !errors.Is(err, load.ErrUnreachable) || got.outcomes[record.TLS] == 0 {
		t.Errorf("got %v, codes %v (%v), want the class tls and, as no connection was made, ErrUnreachable", got.outcomes, got.codes, err)
	}
	if got, err := few(t, engine(t, load.Config{}), plan.Target{Request: plan.Request{URL: srv.URL}, Client: plan.Client{TLS: plan.TLS{Insecure: true}}}); err != nil || got.outcomes[record.Success] != 100 {
		t.Errorf("insecure: got %v, codes %v (%v), want 100 successes", got.outcomes, got.codes, err)
	}
}

func TestAPlainServerIsATLSFaultOfAnHTTPSTarget(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	got, err := few(t, engine(t, load.Config{}), plan.Target{Request: plan.Request{URL: "https" + srv.URL[len("http"):]}})
	if !errors.Is(err, load.ErrUnreachable) || got.outcomes[record.TLS] == 0 {
		t.Errorf("got %v, codes %v (%v), want the class tls and, as no connection was made, ErrUnreachable", got.outcomes, got.codes, err)
	}
}

func TestHTTP2InClearTextNeedsNoUpgrade(t *testing.T) {
	var two atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			two.Add(1)
		}
	}))
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	defer srv.Close()
	got, err := few(t, engine(t, load.Config{}), plan.Target{Request: plan.Request{URL: srv.URL}, Client: plan.Client{Protocol: plan.ProtocolHTTP2}})
	if err != nil || got.outcomes[record.Success] != 100 || two.Load() != 100 {
		t.Errorf("got %v (%v), %d over HTTP/2", got.outcomes, err, two.Load())
	}
}

func TestRequestsGoThroughTheProxy(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	var seen atomic.Int64
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { seen.Add(1); r.Out.URL = r.In.URL }}
	proxy := httptest.NewServer(forward)
	defer proxy.Close()
	got, err := few(t, engine(t, load.Config{}), plan.Target{Request: plan.Request{URL: target.URL + "/x"}, Client: plan.Client{Proxy: proxy.URL}})
	if err != nil || got.outcomes[record.Success] != 100 || seen.Load() != 100 {
		t.Errorf("got %v (%v), %d through the proxy", got.outcomes, err, seen.Load())
	}
}

func TestUnaryGRPCIsClassifiedByItsStatus(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	healthpb.RegisterHealthServer(srv, health.NewServer())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	base := (&url.URL{Scheme: "http", Host: l.Addr().String()}).String()
	client := plan.Client{Protocol: plan.ProtocolGRPC}
	for _, c := range []struct {
		path, body string
		want       record.Outcome
		code       string
	}{
		{"/grpc.health.v1.Health/Check", "", record.Success, ""},
		{"/grpc.health.v1.Health/Check", "\x0a\x04none", record.Failure, "grpc 5"}, // Field 1, a service that is not there: NOT_FOUND.
		{"/no.Service/Method", "", record.Failure, "grpc 12"},                      // UNIMPLEMENTED.
	} {
		got, err := few(t, engine(t, load.Config{}), plan.Target{Request: plan.Request{URL: base + c.path, Body: c.body}, Client: client})
		if err != nil || got.outcomes[c.want] != 100 || c.code != "" && got.codes[c.code] != 100 {
			t.Errorf("%s %q: got %v, codes %v (%v), want 100 %v", c.path, c.body, got.outcomes, got.codes, err, c.want)
		}
	}
	rules := []plan.OutcomeRule{{Header: []plan.Header{{Name: "Grpc-Status", Value: "5"}}, Is: record.Rejected}}
	got, err := few(t, engine(t, load.Config{}), plan.Target{Request: plan.Request{URL: base + "/grpc.health.v1.Health/Check", Body: "\x0a\x04none"}, Client: client, Outcomes: rules})
	if err != nil || got.outcomes[record.Rejected] != 100 {
		t.Errorf("a rule about the status: got %v (%v), want 100 rejected", got.outcomes, err)
	}
}

func TestAFunctionIsATargetLikeAnyOther(t *testing.T) {
	var n atomic.Int64
	e := engine(t, load.Config{Function: func(context.Context) record.Outcome {
		if n.Add(1)%4 == 0 {
			return record.Rejected
		}
		return record.Success
	}})
	got, err := few(t, e, plan.Target{})
	if err != nil || got.outcomes[record.Success] != 75 || got.outcomes[record.Rejected] != 25 {
		t.Errorf("got %v (%v), want 75 successes and 25 rejected", got.outcomes, err)
	}
}

func TestAFunctionPastItsTimeoutIsWatchedAsAConnectionIs(t *testing.T) {
	const patience = 200 * time.Millisecond
	var n atomic.Int64
	e := engine(t, load.Config{Function: func(ctx context.Context) record.Outcome {
		switch n.Add(1) {
		case 1:
			<-ctx.Done() // Never answers.
		case 2:
			<-time.After(patience * 3 / 2)
		}
		return record.Success
	}})
	counts := map[record.Outcome]int64{}
	job := load.Job{Target: plan.Target{Request: plan.Request{Timeout: patience}}, Load: record.Load{Model: record.Closed, Concurrency: 1}, Shape: load.Shape{Requests: 5},
		Phases: load.Phases{Window: time.Minute}}
	err := e.Run(t.Context(), job, load.SinkFunc(func(i record.Interval) error {
		for _, c := range i.Classes {
			counts[c.Outcome] += c.Count
		}
		return nil
	}))
	if err != nil || counts[record.Timeout] != 1 || counts[record.Late] != 1 || counts[record.Success] != 3 {
		t.Errorf("got %v (%v), want 1 timeout, 1 late, 3 successes", counts, err)
	}
}
