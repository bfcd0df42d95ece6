package provider

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/loadline-dev/loadline/pool"
)

// Mode is how the business pool is made, by the names of the study's RPC framework.
type Mode string

// The modes.
const (
	Cached Mode = "cached" // core 20, at most 200, those beyond core kept for a minute
	Fixed  Mode = "fixed"  // as many as Size says
)

// Config is a provider's. The zero value is ready to use beside a Redis on its usual port.
type Config struct {
	Listen string // HTTP, host and port; empty: 127.0.0.1:8083. Port 0 takes a free one
	RPC    string // the binary protocol, host and port; empty: 127.0.0.1:8084. Port 0 takes a free one

	Mode  Mode // empty: cached
	Size  int  // workers of mode fixed, 1 to 100000; 0 with mode cached
	Queue int  // calls that may wait for a worker, 0 (the default) to 1e6
	// OSThreads ties every worker to an operating-system thread of its own, as in the study's Java service.
	OSThreads bool

	Redis       string // host and port; empty: 127.0.0.1:6379. Must be empty with Embedded
	Connections int    // to Redis, 1 to 10000; 0: 256, so that they do not bind at the pool sizes of the study
	// Embedded keeps the records in this process behind a stand-in that speaks Redis' protocol, for machines where no Redis can be installed.
	Embedded bool

	Work    int           // KiB that a call runs a checksum over, about 1 µs of CPU each, 0 to 1e6; 0: none
	Timeout time.Duration // of a call, its queue wait included, 1 ms to 1 h; 0: 5 s, the study's framework's
}

// The defaults.
const (
	DefaultListen      = "127.0.0.1:8083"
	DefaultRPC         = "127.0.0.1:8084"
	DefaultRedis       = "127.0.0.1:6379"
	DefaultConnections = 256
	DefaultTimeout     = 5 * time.Second

	maxSize        = 100_000
	maxQueue       = 1_000_000
	maxConnections = 10_000
	maxWork        = 1_000_000
)

func (c Config) withDefaults() Config {
	set := func(v *string, to string) {
		if *v == "" {
			*v = to
		}
	}
	set(&c.Listen, DefaultListen)
	set(&c.RPC, DefaultRPC)
	if !c.Embedded {
		set(&c.Redis, DefaultRedis)
	}
	if c.Mode == "" {
		c.Mode = Cached
	}
	if c.Connections == 0 {
		c.Connections = DefaultConnections
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	return c
}

// Validate finds all faults.
func (c Config) Validate() error {
	c = c.withDefaults()
	var faults []error
	want := func(ok bool, field string, found any, allowed string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s: found %v, want %s", field, found, allowed))
		}
	}
	within := func(field string, found, low, high int) {
		want(found >= low && found <= high, field, found, fmt.Sprintf("%d to %d", low, high))
	}
	want(isAddress(c.Listen), "listen", c.Listen, "HOST:PORT such as "+DefaultListen)
	want(isAddress(c.RPC), "rpc", c.RPC, "HOST:PORT such as "+DefaultRPC)
	switch c.Mode {
	case Cached:
		want(c.Size == 0, "size", c.Size, "0, since a cached pool has its own sizes")
	case Fixed:
		within("size", c.Size, 1, maxSize)
	default:
		want(false, "pool", c.Mode, "cached or fixed")
	}
	within("queue", c.Queue, 0, maxQueue)
	if c.Embedded {
		want(c.Redis == "", "redis", c.Redis, "no address, since the records are embedded")
	} else {
		want(isAddress(c.Redis), "redis", c.Redis, "HOST:PORT such as "+DefaultRedis)
	}
	within("connections", c.Connections, 1, maxConnections)
	within("work", c.Work, 0, maxWork)
	want(c.Timeout >= time.Millisecond && c.Timeout <= time.Hour, "timeout", c.Timeout, "1ms to 1h")
	return errors.Join(faults...)
}

func isAddress(text string) bool {
	_, _, err := net.SplitHostPort(text)
	return err == nil
}

// poolConfig is the business pool's.
func (c Config) poolConfig() pool.Config {
	p := pool.JSFCached(poolName)
	if c.Mode == Fixed {
		p = pool.JSFFixed(poolName)
		p.Settings.Core, p.Settings.Max = c.Size, c.Size
	}
	p.Settings.Queue = c.Queue
	p.OSThreads = c.OSThreads
	return p
}
