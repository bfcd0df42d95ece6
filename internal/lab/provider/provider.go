// Package provider is the service of the provider study: an RPC provider with one method, which reads a user's record from Redis on a business
// pool. The method is served twice, over a length-prefixed binary protocol and over HTTP, on the same pool.
//
// # HTTP
//
// GET /user?id=N answers the record as JSON. A refused call is answered 503, one past its timeout 504, each with the header X-Loadline-Outcome.
// GET /ready and /metrics are answered beside the pool.
//
// # The binary protocol
//
// Frames both ways are a length (4 bytes) and as many bytes; all numbers are unsigned and big-endian. A client may send calls without waiting for
// replies, which come in the order in which they are done.
//
//	call:  number (8), method (1: user), timeout in ms (4; 0: the provider's), user's id (8)
//	reply: number of the call (8), status (1: see Status), and the record as JSON or the fault as text
//
// A frame of another length or method is answered with BadCall; one longer than 64 KiB ends the connection, since what follows cannot be trusted.
package provider

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/loadline-dev/loadline/pool"
)

// poolName is how the business pool is called in metrics.
const poolName = "business"

// drain is how long calls under way may take once the service is to end.
const drain = 5 * time.Second

// Service is a provider that listens.
type Service struct {
	config   Config
	pool     *pool.Pool
	store    *store
	listener net.Listener
	server   *http.Server
	rpc      *rpcServer
	outcomes outcomes
}

// New connects to Redis, writes the records there and listens; Run serves. The error says where Redis was looked for.
func New(ctx context.Context, config Config) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	s := &Service{config: config}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.release(context.Background()))
	}
	s.server = &http.Server{Handler: http.HandlerFunc(s.route), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	return s, nil
}

func (s *Service) open(ctx context.Context) (err error) {
	if s.store, err = openStore(ctx, s.config); err != nil {
		return err
	}
	if s.pool, err = pool.New(s.config.poolConfig()); err != nil {
		return err
	}
	if s.listener, err = net.Listen("tcp", s.config.Listen); err != nil {
		return err
	}
	rpc, err := net.Listen("tcp", s.config.RPC)
	if err != nil {
		return err
	}
	s.rpc = &rpcServer{service: s, listener: rpc, conns: map[net.Conn]bool{}}
	return nil
}

// Addr is where HTTP is served.
func (s *Service) Addr() net.Addr { return s.listener.Addr() }

// RPCAddr is where the binary protocol is served.
func (s *Service) RPCAddr() net.Addr { return s.rpc.listener.Addr() }

// Run serves until ctx ends, then lets the calls under way end and returns nil.
func (s *Service) Run(ctx context.Context) error {
	served := make(chan error, 2)
	var serving sync.WaitGroup
	serving.Go(func() { served <- s.server.Serve(s.listener) })
	serving.Go(func() { served <- s.rpc.serve() })
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	s.rpc.stopReading()
	err = errors.Join(err, s.server.Shutdown(limit), s.release(limit))
	serving.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// release gives back what open took, as far as it came. Calls under way end first.
func (s *Service) release(ctx context.Context) error {
	var faults []error
	if s.pool != nil {
		faults = append(faults, s.pool.Shutdown(ctx))
	}
	if s.rpc != nil {
		faults = append(faults, s.rpc.close())
	} else if s.listener != nil {
		faults = append(faults, s.listener.Close()) // The HTTP server closes it where there is one.
	}
	if s.store != nil {
		faults = append(faults, s.store.close())
	}
	return errors.Join(faults...)
}

// user is the provider's one method.
func (s *Service) user(ctx context.Context, id uint64) ([]byte, error) {
	record, err := s.store.user(ctx, id)
	if err != nil {
		return nil, err
	}
	return record.encode(s.config.Work), nil
}
