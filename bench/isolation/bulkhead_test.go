package isolation

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/eapache/go-resiliency/semaphore"
	fsbulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/platinummonkey/go-concurrency-limits/limit"
	"github.com/platinummonkey/go-concurrency-limits/limiter"
	"github.com/platinummonkey/go-concurrency-limits/strategy"
	xsemaphore "golang.org/x/sync/semaphore"
)

const permits = 64

// gate is a way to take and give back one of so many permits; use takes one, gives it back, and says whether there was one.
type gate struct {
	name string
	make func(b *testing.B, permits int) (use func() bool)
}

func newBulkhead(b *testing.B, config bulkhead.Config) *bulkhead.Bulkhead {
	config.Name = "bench"
	made, err := bulkhead.New(config)
	if err != nil {
		b.Fatal(err)
	}
	return made
}

func gates() []gate {
	return []gate{
		{"mutex-for-scale", func(*testing.B, int) func() bool {
			var mu sync.Mutex
			return func() bool { mu.Lock(); mu.Unlock(); return true } //nolint:staticcheck // measured as it is
		}},
		{"channel", channelGate},
		{"loadline-try", func(b *testing.B, n int) func() bool {
			made := newBulkhead(b, bulkhead.Config{Settings: bulkhead.Settings{Permits: n}})
			return func() bool {
				permit, err := made.TryAcquire()
				if err != nil {
					return false
				}
				permit.Release()
				return true
			}
		}},
		{"loadline-acquire", func(b *testing.B, n int) func() bool {
			made := newBulkhead(b, bulkhead.Config{Settings: bulkhead.Settings{Permits: n}})
			return func() bool {
				permit, err := made.Acquire(context.Background())
				if err != nil {
					return false
				}
				permit.Release()
				return true
			}
		}},
		{"loadline-measured-coarse", func(b *testing.B, n int) func() bool {
			config := bulkhead.Config{Settings: bulkhead.Settings{Permits: n}, MeasureHold: true, Clock: coarseClock(b)}
			made := newBulkhead(b, config)
			return func() bool {
				permit, err := made.TryAcquire()
				if err != nil {
					return false
				}
				permit.Release()
				return true
			}
		}},
		{"x-sync-try", func(_ *testing.B, n int) func() bool {
			s := xsemaphore.NewWeighted(int64(n))
			return func() bool {
				if !s.TryAcquire(1) {
					return false
				}
				s.Release(1)
				return true
			}
		}},
		{"x-sync-acquire", func(_ *testing.B, n int) func() bool {
			s := xsemaphore.NewWeighted(int64(n))
			return func() bool {
				if s.Acquire(context.Background(), 1) != nil {
					return false
				}
				s.Release(1)
				return true
			}
		}},
		{"failsafe-permit", func(_ *testing.B, n int) func() bool {
			made := fsbulkhead.New[any](uint(n))
			return func() bool {
				if !made.TryAcquirePermit() {
					return false
				}
				made.ReleasePermit()
				return true
			}
		}},
		{"go-resiliency", func(_ *testing.B, n int) func() bool {
			s := semaphore.New(n, time.Second)
			return func() bool {
				if s.Acquire() != nil {
					return false
				}
				s.Release()
				return true
			}
		}},
		{"go-concurrency-limits", concurrencyLimits},
	}
}

func channelGate(_ *testing.B, n int) func() bool {
	c := make(chan struct{}, n)
	return func() bool {
		select {
		case c <- struct{}{}:
			<-c
			return true
		default:
			return false
		}
	}
}

func concurrencyLimits(b *testing.B, n int) func() bool {
	made, err := limiter.NewDefaultLimiter(
		limit.NewFixedLimit("bench", n, nil), 1e9, 1e9, 1e6, 100, strategy.NewSimpleStrategy(n), limit.NoopLimitLogger{}, nil,
	)
	if err != nil {
		b.Fatal(err)
	}
	return func() bool {
		token, ok := made.Acquire(context.Background())
		if !ok {
			return false
		}
		token.OnSuccess()
		return true
	}
}

// BenchmarkPermit is taking a permit that is free and giving it back, alone and by two goroutines at once.
func BenchmarkPermit(b *testing.B) {
	for _, n := range []int{1, 2} {
		for _, g := range gates() {
			b.Run(fmt.Sprintf("goroutines=%d/%s", n, g.name), func(b *testing.B) {
				use := g.make(b, permits)
				b.ReportAllocs()
				inParallel(b, n, func() {
					if !use() {
						b.Error("refused")
					}
				})
			})
		}
	}
}

// BenchmarkPermitRefused is asking for a permit when none is free and the caller would not wait.
func BenchmarkPermitRefused(b *testing.B) {
	b.Run("loadline", func(b *testing.B) {
		made := newBulkhead(b, bulkhead.Config{Settings: bulkhead.Settings{Permits: 1}})
		held, err := made.TryAcquire()
		if err != nil {
			b.Fatal(err)
		}
		defer held.Release()
		refused(b, func() bool { _, err := made.TryAcquire(); return err != nil })
	})
	b.Run("x-sync", func(b *testing.B) {
		s := xsemaphore.NewWeighted(1)
		s.TryAcquire(1)
		refused(b, func() bool { return !s.TryAcquire(1) })
	})
	b.Run("failsafe", func(b *testing.B) {
		made := fsbulkhead.New[any](1)
		made.TryAcquirePermit()
		refused(b, func() bool { return !made.TryAcquirePermit() })
	})
	b.Run("channel", func(b *testing.B) {
		c := make(chan struct{}, 1)
		c <- struct{}{}
		refused(b, func() bool {
			select {
			case c <- struct{}{}:
				return false
			default:
				return true
			}
		})
	})
}

func refused(b *testing.B, ask func() bool) {
	b.ReportAllocs()
	for b.Loop() {
		if !ask() {
			b.Fatal("not refused")
		}
	}
}
