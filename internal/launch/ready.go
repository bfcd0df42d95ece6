package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
)

// How often readiness is tried: quickly at first, since Loadline's own services are up within milliseconds.
const (
	firstTry     = 5 * time.Millisecond
	slowestTry   = 200 * time.Millisecond
	longestTry   = 2 * time.Second
	portCheckMax = 500 * time.Millisecond
)

// address is the host and port behind a ready check; empty where there is none.
func address(r plan.Ready) string {
	if r.TCP != "" {
		return r.TCP
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" {
		return ""
	}
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// portTaken tells whether something accepts connections where the service is to listen. If so, a ready check would be answered by
// the wrong program.
func portTaken(ctx context.Context, r plan.Ready) (string, bool) {
	addr := address(r)
	if addr == "" {
		return "", false
	}
	conn, err := (&net.Dialer{Timeout: portCheckMax}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", false
	}
	conn.Close()
	return addr, true
}

// awaitReady tries until the service is ready, dies, or has taken too long.
func (p *Process) awaitReady(ctx context.Context) error {
	ready := p.spec.Service.Ready
	if ready.URL == "" && ready.TCP == "" {
		return nil
	}
	check := newCheck(ready)
	defer check.close()
	limit, cancel := context.WithTimeout(ctx, p.spec.readyTimeout())
	defer cancel()
	last := errors.New("not tried yet")
	for wait := firstTry; ; wait = min(2*wait, slowestTry) {
		if err := check.try(limit); err == nil {
			return p.stillAlive()
		} else if limit.Err() == nil {
			last = err
		}
		select {
		case <-p.done:
			return p.died()
		case <-limit.Done():
			return p.notReady(ctx, last)
		case <-time.After(wait):
		}
	}
}

// stillAlive catches a service that died while another program answered its check.
func (p *Process) stillAlive() error {
	select {
	case <-p.done:
		return p.died()
	default:
		return nil
	}
}

func (p *Process) notReady(ctx context.Context, last error) error {
	if ctx.Err() != nil {
		return &Error{Service: p.Name(), Kind: ErrNotReady, Cause: ctx.Err()}
	}
	return &Error{Service: p.Name(), Kind: ErrNotReady, Tail: p.Tail(),
		Cause:  fmt.Errorf("not within %v; the last try of %s: %w", p.spec.readyTimeout(), readyName(p.spec.Service.Ready), last),
		Advice: "give it a longer ready.timeout, or correct ready in the plan"}
}

func readyName(r plan.Ready) string {
	if r.URL != "" {
		return r.URL
	}
	return r.TCP
}

// check is one kind of ready check. Every try is a new connection, past any proxy.
type check struct {
	ready     plan.Ready
	transport *http.Transport
}

func newCheck(r plan.Ready) check {
	return check{ready: r, transport: &http.Transport{DisableKeepAlives: true}}
}

func (c check) close() { c.transport.CloseIdleConnections() }

func (c check) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longestTry)
	defer cancel()
	if c.ready.URL == "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.ready.TCP)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.ready.URL, nil)
	if err != nil {
		return err
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)); err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("answered %s, want a status from 200 to 299", response.Status)
	}
	return nil
}
