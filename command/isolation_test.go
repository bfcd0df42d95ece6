package command_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
)

func newPool(t *testing.T, s pool.Settings) *pool.Pool {
	t.Helper()
	p, err := pool.New(pool.Config{Name: "workers", Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// onPool returns a command on a pool of its own.
func onPool(t *testing.T, p pool.Settings, s command.Settings) *command.Command[int] {
	t.Helper()
	s.Isolation = command.Pool
	return newCommand(t, command.Config[int]{Pool: newPool(t, p), Settings: s})
}

// stuck returns a function that ignores its context until release is closed.
func stuck(release <-chan struct{}) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { <-release; return 1, nil }
}

func TestACallBeyondThePermitsIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 2,
			Breaker: breaker.Settings{MinVolume: 1}}})
		for range 2 {
			go func() { _, _ = c.Do(context.Background(), stuck(release)) }()
		}
		synctest.Wait()
		_, err := c.Do(context.Background(), returns(1, nil))
		var refusal *bulkhead.RejectedError
		if !errors.Is(err, command.ErrRejected) || !errors.As(err, &refusal) || refusal.Permits != 2 {
			t.Errorf("Do() = %v", err)
		}
		if c.Breaker().State() != breaker.Closed {
			t.Error("a refusal for want of a permit counted against the dependency")
		}
		s := c.Snapshot()
		if s.Active != 2 || s.Events[command.EventSemaphoreRejected] != 1 || s.Outcomes[command.Rejected] != 1 {
			t.Errorf("active %d, events %v", s.Active, s.Events)
		}
		close(release)
		synctest.Wait()
	})
}

func TestHystrixSettingsCountRefusalsAgainstTheDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		settings := command.HystrixSettings()
		settings.MaxConcurrent = 1
		c := newCommand(t, command.Config[int]{Settings: settings})
		go func() { _, _ = c.Do(context.Background(), stuck(release)) }()
		synctest.Wait()
		for range 20 {
			_, _ = c.Do(context.Background(), returns(1, nil))
		}
		time.Sleep(500 * time.Millisecond)
		if c.Breaker().State() != breaker.Open {
			t.Error("20 refusals did not open the breaker at the health interval")
		}
		close(release)
		synctest.Wait()
	})
}

func TestACallMayWaitForAPermit(t *testing.T) {
	for _, from := range []command.TimeoutFrom{command.FromCall, command.FromStart} {
		synctest.Test(t, func(t *testing.T) {
			c := newCommand(t, command.Config[int]{Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 1,
				MaxWait: 50 * time.Millisecond, Timeout: 60 * time.Millisecond, TimeoutFrom: from}})
			go func() {
				_, _ = c.Do(context.Background(), func(context.Context) (int, error) { time.Sleep(40 * time.Millisecond); return 1, nil })
			}()
			synctest.Wait()
			_, err := c.Do(context.Background(), func(ctx context.Context) (int, error) {
				if ctx.Err() != nil {
					t.Errorf("%v: began with %v", from, ctx.Err())
				}
				time.Sleep(30 * time.Millisecond) // 70 ms after the call
				return 2, ctx.Err()
			})
			if late := errors.Is(err, command.ErrTimeout); late != (from == command.FromCall) {
				t.Errorf("%v: Do() = %v", from, err)
			}
			s := c.Snapshot()
			if longest := s.Wait.Max(); longest != 40*time.Millisecond || s.Wait.N() != 2 {
				t.Errorf("%v: waited %v, %d times", from, longest, s.Wait.N())
			}
			if longest := s.Total.Max(); longest != 70*time.Millisecond {
				t.Errorf("%v: in all %v", from, longest)
			}
		})
	}
}

