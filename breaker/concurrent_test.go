package breaker_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/breaker"
)

// rounds is how many calls each goroutine of a stress test makes.
func rounds(t *testing.T) int {
	t.Helper()
	if testing.Short() {
		return 20_000
	}
	return 200_000
}

// TestEveryCallIsAccountedForUnderChange lets many goroutines call, fail, trip, reset and change settings; at the end every admitted call is
// in exactly one counter.
func TestEveryCallIsAccountedForUnderChange(t *testing.T) {
	shapes := []breaker.Settings{
		{MinVolume: 5, SleepWindow: time.Millisecond, Probes: 3, WindowLength: 10 * time.Millisecond},
		{MinVolume: 5, SleepWindow: time.Millisecond, Window: breaker.Count, WindowCalls: 50, SlowAfter: 1},
		{MinVolume: 5, SleepWindow: time.Millisecond, Mode: breaker.Hystrix, WindowLength: 10 * time.Millisecond, WindowBuckets: 5},
	}
	b := newBreaker(t, shapes[0])
	var admitted, refused, probes atomic.Uint64
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			for i := range rounds(t) {
				if g == 0 && i%512 == 0 {
					_ = b.Apply(shapes[random.IntN(len(shapes))])
					b.Snapshot()
				}
				p, err := b.Allow()
				if err != nil {
					refused.Add(1)
					continue
				}
				admitted.Add(1)
				if p.Probe() {
					probes.Add(1)
				}
				p.Done(breaker.Outcome(random.IntN(10) % 4 % 3))
			}
		})
	}
	wg.Wait()
	s := b.Snapshot()
	if s.Refused != refused.Load() {
		t.Errorf("refused %d, counted %d", refused.Load(), s.Refused)
	}
	// A result added to a window while it is swapped for one of another shape goes down with the old one: the only ones not counted.
	if got := s.Total.Calls + s.Neutral + s.Stale + probes.Load(); got > admitted.Load() || got < admitted.Load()-admitted.Load()/1000 {
		t.Errorf("%+v and %d probes: %d of %d admitted calls", s, probes.Load(), got, admitted.Load())
	}
	if s.Trips == 0 || refused.Load() == 0 || probes.Load() == 0 {
		t.Errorf("nothing happened: %+v", s)
	}
}

func TestAWindowCountsEveryConcurrentResultExactly(t *testing.T) {
	for _, s := range []breaker.Settings{
		{WindowLength: time.Hour, Force: breaker.ForcedClosed},
		{Window: breaker.Count, WindowCalls: 65536, SlowAfter: 1, Force: breaker.ForcedClosed},
	} {
		b := newBreaker(t, s)
		var wg sync.WaitGroup
		n := rounds(t)
		for g := range 4 {
			wg.Go(func() {
				for range n {
					p, _ := b.Allow()
					p.Done(breaker.Outcome(g & 1))
				}
			})
		}
		wg.Wait()
		got := b.Snapshot()
		if got.Total.Calls != uint64(4*n) || got.Total.Failures != uint64(2*n) {
			t.Errorf("%v window: %+v of %d calls, half of them failures", s.Window, got.Total, 4*n)
		}
		if s.Window == breaker.Count && got.Window.Calls != 65536 {
			t.Errorf("count window holds %d calls", got.Window.Calls)
		}
	}
}

// TestNeverMoreProbesThanPermitted has many goroutines storm a half-open breaker whose probes do not come back.
func TestNeverMoreProbesThanPermitted(t *testing.T) {
	for range 50 {
		b := newBreaker(t, breaker.Settings{MinVolume: 1, SleepWindow: time.Millisecond, Probes: 3, ProbeExpiry: time.Hour})
		b.Trip()
		for b.Snapshot().Refusing {
			// Polls until the sleep window is over.
		}
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					if _, err := b.Allow(); err == nil {
						admitted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if admitted.Load() != 3 || b.Snapshot().ProbesOut != 3 {
			t.Fatalf("%d probes admitted, %d out, want 3", admitted.Load(), b.Snapshot().ProbesOut)
		}
	}
}

func TestChangesOfManyGoroutinesArriveOneByOneInOrder(t *testing.T) {
	var inside atomic.Int32
	state := breaker.Closed
	b, err := breaker.New(breaker.Config{Name: "price", OnChange: func(c breaker.Change) {
		if inside.Add(1) != 1 {
			t.Error("two changes delivered at once")
		}
		if c.From != state {
			t.Errorf("change from %v while the last one left %v", c.From, state)
		}
		state = c.To
		inside.Add(-1)
	}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 2000 {
				if g%2 == 0 {
					b.Trip()
				} else {
					b.Reset()
				}
			}
		})
	}
	wg.Wait()
	if state != b.State() {
		t.Errorf("last change to %v, breaker is %v", state, b.State())
	}
}

func TestTheClosedPathAllocatesNothing(t *testing.T) {
	for _, s := range []breaker.Settings{{}, {Window: breaker.Count, SlowAfter: time.Second}, breaker.HystrixSettings()} {
		b := newBreaker(t, s)
		if n := testing.AllocsPerRun(1000, func() {
			p, _ := b.Allow()
			p.Done(breaker.Success)
		}); n != 0 {
			t.Errorf("%+v: %v allocations a call", s, n)
		}
		b.Trip()
		if n := testing.AllocsPerRun(1000, func() { _, _ = b.Allow() }); n != 0 {
			t.Errorf("%+v: %v allocations a refusal", s, n)
		}
	}
}
