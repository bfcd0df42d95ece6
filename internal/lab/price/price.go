// Package price is the dependency of the order-detail study: GET /circuit/price answers after a fixed time, as a remote call with a sleep in
// it does. It is cheap and punctual, so that what is measured in front of it is not made by it: never before its time, and within half a
// millisecond of it on an idle core.
package price

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/lab/loop"
)

// Config is a price service's. The zero value is ready to use.
type Config struct {
	// Listen is host and port; empty: 127.0.0.1:8082. Port 0 takes a free one.
	Listen string
	// Sleep is how long a price takes, from the instant its request was read, 0 to 1 min. Negative is refused; nil means 20 ms, the study's.
	Sleep *time.Duration
}

// The defaults.
const (
	DefaultListen = "127.0.0.1:8082"
	DefaultSleep  = 20 * time.Millisecond
	maxSleep      = time.Minute
)

// Validate finds all faults.
func (c Config) Validate() error {
	var faults []error
	if _, _, err := net.SplitHostPort(c.listen()); err != nil {
		faults = append(faults, fmt.Errorf("listen: found %q, want HOST:PORT such as %s", c.Listen, DefaultListen))
	}
	if s := c.sleep(); s < 0 || s > maxSleep {
		faults = append(faults, fmt.Errorf("sleep: found %v, want 0 to %v", s, maxSleep))
	}
	return errors.Join(faults...)
}

func (c Config) listen() string {
	if c.Listen == "" {
		return DefaultListen
	}
	return c.Listen
}

func (c Config) sleep() time.Duration {
	if c.Sleep == nil {
		return DefaultSleep
	}
	return *c.Sleep
}

// Service is a price service that listens.
type Service struct {
	sleep  time.Duration
	server *loop.Server
	// What follows belongs to the server's loop.
	price, ready, missing, wrongMethod *loop.Response
	asked, answered, left              uint64
	held                               lateness
}

// New listens; Run serves.
func New(config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &Service{
		sleep:       config.sleep(),
		price:       loop.NewResponse(http.StatusOK, "application/json", []byte(`{"sku":"1001","price":"19.90","currency":"EUR"}`+"\n")),
		ready:       loop.NewResponse(http.StatusOK, "text/plain; charset=utf-8", []byte("ready\n")),
		missing:     loop.NewResponse(http.StatusNotFound, "text/plain; charset=utf-8", []byte("GET /circuit/price, /ready or /metrics\n")),
		wrongMethod: loop.NewResponse(http.StatusMethodNotAllowed, "text/plain; charset=utf-8", []byte("GET only\n"), "Allow: GET, HEAD"),
	}
	server, err := loop.Listen(config.listen(), loop.Config{Handler: s.handle, Answered: s.done, Left: func() { s.left++ }})
	if err != nil {
		return nil, err
	}
	s.server = server
	return s, nil
}

// Addr is where it listens.
func (s *Service) Addr() net.Addr { return s.server.Addr() }

// Run serves until ctx ends, then gives the answers that are due and returns nil.
func (s *Service) Run(ctx context.Context) error { return s.server.Run(ctx) }

// Run is a price service from start to end.
func Run(ctx context.Context, config Config) error {
	s, err := New(config)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

func (s *Service) handle(r loop.Request) (*loop.Response, time.Duration) {
	if string(r.Method) != http.MethodGet && string(r.Method) != http.MethodHead {
		return s.wrongMethod, 0
	}
	path, _, _ := bytes.Cut(r.Target, []byte("?"))
	switch string(path) {
	case "/circuit/price":
		s.asked++
		if s.sleep == 0 {
			s.done(0)
		}
		return s.price, s.sleep
	case "/ready":
		return s.ready, 0
	case "/metrics":
		return loop.NewResponse(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", s.metrics()), 0
	default:
		return s.missing, 0
	}
}

func (s *Service) done(held time.Duration) {
	s.answered++
	s.held.add(held - s.sleep)
}

// lateness counts how long after their time answers left.
type lateness struct {
	counts [len(lateBounds) + 1]uint64
	sum    time.Duration
}

var lateBounds = [...]time.Duration{50 * time.Microsecond, 100 * time.Microsecond, 200 * time.Microsecond, 300 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond}

func (l *lateness) add(d time.Duration) {
	l.sum += d
	for i, bound := range lateBounds {
		if d <= bound {
			l.counts[i]++
			return
		}
	}
	l.counts[len(lateBounds)]++
}

// metrics writes the Prometheus text format, version 0.0.4.
func (s *Service) metrics() []byte {
	var b []byte
	b = fmt.Appendf(b, "# HELP lab_price_requests_total Prices asked for.\n# TYPE lab_price_requests_total counter\nlab_price_requests_total %d\n", s.asked)
	b = fmt.Appendf(b, "# HELP lab_price_waiting Prices asked for and not yet answered.\n# TYPE lab_price_waiting gauge\nlab_price_waiting %d\n", s.asked-s.answered-s.left)
	b = fmt.Appendf(b, "# HELP lab_price_left_total Clients that had gone before their answer.\n# TYPE lab_price_left_total counter\nlab_price_left_total %d\n", s.left)
	b = fmt.Appendf(b, "# HELP lab_price_sleep_seconds How long a price takes.\n# TYPE lab_price_sleep_seconds gauge\nlab_price_sleep_seconds %s\n", seconds(s.sleep))
	b = append(b, "# HELP lab_price_late_seconds How long after their time answers left.\n# TYPE lab_price_late_seconds histogram\n"...)
	total := uint64(0)
	for i, bound := range lateBounds {
		total += s.held.counts[i]
		b = fmt.Appendf(b, "lab_price_late_seconds_bucket{le=%q} %d\n", seconds(bound), total)
	}
	total += s.held.counts[len(lateBounds)]
	b = fmt.Appendf(b, "lab_price_late_seconds_bucket{le=\"+Inf\"} %d\nlab_price_late_seconds_sum %s\nlab_price_late_seconds_count %d\n", total, seconds(s.held.sum), total)
	return b
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) }