func TestAPermitThatDoesNotComeInTimeIsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 1, MaxWait: 50 * time.Millisecond}})
		go func() { _, _ = c.Do(context.Background(), stuck(release)) }()
		synctest.Wait()
		begun := time.Now()
		_, err := c.Do(context.Background(), returns(1, nil))
		if !errors.Is(err, command.ErrRejected) || time.Since(begun) != 50*time.Millisecond {
			t.Errorf("Do() = %v after %v", err, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if _, err := c.Do(ctx, returns(1, nil)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, command.ErrTimeout) {
			t.Errorf("Do() = %v for a caller that left while it waited", err)
		}
		close(release)
		synctest.Wait()
		expectOutcomes(t, c, map[command.Outcome]uint64{command.Success: 1, command.Rejected: 1, command.Cancelled: 1})
	})
}

// A timeout must not give the permit back while the work goes on, or more of it runs at once than there are permits.
func TestATimeoutOnTheCallersGoroutineKeepsThePermitUntilTheWorkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 1,
			Timeout: 10 * time.Millisecond, Breaker: breaker.Settings{Force: breaker.Disabled}}})
		go func() { _, _ = c.Do(context.Background(), stuck(release)) }()
		time.Sleep(20 * time.Millisecond)
		if _, err := c.Do(context.Background(), returns(1, nil)); !errors.Is(err, command.ErrRejected) {
			t.Errorf("Do() = %v while a zombie holds the permit", err)
		}
		if s := c.Bulkhead().Snapshot(); s.InUse != 1 {
			t.Errorf("%d permits in use", s.InUse)
		}
		close(release)
		synctest.Wait()
		if _, err := c.Do(context.Background(), returns(1, nil)); err != nil {
			t.Errorf("Do() = %v once the work has ended", err)
		}
	})
}

// The caller of a function that ignores its context goes on at the timeout; the worker stays taken and counted.
func TestATimeoutOnAPoolFreesTheCallerAndNotTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := onPool(t, pool.Settings{Core: 1}, command.Settings{Timeout: 10 * time.Millisecond, Breaker: breaker.Settings{MinVolume: 1}})
		begun := time.Now()
		_, err := c.Do(context.Background(), stuck(release))
		if !errors.Is(err, command.ErrTimeout) || time.Since(begun) != 10*time.Millisecond {
			t.Errorf("Do() = %v after %v", err, time.Since(begun))
		}
		s, p := c.Snapshot(), c.Pool().Snapshot()
		if s.Zombies != 1 || p.Zombies != 1 || p.Active != 1 || c.Breaker().State() != breaker.Open {
			t.Errorf("zombies %d and %d, active %d, breaker %v", s.Zombies, p.Zombies, p.Active, c.Breaker().State())
		}
		c.Breaker().Reset()
		if _, err := c.Do(context.Background(), returns(1, nil)); !errors.Is(err, command.ErrRejected) {
			t.Errorf("Do() = %v while a zombie has the only worker", err)
		}
		close(release)
		synctest.Wait()
		if s, p := c.Snapshot(), c.Pool().Snapshot(); s.Zombies != 0 || p.Zombies != 0 || s.Late != 1 {
			t.Errorf("zombies %d and %d, late %d once the work has ended", s.Zombies, p.Zombies, s.Late)
		}
		if _, err := c.Do(context.Background(), returns(1, nil)); err != nil {
			t.Errorf("Do() = %v", err)
		}
	})
}

func TestAPanicGivesThePermitBack(t *testing.T) {
	c := newCommand(t, command.Config[int]{Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 1}})
	func() {
		defer func() { _ = recover() }()
		_, _ = c.Do(context.Background(), func(context.Context) (int, error) { panic("boom") })
	}()
	if _, err := c.Do(context.Background(), returns(1, nil)); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

func TestTheFastPathsAllocateNothing(t *testing.T) {
	for name, s := range map[string]command.Settings{
		"none":      {},
		"semaphore": {Isolation: command.Semaphore},
		"refused":   {Isolation: command.Semaphore, Breaker: breaker.Settings{Force: breaker.ForcedOpen}},
	} {
		c := newCommand(t, command.Config[int]{Settings: s})
		fn := returns(1, nil)
		if n := testing.AllocsPerRun(1000, func() { _, _ = c.Do(context.Background(), fn) }); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

func TestNeverMoreRunsThanWorkersWhenEveryCallTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		c := onPool(t, pool.Settings{Core: 5}, command.Settings{Timeout: 10 * time.Millisecond, Breaker: breaker.Settings{Force: breaker.Disabled}})
		for range 60 {
			go func() {
				_, _ = c.Do(context.Background(), func(context.Context) (int, error) {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Second)
					running.Add(-1)
					return 1, nil
				})
			}()
			time.Sleep(5 * time.Millisecond)
		}
		if most.Load() != 5 {
			t.Errorf("%d ran at once on 5 workers", most.Load())
		}
		time.Sleep(2 * time.Second)
	})
}

