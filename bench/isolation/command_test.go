package isolation

import (
	"context"
	"testing"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	resbreaker "github.com/eapache/go-resiliency/breaker"
	"github.com/eapache/go-resiliency/deadline"
	ressemaphore "github.com/eapache/go-resiliency/semaphore"
	"github.com/failsafe-go/failsafe-go"
	fsbulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
)

const slots = 200

type benchKey struct{}

func newCommand(b testing.TB, s command.Settings, clock *command.Clock, p *pool.Pool) *command.Command[int] {
	c, err := command.New(command.Config[int]{Name: "bench", Settings: s, Clock: clock, Pool: p})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return c
}

type function = func(context.Context) (int, error)

func instantly(context.Context) (int, error) { return 1, nil }

// asking is a function that looks at its context as a client does.
func asking(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	default:
		return 1, nil
	}
}

var semaphoreSettings = command.Settings{Isolation: command.Semaphore, MaxConcurrent: slots, Timeout: time.Minute} // on a shared machine a goroutine may stand still for seconds

func loadlineCommand(s command.Settings, ctx func(testing.TB) context.Context, coarse bool, fn function) func(b *testing.B) func() {
	return func(b *testing.B) func() {
		var clock *command.Clock
		if coarse {
			clock = coarseClock(b)
		}
		var p *pool.Pool
		if s.Isolation == command.Pool {
			p = newPool(b, pool.Config{Settings: pool.Settings{Core: workers, Queue: capacity}, Clock: clock})
		}
		c, parent := newCommand(b, s, clock, p), ctx(b)
		return func() {
			if _, err := c.Do(parent, fn); err != nil {
				b.Error(err)
			}
		}
	}
}

func plain(testing.TB) context.Context { return context.Background() }

func withValue(testing.TB) context.Context {
	return context.WithValue(context.Background(), benchKey{}, 1)
}

func cancellable(b testing.TB) context.Context {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), benchKey{}, 1))
	b.Cleanup(cancel)
	return ctx
}

func withTimeoutAlone(*testing.B) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, _ = instantly(ctx)
		cancel()
	}
}

// handMade is what a careful author writes by hand: gobreaker around x/sync's semaphore around context.WithTimeout.
func handMade(fn function) func(*testing.B) func() {
	return func(*testing.B) func() {
		cb := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{Interval: 10 * time.Second, BucketPeriod: time.Second})
		permits := semaphore.NewWeighted(slots)
		return func() {
			_, _ = cb.Execute(func() (int, error) {
				if !permits.TryAcquire(1) {
					return 0, errBench
				}
				defer permits.Release(1)
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				return fn(ctx)
			})
		}
	}
}

func failsafeComposed(fn function) func(*testing.B) func() {
	return func(*testing.B) func() {
		executor := failsafe.With[int](
			circuitbreaker.NewBuilder[int]().WithFailureThresholdRatio(50, 100).Build(), fsbulkhead.New[int](slots), timeout.New[int](time.Second))
		return func() {
			_, _ = executor.GetWithExecution(func(e failsafe.Execution[int]) (int, error) { return fn(e.Context()) })
		}
	}
}

func resiliencyComposed(*testing.B) func() {
	br, permits, dl := resbreaker.New(10, 1, time.Second), ressemaphore.New(slots, time.Second), deadline.New(time.Second)
	return func() {
		_ = br.Run(func() error {
			if err := permits.Acquire(); err != nil {
				return err
			}
			defer permits.Release()
			return dl.Run(func(<-chan struct{}) error { return nil })
		})
	}
}

func hystrixComposed(*testing.B) func() {
	const name = "composed"
	hystrix.ConfigureCommand(name, hystrix.CommandConfig{Timeout: 1000, MaxConcurrentRequests: slots})
	return func() { _ = hystrix.Do(name, noError, nil) }
}

