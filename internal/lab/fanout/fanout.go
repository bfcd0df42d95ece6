// Package fanout is the service of the nested-fan-out study: GET /commission is split into items for the pool common, whose workers give
// conversions and then queries to the pool select and wait for them on latches. Two pools, each worker of the first waiting for the second.
package fanout

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/internal/lab/expose"
	"github.com/loadline-dev/loadline/internal/lab/serve"
	"github.com/loadline-dev/loadline/pool"
)

// Service is a fan-out service that listens.
type Service struct {
	config           Config
	server           *serve.Server
	items            *pool.Pool // common
	parts            *pool.Pool // select; common itself where it waits for itself
	answers, refused atomic.Uint64
	late             atomic.Uint64
}

// New listens; Run serves.
func New(config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	s := &Service{config: config}
	var err error
	if s.items, err = pool.New(pool.Config{Name: "common", Settings: pool.Settings{Core: config.Common, Queue: config.Queue}}); err != nil {
		return nil, err
	}
	if s.parts, err = pool.New(pool.Config{Name: "select", Prestart: true, Settings: pool.Settings{Core: config.Select, Queue: config.Queue}}); err != nil {
		return nil, errors.Join(err, s.items.Close())
	}
	routes := map[string]http.HandlerFunc{"GET /commission": s.commission, "GET /metrics": s.metrics}
	if s.server, err = serve.Listen(config.Listen, routes); err != nil {
		return nil, errors.Join(err, s.items.Close(), s.parts.Close())
	}
	return s, nil
}

// Addr is where it listens.
func (s *Service) Addr() net.Addr { return s.server.Addr() }

// Run serves until ctx ends. Tasks that wait for each other for ever are left behind.
func (s *Service) Run(ctx context.Context) error {
	err := s.server.Run(ctx)
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), serve.Drain)
	defer cancel()
	for _, p := range []*pool.Pool{s.items, s.parts} {
		if ended := p.Shutdown(limit); ended != nil && !errors.Is(ended, context.DeadlineExceeded) {
			err = errors.Join(err, ended)
		}
	}
	return err
}

// commission is the work of the container's own goroutine.
func (s *Service) commission(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
	defer cancel()
	l := newLatch(s.config.Items)
	for range s.config.Items {
		if err := s.items.Go(func() { l.countDown(s.item()) }); err != nil {
			l.countDown(err)
		}
	}
	err := l.await(ctx)
	switch {
	case err == nil:
		s.answers.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "{\"items\":%d}\n", s.config.Items)
	case errors.Is(err, pool.ErrRejected):
		s.refused.Add(1)
		serve.Refuse(w, http.StatusServiceUnavailable, "rejected", err)
	default:
		s.late.Add(1)
		serve.Refuse(w, http.StatusGatewayTimeout, "timeout", err)
	}
}

// item is the work of a worker of common.
func (s *Service) item() error {
	time.Sleep(*s.config.Own)
	if err := s.fan(s.config.Conversions, *s.config.Convert); err != nil {
		return err
	}
	return s.fan(s.config.Queries, *s.config.Query)
}

// fan runs n parts in parallel and waits for all of them, as long as that takes.
func (s *Service) fan(n int, takes time.Duration) error {
	p := s.parts
	if s.config.SelfWait {
		p = s.items
	}
	var all sync.WaitGroup
	var refused error
	for range n {
		all.Add(1)
		err := p.Go(func() {
			defer all.Done()
			s.part(takes)
		})
		if err != nil {
			all.Done()
			refused = err
		}
	}
	all.Wait()
	return refused
}

// part is the work of a worker of select: a remote call, and something to compute from its answer.
func (s *Service) part(takes time.Duration) {
	time.Sleep(takes)
	compute(*s.config.CPU)
}

// compute keeps a core busy.
func compute(d time.Duration) (rounds int) {
	for began := time.Now(); time.Since(began) < d; {
		rounds++
	}
	return rounds
}

func (s *Service) metrics(w http.ResponseWriter, _ *http.Request) {
	var t expose.Text
	t.Family("lab_fanout_requests_total", "counter", "Answers by class.")
	for _, c := range []struct {
		outcome string
		n       *atomic.Uint64
	}{{"success", &s.answers}, {"rejected", &s.refused}, {"timeout", &s.late}} {
		t.Sample("lab_fanout_requests_total", fmt.Sprintf("outcome=%q", c.outcome), float64(c.n.Load()))
	}
	t.Pools(s.items.Snapshot(), s.parts.Snapshot())
	w.Header().Set("Content-Type", expose.ContentType)
	_, _ = w.Write(t.Bytes()) // A scraper that has gone needs no answer.
}
