package command_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
)

// TestEveryCallIsAccountedForUnderChange has many goroutines call with every end that a call can have, while settings, isolation and limits
// change all the time. What callers saw must be what the command counted, and nothing may be left behind.
func TestEveryCallIsAccountedForUnderChange(t *testing.T) {
	rounds := 50_000
	if testing.Short() {
		rounds = 3_000
	}
	p := newPool(t, pool.Settings{Core: 2, Max: 4, Queue: 4})
	c, err := command.New(command.Config[int]{Name: "price", Pool: p, Settings: command.Settings{Breaker: lenient()}})
	if err != nil {
		t.Fatal(err)
	}
	var seen [command.NumOutcomes]atomic.Uint64
	var running, calls, panics atomic.Int64
	stop := make(chan struct{})
	var changing, calling sync.WaitGroup
	changing.Go(func() { changeSettings(t, c, p, stop) })
	for g := range 8 {
		calling.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 2))
			for range rounds {
				calls.Add(1)
				if oneCall(c, random, &running, &seen) {
					panics.Add(1)
				}
			}
		})
	}
	calling.Wait()
	close(stop)
	changing.Wait()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	s := c.Snapshot()
	checkSums(t, s)
	if s.Calls != uint64(calls.Load()) || running.Load() != 0 {
		t.Errorf("%d calls made, %d counted, %d still run", calls.Load(), s.Calls, running.Load())
	}
	compareOutcomes(t, s, &seen, uint64(panics.Load()))
	if b := c.Bulkhead().Snapshot(); b.InUse != 0 {
		t.Errorf("%d permits were not given back", b.InUse)
	}
}

// compareOutcomes holds what callers saw against what was counted. Whether a call that panicked had been counted as over time already, its
// caller cannot tell.
func compareOutcomes(t *testing.T, s command.Snapshot, seen *[command.NumOutcomes]atomic.Uint64, panics uint64) {
	t.Helper()
	if s.Aborted != panics {
		t.Errorf("%d callers saw a panic, counted %d", panics, s.Aborted)
	}
	late := s.Outcomes[command.Timeout] - seen[command.Timeout].Load()
	if late > panics {
		t.Errorf("timeout: callers saw %d, counted %d", seen[command.Timeout].Load(), s.Outcomes[command.Timeout])
	}
	seen[command.Timeout].Add(late)
	seen[command.Failure].Add(panics - late)
	for o := range seen {
		if seen[o].Load() != s.Outcomes[o] {
			t.Errorf("%v: callers saw %d, counted %d", command.Outcome(o), seen[o].Load(), s.Outcomes[o])
		}
		if s.Outcomes[o] == 0 {
			t.Errorf("%v never happened", command.Outcome(o))
		}
	}
}

func lenient() breaker.Settings {
	return breaker.Settings{MinVolume: 200, FailureRatio: 0.9, SleepWindow: time.Millisecond, WindowLength: 20 * time.Millisecond}
}

// changeSettings never leaves the command alone.
func changeSettings(t *testing.T, c *command.Command[int], p *pool.Pool, stop <-chan struct{}) {
	random := rand.New(rand.NewPCG(1, 1))
	for {
		select {
		case <-stop:
			return
		default:
		}
		s := command.Settings{Isolation: command.Isolation(random.IntN(3)), MaxConcurrent: 1 + random.IntN(6), Timeout: 2 * time.Millisecond,
			MaxWait: time.Duration(random.IntN(2)) * time.Millisecond, TimeoutFrom: command.TimeoutFrom(random.IntN(2)), NoTimeout: random.IntN(4) == 0,
			Breaker: lenient()}
		if random.IntN(20) == 0 {
			c.Breaker().Trip()
		}
		if err := c.Apply(s); err != nil {
			t.Error(err)
		}
		if err := p.Apply(pool.Settings{Core: 1 + random.IntN(3), Max: 4, Queue: random.IntN(5), Policy: pool.Policy(random.IntN(4))}); err != nil {
			t.Error(err)
		}
		c.Snapshot()
		runtime.Gosched()
	}
}

// oneCall makes a call with a random end and notes the outcome that its caller can tell, but for a panic.
func oneCall(c *command.Command[int], random *rand.Rand, running *atomic.Int64, seen *[command.NumOutcomes]atomic.Uint64) (panicked bool) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), traceKey{}, 1))
	defer cancel()
	end := random.IntN(200)
	switch {
	case end%4 == 0:
		ctx = context.Background()
	case end%4 == 1 && (end < 14 || end > 170): // not those that return errBroken, which would look like a failure though it is none
		timer := time.AfterFunc(time.Duration(random.IntN(1000))*time.Microsecond, cancel)
		defer timer.Stop()
	}
	defer func() { panicked = recover() != nil }()
	_, err := c.Do(ctx, func(ctx context.Context) (int, error) {
		running.Add(1)
		defer running.Add(-1)
		return finish(ctx, end)
	})
	seen[outcomeOf(err)].Add(1)
	return false
}

func finish(ctx context.Context, end int) (int, error) {
	switch {
	case end < 8:
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond): // no timeout, and a caller who stays
		}
		return 0, ctx.Err()
	case end < 10: // ignores its context
		begun := time.Now()
		for time.Since(begun) < 4*time.Millisecond {
			runtime.Gosched()
		}
		return 1, nil
	case end < 14:
		panic(errBroken)
	case end < 30:
		return 0, errBroken
	case end < 34:
		return 0, command.AsBadRequest(errBroken)
	}
	return 1, nil
}

func outcomeOf(err error) command.Outcome {
	var own *command.Error
	switch {
	case err == nil:
		return command.Success
	case errors.As(err, &own):
		return own.Outcome
	case command.IsBadRequest(err):
		return command.BadRequest
	case errors.Is(err, context.Canceled):
		return command.Cancelled
	default:
		return command.Failure
	}
}
