package pool_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/loadline-dev/loadline/pool"
)

func newPool(t *testing.T, c pool.Config) *pool.Pool {
	t.Helper()
	if c.Name == "" {
		c.Name = "test"
	}
	p, err := pool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.ShutdownNow() })
	return p
}

func TestEveryTaskRunsOnceAndIsCounted(t *testing.T) {
	p := newPool(t, pool.Config{Settings: pool.Settings{Core: 4, Queue: 10, Policy: pool.Block}})
	var mu sync.Mutex
	sum := 0
	for i := range 1000 {
		if err := p.Go(func() { mu.Lock(); sum += i; mu.Unlock() }); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	s := p.Snapshot()
	if sum != 499500 || s.Completed != 1000 || s.Submitted != 1000 || s.State != pool.Terminated || s.Workers != 0 {
		t.Errorf("sum %d, %+v", sum, s)
	}
}

func TestACallReturnsWhatItsFunctionReturns(t *testing.T) {
	p := newPool(t, pool.Config{Settings: pool.Settings{Core: 2}})
	n, err := pool.Call(t.Context(), p, func(context.Context) (int, error) { return 7, nil })
	if n != 7 || err != nil {
		t.Errorf("Call = %v, %v", n, err)
	}
	broken := errors.New("broken")
	if err := p.Do(t.Context(), func(context.Context) error { return broken }); err != broken {
		t.Errorf("Do = %v", err)
	}
	_, err = pool.Call(t.Context(), p, func(context.Context) (int, error) { panic(broken) })
	var pe *pool.PanicError
	if !errors.As(err, &pe) || !errors.Is(err, broken) || pe.Worker == "" {
		t.Errorf("Call of a panicking function = %v", err)
	}
}
