package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"

	"github.com/loadline-dev/loadline/internal/observe"
	sockets "github.com/loadline-dev/loadline/internal/parse/procfs"
)

// SocketsConfig says which sockets are counted.
type SocketsConfig struct {
	Proc  string // where proc is mounted; default /proc
	Ports []int  // listening ports whose waiting connections and sockets by state get a series of their own
}

// Validate joins all faults.
func (c SocketsConfig) Validate() error {
	const highest = 65535
	var faults []error
	for _, p := range c.Ports {
		if p < 1 || p > highest {
			faults = append(faults, fmt.Errorf("field Ports: found %d, allowed 1 to %d", p, highest))
		}
	}
	return errors.Join(faults...)
}

// Sockets samples the machine's TCP sockets. It is a collector of its own because the kernel's list of some ten thousand sockets costs
// 20 ms to read, so that it is asked less often than the rest. It is for one goroutine at a time.
type Sockets struct{ config SocketsConfig }

// NewSockets makes a Sockets collector.
func NewSockets(c SocketsConfig) (*Sockets, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("sockets: %w", err)
	}
	if c.Proc == "" {
		c.Proc = procfs.DefaultMountPoint
	}
	return &Sockets{config: c}, nil
}

// Source names the sockets of the host.
func (c *Sockets) Source() string { return Source + " sockets" }

// Collect looks once. Its series carry Source, as those of the rest of the machine.
func (c *Sockets) Collect(_ context.Context, clock observe.Clock) (observe.Batch, error) {
	s := series{at: clock()}
	err := c.read(&s)
	return observe.Batch{Series: s.samples}, err
}

// read counts TCP sockets by state, all and those at the configured ports. An address family that the machine has not is none.
func (c *Sockets) read(s *series) error {
	byState := map[string]float64{}
	waiting := map[int]float64{}
	var faults []error
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join(c.config.Proc, "net", name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("sockets: %w", err))
			continue
		}
		for sock := range sockets.Sockets(text) {
			c.count(sock, byState, waiting)
		}
	}
	for state, n := range byState {
		s.add("sockets{"+state+"}", n)
	}
	for port, n := range waiting {
		s.add("accept_queue{"+strconv.Itoa(port)+"}", n)
	}
	return errors.Join(faults...)
}

func (c *Sockets) count(sock sockets.Socket, byState map[string]float64, waiting map[int]float64) {
	byState[sock.State.String()]++
	if !slices.Contains(c.config.Ports, sock.LocalPort) {
		return
	}
	byState[sock.State.String()+" "+strconv.Itoa(sock.LocalPort)]++
	if sock.State == sockets.Listen {
		waiting[sock.LocalPort] += float64(sock.Received)
	}
}
