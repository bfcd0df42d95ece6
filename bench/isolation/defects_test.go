package isolation

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	"github.com/failsafe-go/failsafe-go"
	fsbulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
)

// The tests of this file put peers and the library into one situation. What the library does is checked, what a peer does is logged: it may
// be mended any day.

// mostAtOnce makes calls of a task of 300 ms that ignores its context, one every 2 ms, and returns how many ran at once.
func mostAtOnce(calls int, call func(task func())) int64 {
	var running, most atomic.Int64
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			call(func() {
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(300 * time.Millisecond)
				running.Add(-1)
			})
		})
		time.Sleep(2 * time.Millisecond)
	}
	wg.Wait()
	return most.Load()
}

func TestATimedOutTaskKeepsItsSlot(t *testing.T) {
	hystrix.ConfigureCommand("slots", hystrix.CommandConfig{Timeout: 1, MaxConcurrentRequests: 5, RequestVolumeThreshold: 1 << 30})
	t.Logf("hystrix-go ran %d at once, limit 5", mostAtOnce(60, func(task func()) {
		_ = hystrix.Do("slots", func() error { task(); return nil }, nil)
	}))
	for _, isolation := range []command.Isolation{command.Semaphore, command.Pool} {
		p, err := pool.New(pool.Config{Name: "slots", Settings: pool.Settings{Core: 5}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := command.New(command.Config[int]{Name: "slots", Pool: p, Settings: command.Settings{
			Isolation: isolation, MaxConcurrent: 5, Timeout: time.Millisecond, Breaker: breaker.Settings{Force: breaker.Disabled}}})
		if err != nil {
			t.Fatal(err)
		}
		most := mostAtOnce(60, func(task func()) {
			_, _ = c.Do(context.Background(), func(context.Context) (int, error) { task(); return 1, nil })
		})
		if most != 5 {
			t.Errorf("%v: %d ran at once, limit 5", isolation, most)
		}
		if err := errors.Join(c.Close(context.Background()), p.Close()); err != nil {
			t.Error(err)
		}
	}
}

// refusals has 200 callers make 20 calls each of a task of 20 ms, with 200 slots, and returns how many were refused.
func refusals(call func() error) (refused int64) {
	var n atomic.Int64
	var wg sync.WaitGroup
	for range slots {
		wg.Go(func() {
			for range 20 {
				if call() != nil {
					n.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return n.Load()
}

func TestAsManyCallersAsSlotsAreNeverRefused(t *testing.T) {
	hystrix.ConfigureCommand("callers", hystrix.CommandConfig{Timeout: 60_000, MaxConcurrentRequests: slots, RequestVolumeThreshold: 1 << 30})
	t.Logf("hystrix-go refused %d of 4000", refusals(func() error {
		return hystrix.Do("callers", func() error { time.Sleep(taxTask); return nil }, nil)
	}))
	for _, isolation := range []command.Isolation{command.Semaphore, command.Pool} {
		p, err := pool.New(pool.Config{Name: "callers", Settings: pool.Settings{Core: slots}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := command.New(command.Config[int]{Name: "callers", Pool: p, Settings: command.Settings{Isolation: isolation, MaxConcurrent: slots, Timeout: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		if n := refusals(func() error { _, err := c.Do(context.Background(), sleeping); return err }); n != 0 {
			t.Errorf("%v: %d of 4000 refused", isolation, n)
		}
		if err := errors.Join(c.Close(context.Background()), p.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestAPanicGivesThePermitBack(t *testing.T) {
	panics := func(call func()) {
		defer func() { _ = recover() }()
		call()
	}
	bulkhead := fsbulkhead.New[int](1)
	panics(func() { _, _ = failsafe.With[int](bulkhead).Get(func() (int, error) { panic("boom") }) })
	t.Logf("failsafe-go has its permit back after a panic: %v", bulkhead.TryAcquirePermit())

	c := newCommand(t, command.Settings{Isolation: command.Semaphore, MaxConcurrent: 1}, nil, nil)
	panics(func() { _, _ = c.Do(context.Background(), func(context.Context) (int, error) { panic("boom") }) })
	if _, err := c.Do(context.Background(), instantly); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

func TestATimeoutDoesNotWaitForAFunctionThatIgnoresItsContext(t *testing.T) {
	const task = 500 * time.Millisecond
	begun := time.Now()
	_, _ = failsafe.With[int](timeout.New[int](10 * time.Millisecond)).Get(func() (int, error) { time.Sleep(task); return 1, nil })
	t.Logf("failsafe-go's caller waited %v for a timeout of 10ms", time.Since(begun))

	p, err := pool.New(pool.Config{Name: "ignores", Settings: pool.Settings{Core: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	c := newCommand(t, command.Settings{Isolation: command.Pool, Timeout: 10 * time.Millisecond}, nil, p)
	begun = time.Now()
	_, err = c.Do(context.Background(), func(context.Context) (int, error) { time.Sleep(task); return 1, nil })
	if waited := time.Since(begun); !errors.Is(err, command.ErrTimeout) || waited >= task {
		t.Errorf("waited %v, %v", waited, err)
	}
}
