package pool_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/pool"
)

func apply(t *testing.T, p *pool.Pool, change func(*pool.Settings)) {
	t.Helper()
	s := p.Settings()
	change(&s)
	if err := p.Apply(s); err != nil {
		t.Fatal(err)
	}
}

func TestRaisingCoreAboveTheOldMaxIsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // every order of setters throws somewhere in a JDK pool
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 2, Queue: 100}})
		release := occupy(t, p, 10)
		var changes []pool.Change
		q := newPool(t, pool.Config{Settings: pool.Settings{Core: 1}, Hooks: pool.Hooks{OnApply: func(c pool.Change) { changes = append(changes, c) }}})
		apply(t, p, func(s *pool.Settings) { s.Core, s.Max = 8, 8 })
		synctest.Wait()
		if s := p.Snapshot(); s.Workers != 8 || s.Active != 8 || s.Waiting != 2 || s.Version != 2 {
			t.Errorf("after raising: %+v", short(s))
		}
		apply(t, p, func(s *pool.Settings) { s.Core, s.Max = 1, 1 })
		release()
		p.Close()
		balanced(t, p)
		apply(t, q, func(s *pool.Settings) { s.Core, s.Max = 30, 40 })
		apply(t, q, func(*pool.Settings) {}) // equal: no change
		if len(changes) != 1 || changes[0].Before.Core != 1 || changes[0].After.Max != 40 || changes[0].Version != 2 {
			t.Errorf("changes: %+v", changes)
		}
	})
}

func TestAfterShrinkingNothingBeginsUntilFewerRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 10, Queue: 100}})
		gates := make([]chan struct{}, 30)
		var begun atomic.Int32
		for i := range gates {
			gates[i] = make(chan struct{})
			if err := p.Go(func() { begun.Add(1); <-gates[i] }); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		apply(t, p, func(s *pool.Settings) { s.Core, s.Max, s.Queue = 3, 3, 5 })
		for i := range 7 {
			close(gates[i])
			synctest.Wait()
			if begun.Load() != 10 {
				t.Fatalf("a task began with %d running, max 3", 10-i)
			}
		}
		var r *pool.RejectedError
		if err := p.Go(func() {}); !errors.As(err, &r) || r.Waiting != 20 || r.Queue != 5 || r.Workers != 3 {
			t.Errorf("a new task with 20 queued of 5: %v", err)
		}
		close(gates[7])
		synctest.Wait()
		if s := p.Snapshot(); begun.Load() != 11 || s.Active != 3 || s.Waiting != 19 {
			t.Errorf("begun %d; %+v", begun.Load(), short(s))
		}
		for _, g := range gates[8:] {
			close(g)
		}
		p.Close()
		if s := balanced(t, p); s.Completed != 30 {
			t.Errorf("%d completed", s.Completed)
		}
	})
}

func TestALargerQueueLetsEveryWaiterInThatItHasRoomFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 1, Policy: pool.Block}})
		release := occupy(t, p, 2)
		for range 5 {
			go p.Go(func() {})
		}
		synctest.Wait()
		apply(t, p, func(s *pool.Settings) { s.Queue = 4 })
		synctest.Wait()
		if s := p.Snapshot(); s.Blocked != 2 || s.Waiting != 4 {
			t.Errorf("%+v", short(s))
		}
		apply(t, p, func(s *pool.Settings) { s.Core, s.Max = 3, 3 })
		synctest.Wait()
		release()
		p.Close()
		if s := balanced(t, p); s.Completed != 7 {
			t.Errorf("%d completed", s.Completed)
		}
	})
}

func TestAnIdleWorkerOverALoweredMaxEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 8}, Prestart: true})
		synctest.Wait()
		apply(t, p, func(s *pool.Settings) { s.Core, s.Max = 2, 2 })
		synctest.Wait()
		if s := p.Snapshot(); s.Workers != 2 {
			t.Errorf("%d workers", s.Workers)
		}
	})
}

func TestAChangedPolicyHoldsFromTheNextTaskOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1}})
		release := occupy(t, p, 1)
		if err := p.Go(func() {}); !errors.Is(err, pool.ErrRejected) {
			t.Errorf("abort: %v", err)
		}
		apply(t, p, func(s *pool.Settings) { s.Policy = pool.Discard })
		if err := p.Go(func() {}); err != nil {
			t.Errorf("discard: %v", err)
		}
		apply(t, p, func(s *pool.Settings) { s.Policy = pool.CallerRuns })
		if err := p.Do(t.Context(), nothing); err != nil {
			t.Errorf("caller-runs: %v", err)
		}
		apply(t, p, func(s *pool.Settings) { s.Queue = pool.Unbounded })
		if err := p.Go(func() {}); err != nil {
			t.Errorf("unbounded: %v", err)
		}
		if err := p.Apply(pool.Settings{Core: 1, Policy: pool.User}); err == nil || !strings.Contains(err.Error(), "OnOverflow") {
			t.Errorf("user without OnOverflow: %v", err)
		}
		release()
		p.Close()
		if s := balanced(t, p); s.Rejected.Full != 1 || s.Discarded != 1 || s.CallerRuns != 1 {
			t.Errorf("%+v", short(s))
		}
	})
}