func TestAsManyCallersAsSlotsAreNeverRefused(t *testing.T) {
	for _, isolation := range []command.Isolation{command.Semaphore, command.Pool} {
		synctest.Test(t, func(t *testing.T) {
			c := newCommand(t, command.Config[int]{Pool: newPool(t, pool.Settings{Core: 200}), Settings: command.Settings{Isolation: isolation, MaxConcurrent: 200}})
			for range 200 {
				go func() {
					for range 20 {
						if _, err := c.Do(context.Background(), func(context.Context) (int, error) { time.Sleep(20 * time.Millisecond); return 1, nil }); err != nil {
							t.Error(err)
						}
					}
				}()
			}
			time.Sleep(time.Minute)
			expectOutcomes(t, c, map[command.Outcome]uint64{command.Success: 4000})
		})
	}
}

func TestATaskWhoseCallerLeftInTheQueueNeverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := onPool(t, pool.Settings{Core: 1, Queue: 10}, command.Settings{Timeout: 50 * time.Millisecond, Breaker: breaker.Settings{Force: breaker.Disabled}})
		go func() { _, _ = c.Do(context.Background(), stuck(release)) }()
		synctest.Wait()
		never := func(context.Context) (int, error) { t.Error("ran"); return 0, nil }
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		if _, err := c.Do(ctx, never); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, command.ErrTimeout) {
			t.Errorf("Do() = %v for a caller that left", err)
		}
		if _, err := c.Do(context.Background(), never); !errors.Is(err, command.ErrTimeout) {
			t.Errorf("Do() = %v for a call that timed out in the queue", err)
		}
		if s := c.Snapshot(); s.Zombies != 1 || c.Pool().Snapshot().Waiting != 0 {
			t.Errorf("zombies %d, waiting %d", s.Zombies, c.Pool().Snapshot().Waiting)
		}
		close(release)
		synctest.Wait()
		expectOutcomes(t, c, map[command.Outcome]uint64{command.Timeout: 2, command.Cancelled: 1})
	})
}

func TestACallerThatLeavesARunningTaskLeavesAZombie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := onPool(t, pool.Settings{Core: 1}, command.Settings{Breaker: breaker.Settings{MinVolume: 1}})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			time.Sleep(10 * time.Millisecond)
			cancel()
		}()
		if _, err := c.Do(ctx, stuck(release)); !errors.Is(err, context.Canceled) {
			t.Errorf("Do() = %v", err)
		}
		if s := c.Snapshot(); s.Zombies != 1 || s.Active != 0 || c.Breaker().State() != breaker.Closed {
			t.Errorf("zombies %d, active %d, breaker %v", s.Zombies, s.Active, c.Breaker().State())
		}
		close(release)
		synctest.Wait()
		expectOutcomes(t, c, map[command.Outcome]uint64{command.Cancelled: 1})
	})
}

