package pool_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/pool"
)

// balanced fails a test unless every submitted task of a pool at rest is accounted for once.
func balanced(t *testing.T, p *pool.Pool) pool.Snapshot {
	t.Helper()
	s := p.Snapshot()
	if sum := s.Completed + s.Failed + s.Rejected.Sum() + s.Cancelled + s.Discarded; s.Submitted != sum ||
		s.Active+s.Waiting+s.Transit+s.Blocked+s.OnCaller+s.Zombies != 0 {
		t.Errorf("submitted %d, accounted for %d: %+v", s.Submitted, sum, short(s))
	}
	return s
}

func short(s pool.Snapshot) pool.Snapshot {
	s.QueueWait, s.Execution = pool.Histogram{}, pool.Histogram{}
	return s
}

// occupy has n tasks run until the returned function is called.
func occupy(t *testing.T, p *pool.Pool, n int) (release func()) {
	t.Helper()
	gate := make(chan struct{})
	for range n {
		if err := p.Go(func() { <-gate }); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	return func() { close(gate) }
}

func nothing(context.Context) error { return nil }

func TestAHandOffNeverRefusesWhileAWorkerIsFree(t *testing.T) {
	p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1}})
	for i := range 20_000 { // the next task comes while the worker is on its way to its parking place
		if err := p.Do(t.Context(), nothing); err != nil {
			t.Fatalf("task %d: %v", i, err)
		}
	}
}

func TestARejectionTellsHowThePoolStood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told *pool.RejectedError
		p := newPool(t, pool.Config{
			Name: "price", Settings: pool.Settings{Core: 1, Max: 2, Queue: 3, Threshold: 9},
			Hooks: pool.Hooks{OnReject: func(r *pool.RejectedError) { told = r }},
		})
		release := occupy(t, p, 5)
		err := p.Go(func() {})
		var r *pool.RejectedError
		if !errors.As(err, &r) || !errors.Is(err, pool.ErrRejected) || errors.Is(err, pool.ErrClosed) {
			t.Fatalf("Go = %v", err)
		}
		if r.Reason != pool.Full || r.Active != 2 || r.Workers != 2 || r.Waiting != 3 || r.Queue != 3 || told != r {
			t.Errorf("%+v, hook %+v", r, told)
		}
		if text := err.Error(); !strings.Contains(text, `pool "price"`) || !strings.Contains(text, "2 of 2 workers busy (max 2), 3 of 3 waiting") {
			t.Error(text)
		}
		release()
		p.Close()
		if err := p.Go(func() {}); !errors.Is(err, pool.ErrClosed) || !errors.Is(err, pool.ErrRejected) {
			t.Errorf("after Close: %v", err)
		}
		if s := balanced(t, p); s.Rejected.Full != 1 || s.Rejected.Closed != 1 || s.LargestWaiting != 3 || s.LargestActive != 2 {
			t.Errorf("%+v", short(s))
		}
	})
}

func TestTheEffectiveQueueIsTheLesserOfQueueAndThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pool.Settings{Core: 1, Max: 5, Queue: 100, Threshold: 2}
		if s.EffectiveQueue() != 2 {
			t.Errorf("EffectiveQueue() = %d", s.EffectiveQueue())
		}
		p := newPool(t, pool.Config{Settings: s})
		release := occupy(t, p, 3)
		var r *pool.RejectedError
		if err := p.Go(func() {}); !errors.As(err, &r) || r.Reason != pool.Threshold || r.Queue != 2 || r.Workers != 1 {
			t.Errorf("Go = %v", err)
		}
		release()
	})
}

func TestDiscardDropsTheNewAndDiscardOldestTheOld(t *testing.T) {
	for policy, want := range map[pool.Policy]string{pool.Discard: "ab", pool.DiscardOldest: "bc"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 2, Policy: policy}})
			release := occupy(t, p, 1)
			got := ""
			for _, name := range []string{"a", "b", "c"} {
				if err := p.Go(func() { got += name }); err != nil {
					t.Errorf("%v: %v", policy, err)
				}
			}
			if policy == pool.Discard {
				if err := p.Do(t.Context(), nothing); !errors.Is(err, pool.ErrDiscarded) {
					t.Errorf("Do = %v", err)
				}
			}
			release()
			p.Close()
			if s := balanced(t, p); got != want || s.Discarded == 0 {
				t.Errorf("%v: ran %q, want %q; %d discarded", policy, got, want, s.Discarded)
			}
		})
	}
}

func TestWhoWaitsForADiscardedTaskIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 1, Policy: pool.DiscardOldest}})
		release := occupy(t, p, 1)
		old, err := p.Submit(t.Context(), nothing)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Submit(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		if _, err := old.Wait(t.Context()); !errors.Is(err, pool.ErrDiscarded) {
			t.Errorf("Wait = %v", err)
		}
		release()
	})
}

func TestCallerRunsRunsOnTheCallerAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Policy: pool.CallerRuns}})
		release := occupy(t, p, 1)
		ran := false
		if err := p.Go(func() { ran = true }); err != nil || !ran {
			t.Errorf("Go = %v, ran %t", err, ran)
		}
		broken := errors.New("broken")
		if err := p.Do(t.Context(), func(context.Context) error { return broken }); err != broken {
			t.Errorf("Do = %v", err)
		}
		var pe *pool.PanicError
		if err := p.Do(t.Context(), func(context.Context) error { panic("x") }); !errors.As(err, &pe) || pe.Worker != "" {
			t.Errorf("Do of a panic = %v", err)
		}
		done := make(chan struct{})
		go func() { // runtime.Goexit ends this goroutine and loses nothing
			defer close(done)
			p.Go(runtime.Goexit)
			t.Error("Goexit returned")
		}()
		<-done
		release()
		p.Close()
		if s := balanced(t, p); s.CallerRuns != 4 || s.Failed != 3 || s.LargestActive != 1 {
			t.Errorf("%+v", short(s))
		}
	})
}

func TestBlockedCallersComeInInOrderAndGiveUpAtTheirDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Policy: pool.Block, BlockFor: time.Second}})
		release := occupy(t, p, 1)
		order := make(chan int, 10)
		for i := range 3 {
			go p.Go(func() { order <- i })
			synctest.Wait()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		left := make(chan error, 1)
		go func() { left <- p.Do(ctx, nothing) }()
		synctest.Wait()
		if s := p.Snapshot(); s.Blocked != 4 {
			t.Fatalf("%d blocked", s.Blocked)
		}
		gone := errors.New("gone")
		cancel(gone)
		if err := <-left; err != gone {
			t.Errorf("cancelled while blocked: %v", err)
		}
		time.Sleep(999 * time.Millisecond)
		late := time.Now()
		go func() { left <- p.Go(func() { order <- 9 }) }() // may wait until 1.999 s
		synctest.Wait()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if s := p.Snapshot(); s.Rejected.TimedOut != 3 || s.Blocked != 1 {
			t.Errorf("after 1.001 s: %+v", short(s))
		}
		release()
		if err := <-left; err != nil || time.Since(late) > time.Second {
			t.Errorf("the last: %v", err)
		}
		p.Close()
		if got := <-order; got != 9 || len(order) != 0 {
			t.Errorf("ran %d", got)
		}
		balanced(t, p)
	})
}

func TestCloseWakesBlockedCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Policy: pool.Block}})
		release := occupy(t, p, 1)
		refused := make(chan error, 2)
		go func() { refused <- p.Go(func() {}) }()
		go func() { refused <- p.Do(t.Context(), nothing) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown = %v with a task that runs", err)
		}
		for range 2 {
			if err := <-refused; !errors.Is(err, pool.ErrClosed) {
				t.Errorf("blocked caller: %v", err)
			}
		}
		if s := p.Snapshot(); s.State != pool.Draining || s.Active != 1 {
			t.Errorf("%+v", short(s))
		}
		release()
		<-p.Done()
		balanced(t, p)
	})
}

func TestAUsersOwnPolicyDecidesEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("not for you")
		answers := []pool.Verdict{{Policy: pool.Abort, Cause: why}, {Policy: pool.CallerRuns}, {Policy: pool.DiscardOldest}, {Policy: pool.User}}
		type key struct{}
		var asked []any
		p := newPool(t, pool.Config{
			Settings: pool.Settings{Core: 1, Queue: 1, Policy: pool.User},
			OnOverflow: func(o pool.Overflow) pool.Verdict {
				asked = append(asked, o.Context.Value(key{}))
				v := answers[0]
				answers = answers[1:]
				return v
			},
		})
		release := occupy(t, p, 2)
		ctx := context.WithValue(t.Context(), key{}, "tenant")
		if err := p.Do(ctx, nothing); !errors.Is(err, why) || !errors.Is(err, pool.ErrRejected) {
			t.Errorf("first: %v", err)
		}
		if err := p.Do(ctx, nothing); err != nil {
			t.Errorf("second: %v", err)
		}
		if _, err := p.Submit(ctx, nothing); err != nil {
			t.Errorf("third: %v", err)
		}
		if err := p.Go(func() {}); !errors.Is(err, pool.ErrRejected) {
			t.Errorf("fourth: %v", err)
		}
		if len(asked) != 4 || asked[0] != "tenant" || asked[3] != nil {
			t.Errorf("asked with %v", asked)
		}
		release()
		p.Close()
		balanced(t, p)
	})
}