func TestAQueueBudgetSetLaterHoldsForThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 9}})
		release := occupy(t, p, 1)
		f, err := p.Submit(t.Context(), nothing)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		apply(t, p, func(s *pool.Settings) { s.QueueBudget = time.Second })
		if _, err := f.Wait(t.Context()); !errors.Is(err, pool.ErrQueueBudget) {
			t.Errorf("%v", err)
		}
		release()
	})
}

func TestFaultyConfigurationsNameEachFieldAndWhatIsAllowed(t *testing.T) {
	_, err := pool.New(pool.Config{Settings: pool.Settings{
		Core: 5, Max: 3, Queue: -1, Threshold: -2, KeepAlive: -1, BlockFor: -1, QueueBudget: -1, RunBudget: -1, Growth: 7, Policy: 9,
	}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"Name: empty", "Core: 5: allowed 0 to 3", "Queue: -1", "Threshold: -2", "KeepAlive", "BlockFor", "QueueBudget", "RunBudget", "Growth", "Policy",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if _, err := pool.New(pool.Config{Name: "x"}); err == nil || !strings.Contains(err.Error(), "Max: 0: allowed 1 to 1048576") {
		t.Errorf("no workers at all: %v", err)
	}
	if _, err := pool.New(pool.Config{Name: "x", Settings: pool.Settings{Core: 1, Policy: pool.User}}); err == nil {
		t.Error("User without OnOverflow accepted")
	}
	p := newPool(t, pool.Config{Settings: pool.Settings{Core: 3}})
	if err := p.Apply(pool.Settings{Core: 5, Max: 3}); err == nil || p.Settings().Core != 3 {
		t.Errorf("a faulty change: %v, in force %+v", err, p.Settings())
	}
}

func TestShutdownNowDropsTheQueueAndEndsContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 3, Queue: 10}})
		causes := make(chan error, 3)
		wait := func(ctx context.Context) error { <-ctx.Done(); causes <- context.Cause(ctx); return ctx.Err() }
		go p.Do(context.Background(), wait)
		go p.Do(t.Context(), wait)
		if _, err := p.Submit(t.Context(), wait); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		queued, err := p.Submit(t.Context(), nothing)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Go(func() { t.Error("ran") }); err != nil {
			t.Fatal(err)
		}
		if n := p.ShutdownNow(); n != 2 {
			t.Errorf("dropped %d", n)
		}
		if _, err := queued.Wait(t.Context()); !errors.Is(err, pool.ErrDiscarded) {
			t.Errorf("queued: %v", err)
		}
		for range 3 {
			if err := <-causes; err != pool.ErrClosed {
				t.Errorf("cause %v", err)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if s := balanced(t, p); s.Discarded != 2 || s.State != pool.Terminated {
			t.Errorf("%+v", short(s))
		}
	})
}

func TestClosingDrainsWhatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 2, Max: 4, Queue: 50}})
		release := occupy(t, p, 40)
		closed := make(chan struct{})
		go func() { p.Close(); close(closed) }()
		synctest.Wait()
		release()
		<-closed
		if s := balanced(t, p); s.Completed != 40 || s.Workers != 0 {
			t.Errorf("%+v", short(s))
		}
		idle := newPool(t, pool.Config{Settings: pool.Settings{Core: 5}, Prestart: true})
		idle.Close()
		idle.Close()
	})
}

func TestWorkersAreNamedInProfiles(t *testing.T) {
	for _, threads := range []bool{false, true} {
		p := newPool(t, pool.Config{Name: "orders", Settings: pool.Settings{Core: 3}, Prestart: true, OSThreads: threads})
		if err := p.Do(t.Context(), func(ctx context.Context) error {
			pprof.Do(ctx, pprof.Labels("worker", "mine"), func(context.Context) {}) // takes the labels away when it ends
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(5 * time.Second)
		for {
			var text strings.Builder
			if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
				t.Fatal(err)
			}
			named := 0
			for _, name := range []string{"orders-worker-1", "orders-worker-2", "orders-worker-3"} {
				if strings.Contains(text.String(), `"worker":"`+name+`"`) {
					named++
				}
			}
			if named == 3 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d of 3 workers are named in:\n%s", named, text.String())
			}
			runtime.Gosched()
		}
		p.Close()
	}
}

