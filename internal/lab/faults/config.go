package faults

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Fault is what is wrong with the service.
type Fault string

// The faults.
const (
	Healthy     Fault = "healthy"     // nothing
	Leak        Fault = "leak"        // every eighth request leaves a thread behind
	Backlog     Fault = "backlog"     // few core workers before an unbounded queue, so that the maximum is never reached
	Rejection   Fault = "rejection"   // few workers and a short queue: half of the load is refused
	Switch      Fault = "switch"      // requests are handed to and fro between threads
	Starvation  Fault = "starvation"  // tasks wait for tasks of their own pool
	Lock        Fault = "lock"        // a part of every task runs under one lock
	Slow        Fault = "slow"        // the dependency serves four calls at a time
	Connections Fault = "connections" // four connections for twenty workers
	Zombie      Fault = "zombie"      // callers leave before the work is done, and it goes on
	SmallPool   Fault = "small-pool"  // four workers and a long queue
)

// Faults are all of them, the healthy state first.
func Faults() []Fault {
	return []Fault{Healthy, Leak, Backlog, Rejection, Switch, Starvation, Lock, Slow, Connections, Zombie, SmallPool}
}

// Names are the faults' names, for messages.
func Names() string {
	var names []string
	for _, f := range Faults() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// Config is a service's. The zero value is ready to use, and healthy.
type Config struct {
	Listen string // host and port; empty: 127.0.0.1:8084. Port 0 takes a free one
	Fault  Fault  // empty: healthy
}

// DefaultListen is where it listens.
const DefaultListen = "127.0.0.1:8084"

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Fault == "" {
		c.Fault = Healthy
	}
	return c
}

// Validate finds all faults of the configuration.
func (c Config) Validate() error {
	c = c.withDefaults()
	var wrong []error
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		wrong = append(wrong, fmt.Errorf("listen: found %v, want HOST:PORT such as %s", c.Listen, DefaultListen))
	}
	if !slices.Contains(Faults(), c.Fault) {
		wrong = append(wrong, fmt.Errorf("fault: found %q, want one of %s", c.Fault, Names()))
	}
	return errors.Join(wrong...)
}

// system is how the service is built: healthy, with one thing changed.
type system struct {
	core, max, queue int
	threads          bool          // each worker is a thread of its own
	connections      int           // to the dependency
	capacity         int           // calls that the dependency serves at a time
	takes            time.Duration // each of them
	timeout          time.Duration // of a caller
}

func systemOf(f Fault) system {
	s := system{core: 20, max: 20, queue: 64, connections: 20, capacity: 1000, takes: 20 * time.Millisecond, timeout: 2 * time.Second}
	switch f {
	case Backlog:
		s.core, s.max, s.queue = 4, 20, unboundedQueue
	case Rejection:
		s.core, s.max, s.queue = 4, 4, 4
	case Switch:
		s.threads = true
	case Starvation:
		s.core, s.max, s.timeout = 8, 8, 300*time.Millisecond
	case Slow:
		s.capacity = 4
	case Connections:
		s.connections = 4
	case Zombie:
		s.core, s.max, s.connections, s.timeout = 64, 64, 64, 60*time.Millisecond
	case SmallPool:
		s.core, s.max, s.queue = 4, 4, 200
	}
	return s
}
