package faults

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// dependency is a server on loopback, of the service's own process, that answers each call after the time asked for and serves only so many
// at once. A call is eight bytes, the time in nanoseconds; so is its answer.
type dependency struct {
	listener net.Listener
	slots    chan struct{}
	serving  sync.WaitGroup
	mu       sync.Mutex // guards what follows
	idle     []net.Conn // the client's
	open     map[net.Conn]bool
	closed   bool
}

func newDependency(capacity int) (*dependency, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &dependency{listener: l, slots: make(chan struct{}, capacity), open: map[net.Conn]bool{}}
	d.serving.Go(d.accept)
	return d, nil
}

func (d *dependency) accept() {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return // Closed.
		}
		if !d.keep(c) {
			c.Close()
			return
		}
		d.serving.Go(func() { d.serve(c) })
	}
}

func (d *dependency) keep(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[c] = true
	return !d.closed
}

func (d *dependency) serve(c net.Conn) {
	defer c.Close()
	var message [8]byte
	for {
		if _, err := io.ReadFull(c, message[:]); err != nil {
			return
		}
		d.slots <- struct{}{}
		time.Sleep(time.Duration(binary.BigEndian.Uint64(message[:])))
		<-d.slots
		if _, err := c.Write(message[:]); err != nil {
			return
		}
	}
}

// call waits for an answer, whatever happens to the caller.
func (d *dependency) call(takes time.Duration) error {
	c, err := d.take()
	if err != nil {
		return err
	}
	var message [8]byte
	binary.BigEndian.PutUint64(message[:], uint64(takes))
	if _, err := c.Write(message[:]); err != nil {
		return errors.Join(err, c.Close())
	}
	if _, err := io.ReadFull(c, message[:]); err != nil {
		return errors.Join(err, c.Close())
	}
	d.give(c)
	return nil
}

func (d *dependency) take() (net.Conn, error) {
	d.mu.Lock()
	if n := len(d.idle); n > 0 {
		c := d.idle[n-1]
		d.idle = d.idle[:n-1]
		d.mu.Unlock()
		return c, nil
	}
	d.mu.Unlock()
	c, err := net.Dial("tcp", d.listener.Addr().String())
	if err == nil && !d.keep(c) {
		return nil, errors.Join(net.ErrClosed, c.Close())
	}
	return c, err
}

func (d *dependency) give(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = append(d.idle, c)
}

func (d *dependency) close() error {
	err := d.listener.Close()
	d.mu.Lock()
	d.closed = true
	for c := range d.open {
		c.Close()
	}
	d.mu.Unlock()
	d.serving.Wait()
	return err
}
