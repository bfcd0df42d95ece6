package coarse_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/internal/coarse"
)

func TestAnExactClockFollowsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := coarse.Exact()
		time.Sleep(1234567 * time.Nanosecond)
		if got := c.Now(); got != 1234567 {
			t.Errorf("Now() = %v after 1.234567ms", got)
		}
		if got := c.Epoch().Add(c.Now()); !got.Equal(time.Now()) {
			t.Errorf("epoch + now = %v, time is %v", got, time.Now())
		}
		c.Stop()
	})
}

func TestACoarseClockMovesOnceATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := coarse.Start(10 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Stop()
		time.Sleep(9 * time.Millisecond)
		if got := c.Now(); got != 0 {
			t.Errorf("Now() = %v before the first tick", got)
		}
		time.Sleep(8 * time.Millisecond)
		if got := c.Now(); got != 10*time.Millisecond {
			t.Errorf("Now() = %v at 17ms with a tick of 10ms", got)
		}
		if got := c.Exact(); got != 17*time.Millisecond {
			t.Errorf("Exact() = %v at 17ms", got)
		}
	})
}

func TestAStoppedCoarseClockReadsExactlyAndHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble fails when a goroutine is left
		c, err := coarse.Start(0)
		if err != nil {
			t.Fatal(err)
		}
		if c.Tick() != coarse.DefaultTick {
			t.Errorf("Tick() = %v", c.Tick())
		}
		c.Stop()
		c.Stop()
		time.Sleep(123 * time.Microsecond)
		if got := c.Now(); got != 123*time.Microsecond {
			t.Errorf("Now() = %v after Stop and 123µs", got)
		}
	})
}

func TestATickOutOfRangeIsRefusedWithTheRange(t *testing.T) {
	for _, tick := range []time.Duration{-1, time.Microsecond, time.Second} {
		_, err := coarse.Start(tick)
		if err == nil || !strings.Contains(err.Error(), "100µs to 100ms") {
			t.Errorf("Start(%v) = %v", tick, err)
		}
	}
}
