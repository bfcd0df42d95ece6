package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// httpExchanger sends over net/http: TLS, HTTP/2, proxies.
type httpExchanger struct {
	client  *http.Client
	classes *classifier
	grpc    bool
	book    *book
	sources *sources
	pace    *dialPace
	own     string       // host and port of the target
	sent    atomic.Int64 // bytes since they were last moved to the ledger
	read    atomic.Int64
}

func openHTTP(ctx context.Context, c Config, job Job) (exchanger, *work, error) {
	w, err := workOf(job.Target, c.Folder)
	if err != nil {
		return nil, nil, err
	}
	x, err := newHTTPExchanger(ctx, job, w)
	if err != nil {
		return nil, nil, err
	}
	if x.grpc = job.Target.Client.Protocol == plan.ProtocolGRPC; x.grpc {
		w.message.asGRPC()
	}
	transport := &http.Transport{
		DialContext:            x.dial,
		MaxIdleConnsPerHost:    max(job.Load.Concurrency, job.Shape.Connections, 10_000),
		DisableCompression:     true, // The answer is measured as it was sent.
		TLSClientConfig:        &tls.Config{},
		MaxResponseHeaderBytes: 256 << 10,
	}
	if err := x.configure(transport, job.Target.Client, c.Folder); err != nil {
		return nil, nil, err
	}
	x.client = &http.Client{Transport: transport, CheckRedirect: followAtMost(job.Target.Client.Follow)}
	return x, w, nil
}

func newHTTPExchanger(ctx context.Context, job Job, w *work) (*httpExchanger, error) {
	client := job.Target.Client
	from, err := sourcesOf(client.Sources)
	if err != nil {
		return nil, err
	}
	x := &httpExchanger{classes: w.classes, sources: from, pace: &dialPace{every: time.Duration(dialEvery(client, 1))}}
	if client.Proxy != "" {
		return x, nil // The proxy finds the target.
	}
	x.own = net.JoinHostPort(w.target.host, w.target.port)
	x.book, err = newBook(ctx, w.target, client.DNSTTL)
	return x, err
}

// dialPace bounds the rate of new connections.
type dialPace struct {
	every time.Duration // 0: no bound
	mu    sync.Mutex    // guards next
	next  time.Time
}

func (p *dialPace) wait(ctx context.Context) error {
	if p.every == 0 {
		return nil
	}
	p.mu.Lock()
	now := time.Now()
	turn := p.next
	if turn.Before(now) {
		turn = now
	}
	p.next = turn.Add(p.every)
	p.mu.Unlock()
	timer := time.NewTimer(turn.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// configure applies what the plan says about connections.
func (x *httpExchanger) configure(t *http.Transport, c plan.Client, folder string) error {
	t.DisableKeepAlives = c.Close
	t.TLSClientConfig.InsecureSkipVerify, t.TLSClientConfig.ServerName = c.TLS.Insecure, c.TLS.ServerName
	if c.TLS.CAFile != "" {
		pem, err := os.ReadFile(inFolder(folder, c.TLS.CAFile))
		if err != nil {
			return fmt.Errorf("target: client: tls: ca_file: %w", err)
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("target: client: tls: ca_file: found no certificate in %s, allowed: certificates in PEM form", c.TLS.CAFile)
		}
	}
	if c.Proxy != "" {
		u, err := url.Parse(c.Proxy)
		if err != nil || u.Host == "" {
			return fmt.Errorf("target: client: proxy: found %q, allowed: a URL such as http://127.0.0.1:3128", c.Proxy)
		}
		t.Proxy = http.ProxyURL(u)
	}
	t.Protocols = new(http.Protocols)
	two := c.Protocol == plan.ProtocolHTTP2 || c.Protocol == plan.ProtocolGRPC
	t.Protocols.SetHTTP1(!two)
	t.Protocols.SetHTTP2(c.Protocol != plan.ProtocolHTTP1)
	t.Protocols.SetUnencryptedHTTP2(two)
	return nil
}

// followAtMost follows so many redirects; one more is an answer like any other.
func followAtMost(n int) func(*http.Request, []*http.Request) error {
	return func(_ *http.Request, via []*http.Request) error {
		if len(via) > n {
			return http.ErrUseLastResponse
		}
		return nil
	}
}

func (x *httpExchanger) close() { x.client.CloseIdleConnections() }

func (x *httpExchanger) background(ctx context.Context) {
	if x.book != nil {
		x.book.refresh(ctx)
	}
}

// dial opens connections whose bytes are counted, to the target's addresses in turn.
func (x *httpExchanger) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	if x.sources != nil {
		d.LocalAddr = &net.TCPAddr{IP: x.sources.next().AsSlice()}
	}
	if addr == x.own {
		next, _ := x.book.next()
		addr = next.String()
	}
	if err := x.pace.wait(ctx); err != nil {
		return nil, err
	}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c, x: x}, nil
}

