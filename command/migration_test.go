package command_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
)

type price int

// priceClient stands for a client of a remote service.
type priceClient struct{}

func (c *priceClient) lastKnown() price { return 7 }

func fromHystrix(client *priceClient) (*command.Command[price], error) {
	workers, err := pool.New(pool.Config{
		Name:     "price",
		Settings: pool.Settings{Core: 10, Max: 10}, // coreSize 10, maxQueueSize -1
	})
	if err != nil {
		return nil, err
	}
	settings := command.HystrixSettings()
	settings.Isolation = command.Pool
	settings.Timeout = 800 * time.Millisecond
	return command.New(command.Config[price]{
		Name:     "price",
		Pool:     workers,
		Settings: settings,
		Fallback: func(ctx context.Context, cause error) (price, error) { return client.lastKnown(), nil },
	})
}

func fromResilience4j() (*breaker.Breaker, error) {
	return breaker.New(breaker.Config{
		Name: "price",
		Settings: breaker.Settings{
			Window: breaker.Count, WindowCalls: 100, MinVolume: 100, // slidingWindowSize, minimumNumberOfCalls
			FailureRatio: 0.5, SlowAfter: time.Minute, SlowRatio: 1,
			SleepWindow: time.Minute, Probes: 10,
		},
	})
}

func fromFailsafe(client *priceClient) (*command.Command[price], error) {
	return command.New(command.Config[price]{
		Name: "price",
		Settings: command.Settings{
			Isolation: command.Semaphore, MaxConcurrent: 50,
			Timeout: time.Second,
			Breaker: breaker.Settings{Window: breaker.Count, WindowCalls: 10, MinVolume: 10, FailureRatio: 0.5, SleepWindow: time.Minute},
		},
		Fallback: func(ctx context.Context, cause error) (price, error) { return client.lastKnown(), nil },
	})
}

func fromAnts(n int, tasks []func()) error {
	p, err := pool.New(pool.Config{Name: "work", Settings: pool.Settings{Core: n, Policy: pool.Block}})
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if err := p.Go(task); err != nil {
			return err
		}
	}
	return p.Close() // waits for the tasks
}

// TestTheMigrationPageShowsTheseFunctions holds docs/migration.md to the functions above: they are compiled here, and run below.
func TestTheMigrationPageShowsTheseFunctions(t *testing.T) {
	page, err := os.ReadFile("../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("migration_test.go")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "```go\n")
	if len(parts) != 5 {
		t.Fatalf("%d pieces of code on the page, want 4", len(parts)-1)
	}
	for _, part := range parts[1:] {
		code, _, closed := strings.Cut(part, "```")
		if !closed || !strings.Contains(string(source), code) {
			t.Errorf("not in this file:\n%s", code)
		}
	}
}

func TestTheMigrationPagesFunctionsWork(t *testing.T) {
	for name, build := range map[string]func(*priceClient) (*command.Command[price], error){"hystrix": fromHystrix, "failsafe": fromFailsafe} {
		c, err := build(&priceClient{})
		if err != nil {
			t.Fatal(name, err)
		}
		if got, err := c.Do(context.Background(), func(context.Context) (price, error) { return 3, nil }); got != 3 || err != nil {
			t.Errorf("%s: Do() = %v, %v", name, got, err)
		}
		if got, err := c.Do(context.Background(), func(context.Context) (price, error) { return 0, errBroken }); got != 7 || err != nil {
			t.Errorf("%s: Do() = %v, %v, want the fallback's", name, got, err)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if p := c.Pool(); p != nil {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if b, err := fromResilience4j(); err != nil || b.State() != breaker.Closed {
		t.Error(err)
	}
	var ran atomic.Int32
	task := func() { ran.Add(1) }
	if err := fromAnts(2, []func(){task, task, task}); err != nil || ran.Load() != 3 {
		t.Errorf("%v, %d tasks ran", err, ran.Load())
	}
}
