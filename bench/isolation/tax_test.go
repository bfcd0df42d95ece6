package isolation

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	"github.com/failsafe-go/failsafe-go"
	fsbulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
	"github.com/panjf2000/ants/v2"
	"golang.org/x/sync/semaphore"
)

// The isolation tax: 200 callers of a task that takes 20 ms, for as long as a round lasts.
const (
	taxCallers = 200
	taxTask    = 20 * time.Millisecond
	taxRound   = time.Second
)

func sleeping(context.Context) (int, error) {
	time.Sleep(taxTask)
	return 1, nil
}

// taxed makes a way to call the task; false means that the call was refused or failed.
type taxed struct {
	name string
	make func(b *testing.B) func() bool
}

func taxLoadline(s command.Settings, coarse bool) func(b *testing.B) func() bool {
	s.MaxConcurrent, s.Timeout = taxCallers, time.Second
	return func(b *testing.B) func() bool {
		var clock *command.Clock
		if coarse {
			clock = coarseClock(b)
		}
		p := newPool(b, pool.Config{Settings: pool.Settings{Core: taxCallers}, Clock: clock})
		c := newCommand(b, s, clock, p)
		return func() bool {
			_, err := c.Do(context.Background(), sleeping)
			return err == nil
		}
	}
}

func taxNone(*testing.B) func() bool {
	return func() bool {
		_, err := sleeping(context.Background())
		return err == nil
	}
}

func taxChannel(b *testing.B) func() bool {
	tasks := make(chan chan bool)
	for range taxCallers {
		go func() {
			for done := range tasks {
				_, err := sleeping(context.Background())
				done <- err == nil
			}
		}()
	}
	b.Cleanup(func() { close(tasks) })
	return func() bool {
		done := make(chan bool, 1)
		tasks <- done
		return <-done
	}
}

// taxPool is the pool without a command around it.
func taxPool(b *testing.B) func() bool {
	p := newPool(b, pool.Config{Settings: pool.Settings{Core: taxCallers}})
	return func() bool {
		_, err := pool.Call(context.Background(), p, sleeping)
		return err == nil
	}
}

func taxSemaphore(*testing.B) func() bool {
	permits := semaphore.NewWeighted(taxCallers)
	return func() bool {
		if !permits.TryAcquire(1) {
			return false
		}
		defer permits.Release(1)
		_, err := sleeping(context.Background())
		return err == nil
	}
}

func taxAnts(b *testing.B) func() bool {
	p, err := ants.NewPool(taxCallers)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Release)
	return func() bool {
		done := make(chan bool, 1)
		if err := p.Submit(func() { _, err := sleeping(context.Background()); done <- err == nil }); err != nil {
			return false
		}
		return <-done
	}
}

func taxFailsafe(*testing.B) func() bool {
	executor := failsafe.With[int](fsbulkhead.New[int](taxCallers))
	return func() bool {
		_, err := executor.GetAsync(func() (int, error) { return sleeping(context.Background()) }).Get()
		return err == nil
	}
}

func taxHystrix(*testing.B) func() bool {
	hystrix.ConfigureCommand("tax", hystrix.CommandConfig{Timeout: 1000, MaxConcurrentRequests: taxCallers, RequestVolumeThreshold: 1 << 30})
	return func() bool {
		return hystrix.Do("tax", func() error { _, err := sleeping(context.Background()); return err }, nil) == nil
	}
}

// BenchmarkTax gives successes a second, their p99 and the processor's time for 1000 of them. An operation is a round of one second.
func BenchmarkTax(b *testing.B) {
	for _, row := range []taxed{
		{"none", taxNone},
		{"loadline-none-exact", taxLoadline(command.Settings{Isolation: command.None}, false)},
		{"loadline-semaphore-exact", taxLoadline(command.Settings{Isolation: command.Semaphore}, false)},
		{"loadline-semaphore-coarse", taxLoadline(command.Settings{Isolation: command.Semaphore}, true)},
		{"loadline-pool-exact", taxLoadline(command.Settings{Isolation: command.Pool}, false)},
		{"loadline-pool-coarse", taxLoadline(command.Settings{Isolation: command.Pool}, true)},
		{"loadline-pool-alone-exact", taxPool},
		{"x-semaphore", taxSemaphore},
		{"raw-channel", taxChannel},
		{"ants", taxAnts},
		{"failsafe", taxFailsafe},
		{"hystrix-go", taxHystrix},
	} {
		b.Run(row.name, func(b *testing.B) {
			call := row.make(b)
			taxRounds(b, call, 1) // to start workers and grow tables
			b.ResetTimer()
			taxRounds(b, call, b.N)
		})
	}
}

func taxRounds(b *testing.B, call func() bool, rounds int) {
	before, begun := cpuTime(), time.Now()
	until := begun.Add(time.Duration(rounds) * taxRound)
	took := make([][]time.Duration, taxCallers)
	refused := make([]int, taxCallers)
	var wg sync.WaitGroup
	for i := range taxCallers {
		wg.Go(func() {
			// Spread over the task's length: callers in step would wake by the batch, which no traffic does.
			time.Sleep(taxTask * time.Duration(i) / taxCallers)
			for now := time.Now(); now.Before(until); {
				ok := call()
				next := time.Now()
				if ok {
					took[i] = append(took[i], next.Sub(now))
				} else {
					refused[i]++
				}
				now = next
			}
		})
	}
	wg.Wait()
	cpu, elapsed := cpuTime()-before, time.Since(begun)
	all := slices.Concat(took...)
	slices.Sort(all)
	n := float64(len(all))
	b.ReportMetric(n/elapsed.Seconds(), "success/s")
	b.ReportMetric(float64(all[len(all)*99/100])/1e6, "p99-ms")
	b.ReportMetric(float64(cpu)/1e6/n*1000, "cpu-ms/1000")
	sum := 0
	for _, r := range refused {
		sum += r
	}
	b.ReportMetric(float64(sum)/(n+float64(sum))*100, "refused-%")
}
