// Package sleep is a server whose true response time is known: GET /sleep/20 answers 20.0 ms after the kernel received the request, never
// before, and within half a millisecond of it on an idle core. What a load generator reports beyond that is the generator's own.
package sleep

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/lab/loop"
)

// DefaultListen is where it listens unless told otherwise.
const DefaultListen = "127.0.0.1:8091"

// maxSleep bounds what a request can ask for.
const maxSleep = time.Minute

// Config is a sleep service's. The zero value is ready to use.
type Config struct {
	// Listen is host and port; empty: DefaultListen. Port 0 takes a free one.
	Listen string
}

// Validate finds all faults.
func (c Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.listen()); err != nil {
		return fmt.Errorf("listen: found %q, want HOST:PORT such as %s", c.Listen, DefaultListen)
	}
	return nil
}

func (c Config) listen() string {
	if c.Listen == "" {
		return DefaultListen
	}
	return c.Listen
}

// Service is a sleep service that listens.
type Service struct {
	server *loop.Server
	// What follows belongs to the server's loop.
	slept, faulty, ready *loop.Response
}

// New listens; Run serves.
func New(config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	const plain = "text/plain; charset=utf-8"
	s := &Service{
		slept:  loop.NewResponse(http.StatusOK, plain, []byte("slept\n")),
		ready:  loop.NewResponse(http.StatusOK, plain, []byte("ready\n")),
		faulty: loop.NewResponse(http.StatusNotFound, plain, []byte("GET /sleep/MS, where MS is 0 to 60000 and may have decimals, or /ready\n")),
	}
	server, err := loop.Listen(config.listen(), loop.Config{Handler: s.handle, FromKernel: true})
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

func (s *Service) handle(r loop.Request) (*loop.Response, time.Duration) {
	if string(r.Target) == "/ready" {
		return s.ready, 0
	}
	ms, ok := bytes.CutPrefix(r.Target, []byte("/sleep/"))
	if !ok {
		return s.faulty, 0
	}
	after, ok := milliseconds(ms)
	if !ok {
		return s.faulty, 0
	}
	return s.slept, after
}

// milliseconds reads a number such as 20 or 0.5.
func milliseconds(text []byte) (time.Duration, bool) {
	v, err := strconv.ParseFloat(string(text), 64)
	d := time.Duration(v * float64(time.Millisecond))
	if err != nil || !(v >= 0 && v <= float64(maxSleep/time.Millisecond)) {
		return 0, false
	}
	return d, true
}
