package pool_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/pool"
)

func TestABatchBringsResultsInOrderAndEveryError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 4, Queue: 100}})
		odd := errors.New("odd")
		got, err := pool.Map(t.Context(), p, pool.All, []int{0, 1, 2, 3, 4, 5}, func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Duration(10-n) * time.Second)
			if n == 3 {
				panic("three")
			}
			if n%2 == 1 {
				return 0, odd
			}
			return n * n, nil
		})
		if !slices.Equal(got, []int{0, 0, 4, 0, 16, 0}) || !errors.Is(err, odd) {
			t.Errorf("%v, %v", got, err)
		}
		var te *pool.TaskError
		var pe *pool.PanicError
		if !errors.As(err, &te) || te.Index != 1 || !errors.As(err, &pe) || pe.Value != "three" {
			t.Errorf("%v", err)
		}
		balanced(t, p)
	})
}

func TestABatchThatStopsAtTheFirstErrorStartsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, pool.Config{Settings: pool.Settings{Core: 2, Queue: 100}})
		broken := errors.New("broken")
		var ran atomic.Int32
		began := time.Now()
		_, err := pool.Map(t.Context(), p, pool.StopAtFirst, make([]int, 50), func(ctx context.Context, _ int) (int, error) {
			if ran.Add(1) == 2 {
				time.Sleep(time.Second)
				return 0, broken
			}
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, broken) || time.Since(began) != time.Second || ran.Load() > 3 {
			t.Errorf("%d ran, %v after %v", ran.Load(), errors.Is(err, broken), time.Since(began))
		}
		p.Close()
		balanced(t, p)
	})
}

func TestAWaitForAnotherPoolAndForTheOwnIsKnownBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		hooks := pool.Hooks{OnWait: func(from, to *pool.Pool) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, from.Name()+">"+to.Name())
		}}
		a := newPool(t, pool.Config{Name: "a", Settings: pool.Settings{Core: 1, Queue: 9}, Hooks: hooks})
		b := newPool(t, pool.Config{Name: "b", Settings: pool.Settings{Core: 1, Queue: 9}, Hooks: hooks})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := a.Do(ctx, func(ctx context.Context) error {
			if err := b.Do(ctx, nothing); err != nil {
				t.Error(err)
			}
			f, err := b.Submit(context.Background(), func(context.Context) error { time.Sleep(time.Second); return nil })
			if err != nil {
				t.Error(err)
			}
			if _, err := f.Wait(ctx); err != nil {
				t.Error(err)
			}
			return a.Do(ctx, nothing) // its only worker is the one that waits
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the deadlock ended with %v", err)
		}
		synctest.Wait()
		mu.Lock()
		if !slices.Equal(seen, []string{"a>b", "a>a"}) {
			t.Errorf("seen %v", seen)
		}
		mu.Unlock()
		for _, w := range a.Waits() {
			if want := map[*pool.Pool]uint64{b: 2, a: 1}[w.On]; w.Total != want || w.Now != 0 {
				t.Errorf("%s: %+v", w.On.Name(), w)
			}
		}
		if len(b.Waits()) != 0 {
			t.Errorf("b waits for %v", b.Waits())
		}
	})
}
