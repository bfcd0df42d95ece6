package command_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/command"
)

var errBroken = errors.New("broken")

func newCommand(t *testing.T, config command.Config[int]) *command.Command[int] {
	t.Helper()
	if config.Name == "" {
		config.Name = "price"
	}
	c, err := command.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		checkSums(t, c.Snapshot())
	})
	return c
}

// checkSums holds a quiet command to its books: every call in one outcome, every execution in one histogram.
func checkSums(t *testing.T, s command.Snapshot) {
	t.Helper()
	var sum uint64
	for _, n := range s.Outcomes {
		sum += n
	}
	if sum != s.Calls || s.Active != 0 || s.Zombies != 0 || s.FallingBack != 0 {
		t.Errorf("calls %d, outcomes %v, active %d, zombies %d, falling back %d", s.Calls, s.Outcomes, s.Active, s.Zombies, s.FallingBack)
	}
	if s.Total.N() != s.Execution.N()+s.Unsuccessful.N() || s.Wait.N() != s.Total.N() {
		t.Errorf("total %d, execution %d, unsuccessful %d, wait %d", s.Total.N(), s.Execution.N(), s.Unsuccessful.N(), s.Wait.N())
	}
	fallbacks := s.Events[command.EventFallbackSuccess] + s.Events[command.EventFallbackFailure] + s.Events[command.EventFallbackRejection] +
		s.Events[command.EventFallbackDisabled] + s.Events[command.EventFallbackMissing]
	wanted := s.Outcomes[command.Failure] + s.Outcomes[command.Timeout] + s.Outcomes[command.Rejected] + s.Outcomes[command.ShortCircuited]
	if fallbacks != wanted-s.Aborted {
		t.Errorf("%d fallback events, %d calls that wanted one", fallbacks, wanted)
	}
}

func expectOutcomes(t *testing.T, c *command.Command[int], want map[command.Outcome]uint64) {
	t.Helper()
	got := c.Snapshot().Outcomes
	for o, n := range got {
		if n != want[command.Outcome(o)] {
			t.Errorf("%v: %d, want %d", command.Outcome(o), n, want[command.Outcome(o)])
		}
	}
}

func returns(value int, err error) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return value, err }
}

func TestACallReturnsWhatTheFunctionReturned(t *testing.T) {
	c := newCommand(t, command.Config[int]{})
	if v, err := c.Do(context.Background(), returns(7, nil)); v != 7 || err != nil {
		t.Errorf("Do() = %d, %v", v, err)
	}
	if v, err := c.Do(context.Background(), returns(7, errBroken)); v != 0 || err != errBroken {
		t.Errorf("Do() = %d, %v", v, err)
	}
	expectOutcomes(t, c, map[command.Outcome]uint64{command.Success: 1, command.Failure: 1})
}

func TestABadRequestIsNoFailureAndHasNoFallback(t *testing.T) {
	c := newCommand(t, command.Config[int]{
		Settings: command.Settings{Breaker: breaker.Settings{MinVolume: 1}},
		Fallback: func(context.Context, error) (int, error) { t.Error("fallback called"); return 0, nil },
	})
	_, err := c.Do(context.Background(), returns(0, command.AsBadRequest(fmt.Errorf("id: %w", errBroken))))
	if !errors.Is(err, errBroken) || !command.IsBadRequest(err) {
		t.Errorf("Do() = %v", err)
	}
	if command.AsBadRequest(nil) != nil {
		t.Error("no error became a bad request")
	}
	s := c.Snapshot()
	if c.Breaker().State() != breaker.Closed || s.Events[command.EventBadRequest] != 1 || s.Events[command.EventExceptionThrown] != 1 {
		t.Errorf("breaker %v, events %v", c.Breaker().State(), s.Events)
	}
}