// BenchmarkCommand is a bound on concurrency, a timeout and a breaker around a function that does nothing.
func BenchmarkCommand(b *testing.B) {
	onPool := semaphoreSettings
	onPool.Isolation = command.Pool
	for _, g := range []guard{
		{"loadline-exact", loadlineCommand(semaphoreSettings, plain, false, instantly)},
		{"loadline-coarse", loadlineCommand(semaphoreSettings, plain, true, instantly)},
		{"loadline-values-exact", loadlineCommand(semaphoreSettings, withValue, false, instantly)},
		{"loadline-values-coarse", loadlineCommand(semaphoreSettings, withValue, true, instantly)},
		{"loadline-done-exact", loadlineCommand(semaphoreSettings, plain, false, asking)},
		{"loadline-done-cancellable-exact", loadlineCommand(semaphoreSettings, cancellable, false, asking)},
		{"loadline-pool-exact", loadlineCommand(onPool, plain, false, instantly)},
		{"loadline-pool-coarse", loadlineCommand(onPool, plain, true, instantly)},
		{"context-with-timeout-alone", withTimeoutAlone},
		{"gobreaker-x-semaphore-with-timeout", handMade(instantly)},
		{"gobreaker-x-semaphore-with-timeout-done", handMade(asking)},
		{"failsafe", failsafeComposed(instantly)},
		{"failsafe-done", failsafeComposed(asking)},
		{"go-resiliency", resiliencyComposed},
		{"hystrix-go", hystrixComposed},
	} {
		b.Run(g.name, func(b *testing.B) { measured(b, g.make(b)) })
	}
}

// occupy takes the only slot until the benchmark ends.
func occupy(b *testing.B, take func(hold func())) {
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		take(func() { close(held); <-release })
	}()
	<-held
	b.Cleanup(func() { close(release); <-done })
}

func loadlineFull(b *testing.B) func() {
	s := command.Settings{Isolation: command.Semaphore, MaxConcurrent: 1, NoTimeout: true}
	c := newCommand(b, s, nil, nil)
	occupy(b, func(hold func()) {
		_, _ = c.Do(context.Background(), func(context.Context) (int, error) { hold(); return 1, nil })
	})
	return func() { _, _ = c.Do(context.Background(), instantly) }
}

func loadlinePoolFull(b *testing.B) func() {
	s := command.Settings{Isolation: command.Pool, NoTimeout: true}
	c := newCommand(b, s, nil, newPool(b, pool.Config{Settings: pool.Settings{Core: 1}}))
	occupy(b, func(hold func()) {
		_, _ = c.Do(context.Background(), func(context.Context) (int, error) { hold(); return 1, nil })
	})
	return func() { _, _ = c.Do(context.Background(), instantly) }
}

func failsafeFull(b *testing.B) func() {
	executor := failsafe.With[int](circuitbreaker.NewBuilder[int]().WithFailureThreshold(1_000_000_000).Build(), fsbulkhead.New[int](1))
	occupy(b, func(hold func()) { _, _ = executor.Get(func() (int, error) { hold(); return 1, nil }) })
	return func() { _, _ = executor.Get(func() (int, error) { return 1, nil }) }
}

func hystrixFull(b *testing.B) func() {
	const name = "full"
	hystrix.ConfigureCommand(name, hystrix.CommandConfig{Timeout: 3_600_000, MaxConcurrentRequests: 1, RequestVolumeThreshold: 1 << 30})
	occupy(b, func(hold func()) { _ = hystrix.Do(name, func() error { hold(); return nil }, nil) })
	return func() { _ = hystrix.Do(name, noError, nil) }
}

// BenchmarkCommandFull is a call that is refused for want of a slot, breaker and all.
func BenchmarkCommandFull(b *testing.B) {
	for _, g := range []guard{
		{"loadline-semaphore", loadlineFull},
		{"loadline-pool", loadlinePoolFull},
		{"failsafe", failsafeFull},
		{"hystrix-go", hystrixFull},
	} {
		b.Run(g.name, func(b *testing.B) { measured(b, g.make(b)) })
	}
}
