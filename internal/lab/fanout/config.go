package fanout

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Config is a fan-out service's. The zero value is ready to use.
type Config struct {
	Listen string // host and port; empty: 127.0.0.1:8083. Port 0 takes a free one
	Common int    // workers for items, 1 to 10000; 0: 8
	Select int    // workers for conversions and queries, 1 to 10000; 0: 12
	// Queue is how many tasks may wait in each pool, 1 to 1e6; 0: 1000.
	Queue       int
	Items       int            // into which a request is split, 1 to 1000; 0: 2
	Conversions int            // that an item runs in parallel on select, 1 to 1000; 0: 4, the study's
	Queries     int            // that it runs there afterwards, 1 to 1000; 0: 2
	Own         *time.Duration // how long the item's own remote call takes, 0 to 1 min; nil: 12 ms
	Convert     *time.Duration // how long a conversion waits for its remote call, 0 to 1 min; nil: 8 ms
	Query       *time.Duration // how long a query takes, 0 to 1 min; nil: 12 ms
	CPU         *time.Duration // computing in each conversion and query, 0 to 1 s; nil: 200 µs
	Timeout     time.Duration  // of a request, 1 ms to 1 h; 0: 5 s
	// SelfWait gives conversions and queries to common itself: the pool waits for its own tasks, and stands still once every worker does.
	SelfWait bool
}

// The defaults.
const (
	DefaultListen      = "127.0.0.1:8083"
	DefaultCommon      = 8
	DefaultSelect      = 12
	DefaultQueue       = 1000
	DefaultItems       = 2
	DefaultConversions = 4
	DefaultQueries     = 2
	DefaultOwn         = 12 * time.Millisecond
	DefaultConvert     = 8 * time.Millisecond
	DefaultQuery       = 12 * time.Millisecond
	DefaultCPU         = 200 * time.Microsecond
	DefaultTimeout     = 5 * time.Second
)

func (c Config) withDefaults() Config {
	text := func(s *string, d string) {
		if *s == "" {
			*s = d
		}
	}
	number := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	length := func(p **time.Duration, d time.Duration) {
		if *p == nil {
			*p = new(d)
		}
	}
	text(&c.Listen, DefaultListen)
	number(&c.Common, DefaultCommon)
	number(&c.Select, DefaultSelect)
	number(&c.Queue, DefaultQueue)
	number(&c.Items, DefaultItems)
	number(&c.Conversions, DefaultConversions)
	number(&c.Queries, DefaultQueries)
	length(&c.Own, DefaultOwn)
	length(&c.Convert, DefaultConvert)
	length(&c.Query, DefaultQuery)
	length(&c.CPU, DefaultCPU)
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	return c
}

// Validate finds all faults.
func (c Config) Validate() error {
	c = c.withDefaults()
	var faults []error
	bad := func(field string, found any, want string) {
		faults = append(faults, fmt.Errorf("%s: found %v, want %s", field, found, want))
	}
	within := func(field string, n, most int) {
		if n < 1 || n > most {
			bad(field, n, fmt.Sprintf("1 to %d", most))
		}
	}
	lasts := func(field string, d, least, most time.Duration) {
		if d < least || d > most {
			bad(field, d, fmt.Sprintf("%v to %v", least, most))
		}
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		bad("listen", c.Listen, "HOST:PORT such as "+DefaultListen)
	}
	within("common", c.Common, 10_000)
	within("select", c.Select, 10_000)
	within("queue", c.Queue, 1_000_000)
	within("items", c.Items, 1000)
	within("conversions", c.Conversions, 1000)
	within("queries", c.Queries, 1000)
	lasts("own", *c.Own, 0, time.Minute)
	lasts("convert", *c.Convert, 0, time.Minute)
	lasts("query", *c.Query, 0, time.Minute)
	lasts("cpu", *c.CPU, 0, time.Second)
	lasts("timeout", c.Timeout, time.Millisecond, time.Hour)
	return errors.Join(faults...)
}