func TestAClientThatLeavesIsNoFailure(t *testing.T) {
	c := newCommand(t, command.Config[int]{Settings: command.Settings{Breaker: breaker.Settings{MinVolume: 1}}})
	ctx, cancel := context.WithCancel(context.Background())
	_, err := c.Do(ctx, func(ctx context.Context) (int, error) {
		cancel()
		<-ctx.Done()
		return 0, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || c.Breaker().State() != breaker.Closed {
		t.Errorf("Do() = %v, breaker %v", err, c.Breaker().State())
	}
	if _, err := c.Do(ctx, func(context.Context) (int, error) { t.Error("called"); return 0, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Do() with a context that has ended = %v", err)
	}
	expectOutcomes(t, c, map[command.Outcome]uint64{command.Cancelled: 2})
}

func TestTheTimeoutEndsTheContextOfAFunctionThatListens(t *testing.T) {
	for _, parent := range []context.Context{context.Background(), context.WithValue(context.Background(), traceKey{}, 1)} {
		synctest.Test(t, func(t *testing.T) {
			c := newCommand(t, command.Config[int]{Settings: command.Settings{Timeout: 50 * time.Millisecond, Breaker: breaker.Settings{MinVolume: 1}}})
			begun := time.Now()
			_, err := c.Do(parent, func(ctx context.Context) (int, error) {
				deadline, ok := ctx.Deadline()
				if want := begun.Add(50 * time.Millisecond); !ok || !deadline.Equal(want) {
					t.Errorf("deadline %v, %v, want %v", deadline, ok, want)
				}
				if ctx.Err() != nil {
					t.Errorf("Err() = %v before the deadline", ctx.Err())
				}
				<-ctx.Done()
				if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
					t.Errorf("Err() = %v at the deadline", ctx.Err())
				}
				return 0, ctx.Err()
			})
			if !errors.Is(err, command.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 50*time.Millisecond {
				t.Errorf("Do() = %v after %v", err, time.Since(begun))
			}
			if c.Breaker().State() != breaker.Open {
				t.Error("the breaker did not count the timeout")
			}
			expectOutcomes(t, c, map[command.Outcome]uint64{command.Timeout: 1})
		})
	}
}

func TestErrTellsTheDeadlineWithoutDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Timeout: 50 * time.Millisecond}})
		_, err := c.Do(context.Background(), func(ctx context.Context) (int, error) {
			for ctx.Err() == nil {
				time.Sleep(7 * time.Millisecond)
			}
			select {
			case <-ctx.Done():
			default:
				t.Error("Err is set and Done is not closed")
			}
			return 0, ctx.Err()
		})
		if !errors.Is(err, command.ErrTimeout) {
			t.Errorf("Do() = %v", err)
		}
	})
}

// A function that hangs, ignoring its context, keeps its caller; but the breaker, and everybody who looks, know at the deadline.
func TestAHangingFunctionIsCountedAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Timeout: 50 * time.Millisecond, Breaker: breaker.Settings{MinVolume: 1}}})
		go func() {
			_, err := c.Do(context.Background(), func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil })
			if !errors.Is(err, command.ErrTimeout) {
				t.Errorf("Do() = %v", err)
			}
		}()
		time.Sleep(49 * time.Millisecond)
		if s := c.Snapshot(); s.Active != 1 || s.Zombies != 0 || s.Calls != 1 {
			t.Errorf("before the deadline: %+v", s)
		}
		time.Sleep(11 * time.Millisecond)
		s := c.Snapshot()
		if s.Active != 0 || s.Zombies != 1 || s.Overtime != 10*time.Millisecond || s.Outcomes[command.Timeout] != 1 {
			t.Errorf("after the deadline: active %d, zombies %d, overtime %v, outcomes %v", s.Active, s.Zombies, s.Overtime, s.Outcomes)
		}
		if _, err := c.Do(context.Background(), returns(1, nil)); !errors.Is(err, command.ErrShortCircuited) || !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("the next call: %v", err)
		}
		time.Sleep(time.Second)
		s = c.Snapshot()
		if s.Zombies != 0 || s.Late != 1 || s.Outcomes[command.Timeout] != 1 || s.Unsuccessful.Max() != time.Second {
			t.Errorf("after it came back: zombies %d, late %d, outcomes %v, %v", s.Zombies, s.Late, s.Outcomes, s.Unsuccessful.Max())
		}
	})
}

func TestTheCallersOwnDeadlineIsNotTheDependencysFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Breaker: breaker.Settings{MinVolume: 1}}})
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_, err := c.Do(ctx, func(inner context.Context) (int, error) {
			theirs, _ := ctx.Deadline()
			if deadline, ok := inner.Deadline(); !ok || !deadline.Equal(theirs) {
				t.Errorf("deadline %v, want the caller's %v", deadline, theirs)
			}
			<-inner.Done()
			return 0, inner.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, command.ErrTimeout) || c.Breaker().State() != breaker.Closed {
			t.Errorf("Do() = %v, breaker %v", err, c.Breaker().State())
		}
		expectOutcomes(t, c, map[command.Outcome]uint64{command.Cancelled: 1})
	})
}