type countedConn struct {
	net.Conn
	x *httpExchanger
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.x.read.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.x.sent.Add(int64(n))
	return n, err
}

func (x *httpExchanger) exchange(ctx context.Context, m *message, l *ledger) reply {
	t := &exchangeTrace{ledger: l}
	defer l.note(func(r *recorder) {
		r.sent += x.sent.Swap(0)
		r.read += x.read.Swap(0)
	})
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, t.hooks()), m.method, m.url, bytes.NewReader(m.body))
	if err != nil {
		return reply{outcome: record.Failure, code: "request: " + err.Error()}
	}
	for _, h := range m.header {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Add(h.Name, h.Value)
	}
	resp, err := x.client.Do(req)
	if err != nil {
		return x.fault(ctx, err, t)
	}
	a := httpAnswer{response: resp, headers: x.classes.headers}
	a.body, err = readBody(resp.Body, x.classes.body)
	if err != nil {
		return x.fault(ctx, err, t)
	}
	if x.grpc {
		return grpcReply(x.classes, &a)
	}
	return reply{outcome: x.classes.outcome(&a), answered: true, status: resp.StatusCode, answer: &a}
}

// readBody reads a body to its end and keeps as much as is asked for.
func readBody(body io.ReadCloser, keep int) ([]byte, error) {
	kept, err := io.ReadAll(io.LimitReader(body, int64(keep)))
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	return kept, errors.Join(err, body.Close())
}

// fault classifies the error of an exchange.
func (x *httpExchanger) fault(ctx context.Context, err error, t *exchangeTrace) reply {
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		if !t.connected.Load() {
			t.ledger.failed(errConnectTimeout)
			return reply{outcome: record.Timeout, code: "connect: timeout"}
		}
		return reply{outcome: record.Timeout}
	}
	outcome, code := kindOf(err)
	if outcome == record.Reset && t.shaking.Load() != 0 && !t.shook.Load() {
		outcome, code = record.TLS, "tls: "+reason(err)
	}
	if !t.connected.Load() {
		t.ledger.failed(err)
	}
	return reply{outcome: outcome, code: code, answered: outcome == record.Failure}
}

// httpAnswer is an answer as the classifier wants it.
type httpAnswer struct {
	response *http.Response
	headers  []string
	body     []byte
}

func (a *httpAnswer) Status() int { return a.response.StatusCode }

func (a *httpAnswer) Value(i int) ([]byte, bool) {
	values := a.response.Header.Values(a.headers[i])
	if len(values) == 0 {
		return nil, false
	}
	between := ", "
	if strings.EqualFold(a.headers[i], "Set-Cookie") {
		between = "\n"
	}
	return []byte(strings.Join(values, between)), true
}

func (a *httpAnswer) Body() []byte { return a.body }

// errorKind tells what an error means.
type errorKind struct {
	name    string
	outcome record.Outcome
	is      func(error) bool
}

// errorKinds are looked through in their order.
var errorKinds = []errorKind{
	{"dns", record.DNS, isType[*net.DNSError]},
	{"local", record.ClientLimit, isLimit},
	{"connect", record.Refused, func(err error) bool {
		return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH)
	}},
	{"connect", record.Timeout, func(err error) bool { return errors.Is(err, unix.ETIMEDOUT) }},
	{"tls", record.TLS, isTLS},
	{"read", record.Reset, func(err error) bool {
		return errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	}},
	{"answer", record.Failure, isMalformed},
}

func isType[T error](err error) bool {
	var want T
	return errors.As(err, &want)
}

func isTLS(err error) bool {
	return isType[*tls.CertificateVerificationError](err) || isType[tls.RecordHeaderError](err) || isType[tls.AlertError](err) || isType[*tls.ECHRejectionError](err)
}

// isMalformed tells an answer that cannot be read. net/http gives its reasons as text only.
func isMalformed(err error) bool {
	text := err.Error()
	return strings.Contains(text, "malformed") || strings.Contains(text, "invalid") || strings.Contains(text, "bad Content-Length") ||
		strings.Contains(text, "unsupported transfer encoding") || strings.Contains(text, "exceeded")
}