func TestPanicsAndGoexitBecomeErrorsAndTheWorkerStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []*pool.PanicError
		p := newPool(t, pool.Config{
			Name: "biz", Settings: pool.Settings{Core: 1, Queue: 10},
			Hooks: pool.Hooks{OnPanic: func(e *pool.PanicError) { told = append(told, e) }},
		})
		broken := errors.New("broken")
		for range 3 {
			_, err := pool.Call(t.Context(), p, func(context.Context) (int, error) { panic(broken) })
			var pe *pool.PanicError
			if !errors.As(err, &pe) || !errors.Is(err, broken) || pe.Worker != "biz-worker-1" || pe.Pool != "biz" {
				t.Fatalf("%v", err)
			}
			if !strings.Contains(string(pe.Stack), "TestPanicsAndGoexit") {
				t.Errorf("the stack does not name the task:\n%s", pe.Stack)
			}
			if err := p.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil }); !errors.Is(err, pool.ErrGoexit) {
				t.Errorf("Goexit: %v", err)
			}
			if err := p.Go(func() { panic("nobody waits") }); err != nil {
				t.Error(err)
			}
			if err := p.Go(runtime.Goexit); err != nil {
				t.Error(err)
			}
		}
		if err := p.Do(t.Context(), nothing); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		s := balanced(t, p)
		if s.Workers != 1 || s.Panicked != 6 || s.Failed != 12 || len(told) != 6 || s.LastPanic != told[5] {
			t.Errorf("%+v, told of %d", short(s), len(told))
		}
		p.Close()
	})
}

func TestATaskSeesItsCallersValuesAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1}})
		for _, parent := range []context.Context{context.Background(), context.WithoutCancel(t.Context()), t.Context()} {
			parent := context.WithValue(parent, key{}, "trace 7")
			err := p.Do(parent, func(ctx context.Context) error {
				if ctx.Value(key{}) != "trace 7" || pool.Of(ctx) != p || ctx.Err() != nil {
					t.Errorf("value %v, pool %v, err %v", ctx.Value(key{}), pool.Of(ctx), ctx.Err())
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		var cause error
		over := make(chan struct{})
		go func() {
			defer close(over)
			p.Do(ctx, func(ctx context.Context) error {
				child, stop := context.WithCancel(ctx)
				defer stop()
				<-child.Done()
				cause = context.Cause(child)
				return nil
			})
		}()
		synctest.Wait()
		cancel(gone)
		<-over
		synctest.Wait()
		if cause != gone {
			t.Errorf("the task's cause: %v", cause)
		}
	})
}

func TestATasksContextEndsWithTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, RunBudget: time.Hour}})
		var kept context.Context
		if err := p.Do(t.Context(), func(ctx context.Context) error { kept = ctx; ctx.Done(); return nil }); err != nil {
			t.Fatal(err)
		}
		<-kept.Done()
		if kept.Err() != context.Canceled {
			t.Errorf("Err() = %v", kept.Err())
		}
	})
}

func TestATaskWhoseCallerHasLeftIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 2}})
		release := occupy(t, p, 1)
		ctx, cancel := context.WithCancel(t.Context())
		f, err := p.Submit(ctx, func(context.Context) error { t.Error("ran"); return nil })
		if err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- p.Do(ctx, func(context.Context) error { t.Error("ran"); return nil }) }()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("Do = %v", err)
		}
		if s := p.Snapshot(); s.Waiting != 1 { // Do took its task along, the future's is found when its turn comes
			t.Errorf("%d waiting", s.Waiting)
		}
		release()
		if _, err := f.Wait(context.Background()); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait = %v", err)
		}
		p.Close()
		if s := balanced(t, p); s.Cancelled != 2 {
			t.Errorf("%+v", short(s))
		}
	})
}

func TestACancelledFutureGivesItsPlaceFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 1, Queue: 1}})
		release := occupy(t, p, 1)
		for range 1000 { // also: what was cancelled does not pile up
			f, err := p.Submit(t.Context(), func(context.Context) error { t.Error("ran"); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if !f.Cancel() || f.Cancel() {
				t.Error("Cancel: want true once")
			}
			if _, err := f.Wait(t.Context()); !errors.Is(err, pool.ErrCancelled) {
				t.Errorf("Wait = %v", err)
			}
		}
		release()
		synctest.Wait()
		f, err := pool.Submit(t.Context(), p, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, context.Cause(ctx) })
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !f.Cancel() {
			t.Error("a running task could not be given up")
		}
		p.Close()
		if s := balanced(t, p); s.Cancelled != 1000 || s.Failed != 1 || s.Abandoned != 1 {
			t.Errorf("%+v", short(s))
		}
	})
}
