package bulkhead_test

import (
	"context"
	"errors"
	"testing"

	"github.com/loadline-dev/loadline/bulkhead"
)

func newBulkhead(t *testing.T, s bulkhead.Settings) *bulkhead.Bulkhead {
	t.Helper()
	b, err := bulkhead.New(bulkhead.Config{Name: "test", Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNoMorePermitsGoOutThanThereAre(t *testing.T) {
	b := newBulkhead(t, bulkhead.Settings{Permits: 2})
	first, err := b.TryAcquire()
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.TryAcquire()
	var r *bulkhead.RejectedError
	if !errors.As(err, &r) || r.Reason != bulkhead.Full || r.InUse != 2 || r.Permits != 2 {
		t.Errorf("third: %v", err)
	}
	first.Release()
	first.Release()
	second.Release()
	if s := b.Snapshot(); s.InUse != 0 || s.Granted != 2 || s.Rejected.Full != 1 || s.LargestInUse != 2 {
		t.Errorf("%+v", s)
	}
	b.VerifyReleased(t)
}
