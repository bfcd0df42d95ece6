// Package echo is the server to try a load generator against: it answers every GET at once with a fixed body, on one thread and with one
// read and one write a request, so that it is not what limits a measurement before the generator does.
package echo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/loadline-dev/loadline/internal/lab/loop"
)

// DefaultListen is where it listens unless told otherwise.
const DefaultListen = "127.0.0.1:8090"

// The size of the body in bytes.
const (
	DefaultSize = 2
	MaxSize     = 16 << 20
)

// Config is an echo service's. The zero value is ready to use.
type Config struct {
	// Listen is host and port; empty: DefaultListen. Port 0 takes a free one.
	Listen string
	// Size is the length of the body in bytes, 0 to MaxSize; nil: DefaultSize.
	Size *int
}

// Validate finds all faults.
func (c Config) Validate() error {
	var faults []error
	if _, _, err := net.SplitHostPort(c.listen()); err != nil {
		faults = append(faults, fmt.Errorf("listen: found %q, want HOST:PORT such as %s", c.Listen, DefaultListen))
	}
	if n := c.size(); n < 0 || n > MaxSize {
		faults = append(faults, fmt.Errorf("size: found %d, want 0 to %d bytes", n, MaxSize))
	}
	return errors.Join(faults...)
}

func (c Config) listen() string {
	if c.Listen == "" {
		return DefaultListen
	}
	return c.Listen
}

func (c Config) size() int {
	if c.Size == nil {
		return DefaultSize
	}
	return *c.Size
}

// Service is an echo service that listens.
type Service struct {
	server *loop.Server
	// What follows belongs to the server's loop.
	body, wrongMethod *loop.Response
	answered          uint64
}

// New listens; Run serves.
func New(config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &Service{
		body:        loop.NewResponse(http.StatusOK, "text/plain; charset=utf-8", bytes.Repeat([]byte("."), config.size())),
		wrongMethod: loop.NewResponse(http.StatusMethodNotAllowed, "text/plain; charset=utf-8", []byte("GET, HEAD, POST or PUT\n"), "Allow: GET, HEAD, POST, PUT"),
	}
	server, err := loop.Listen(config.listen(), loop.Config{Handler: s.handle})
	if err != nil {
		return nil, err
	}
	s.server = server
	return s, nil
}

// Addr is where it listens.
func (s *Service) Addr() net.Addr { return s.server.Addr() }

// Run serves until ctx ends and returns nil.
func (s *Service) Run(ctx context.Context) error { return s.server.Run(ctx) }

func (s *Service) handle(r loop.Request) (*loop.Response, time.Duration) {
	if string(r.Target) == "/metrics" {
		return loop.NewResponse(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8",
			fmt.Appendf(nil, "# HELP lab_echo_requests_total Requests answered, without those to /metrics.\n# TYPE lab_echo_requests_total counter\nlab_echo_requests_total %d\n", s.answered)), 0
	}
	s.answered++
	switch string(r.Method) {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut:
		return s.body, 0
	}
	return s.wrongMethod, 0
}
