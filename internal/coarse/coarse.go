// Package coarse holds the clock that the isolation library reads on its hot paths: exact, or coarse for the price of one load.
//
// A Clock counts nanoseconds since it was made, on the monotonic clock. An exact one has no goroutine; a coarse one has one, owned by
// whoever started it and ended by Stop. A Clock is handed in through a Config and never global, so that one service may run one coarse
// clock for everything it isolates, and a test another.
package coarse

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The range of a coarse clock's tick. Below the least, the goroutine that ticks costs more than exact reading saves on most services;
// above the greatest, timeouts of the usual size lose their meaning.
const (
	MinTick     = 100 * time.Microsecond
	MaxTick     = 100 * time.Millisecond
	DefaultTick = time.Millisecond
)

// Clock tells the time since it was made. It is safe for concurrent use. Use Exact or Start to make one.
type Clock struct {
	now   atomic.Int64 // coarse only: the last tick
	tick  time.Duration
	epoch time.Time
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
}

// Exact returns a clock that reads the system's monotonic clock each time, about 30 ns a reading. It needs no Stop.
func Exact() *Clock { return &Clock{epoch: time.Now()} }

// Start returns a coarse clock that moves once a tick; 0 means DefaultTick, and a tick outside MinTick…MaxTick is an error. A reading
// is late by up to one tick plus what the scheduler makes a timer late, about 1 ms. Stop ends its goroutine.
func Start(tick time.Duration) (*Clock, error) {
	if tick == 0 {
		tick = DefaultTick
	}
	if tick < MinTick || tick > MaxTick {
		return nil, fmt.Errorf("coarse clock: tick %v: allowed %v to %v, or 0 for %v", tick, MinTick, MaxTick, DefaultTick)
	}
	c := &Clock{tick: tick, epoch: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	go c.run()
	return c, nil
}

func (c *Clock) run() {
	defer close(c.done)
	ticker := time.NewTicker(c.tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.now.Store(int64(time.Since(c.epoch)))
		case <-c.stop:
			return
		}
	}
}

// Now is the time since the clock was made. After Stop a coarse clock reads exactly, so that nothing that still uses it stands still.
func (c *Clock) Now() time.Duration {
	if c.tick != 0 {
		if now := c.now.Load(); now >= 0 {
			return time.Duration(now)
		}
	}
	return time.Since(c.epoch)
}

// Exact is the time since the clock was made, read exactly whatever kind of clock it is.
func (c *Clock) Exact() time.Duration { return time.Since(c.epoch) }

// Epoch is the instant the clock counts from; Epoch().Add(c.Now()) is the time of day.
func (c *Clock) Epoch() time.Time { return c.epoch }

// Tick is how far apart readings of a coarse clock are, 0 for an exact one.
func (c *Clock) Tick() time.Duration { return c.tick }

// Stop ends a coarse clock's goroutine and waits for it; the clock then reads exactly. It may be called more than once and does
// nothing to an exact clock.
func (c *Clock) Stop() {
	if c.tick == 0 {
		return
	}
	c.once.Do(func() {
		close(c.stop)
		<-c.done
		c.now.Store(-1)
	})
}
