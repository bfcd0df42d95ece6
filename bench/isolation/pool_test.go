package isolation

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Jeffail/tunny"
	"github.com/alitto/pond/v2"
	"github.com/failsafe-go/failsafe-go"
	fsbulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/loadline-dev/loadline/pool"
	"github.com/panjf2000/ants/v2"
	concpool "github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	workers  = 32
	capacity = 1024
)

// executor is a way to run tasks that nobody waits for.
type executor struct {
	name string
	make func(b *testing.B) (submit func(task func()), stop func())
}

func coarseClock(b *testing.B) *pool.Clock {
	c, err := pool.StartClock(0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Stop)
	return c
}

func newPool(b *testing.B, c pool.Config) *pool.Pool {
	c.Name = "bench"
	p, err := pool.New(c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close() })
	return p
}

func loadline(settings pool.Settings, coarse bool) func(b *testing.B) (func(func()), func()) {
	return func(b *testing.B) (func(func()), func()) {
		config := pool.Config{Settings: settings}
		if coarse {
			config.Clock = coarseClock(b)
		}
		p := newPool(b, config)
		return func(task func()) {
			if err := p.Go(task); err != nil {
				b.Error(err)
			}
		}, func() {}
	}
}

func executors() []executor {
	bounded := pool.Settings{Core: workers, Queue: capacity, Policy: pool.Block}
	unbounded := pool.Settings{Core: workers, Queue: pool.Unbounded}
	return []executor{
		{"raw-go", rawGo},
		{"raw-channel-32-of-1024", rawChannel},
		{"loadline-exact", loadline(bounded, false)},
		{"loadline-coarse", loadline(bounded, true)},
		{"loadline-unbounded-exact", loadline(unbounded, false)},
		{"loadline-unbounded-coarse", loadline(unbounded, true)},
		{"pond-32-of-1024", pondOf(pond.WithQueueSize(capacity))},
		{"pond-unbounded", pondOf()},
		{"conc-32", concPool},
		{"ants-32", antsOf(workers)},
		{"ants-50000", antsOf(50000)},
		{"errgroup-32", errGroup},
		{"x-semaphore-32-and-go", semaphoreGo},
	}
}

func rawGo(*testing.B) (func(func()), func()) {
	return func(task func()) { go task() }, func() {}
}

func rawChannel(*testing.B) (func(func()), func()) {
	tasks := make(chan func(), capacity)
	for range workers {
		go func() {
			for task := range tasks {
				task()
			}
		}()
	}
	return func(task func()) { tasks <- task }, func() { close(tasks) }
}

func pondOf(options ...pond.Option) func(b *testing.B) (func(func()), func()) {
	return func(b *testing.B) (func(func()), func()) {
		p := pond.NewPool(workers, options...)
		return func(task func()) {
			if err := p.Go(task); err != nil {
				b.Error(err)
			}
		}, p.StopAndWait
	}
}

func concPool(*testing.B) (func(func()), func()) {
	p := concpool.New().WithMaxGoroutines(workers)
	return p.Go, p.Wait
}

func antsOf(n int) func(b *testing.B) (func(func()), func()) {
	return func(b *testing.B) (func(func()), func()) {
		p, err := ants.NewPool(n)
		if err != nil {
			b.Fatal(err)
		}
		return func(task func()) {
			if err := p.Submit(task); err != nil {
				b.Error(err)
			}
		}, p.Release
	}
}

func errGroup(*testing.B) (func(func()), func()) {
	var g errgroup.Group
	g.SetLimit(workers)
	return func(task func()) { g.Go(func() error { task(); return nil }) }, func() { g.Wait() }
}

func semaphoreGo(b *testing.B) (func(func()), func()) {
	s := semaphore.NewWeighted(workers)
	return func(task func()) {
		if err := s.Acquire(context.Background(), 1); err != nil {
			b.Error(err)
		}
		go func() { defer s.Release(1); task() }()
	}, func() {}
}