func TestAPanicIsCountedAndGoesOn(t *testing.T) {
	c := newCommand(t, command.Config[int]{Settings: command.Settings{Breaker: breaker.Settings{MinVolume: 1}}})
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		_, _ = c.Do(context.Background(), func(context.Context) (int, error) { panic("boom") })
	}()
	if s := c.Snapshot(); s.Outcomes[command.Failure] != 1 || s.Active != 0 || c.Breaker().State() != breaker.Open {
		t.Errorf("outcomes %v, active %d, breaker %v", s.Outcomes, s.Active, c.Breaker().State())
	}
}

func TestGoexitIsCountedAndGivesEverythingBack(t *testing.T) {
	c := newCommand(t, command.Config[int]{Settings: command.Settings{Isolation: command.Semaphore, MaxConcurrent: 1}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Do(context.Background(), func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
	}()
	<-done
	if v, err := c.Do(context.Background(), returns(1, nil)); v != 1 || err != nil {
		t.Errorf("the next call: %d, %v", v, err)
	}
	// A panic and a goroutine's end count as failures that no fallback can answer.
	if s := c.Snapshot(); s.Outcomes[command.Failure] != 1 || s.Active != 0 {
		t.Errorf("outcomes %v, active %d", s.Outcomes, s.Active)
	}
}

func TestEveryRefusalAndFailureMayHaveAFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var causes []error
		c := newCommand(t, command.Config[int]{
			Settings: command.Settings{Timeout: 10 * time.Millisecond, Breaker: breaker.Settings{MinVolume: 2}},
			Fallback: func(ctx context.Context, cause error) (int, error) { causes = append(causes, cause); return 42, nil },
		})
		hang := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		for _, fn := range []func(context.Context) (int, error){returns(0, errBroken), hang, returns(1, nil)} {
			if v, err := c.Do(context.Background(), fn); v != 42 || err != nil {
				t.Errorf("Do() = %d, %v", v, err)
			}
		}
		for i, want := range []error{errBroken, command.ErrTimeout, command.ErrShortCircuited} {
			if !errors.Is(causes[i], want) {
				t.Errorf("cause %v, want %v", causes[i], want)
			}
		}
		s := c.Snapshot()
		if s.Events[command.EventFallbackSuccess] != 3 || s.Events[command.EventExceptionThrown] != 0 {
			t.Errorf("events %v", s.Events)
		}
	})
}

// A refusal can happen twice, at the command and at its fallback; both are counted and both are in the error.
func TestARefusedFallbackIsCountedBesideTheRefusedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := newCommand(t, command.Config[int]{
			Settings: command.Settings{FallbackMax: 1},
			Fallback: func(context.Context, error) (int, error) { <-release; return 1, nil },
		})
		c.Breaker().Trip()
		go func() { _, _ = c.Do(context.Background(), returns(0, nil)) }()
		synctest.Wait()
		_, err := c.Do(context.Background(), returns(0, nil))
		if !errors.Is(err, command.ErrFallbackRejected) || !errors.Is(err, command.ErrShortCircuited) || !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("Do() = %v", err)
		}
		if s := c.Snapshot(); s.FallingBack != 1 || s.Events[command.EventFallbackRejection] != 1 || s.Events[command.EventShortCircuited] != 2 {
			t.Errorf("falling back %d, events %v", s.FallingBack, s.Events)
		}
		close(release)
		synctest.Wait()
	})
}

func TestAFailingFallbackTellsBothErrors(t *testing.T) {
	c := newCommand(t, command.Config[int]{Fallback: func(context.Context, error) (int, error) { return 0, errors.ErrUnsupported }})
	_, err := c.Do(context.Background(), returns(0, errBroken))
	if !errors.Is(err, errBroken) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Do() = %v", err)
	}
	if want := `command "price": failure: broken; fallback: unsupported operation`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	func() {
		defer func() { _ = recover() }()
		panicking := newCommand(t, command.Config[int]{Name: "panics", Fallback: func(context.Context, error) (int, error) { panic("boom") }})
		_, _ = panicking.Do(context.Background(), returns(0, errBroken))
	}()
}

