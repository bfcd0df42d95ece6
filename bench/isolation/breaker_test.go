package isolation

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	resbreaker "github.com/eapache/go-resiliency/breaker"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/loadline-dev/loadline/breaker"
	"github.com/sony/gobreaker/v2"
)

var errBench = errors.New("bench")

// measured measures op on as many goroutines as there are processors. Beside the time that passed it reports the processor's time, which tells
// more on a machine that is shared.
func measured(b *testing.B, op func()) {
	b.ReportAllocs()
	before := cpuTime()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			op()
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func newBreaker(b *testing.B, s breaker.Settings, clock *breaker.Clock) *breaker.Breaker {
	br, err := breaker.New(breaker.Config{Name: "bench", Settings: s, Clock: clock})
	if err != nil {
		b.Fatal(err)
	}
	return br
}

// guard is a breaker as one call: run fn if it lets it, and record.
type guard struct {
	name string
	make func(b *testing.B) func()
}

func loadlineBreaker(s breaker.Settings, coarse bool) func(b *testing.B) func() {
	return func(b *testing.B) func() {
		var clock *breaker.Clock
		if coarse {
			clock = coarseClock(b)
		}
		br := newBreaker(b, s, clock)
		return func() {
			permit, err := br.Allow()
			if err != nil {
				b.Error(err)
			}
			permit.Done(breaker.Success)
		}
	}
}

func noError() error { return nil }

func gobreakerOf(s gobreaker.Settings) func(b *testing.B) func() {
	return func(*testing.B) func() {
		cb := gobreaker.NewCircuitBreaker[any](s)
		fn := func() (any, error) { return nil, nil }
		return func() { _, _ = cb.Execute(fn) }
	}
}

func failsafePermit(cb circuitbreaker.CircuitBreaker[any]) func(b *testing.B) func() {
	return func(*testing.B) func() {
		return func() {
			if cb.TryAcquirePermit() {
				cb.RecordSuccess()
			}
		}
	}
}

func failsafeRun(*testing.B) func() {
	executor := failsafe.With[any](circuitbreaker.NewBuilder[any]().WithFailureThresholdRatio(50, 100).Build())
	return func() { _ = executor.Run(noError) }
}

func hystrixDo(name string) func(*testing.B) func() {
	return func(*testing.B) func() {
		hystrix.ConfigureCommand(name, hystrix.CommandConfig{Timeout: 1000, MaxConcurrentRequests: 100})
		return func() { _ = hystrix.Do(name, noError, nil) }
	}
}

func resiliencyBreaker(*testing.B) func() {
	br := resbreaker.New(10, 1, time.Second)
	return func() { _ = br.Run(noError) }
}

func closedBreakers() []guard {
	slow := breaker.Settings{SlowAfter: time.Second}
	return []guard{
		{"loadline-time-exact", loadlineBreaker(breaker.Settings{}, false)},
		{"loadline-time-coarse", loadlineBreaker(breaker.Settings{}, true)},
		{"loadline-slow-calls-exact", loadlineBreaker(slow, false)},
		{"loadline-slow-calls-coarse", loadlineBreaker(slow, true)},
		{"loadline-count-exact", loadlineBreaker(breaker.Settings{Window: breaker.Count}, false)},
		{"loadline-count-coarse", loadlineBreaker(breaker.Settings{Window: breaker.Count}, true)},
		{"loadline-hystrix-exact", loadlineBreaker(breaker.HystrixSettings(), false)},
		{"gobreaker-no-window", gobreakerOf(gobreaker.Settings{})},
		{"gobreaker-10x1s", gobreakerOf(gobreaker.Settings{Interval: 10 * time.Second, BucketPeriod: time.Second})},
		{"failsafe-count-permit", failsafePermit(circuitbreaker.NewBuilder[any]().WithFailureThresholdRatio(50, 100).Build())},
		{"failsafe-time-permit", failsafePermit(circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 20, 10*time.Second).Build())},
		{"failsafe-run", failsafeRun},
		{"go-resiliency", resiliencyBreaker},
		{"hystrix-go-do", hystrixDo("closed")},
	}
}

// BenchmarkBreakerClosed is a call that passes and succeeds.
func BenchmarkBreakerClosed(b *testing.B) {
	for _, g := range closedBreakers() {
		b.Run(g.name, func(b *testing.B) { measured(b, g.make(b)) })
	}
}

func loadlineOpen(coarse bool) func(b *testing.B) func() {
	return func(b *testing.B) func() {
		var clock *breaker.Clock
		if coarse {
			clock = coarseClock(b)
		}
		br := newBreaker(b, breaker.Settings{SleepWindow: time.Hour}, clock)
		br.Trip()
		return func() {
			if _, err := br.Allow(); err == nil {
				b.Error("admitted")
			}
		}
	}
}

func gobreakerOpen(*testing.B) func() {
	cb := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{Timeout: time.Hour, ReadyToTrip: func(gobreaker.Counts) bool { return true }})
	_, _ = cb.Execute(func() (any, error) { return nil, errBench })
	fn := func() (any, error) { return nil, nil }
	return func() { _, _ = cb.Execute(fn) }
}

func failsafeOpen() circuitbreaker.CircuitBreaker[any] {
	cb := circuitbreaker.NewBuilder[any]().WithDelay(time.Hour).Build()
	cb.Open()
	return cb
}

func resiliencyOpen(*testing.B) func() {
	br := resbreaker.New(1, 1, time.Hour)
	_ = br.Run(func() error { return errBench })
	return func() { _ = br.Run(noError) }
}

func hystrixOpen(*testing.B) func() {
	const name = "open"
	hystrix.ConfigureCommand(name, hystrix.CommandConfig{Timeout: 1000, RequestVolumeThreshold: 1, SleepWindow: 3_600_000, ErrorPercentThreshold: 1})
	for range 50 {
		_ = hystrix.Do(name, func() error { return errBench }, nil)
	}
	return func() { _ = hystrix.Do(name, noError, nil) }
}

// BenchmarkBreakerOpen is a call that is refused.
func BenchmarkBreakerOpen(b *testing.B) {
	failsafeTry := func(*testing.B) func() {
		cb := failsafeOpen()
		return func() { cb.TryAcquirePermit() }
	}
	failsafeRefused := func(*testing.B) func() {
		executor := failsafe.With[any](failsafeOpen())
		return func() { _ = executor.Run(noError) }
	}
	for _, g := range []guard{
		{"loadline-exact", loadlineOpen(false)},
		{"loadline-coarse", loadlineOpen(true)},
		{"gobreaker", gobreakerOpen},
		{"failsafe-permit", failsafeTry},
		{"failsafe-run", failsafeRefused},
		{"go-resiliency", resiliencyOpen},
		{"hystrix-go-do", hystrixOpen},
	} {
		b.Run(g.name, func(b *testing.B) { measured(b, g.make(b)) })
	}
}