func TestAThreadOfItsOwnStaysWithAWorker(t *testing.T) {
	p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 100}, OSThreads: true})
	first := 0
	for i := range 100 {
		id, err := pool.Call(t.Context(), p, func(context.Context) (int, error) { return threadID(), nil })
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = id
		} else if id != first {
			t.Fatalf("task %d ran on thread %d, the first on %d", i, id, first)
		}
		runtime.Gosched()
	}
	p.Close()
}

func TestPresetsMeanWhatTheirNamesMeanInTheJDKAndInJSF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			config          pool.Config
			submit          int
			active, waiting int
			refused         uint64
		}{
			{pool.Fixed("fixed", 3), 10, 3, 7, 0},
			{pool.Cached("cached"), 10, 10, 0, 0},
			{pool.SingleWorker("single"), 10, 1, 9, 0},
			{pool.JSFFixed("jsf-fixed"), 210, 200, 0, 10},
			{pool.JSFCached("jsf-cached"), 210, 200, 0, 10},
		} {
			p := newPool(t, c.config)
			gate := make(chan struct{})
			for range c.submit {
				p.Go(func() { <-gate })
			}
			synctest.Wait()
			if s := p.Snapshot(); s.Active != c.active || s.Waiting != c.waiting || s.Rejected.Full != c.refused {
				t.Errorf("%s: %+v", c.config.Name, short(s))
			}
			close(gate)
			synctest.Wait()
			time.Sleep(61 * time.Second)
			synctest.Wait()
			if s := p.Snapshot(); s.Workers != min(c.config.Settings.Core, c.active) {
				t.Errorf("%s: %d workers after a minute", c.config.Name, s.Workers)
			}
			p.Close()
			balanced(t, p)
		}
	})
}

func TestABurstBetweenTwoSnapshotsIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 2, Queue: 50}})
		occupy(t, p, 30)()
		synctest.Wait()
		time.Sleep(5 * time.Second)
		if s := p.Snapshot(); s.RecentActive != 2 || s.RecentWaiting != 28 || s.LargestWaiting != 28 {
			t.Errorf("after 5 s: %+v", short(s))
		}
		time.Sleep(7 * time.Second)
		if s := p.Snapshot(); s.RecentActive != 0 || s.RecentWaiting != 0 || s.LargestWaiting != 28 || s.LargestActive != 2 {
			t.Errorf("after 12 s: %+v", short(s))
		}
	})
}

func TestWaitAndExecutionAreMeasuredApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 50}})
		for range 3 {
			if err := p.Go(func() { time.Sleep(100 * time.Millisecond) }); err != nil {
				t.Fatal(err)
			}
		}
		p.Close()
		s := p.Snapshot()
		if s.QueueWait.N() != 3 || s.QueueWait.Sum() != 300*time.Millisecond || s.QueueWait.Max() != 200*time.Millisecond {
			t.Errorf("wait: n %d sum %v max %v", s.QueueWait.N(), s.QueueWait.Sum(), s.QueueWait.Max())
		}
		if s.Execution.N() != 3 || s.Execution.Sum() != 300*time.Millisecond || s.Execution.Max() != 100*time.Millisecond {
			t.Errorf("execution: n %d sum %v max %v", s.Execution.N(), s.Execution.Sum(), s.Execution.Max())
		}
	})
}

func TestCommonPathsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates, and sync.Pool drops at random under it")
	}
	p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 10}})
	task, fn := func() {}, func(context.Context) (int, error) { return 1, nil }
	ran := make(chan struct{}, 1)
	submit := func() { ran <- struct{}{} }
	full := newPool(t, pool.Config{Settings: pool.Settings{Core: 1}})
	gate := make(chan struct{})
	defer close(gate)
	if err := full.Go(func() { <-gate }); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"Go":     func() { p.Go(submit); <-ran },
		"Call":   func() { pool.Call(context.Background(), p, fn) },
		"reject": func() { full.Go(task) },
	} {
		if n := testing.AllocsPerRun(1000, f); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestConcurrentSubmitsDoNotOvershootThreshold(t *testing.T) {
	for range 50 { // 49 were seen queued at a threshold of 6 where the check and the insertion are two steps
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 2, Max: 2, Queue: 100, Threshold: 6}})
		gate := make(chan struct{})
		var taken atomic.Int64
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				if p.Go(func() { <-gate }) == nil {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		if s := p.Snapshot(); taken.Load() != 8 || s.Waiting+s.Transit+s.Active != 8 || s.LargestWaiting != 6 {
			t.Errorf("%d taken: %+v", taken.Load(), short(s))
		}
		close(gate)
		p.Close()
		balanced(t, p)
	}
}