// BenchmarkSubmit is fire and forget of an empty task, by so many submitters, until all have run.
func BenchmarkSubmit(b *testing.B) {
	for _, submitters := range []int{1, 2, 1000} {
		for _, e := range executors() {
			b.Run(fmt.Sprintf("submitters=%d/%s", submitters, e.name), func(b *testing.B) {
				submit, stop := e.make(b)
				defer stop()
				benchmarkSubmit(b, submit, submitters)
			})
		}
	}
}

func benchmarkSubmit(b *testing.B, submit func(func()), submitters int) {
	var ran sync.WaitGroup
	ran.Add(b.N)
	task := func() { ran.Done() }
	b.ReportAllocs()
	b.ResetTimer()
	var submitted sync.WaitGroup
	for i := range submitters {
		n := b.N / submitters
		if i < b.N%submitters {
			n++
		}
		submitted.Go(func() {
			for range n {
				submit(task)
			}
		})
	}
	submitted.Wait()
	ran.Wait()
}

// caller is a way to run a function on a worker and wait for its result.
type caller struct {
	name string
	make func(b *testing.B) (call func() int, stop func())
}

func callers() []caller {
	return []caller{
		{"raw-ping-pong", pingPong},
		{"raw-go-and-channel", rawGoResult},
		{"loadline-exact", loadlineCall(false)},
		{"loadline-coarse", loadlineCall(true)},
		{"ants-and-channel", antsResult},
		{"conc-and-channel", concResult},
		{"tunny", tunnyResult},
		{"failsafe-bulkhead", failsafeResult},
		{"pond-submit-wait", pondResult},
	}
}

// pingPong is what two goroutines that hand a value to and fro cost: two parks, two wake-ups, and no pool around it. Each caller has a
// partner of its own.
func pingPong(*testing.B) (func() int, func()) {
	type pair struct{ in, out chan int }
	var pairs sync.Pool
	var stops []chan int
	var mu sync.Mutex
	pairs.New = func() any {
		p := &pair{make(chan int), make(chan int)}
		go func() {
			for v := range p.in {
				p.out <- v
			}
		}()
		mu.Lock()
		defer mu.Unlock()
		stops = append(stops, p.in)
		return p
	}
	call := func() int {
		p := pairs.Get().(*pair)
		p.in <- 7
		v := <-p.out
		pairs.Put(p)
		return v
	}
	return call, func() {
		for _, in := range stops {
			close(in)
		}
	}
}

func rawGoResult(*testing.B) (func() int, func()) {
	return func() int {
		result := make(chan int, 1)
		go func() { result <- 7 }()
		return <-result
	}, func() {}
}

func loadlineCall(coarse bool) func(b *testing.B) (func() int, func()) {
	return func(b *testing.B) (func() int, func()) {
		config := pool.Config{Settings: pool.Settings{Core: workers, Queue: capacity}}
		if coarse {
			config.Clock = coarseClock(b)
		}
		p := newPool(b, config)
		fn := func(context.Context) (int, error) { return 7, nil }
		return func() int {
			v, err := pool.Call(context.Background(), p, fn)
			if err != nil {
				b.Error(err)
			}
			return v
		}, func() {}
	}
}

func antsResult(b *testing.B) (func() int, func()) {
	p, err := ants.NewPool(workers)
	if err != nil {
		b.Fatal(err)
	}
	return func() int {
		result := make(chan int, 1)
		if err := p.Submit(func() { result <- 7 }); err != nil {
			b.Error(err)
		}
		return <-result
	}, p.Release
}

func concResult(*testing.B) (func() int, func()) {
	p := concpool.New().WithMaxGoroutines(workers)
	return func() int {
		result := make(chan int, 1)
		p.Go(func() { result <- 7 })
		return <-result
	}, p.Wait
}

func tunnyResult(*testing.B) (func() int, func()) {
	p := tunny.NewFunc(workers, func(any) any { return 7 })
	return func() int { return p.Process(nil).(int) }, p.Close
}

