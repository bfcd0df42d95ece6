package command

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/bulkhead"
)

// Apply puts new settings in force for the calls that begin from now on; invalid ones change nothing, and equal ones do nothing. Calls under
// way keep the deadline, the permit or the worker that they have. Settings of the command's own breaker and bulkhead change with it.
func (c *Control) Apply(settings Settings) error {
	if err := c.parts.allows(settings); err != nil {
		return fmt.Errorf("command %q: %w", c.name, err)
	}
	settings = settings.WithDefaults()
	c.mu.Lock()
	defer c.mu.Unlock()
	if settings == c.gear.Load().settings {
		return nil
	}
	if err := c.adaptLocked(settings); err != nil {
		return fmt.Errorf("command %q: %w", c.name, err)
	}
	c.shiftLocked(settings)
	c.version++
	return nil
}

// adaptLocked changes the command's own parts.
func (c *Control) adaptLocked(settings Settings) error {
	if c.parts.breaker == nil {
		if err := c.breaker.Apply(settings.Breaker); err != nil {
			return err
		}
	}
	if c.parts.bulkhead != nil || c.bulkhead == nil && settings.Isolation != Semaphore {
		return nil
	}
	permits := bulkhead.Settings{Permits: settings.MaxConcurrent, MaxWait: settings.MaxWait}
	if settings.MaxWait > 0 {
		permits.MaxWaiting = bulkhead.Unbounded // each for MaxWait
	}
	if c.bulkhead != nil {
		return c.bulkhead.Apply(permits)
	}
	own, err := bulkhead.New(bulkhead.Config{Name: c.name, Settings: permits, Clock: c.clock})
	c.bulkhead = own
	return err
}

// shiftLocked puts valid settings in force for the calls from now on.
func (c *Control) shiftLocked(settings Settings) {
	g := &gear{settings: settings, closed: c.closed, pool: c.parts.pool, timeout: settings.Timeout + c.clock.Tick()}
	if settings.NoTimeout {
		g.timeout = farAway
	}
	if settings.Isolation == Semaphore {
		g.bulkhead, g.shared = c.bulkhead, c.parts.bulkhead != nil
	}
	g.waits = settings.MaxWait > 0 || settings.Isolation == Semaphore && c.parts.bulkhead != nil
	g.entered, g.queued = g.timeout, g.timeout
	if settings.TimeoutFrom == FromStart {
		g.queued = farAway
		if g.waits && settings.Isolation == Semaphore {
			g.entered = farAway
		}
	}
	if settings.MaxWait > 0 {
		g.queued = settings.MaxWait + c.clock.Tick()
	}
	c.gear.Store(g)
}

// Settings are those in force, defaults filled in.
func (c *Control) Settings() Settings { return c.gear.Load().settings }

// closePoll is how often Close looks whether calls are still under way.
const closePoll = time.Millisecond

// Close makes the command refuse calls from now on (ErrClosed, counted as Rejected), waits until those under way have ended, zombies among
// them, or ctx has, and then ends the command's goroutine. Where ctx ends first, Close may be called again. Parts that were given to
// the command stay open.
func (c *Control) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.shiftLocked(c.gear.Load().settings)
	c.mu.Unlock()
	ticker := time.NewTicker(closePoll)
	defer ticker.Stop()
	for c.busy() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("command %q: close: %w", c.name, context.Cause(ctx))
		}
	}
	c.watch.close()
	return nil
}

// busy tells whether a call is under way or over time.
func (c *Control) busy() bool {
	var s Snapshot
	c.look(&s)
	return s.Active+s.Zombies > 0
}
