// Package faults is a service that suffers from one known fault at a time: ground truth for the diagnosis. GET /work is done by a pool of
// workers, each of which takes a connection and calls a dependency; what differs from the healthy service is said at each Fault.
package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/internal/lab/expose"
	"github.com/loadline-dev/loadline/internal/lab/serve"
	"github.com/loadline-dev/loadline/pool"
)

const (
	unboundedQueue = pool.Unbounded
	leakEvery      = 8                      // requests
	slowEvery      = 3                      // tasks of which one outlasts its caller
	outlasts       = 200 * time.Millisecond // such a task
	locked         = 4 * time.Millisecond   // under the lock
	handOffs       = 60                     // to and fro, of a request
	ownTasks       = 2                      // of its own pool, for which a task waits
)

// Service is a faulty service that listens.
type Service struct {
	config   Config
	system   system
	server   *serve.Server
	pool     *pool.Pool
	database *bulkhead.Bulkhead
	depends  *dependency
	requests atomic.Uint64
	tasks    atomic.Uint64
	one      sync.Mutex // guards nothing: it is the fault
	stop     chan struct{}
	leaked   sync.WaitGroup
}

// New listens; Run serves.
func New(config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	s := &Service{config: config, system: systemOf(config.Fault), stop: make(chan struct{})}
	var err error
	if s.depends, err = newDependency(s.system.capacity); err != nil {
		return nil, err
	}
	s.pool, err = pool.New(pool.Config{Name: "work", OSThreads: s.system.threads, Prestart: true,
		Settings: pool.Settings{Core: s.system.core, Max: s.system.max, Queue: s.system.queue}})
	if err != nil {
		return nil, errors.Join(err, s.depends.close())
	}
	s.database, err = bulkhead.New(bulkhead.Config{Name: "database", MeasureHold: true,
		Settings: bulkhead.Settings{Permits: s.system.connections, MaxWaiting: bulkhead.Unbounded}})
	if err == nil {
		s.server, err = serve.Listen(config.Listen, map[string]http.HandlerFunc{"GET /work": s.work, "GET /metrics": s.metrics})
	}
	if err != nil {
		return nil, errors.Join(err, s.depends.close(), s.pool.Close())
	}
	return s, nil
}

// Addr is where it listens.
func (s *Service) Addr() net.Addr { return s.server.Addr() }

// Run serves until ctx ends. Tasks that wait for each other for ever are left behind.
func (s *Service) Run(ctx context.Context) error {
	err := s.server.Run(ctx)
	close(s.stop)
	s.leaked.Wait()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), serve.Drain)
	defer cancel()
	if ended := s.pool.Shutdown(limit); ended != nil && !errors.Is(ended, context.DeadlineExceeded) {
		err = errors.Join(err, ended)
	}
	return errors.Join(err, s.depends.close())
}

// work answers one request.
func (s *Service) work(w http.ResponseWriter, r *http.Request) {
	if s.config.Fault == Leak && s.requests.Add(1)%leakEvery == 0 {
		s.leave()
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.system.timeout)
	defer cancel()
	err := s.pool.Do(ctx, s.task)
	switch {
	case err == nil:
		fmt.Fprintln(w, "done")
	case errors.Is(err, pool.ErrRejected):
		serve.Refuse(w, http.StatusServiceUnavailable, "rejected", err)
	case errors.Is(err, context.DeadlineExceeded):
		serve.Refuse(w, http.StatusGatewayTimeout, "timeout", err)
	default:
		serve.Refuse(w, http.StatusInternalServerError, "failure", err)
	}
}

// leave leaves a thread behind.
func (s *Service) leave() {
	s.leaked.Add(1)
	go s.leftBehind()
}

func (s *Service) leftBehind() {
	defer s.leaked.Done()
	runtime.LockOSThread() // Never unlocked: the thread ends with its goroutine.
	<-s.stop
}

// task is the work of a worker.
func (s *Service) task(ctx context.Context) error {
	switch s.config.Fault {
	case Starvation:
		return s.waitForOwn()
	case Switch:
		toAndFro(handOffs)
	case Lock:
		s.underLock()
	case Zombie:
		if s.tasks.Add(1)%slowEvery == 0 {
			return s.query(context.WithoutCancel(ctx), outlasts)
		}
	}
	return s.query(ctx, s.system.takes)
}

// underLock does its part of the work alone.
func (s *Service) underLock() {
	s.one.Lock()
	defer s.one.Unlock()
	time.Sleep(locked)
}

// waitForOwn waits for tasks of the worker's own pool.
func (s *Service) waitForOwn() error {
	var all sync.WaitGroup
	var refused error
	for range ownTasks {
		all.Add(1)
		err := s.pool.Go(func() {
			defer all.Done()
			time.Sleep(s.system.takes)
		})
		if err != nil {
			all.Done()
			refused = err
		}
	}
	all.Wait()
	return refused
}

// toAndFro hands something to another thread and takes it back, n times.
func toAndFro(n int) {
	there, back := make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range there {
			back <- struct{}{}
		}
		close(back)
	}()
	for range n {
		there <- struct{}{}
		<-back
	}
	close(there)
	<-back
}

// query takes a connection and calls the dependency.
func (s *Service) query(ctx context.Context, takes time.Duration) error {
	permit, err := s.database.Acquire(ctx)
	if err != nil {
		return err
	}
	defer permit.Release()
	return s.depends.call(takes)
}

func (s *Service) metrics(w http.ResponseWriter, _ *http.Request) {
	var t expose.Text
	t.Pools(s.pool.Snapshot())
	t.Connections(s.database.Snapshot())
	t.Family("go_goroutines", "gauge", "Goroutines.")
	t.Sample("go_goroutines", "", float64(runtime.NumGoroutine()))
	w.Header().Set("Content-Type", expose.ContentType)
	_, _ = w.Write(t.Bytes()) // A scraper that has gone needs no answer.
}