func failsafeResult(b *testing.B) (func() int, func()) {
	policy := fsbulkhead.NewBuilder[int](workers).WithMaxWaitTime(time.Minute).Build()
	executor := failsafe.With(policy)
	return func() int {
		v, err := executor.GetAsync(func() (int, error) { return 7, nil }).Get()
		if err != nil {
			b.Error(err)
		}
		return v
	}, func() {}
}

func pondResult(b *testing.B) (func() int, func()) {
	p := pond.NewResultPool[int](workers, pond.WithQueueSize(capacity))
	return func() int {
		v, err := p.Submit(func() int { return 7 }).Wait()
		if err != nil {
			b.Error(err)
		}
		return v
	}, p.StopAndWait
}

// BenchmarkCall is submitting a function and waiting for its result, by so many callers at once.
func BenchmarkCall(b *testing.B) {
	for _, n := range []int{1, 64} {
		for _, c := range callers() {
			b.Run(fmt.Sprintf("callers=%d/%s", n, c.name), func(b *testing.B) {
				call, stop := c.make(b)
				defer stop()
				b.ReportAllocs()
				inParallel(b, n, func() { call() })
			})
		}
	}
}

// inParallel has n goroutines do op b.N times in all.
func inParallel(b *testing.B, n int, op func()) {
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var all sync.WaitGroup
	const share = 64 // taken at once, so that the count costs nothing
	for range n {
		all.Go(func() {
			for {
				rest := left.Add(-share) + share
				for range min(share, rest) {
					op()
				}
				if rest <= share {
					return
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkPoolRejection is a submit that a full pool refuses.
func BenchmarkPoolRejection(b *testing.B) {
	hold := make(chan struct{})
	defer close(hold)
	blocked := func(submit func(func()) error) func() error {
		var running sync.WaitGroup
		running.Add(1)
		if err := submit(func() { running.Done(); <-hold }); err != nil {
			b.Fatal(err)
		}
		running.Wait()
		return func() error { return submit(func() {}) }
	}
	full, err := pool.New(pool.Config{Name: "full", Settings: pool.Settings{Core: 1}})
	if err != nil {
		b.Fatal(err)
	}
	nonblocking, err := ants.NewPool(1, ants.WithNonblocking(true))
	if err != nil {
		b.Fatal(err)
	}
	ponds := pond.NewPool(1, pond.WithQueueSize(0), pond.WithNonBlocking(true))
	for name, submit := range map[string]func() error{
		"loadline": blocked(full.Go), "ants": blocked(nonblocking.Submit), "pond": blocked(ponds.Go),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if submit() == nil {
					b.Fatal("not refused")
				}
			}
		})
	}
}

// BenchmarkIdleWorker reports the memory of a worker that has nothing to do.
func BenchmarkIdleWorker(b *testing.B) {
	const n = 10000
	for range b.N {
		before := memory()
		p, err := pool.New(pool.Config{Name: "idle", Settings: pool.Settings{Core: n}, Prestart: true})
		if err != nil {
			b.Fatal(err)
		}
		for s := p.Snapshot(); s.Workers != n; s = p.Snapshot() {
			runtime.Gosched()
		}
		time.Sleep(50 * time.Millisecond)
		b.ReportMetric(float64(memory()-before)/n, "B/worker")
		p.Close()
	}
}

// BenchmarkQueuedTask reports the memory of a task that waits.
func BenchmarkQueuedTask(b *testing.B) {
	const n = 1_000_000
	for range b.N {
		p, err := pool.New(pool.Config{Name: "queue", Settings: pool.Settings{Core: 1, Queue: pool.Unbounded}})
		if err != nil {
			b.Fatal(err)
		}
		hold := make(chan struct{})
		p.Go(func() { <-hold })
		before := memory()
		for range n {
			p.Go(func() {})
		}
		b.ReportMetric(float64(memory()-before)/n, "B/task")
		close(hold)
		p.Close()
	}
}

func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
