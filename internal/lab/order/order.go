// Package order is the service of the order-detail study: GET /api/order/detail answers by calling one dependency, in one of three isolations.
// It is an ordinary net/http service; what it costs beside its isolation is the same in all three.
package order

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Service is an order service that listens.
type Service struct {
	config   Config
	listener net.Listener
	server   *http.Server
	price    *dependency
	guard    guard
	outcomes outcomes
}

// New listens; Run serves.
func New(config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	price, err := newDependency(config.Price)
	if err != nil {
		return nil, err
	}
	guard, err := newGuard(config)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return nil, errors.Join(err, guard.close(context.Background()))
	}
	s := &Service{config: config, listener: listener, price: price, guard: guard}
	s.server = &http.Server{Handler: http.HandlerFunc(s.route), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	return s, nil
}

// Addr is where it listens.
func (s *Service) Addr() net.Addr { return s.listener.Addr() }

// drain is how long requests under way may take once the service is to end.
const drain = 5 * time.Second

// Run serves until ctx ends, then lets the requests under way end and returns nil.
func (s *Service) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	defer s.price.close()
	select {
	case err := <-served:
		return errors.Join(err, s.guard.close(context.Background()))
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := s.server.Shutdown(limit)
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, s.guard.close(limit))
}

// Run is an order service from start to end.
func Run(ctx context.Context, config Config) error {
	s, err := New(config)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// route is a mux of three paths. Note: http.ServeMux costs more than the rest of this service's own work.
func (s *Service) route(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "GET only", http.StatusMethodNotAllowed)
		return
	}
	switch r.URL.Path {
	case "/api/order/detail":
		s.detail(w, r)
	case "/ready":
		fmt.Fprintln(w, "ready")
	case "/metrics":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(s.metrics()) // A scraper that has gone needs no answer.
	default:
		http.Error(w, "GET /api/order/detail, /ready or /metrics", http.StatusNotFound)
	}
}

// detail answers with the order and its price.
func (s *Service) detail(w http.ResponseWriter, r *http.Request) {
	price, err := s.guard.do(r.Context(), s.price.get)
	outcome := classify(err)
	s.outcomes.add(outcome)
	if err == nil {
		w.Header()["Content-Type"] = jsonType
		_, _ = w.Write(orderWith(price)) // A user who has gone needs no answer.
		return
	}
	h := w.Header()
	h["Content-Type"] = textType
	h[outcomeHeader] = outcomeValues[outcome]
	w.WriteHeader(s.status(outcome))
	_, _ = fmt.Fprintf(w, "%s: %v\n", outcome, err)
}

func (s *Service) status(o outcome) int {
	if s.config.Status500 {
		return http.StatusInternalServerError
	}
	return outcomeStatus[o]
}

func orderWith(price []byte) []byte {
	const before, after = `{"order":"20230001","items":1,"price":`, `}` + "\n"
	out := make([]byte, 0, len(before)+len(price)+len(after))
	out = append(out, before...)
	out = append(out, price...)
	return append(out, after...)
}

// outcomeHeader tells the class of an answer that is no success; it is in its canonical form, which net/http sends as it stands.
const outcomeHeader = "X-Loadline-Outcome"

var (
	jsonType = []string{"application/json"}
	textType = []string{"text/plain; charset=utf-8"}
)
