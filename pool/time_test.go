package pool_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/pool"
)

func TestIdleWorkersEndAfterKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 2, Max: 5, KeepAlive: 10 * time.Second}})
		occupy(t, p, 5)()
		synctest.Wait()
		workers := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if s := p.Snapshot(); s.Workers != want {
				t.Errorf("%d workers, want %d", s.Workers, want)
			}
		}
		workers(9*time.Second, 5)
		workers(time.Second, 2)
		workers(time.Hour, 2)
		s := p.Settings()
		s.CoreTimeout = true
		if err := p.Apply(s); err != nil {
			t.Fatal(err)
		}
		workers(10*time.Second, 0)
		if err := p.Do(t.Context(), nothing); err != nil {
			t.Error(err)
		}
		workers(0, 1)
	})
}

func TestAWorkerInUseIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Max: 2, KeepAlive: time.Second}})
		occupy(t, p, 2)()
		for range 10 { // the worker that was parked last takes each; the other ends
			time.Sleep(900 * time.Millisecond)
			if err := p.Do(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if s := p.Snapshot(); s.Workers != 1 || s.LargestWorkers != 2 {
			t.Errorf("%+v", short(s))
		}
	})
}

func TestPrestartMakesTheCoreWorkersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 3, Max: 9}, Prestart: true})
		synctest.Wait()
		if s := p.Snapshot(); s.Workers != 3 || s.Active != 0 {
			t.Errorf("%+v", short(s))
		}
		if s := newPool(t, pool.Config{Settings: pool.Settings{Core: 3}}).Snapshot(); s.Workers != 0 {
			t.Errorf("%d workers without Prestart", s.Workers)
		}
	})
}

func TestQueueAndRunBudgetsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{
			Core: 1, Queue: 10, QueueBudget: 2 * time.Second, RunBudget: 5 * time.Second,
		}})
		release := occupy(t, p, 1) // Go has no run budget
		began := time.Now()
		if err := p.Do(t.Context(), nothing); !errors.Is(err, pool.ErrQueueBudget) || time.Since(began) != 2*time.Second {
			t.Errorf("queued behind a long task: %v after %v", err, time.Since(began))
		}
		if err := p.Go(func() { t.Error("ran after its queue budget") }); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * time.Second)
		release()
		synctest.Wait()

		var seen error
		over := make(chan struct{})
		began = time.Now()
		err := p.Do(t.Context(), func(ctx context.Context) error {
			defer close(over)
			deadline, ok := ctx.Deadline()
			if !ok || deadline.Sub(began) != 5*time.Second {
				t.Errorf("deadline %v, %t", deadline.Sub(began), ok)
			}
			<-ctx.Done()
			time.Sleep(time.Second) // a function slow to notice
			seen = ctx.Err()
			return nil
		})
		if !errors.Is(err, pool.ErrRunBudget) || time.Since(began) != 5*time.Second {
			t.Errorf("a long run: %v after %v", err, time.Since(began))
		}
		synctest.Wait()
		if s := p.Snapshot(); s.Zombies != 1 || s.Active != 1 || s.Abandoned != 1 {
			t.Errorf("while it still runs: %+v", short(s))
		}
		<-over
		synctest.Wait()
		if s := balanced(t, p); s.Expired != 2 || s.Cancelled != 2 || !errors.Is(seen, context.DeadlineExceeded) {
			t.Errorf("%+v; the function saw %v", short(s), seen)
		}
	})
}

func TestAWorkerOfACallerWhoLeftStaysTakenUntilItsTaskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // hystrix-go ran 60 at limit 5 here, having given the ticket back too early
		abandoned := 0
		p := newPool(t, pool.Config{
			Settings: pool.Settings{Core: 5, Queue: 5}, Hooks: pool.Hooks{OnAbandon: func(string) { abandoned++ }},
		})
		var running, largest atomic.Int64
		for range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			err := p.Do(ctx, func(context.Context) error {
				largest.Store(max(largest.Load(), running.Add(1)))
				time.Sleep(time.Second) // does not look at its context
				running.Add(-1)
				return nil
			})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, pool.ErrRejected) {
				t.Errorf("Do = %v", err)
			}
		}
		s := p.Snapshot()
		if largest.Load() > 5 || s.Zombies != 5 || s.Abandoned != 5 || abandoned != 5 {
			t.Errorf("%d ran at once; %+v", largest.Load(), short(s))
		}
		p.Close()
		balanced(t, p)
	})
}
