package provider

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	maxFrame   = 64 << 10
	callLength = 8 + 1 + 4 + 8
	methodUser = 1
	// writeLimit bounds how long a client that does not read can hold a worker.
	writeLimit = 5 * time.Second
)

// call is one request of the binary protocol.
type call struct {
	number uint64
	method byte
	limit  time.Duration // 0: the provider's
	user   uint64
}

// readFrame reads a frame into the buffer, growing it as needed. io.EOF says that the client has gone between two frames.
func readFrame(in *bufio.Reader, buffer []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return buffer, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return buffer, fmt.Errorf("a frame of %d bytes, allowed %d", size, maxFrame)
	}
	if int(size) > cap(buffer) {
		buffer = make([]byte, size)
	}
	buffer = buffer[:size]
	if _, err := io.ReadFull(in, buffer); err != nil {
		return buffer, io.ErrUnexpectedEOF
	}
	return buffer, nil
}

// parseCall reads a call; of a frame that is none, the number as far as it is there.
func parseCall(frame []byte) (call, error) {
	var c call
	if len(frame) >= 8 {
		c.number = binary.BigEndian.Uint64(frame)
	}
	if len(frame) != callLength {
		return c, fmt.Errorf("a call of %d bytes, want %d", len(frame), callLength)
	}
	c.method = frame[8]
	c.limit = time.Duration(binary.BigEndian.Uint32(frame[9:])) * time.Millisecond
	c.user = binary.BigEndian.Uint64(frame[13:])
	if c.method != methodUser {
		return c, fmt.Errorf("method %d, want %d (user)", c.method, methodUser)
	}
	return c, nil
}

// appendReply adds a reply's frame.
func appendReply(out []byte, number uint64, status Status, body []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(8+1+len(body)))
	out = binary.BigEndian.AppendUint64(out, number)
	out = append(out, byte(status))
	return append(out, body...)
}

// rpcServer serves the binary protocol. Its goroutines are one that accepts and one a connection; close waits for them.
type rpcServer struct {
	service  *Service
	listener net.Listener
	readers  sync.WaitGroup

	mu      sync.Mutex // guards conns and stopped
	conns   map[net.Conn]bool
	stopped bool
}

// serve accepts until the listener is closed, which is no error.
func (r *rpcServer) serve() error {
	for {
		conn, err := r.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("rpc: %w", err)
		}
		if !r.add(conn) {
			conn.Close()
		}
	}
}

// add takes a connection on, unless the service ends.
func (r *rpcServer) add(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	r.conns[conn] = true
	r.readers.Go(func() {
		(&rpcConn{service: r.service, conn: conn}).read()
		r.drop(conn)
	})
	return true
}

// drop forgets a connection that has ended.
func (r *rpcServer) drop(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return // close sees to it, once the replies are out.
	}
	delete(r.conns, conn)
	conn.Close()
}

// stopReading takes no more connections and calls; replies still go out.
func (r *rpcServer) stopReading() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	r.listener.Close()
	for conn := range r.conns {
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // A connection that has failed ends its reader by itself.
	}
}

// close ends every connection and waits for the readers.
func (r *rpcServer) close() error {
	r.stopReading()
	r.mu.Lock()
	for conn := range r.conns {
		conn.Close()
	}
	r.mu.Unlock()
	r.readers.Wait()
	return nil
}

// rpcConn is one connection.
type rpcConn struct {
	service *Service
	conn    net.Conn
	calls   sync.WaitGroup // under way

	mu     sync.Mutex // guards the writing half and buffer
	buffer []byte
}

// read takes calls until the client goes, then waits for those under way.
func (c *rpcConn) read() {
	defer c.calls.Wait()
	in := bufio.NewReader(c.conn)
	var frame []byte
	for {
		var err error
		if frame, err = readFrame(in, frame); err != nil {
			return
		}
		one, err := parseCall(frame)
		if err != nil {
			c.reply(one.number, BadCall, []byte(err.Error()))
			continue
		}
		c.begin(one)
	}
}

// begin gives a call to the pool.
func (c *rpcConn) begin(one call) {
	limit := c.service.config.Timeout
	if one.limit > 0 {
		limit = min(limit, one.limit)
	}
	deadline := time.Now().Add(limit)
	c.calls.Add(1)
	err := c.service.pool.Go(func() {
		defer c.calls.Done()
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		c.carryOut(ctx, one)
	})
	if err != nil {
		c.calls.Done()
		c.reply(one.number, statusOf(err), []byte(err.Error()))
	}
}

// carryOut runs on a worker. A call whose time was over in the queue is answered so without any work.
func (c *rpcConn) carryOut(ctx context.Context, one call) {
	err := ctx.Err()
	var record []byte
	if err == nil {
		record, err = c.service.user(ctx, one.user)
	}
	if err != nil {
		c.reply(one.number, statusOf(err), []byte(err.Error()))
		return
	}
	c.reply(one.number, OK, record)
}

// reply sends one reply. A client who has gone needs none.
func (c *rpcConn) reply(number uint64, status Status, body []byte) {
	c.service.outcomes.add(status)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buffer = appendReply(c.buffer[:0], number, status, body)
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := c.conn.Write(c.buffer); err != nil {
		c.conn.Close() // Half a frame makes the rest unreadable.
	}
}
