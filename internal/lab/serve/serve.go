// Package serve is the HTTP server of the lab's services that are ordinary net/http ones: it listens at once, answers /ready and the runtime's
// profiles below /debug/pprof/, and ends in order.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// OutcomeHeader tells the class of an answer that is no success.
const OutcomeHeader = "X-Loadline-Outcome"

// Server listens. Run serves.
type Server struct {
	listener net.Listener
	server   *http.Server
}

// Listen opens listen (HOST:PORT, port 0 takes a free one). Routes are those of http.ServeMux; /ready and /debug/pprof/ are added.
func Listen(listen string, routes map[string]http.HandlerFunc) (*Server, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	for route, handler := range routes {
		mux.HandleFunc(route, handler)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	return &Server{listener: listener, server: server}, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Drain is how long requests under way may take once the service is to end.
const Drain = 2 * time.Second

// Run serves until ctx ends, then lets the requests under way end, and returns nil; requests that take longer than Drain are cut off.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), Drain)
	defer cancel()
	err := s.server.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Refuse answers with a status and the outcome that it stands for.
func Refuse(w http.ResponseWriter, status int, outcome string, cause error) {
	w.Header().Set(OutcomeHeader, outcome)
	http.Error(w, fmt.Sprintf("%s: %v", outcome, cause), status)
}