func TestTheQueueHasABudgetOfItsOwn(t *testing.T) {
	for _, from := range []command.TimeoutFrom{command.FromCall, command.FromStart} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			c := onPool(t, pool.Settings{Core: 1, Queue: 10}, command.Settings{MaxWait: 20 * time.Millisecond, Timeout: 50 * time.Millisecond,
				TimeoutFrom: from, Breaker: breaker.Settings{MinVolume: 1}})
			go func() {
				_, _ = c.Do(context.Background(), func(ctx context.Context) (int, error) { <-release; return 1, nil })
			}()
			synctest.Wait()
			begun := time.Now()
			_, err := c.Do(context.Background(), returns(1, nil))
			if !errors.Is(err, command.ErrRejected) || !errors.Is(err, pool.ErrQueueBudget) || time.Since(begun) != 20*time.Millisecond {
				t.Errorf("%v: Do() = %v after %v", from, err, time.Since(begun))
			}
			if c.Breaker().State() != breaker.Closed {
				t.Errorf("%v: waiting in our own queue counted against the dependency", from)
			}
			go func() {
				time.Sleep(10 * time.Millisecond)
				close(release)
			}()
			_, err = c.Do(context.Background(), func(ctx context.Context) (int, error) {
				time.Sleep(45 * time.Millisecond) // 55 ms after the call, 45 after the start
				return 1, nil
			})
			if late := errors.Is(err, command.ErrTimeout); late != (from == command.FromCall) {
				t.Errorf("%v: Do() = %v", from, err)
			}
			synctest.Wait()
		})
	}
}

func TestThePoolsRefusalIsTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := onPool(t, pool.Settings{Core: 1}, command.Settings{Breaker: breaker.Settings{MinVolume: 1}})
		go func() { _, _ = c.Do(context.Background(), stuck(release)) }()
		synctest.Wait()
		_, err := c.Do(context.Background(), returns(1, nil))
		var refusal *pool.RejectedError
		if !errors.Is(err, command.ErrRejected) || !errors.As(err, &refusal) || refusal.Active != 1 {
			t.Errorf("Do() = %v", err)
		}
		if s := c.Snapshot(); s.Events[command.EventThreadPoolRejected] != 1 || c.Breaker().State() != breaker.Closed {
			t.Errorf("events %v, breaker %v", s.Events, c.Breaker().State())
		}
		close(release)
		synctest.Wait()
	})
}

func TestTheCallersValuesReachTheWorkerAndTheFallback(t *testing.T) {
	p := newPool(t, pool.Settings{Core: 1})
	c := newCommand(t, command.Config[int]{Pool: p, Settings: command.Settings{Isolation: command.Pool},
		Fallback: func(ctx context.Context, _ error) (int, error) {
			if ctx.Value(traceKey{}) != "trace" {
				t.Error("the fallback does not see the caller's values")
			}
			return 1, nil
		}})
	ctx := context.WithValue(context.Background(), traceKey{}, "trace")
	_, _ = c.Do(ctx, func(ctx context.Context) (int, error) {
		if ctx.Value(traceKey{}) != "trace" || pool.Of(ctx) != p {
			t.Errorf("value %v, pool %v", ctx.Value(traceKey{}), pool.Of(ctx))
		}
		return 0, errBroken
	})
}

// A task that waits for its own pool can deadlock it: the pool knows of the wait, through the command.
func TestThePoolLearnsThatACommandWaitsInsideOneOfItsTasks(t *testing.T) {
	p := newPool(t, pool.Settings{Core: 2})
	c := newCommand(t, command.Config[int]{Pool: p, Settings: command.Settings{Isolation: command.Pool}})
	if _, err := c.Do(context.Background(), func(ctx context.Context) (int, error) { return c.Do(ctx, returns(1, nil)) }); err != nil {
		t.Fatal(err)
	}
	if waits := p.Waits(); len(waits) != 1 || waits[0].On != p || waits[0].Now != 0 || waits[0].Total != 1 {
		t.Errorf("waits %+v", waits)
	}
}

func TestAPanicOnAWorkerIsAnErrorWithItsStack(t *testing.T) {
	c := onPool(t, pool.Settings{Core: 1}, command.Settings{Breaker: breaker.Settings{MinVolume: 3}})
	_, err := c.Do(context.Background(), func(context.Context) (int, error) { panic("boom") })
	var panicked *pool.PanicError
	if !errors.As(err, &panicked) || panicked.Value != "boom" || len(panicked.Stack) == 0 {
		t.Errorf("Do() = %v", err)
	}
	if _, err := c.Do(context.Background(), func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }); !errors.Is(err, pool.ErrGoexit) {
		t.Errorf("Do() = %v", err)
	}
	if v, err := c.Do(context.Background(), returns(3, nil)); v != 3 || err != nil {
		t.Errorf("Do() = %d, %v", v, err)
	}
	expectOutcomes(t, c, map[command.Outcome]uint64{command.Success: 1, command.Failure: 2})
}

