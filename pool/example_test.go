package pool_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/loadline-dev/loadline/pool"
)

func ExampleCall() {
	p, err := pool.New(pool.Config{Name: "price", Settings: pool.Settings{Core: 10, Max: 30, Queue: 50}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	price, err := pool.Call(context.Background(), p, func(context.Context) (int, error) { return 1999, nil })
	fmt.Println(price, err)
	// Output: 1999 <nil>
}

func ExampleMap() {
	p, err := pool.New(pool.Config{Name: "convert", Settings: pool.Settings{Core: 4, Queue: 100}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	squares, err := pool.Map(context.Background(), p, pool.StopAtFirst, []int{1, 2, 3}, func(_ context.Context, n int) (int, error) {
		return n * n, nil
	})
	fmt.Println(squares, err)
	// Output: [1 4 9] <nil>
}

func ExamplePool_Submit() {
	p, err := pool.New(pool.SingleWorker("journal"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	future, err := p.Submit(context.Background(), func(context.Context) error { return errors.New("disk full") })
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = future.Wait(context.Background())
	fmt.Println(err)
	// Output: disk full
}

func ExamplePool_Apply() {
	p, err := pool.New(pool.Config{Name: "biz", Settings: pool.Settings{Core: 10, Max: 20, Queue: 50}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	peak := p.Settings()
	peak.Core, peak.Max, peak.Queue = 40, 60, 10 // above the old max, and a smaller queue, in one step
	fmt.Println(p.Apply(peak))
	peak.Core = 90
	fmt.Println(p.Apply(peak))
	s := p.Snapshot()
	fmt.Println(s.Settings.Core, s.Settings.Max, s.Settings.Queue, s.Version)
	// Output:
	// <nil>
	// apply settings to pool "biz": Core: 90: allowed 0 to 60
	// 40 60 10 2
}

func ExamplePool_Go() {
	p, err := pool.New(pool.Config{Name: "mail", Settings: pool.Settings{Core: 1}}) // no queue: a hand-off
	if err != nil {
		fmt.Println(err)
		return
	}
	busy := make(chan struct{})
	fmt.Println(p.Go(func() { <-busy }))
	fmt.Println(p.Go(func() {}))
	close(busy)
	p.Close()
	// Output:
	// <nil>
	// pool "mail": rejected: full: 1 of 1 workers busy (max 1), 0 of 0 waiting
}
