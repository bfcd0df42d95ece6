package bulkhead_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/bulkhead"
)

func TestEnterAndLeaveCountAsPermitsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(t, bulkhead.Settings{Permits: 1, MaxWaiting: 1, MaxWait: time.Second})
		if err := b.Enter(context.Background()); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(10 * time.Millisecond)
			b.Leave()
		}()
		begun := time.Now()
		if err := b.Enter(context.Background()); err != nil || time.Since(begun) != 10*time.Millisecond {
			t.Errorf("Enter() = %v after %v", err, time.Since(begun))
		}
		begun = time.Now()
		if err := b.Enter(context.Background()); !errors.Is(err, bulkhead.ErrRejected) || time.Since(begun) != time.Second {
			t.Errorf("Enter() = %v after %v", err, time.Since(begun))
		}
		b.Leave()
		if s := b.Snapshot(); s.InUse != 0 {
			t.Errorf("%d permits in use", s.InUse)
		}
	})
}
