package order

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

// Isolation is how the call of the dependency is bounded.
type Isolation string

// The isolations, by the names of the study.
const (
	None      Isolation = "none"      // not at all: as many calls as requests
	Thread    Isolation = "thread"    // a pool of workers with a short queue
	Semaphore Isolation = "semaphore" // permits; the request's own goroutine does the work
)

// Config is an order service's. The zero value is ready to use.
type Config struct {
	Listen    string        // host and port; empty: 127.0.0.1:8081. Port 0 takes a free one
	Price     string        // the dependency's URL; empty: http://127.0.0.1:8082/circuit/price
	Isolation Isolation     // empty: none
	Slots     int           // workers (core and max alike) or permits, 1 to 100000; 0 with none
	Queue     *int          // tasks that may wait for a worker, 0 to 1e6; nil: 6. Thread only
	Threshold *int          // refuse from this many waiting tasks on, 0 to Queue; nil: as Queue. Thread only
	Timeout   time.Duration // of a call of the dependency, its queue wait included, 1 ms to 1 h; 0: 800 ms
	// Status500 answers 500 to everything that is not a success, as the Java service of the study did, in place of 503, 504 and 502. The header
	// X-Loadline-Outcome stays.
	Status500 bool
}

// The defaults. Those of the pool and the timeout are the study's: queueSizeRejectionThreshold 6, timeoutInMilliseconds 800.
const (
	DefaultListen  = "127.0.0.1:8081"
	DefaultPrice   = "http://127.0.0.1:8082/circuit/price"
	DefaultQueue   = 6
	DefaultTimeout = 800 * time.Millisecond

	maxSlots = 100_000
	maxQueue = 1_000_000
)

// withDefaults fills in what is not given.
func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Price == "" {
		c.Price = DefaultPrice
	}
	if c.Isolation == "" {
		c.Isolation = None
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Queue == nil {
		c.Queue = new(DefaultQueue)
	}
	if c.Threshold == nil {
		c.Threshold = c.Queue
	}
	return c
}

// Validate finds all faults.
func (c Config) Validate() error {
	given := c
	c = c.withDefaults()
	var faults []error
	bad := func(field string, found any, want string) {
		faults = append(faults, fmt.Errorf("%s: found %v, want %s", field, found, want))
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		bad("listen", c.Listen, "HOST:PORT such as "+DefaultListen)
	}
	if u, err := url.Parse(c.Price); err != nil || u.Scheme != "http" || u.Host == "" {
		bad("price", c.Price, "an http URL such as "+DefaultPrice)
	}
	switch c.Isolation {
	case None:
		if c.Slots != 0 {
			bad("slots", c.Slots, "0, since isolation none has no slots")
		}
	case Thread, Semaphore:
		if c.Slots < 1 || c.Slots > maxSlots {
			bad("slots", c.Slots, fmt.Sprintf("1 to %d with isolation %s", maxSlots, c.Isolation))
		}
	default:
		bad("isolation", c.Isolation, "none, thread or semaphore")
	}
	if c.Isolation != Thread && (given.Queue != nil || given.Threshold != nil) {
		bad("queue, threshold", "a value", "none: only isolation thread has a queue")
	}
	if *c.Queue < 0 || *c.Queue > maxQueue {
		bad("queue", *c.Queue, fmt.Sprintf("0 to %d", maxQueue))
	}
	if *c.Threshold < 0 || *c.Threshold > *c.Queue {
		bad("threshold", *c.Threshold, fmt.Sprintf("0 to the queue's capacity, %d", *c.Queue))
	}
	if c.Timeout < time.Millisecond || c.Timeout > time.Hour {
		bad("timeout", c.Timeout, "1ms to 1h")
	}
	return errors.Join(faults...)
}