func TestACallerThatMayWaitForRoomTimesOutThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := onPool(t, pool.Settings{Core: 1, Policy: pool.Block}, command.Settings{Timeout: 10 * time.Millisecond, Breaker: breaker.Settings{Force: breaker.Disabled}})
		go func() { _, _ = c.Do(context.Background(), stuck(release)) }()
		synctest.Wait()
		begun := time.Now()
		if _, err := c.Do(context.Background(), returns(1, nil)); !errors.Is(err, command.ErrTimeout) || time.Since(begun) != 10*time.Millisecond {
			t.Errorf("Do() = %v after %v", err, time.Since(begun))
		}
		close(release)
		synctest.Wait()
	})
}

func TestAPoolsOwnBudgetsHoldToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := onPool(t, pool.Settings{Core: 1, Queue: 5, RunBudget: 10 * time.Millisecond, QueueBudget: 5 * time.Millisecond},
			command.Settings{Breaker: breaker.Settings{Force: breaker.Disabled}})
		go func() {
			if _, err := c.Do(context.Background(), stuck(release)); !errors.Is(err, command.ErrTimeout) {
				t.Errorf("Do() = %v beyond the run budget", err)
			}
		}()
		synctest.Wait()
		if _, err := c.Do(context.Background(), returns(1, nil)); !errors.Is(err, command.ErrRejected) || !errors.Is(err, pool.ErrQueueBudget) {
			t.Errorf("Do() = %v beyond the queue budget", err)
		}
		time.Sleep(20 * time.Millisecond)
		if s := c.Snapshot(); s.Zombies != 1 {
			t.Errorf("%d zombies", s.Zombies)
		}
		close(release)
		synctest.Wait()
		expectOutcomes(t, c, map[command.Outcome]uint64{command.Timeout: 1, command.Rejected: 1})
	})
}

func TestTheIsolationMayBeSwitchedWhileCallsAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := newCommand(t, command.Config[int]{Pool: newPool(t, pool.Settings{Core: 1}), Settings: command.Settings{NoTimeout: true}})
		for _, isolation := range []command.Isolation{command.None, command.Semaphore, command.Pool} {
			if err := c.Apply(command.Settings{Isolation: isolation, MaxConcurrent: 1, NoTimeout: true}); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = c.Do(context.Background(), stuck(release)) }()
			synctest.Wait()
		}
		if got := c.Snapshot().Active; got != 3 {
			t.Errorf("%d calls under way", got)
		}
		close(release)
		synctest.Wait()
		expectOutcomes(t, c, map[command.Outcome]uint64{command.Success: 3})
		if c.Bulkhead().Snapshot().InUse != 0 || c.Pool().Snapshot().Active != 0 {
			t.Error("a permit or a worker is still taken")
		}
	})
}

func TestSharedPartsKeepTheirOwnSettings(t *testing.T) {
	b, err := bulkhead.New(bulkhead.Config{Name: "shared", Settings: bulkhead.Settings{Permits: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := command.New(command.Config[int]{Name: "price", Bulkhead: b, Settings: command.Settings{MaxConcurrent: 5}}); err == nil {
		t.Error("MaxConcurrent was taken although the bulkhead is shared")
	}
	if _, err := command.New(command.Config[int]{Name: "price", Settings: command.Settings{Isolation: command.Pool}}); err == nil {
		t.Error("isolation pool was taken without a pool")
	}
	c := newCommand(t, command.Config[int]{Bulkhead: b, Settings: command.Settings{Isolation: command.Semaphore}})
	if c.Bulkhead() != b {
		t.Error("not the shared bulkhead")
	}
	if err := c.Apply(command.Settings{Isolation: command.Semaphore, Timeout: 3 * time.Second}); err != nil || b.Settings().Permits != 3 {
		t.Errorf("%v, %d permits", err, b.Settings().Permits)
	}
}