func TestTheFallbackMayBeSwitchedOff(t *testing.T) {
	c := newCommand(t, command.Config[int]{
		Settings: command.Settings{NoFallback: true},
		Fallback: func(context.Context, error) (int, error) { t.Error("called"); return 0, nil },
	})
	if _, err := c.Do(context.Background(), returns(0, errBroken)); err != errBroken {
		t.Errorf("Do() = %v", err)
	}
	if s := c.Snapshot(); s.Events[command.EventFallbackDisabled] != 1 {
		t.Errorf("events %v", s.Events)
	}
}

func TestSettingsChangeLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Timeout: 50 * time.Millisecond}})
		long := func(ctx context.Context) (int, error) {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(100 * time.Millisecond):
				return 1, nil
			}
		}
		if _, err := c.Do(context.Background(), long); !errors.Is(err, command.ErrTimeout) {
			t.Errorf("Do() = %v with 50ms", err)
		}
		if err := c.Apply(command.Settings{NoTimeout: true, Breaker: breaker.Settings{Force: breaker.ForcedClosed}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Do(context.Background(), long); err != nil {
			t.Errorf("Do() = %v without a timeout", err)
		}
		if got := c.Breaker().Settings().Force; got != breaker.ForcedClosed {
			t.Errorf("the breaker's settings did not follow: %v", got)
		}
		before := c.Snapshot()
		err := c.Apply(command.Settings{Timeout: -1, Breaker: breaker.Settings{Probes: -1}})
		for _, want := range []string{`command "price"`, "Timeout: -1ns: allowed 1ms to 24h0m0s", "Breaker: Probes: -1"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not say %s", err, want)
			}
		}
		if after := c.Snapshot(); after.Settings != before.Settings || after.Version != 2 {
			t.Errorf("an invalid change left %+v, version %d", after.Settings, after.Version)
		}
	})
}

func TestSettingsNameEveryFault(t *testing.T) {
	shared, err := breaker.New(breaker.Config{Name: "shared"})
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]command.Config[int]{
		"Name: empty": {},
		"Isolation: isolation(9): allowed none to":     {Settings: command.Settings{Isolation: 9}},
		"MaxConcurrent: -1: allowed 1 to 1000000":      {Settings: command.Settings{MaxConcurrent: -1}},
		"MaxWait: 1s: not below Timeout (1s)":          {Settings: command.Settings{MaxWait: time.Second}},
		"MaxWait: 2h0m0s: allowed 0s to 1h0m0s":        {Settings: command.Settings{MaxWait: 2 * time.Hour}},
		"FallbackMax: -1":                              {Settings: command.Settings{FallbackMax: -1}},
		"TimeoutFrom: timeout-from(7)":                 {Settings: command.Settings{TimeoutFrom: 7}},
		`Breaker: must be zero, since breaker "shared`: {Breaker: shared, Settings: command.Settings{Breaker: breaker.Settings{Probes: 2}}},
	} {
		if _, err := command.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAClosedCommandRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommand(t, command.Config[int]{})
		go func() {
			_, _ = c.Do(context.Background(), func(context.Context) (int, error) { time.Sleep(5 * time.Second); return 1, nil })
		}()
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close() = %v while a zombie runs", err)
		}
		if _, err := c.Do(context.Background(), returns(1, nil)); !errors.Is(err, command.ErrClosed) || !errors.Is(err, command.ErrRejected) {
			t.Errorf("Do() = %v on a closed command", err)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestHystrixNamesTheEvents(t *testing.T) {
	want := "SUCCESS FAILURE TIMEOUT BAD_REQUEST SHORT_CIRCUITED THREAD_POOL_REJECTED SEMAPHORE_REJECTED CANCELLED FALLBACK_SUCCESS " +
		"FALLBACK_FAILURE FALLBACK_REJECTION FALLBACK_DISABLED FALLBACK_MISSING EXCEPTION_THROWN EVENT(14)"
	var names []string
	for e := range command.Event(command.NumEvents + 1) {
		names = append(names, e.String())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("events %s", got)
	}
	if command.ShortCircuited.String() != "short_circuited" || command.Outcome(9).String() != "outcome(9)" {
		t.Error("outcomes are not named as in results")
	}
}
