package command_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/command"
)

type traceKey struct{}

// keep returns the context that a function got, after its call has ended.
func keep(t *testing.T, c *command.Command[int], parent context.Context, look func(context.Context)) context.Context {
	t.Helper()
	var kept context.Context
	if _, err := c.Do(parent, func(ctx context.Context) (int, error) {
		kept = ctx
		look(ctx)
		return 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	return kept
}

func nothing(context.Context) {}

func TestAContextThatOutlivesItsCallIsCancelledAndKeepsItsValues(t *testing.T) {
	c := newCommand(t, command.Config[int]{})
	parent := context.WithValue(context.Background(), traceKey{}, "first")
	kept := keep(t, c, parent, nothing)
	_, err := c.Do(context.WithValue(context.Background(), traceKey{}, "second"), func(ctx context.Context) (int, error) {
		// The second call is on the first one's slot and under way.
		if kept.Value(traceKey{}) != "first" || ctx.Value(traceKey{}) != "second" {
			t.Errorf("values %v and %v", kept.Value(traceKey{}), ctx.Value(traceKey{}))
		}
		if !errors.Is(kept.Err(), context.Canceled) || ctx.Err() != nil {
			t.Errorf("errors %v and %v", kept.Err(), ctx.Err())
		}
		select {
		case <-kept.Done():
		default:
			t.Error("Done of the ended call is not closed")
		}
		return 0, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheContextEndsWithTheCall(t *testing.T) {
	for _, parent := range []context.Context{context.Background(), context.WithValue(context.Background(), traceKey{}, 1)} {
		c := newCommand(t, command.Config[int]{})
		var done <-chan struct{}
		keep(t, c, parent, func(ctx context.Context) {
			done = ctx.Done()
			if ctx.Done() != done {
				t.Error("Done gave two channels")
			}
			select {
			case <-done:
				t.Error("closed while the call runs")
			default:
			}
		})
		<-done
	}
}

func TestAnOvertimeContextStaysOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Timeout: time.Millisecond}})
		var kept context.Context
		_, _ = c.Do(context.WithValue(context.Background(), traceKey{}, 1), func(ctx context.Context) (int, error) {
			kept = ctx
			<-ctx.Done()
			return 0, nil
		})
		if !errors.Is(kept.Err(), context.DeadlineExceeded) {
			t.Errorf("Err() = %v after the call, DeadlineExceeded during it", kept.Err())
		}
	})
}

func TestAContextDerivedFromTheCallsEndsWithIt(t *testing.T) {
	for _, parent := range []context.Context{context.Background(), context.WithValue(context.Background(), traceKey{}, 1)} {
		synctest.Test(t, func(t *testing.T) {
			c := newCommand(t, command.Config[int]{Settings: command.Settings{Timeout: 10 * time.Millisecond}})
			var derived context.Context
			keep(t, c, parent, func(ctx context.Context) {
				var cancel context.CancelFunc
				derived, cancel = context.WithCancel(ctx)
				t.Cleanup(cancel)
				if derived.Err() != nil {
					t.Errorf("derived: %v while the call runs", derived.Err())
				}
			})
			synctest.Wait()
			if !errors.Is(derived.Err(), context.Canceled) {
				t.Errorf("derived: %v after the call", derived.Err())
			}
		})
	}
}

func TestACommandInsideItselfPassesItsEndOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCommand(t, command.Config[int]{Settings: command.Settings{Timeout: 10 * time.Millisecond}})
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), traceKey{}, 1))
		go func() {
			time.Sleep(time.Millisecond)
			cancel()
		}()
		_, err := c.Do(ctx, func(outer context.Context) (int, error) {
			return c.Do(outer, func(inner context.Context) (int, error) {
				if inner.Value(traceKey{}) != 1 {
					t.Error("the value did not reach the inner call")
				}
				<-inner.Done()
				return 0, inner.Err()
			})
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Do() = %v", err)
		}
	})
}

func TestAFunctionAfterTheEndMayBeTakenBack(t *testing.T) {
	c := newCommand(t, command.Config[int]{})
	ran := make(chan string, 2)
	kept := keep(t, c, context.WithValue(context.Background(), traceKey{}, 1), func(ctx context.Context) {
		stop := context.AfterFunc(ctx, func() { ran <- "stopped" })
		if !stop() || stop() {
			t.Error("stop must work once")
		}
		context.AfterFunc(ctx, func() { ran <- "kept" })
	})
	if got := <-ran; got != "kept" {
		t.Errorf("%s ran", got)
	}
	context.AfterFunc(kept, func() { ran <- "late" })
	if got := <-ran; got != "late" {
		t.Errorf("%s ran", got)
	}
}
