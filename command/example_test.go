package command_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
)

func Example() {
	quote, err := command.New(command.Config[string]{
		Name:     "quote",
		Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 100, Timeout: 200 * time.Millisecond},
		Fallback: func(_ context.Context, cause error) (string, error) {
			return "yesterday's, because of " + cause.Error(), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer quote.Close(context.Background())
	fresh, _ := quote.Do(context.Background(), func(context.Context) (string, error) { return "today's", nil })
	stale, _ := quote.Do(context.Background(), func(context.Context) (string, error) { return "", errors.New("no answer") })
	fmt.Println(fresh)
	fmt.Println(stale)
	// Output:
	// today's
	// yesterday's, because of no answer
}

// A function that ignores its context is left behind at the timeout when it runs on a pool.
func ExampleCommand_Do_pool() {
	workers, err := pool.New(pool.Config{Name: "legacy", Settings: pool.Settings{Core: 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	legacy, err := command.New(command.Config[int]{
		Name: "legacy", Pool: workers,
		Settings: command.Settings{Isolation: command.Pool, Timeout: 10 * time.Millisecond},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	release := make(chan struct{})
	_, err = legacy.Do(context.Background(), func(context.Context) (int, error) { <-release; return 1, nil })
	fmt.Println(errors.Is(err, command.ErrTimeout), "zombies:", legacy.Snapshot().Zombies)
	close(release)
	fmt.Println(legacy.Close(context.Background()), "late:", legacy.Snapshot().Late)
	fmt.Println(workers.Close())
	// Output:
	// true zombies: 1
	// <nil> late: 1
	// <nil>
}

func ExampleControl_Apply() {
	c, err := command.New(command.Config[int]{Name: "price", Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 10}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(context.Background())
	settings := c.Settings()
	settings.MaxConcurrent = 30
	fmt.Println(c.Apply(settings), c.Bulkhead().Snapshot().Settings.Permits)
	settings.Timeout = time.Microsecond
	fmt.Println(c.Apply(settings))
	// Output:
	// <nil> 30
	// command "price": Timeout: 1µs: allowed 1ms to 24h0m0s
}

func ExampleAsBadRequest() {
	c, err := command.New(command.Config[int]{Name: "price", Settings: command.Settings{Breaker: breaker.Settings{MinVolume: 1}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close(context.Background())
	_, err = c.Do(context.Background(), func(context.Context) (int, error) {
		return 0, command.AsBadRequest(errors.New("no such article"))
	})
	fmt.Println(err, "and the breaker is", c.Breaker().State())
	// Output: no such article and the breaker is closed
}
