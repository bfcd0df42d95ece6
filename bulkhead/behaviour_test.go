package bulkhead_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/bulkhead"
)

func TestAPermitComesBackOnEveryPath(t *testing.T) {
	b := newBulkhead(t, bulkhead.Settings{Permits: 1})
	broken := errors.New("broken")
	if err := b.Do(t.Context(), func() error { return broken }); err != broken {
		t.Errorf("Do = %v", err)
	}
	func() { // failsafe-go loses the permit here
		defer func() {
			if recover() != "panic" {
				t.Error("the panic did not arrive")
			}
		}()
		b.Do(t.Context(), func() error { panic("panic") })
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Do(context.Background(), func() error { runtime.Goexit(); return nil })
	}()
	<-done
	if n, err := bulkhead.Call(t.Context(), b, func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("Call = %d, %v", n, err)
	}
	b.VerifyReleased(t)
}

func TestReleasingTwiceAtOnceCountsOnce(t *testing.T) {
	b := newBulkhead(t, bulkhead.Settings{Permits: 3})
	keep, err := b.TryAcquire()
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		permit, err := b.TryAcquireWeight(2)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(permit.Release)
		}
		all.Wait()
		if permit.Held() {
			t.Error("still held")
		}
	}
	if s := b.Snapshot(); s.InUse != 1 {
		t.Errorf("%d in use", s.InUse)
	}
	keep.Release()
	var none bulkhead.Permit
	none.Release()
	b.VerifyReleased(t)
}

func TestShrinkingNeverBlocksAndTurnsNobodyAwayWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBulkhead(t, bulkhead.Settings{Permits: 10, MaxWaiting: 5})
		var out []*bulkhead.Permit
		for range 10 {
			p, err := b.TryAcquire()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, &p)
		}
		if err := b.Apply(bulkhead.Settings{Permits: 2, MaxWaiting: 5}); err != nil { // at once, with 10 out
			t.Fatal(err)
		}
		granted := make(chan struct{}, 5)
		for range 3 {
			go func() {
				p, err := b.Acquire(t.Context())
				if err != nil {
					t.Error(err)
				}
				granted <- struct{}{}
				time.Sleep(time.Second)
				p.Release()
			}()
		}
		synctest.Wait()
		for i, p := range out {
			if _, err := b.TryAcquire(); err == nil {
				t.Fatal("a newcomer overtook")
			}
			p.Release()
			synctest.Wait()
			if want := max(0, i-7); len(granted) != want {
				t.Errorf("%d still out of 2: %d were granted, want %d", 9-i, len(granted), want)
			}
		}
		time.Sleep(3 * time.Second)
		if s := b.Snapshot(); s.InUse != 0 || s.Granted != 13 || s.Rejected.Full != 10 || s.LargestWaiting != 3 || s.Version != 2 {
			t.Errorf("%+v", s)
		}
	})
}

func TestWaitingEndsAtMaxWaitAndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told *bulkhead.RejectedError
		b, err := bulkhead.New(bulkhead.Config{
			Name: "price", Settings: bulkhead.Settings{Permits: 1, MaxWaiting: 1, MaxWait: 3 * time.Second},
			Hooks: bulkhead.Hooks{OnReject: func(r *bulkhead.RejectedError) { told = r }},
		})
		if err != nil {
			t.Fatal(err)
		}
		held, err := b.TryAcquire()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = b.Acquire(t.Context())
		var r *bulkhead.RejectedError
		if !errors.As(err, &r) || !errors.Is(err, bulkhead.ErrRejected) || r.Reason != bulkhead.TimedOut || time.Since(began) != 3*time.Second || told != r {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if want := `bulkhead "price": rejected: timed out: asked for 1, 1 of 1 permits in use`; !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if _, err := b.Acquire(ctx); err != gone {
			t.Errorf("cancelled: %v", err)
		}
		time.AfterFunc(time.Second, held.Release)
		next, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next.Release()
		s := b.Snapshot()
		if s.Rejected.TimedOut != 1 || s.Cancelled != 1 || s.Wait.N() != 1 || s.Wait.Max() != time.Second || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		b.VerifyReleased(t)
	})
}

func TestAFIFOWaitKeepsTheTailShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // an unfair semaphore had a p99 of 1963 ms here, a FIFO one 147
		b := newBulkhead(t, bulkhead.Settings{Permits: 30, MaxWaiting: bulkhead.Unbounded})
		var mu sync.Mutex
		var waits []time.Duration
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				for range 20 {
					began := time.Now()
					p, err := b.Acquire(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					wait := time.Since(began)
					time.Sleep(20 * time.Millisecond)
					p.Release()
					mu.Lock()
					waits = append(waits, wait)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(waits)
		if worst := waits[len(waits)-1]; worst > 140*time.Millisecond { // 170 wait before, 30 go at a time: 6 turns of 20 ms
			t.Errorf("the longest wait is %v", worst)
		}
	})
}

func TestSoManyCallersAsPermitsAreNeverRefused(t *testing.T) {
	const callers = 200 // hystrix-go refused 16 % of 200 callers at limit 200
	b := newBulkhead(t, bulkhead.Settings{Permits: callers})
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range 200 {
				if err := b.Do(context.Background(), func() error { runtime.Gosched(); return nil }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.VerifyReleased(t)
}

func TestPermitsOutNeverExceedTheLimitWhileItChanges(t *testing.T) {
	const highest = 8 // go-concurrency-limits' simple strategy at 8 reached 9
	b := newBulkhead(t, bulkhead.Settings{Permits: highest, MaxWaiting: 100})
	n := 20_000
	if testing.Short() {
		n = 3000
	}
	var inside, limit atomic.Int64
	limit.Store(highest)
	var all, changes sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			for j := range n {
				weight := 1 + (i+j)%2
				ctx, cancel := context.WithCancel(context.Background())
				if j%7 == 0 {
					cancel()
				}
				p, err := b.AcquireWeight(ctx, weight)
				if err == nil {
					if now := inside.Add(int64(weight)); now > highest {
						t.Errorf("%d inside, never more than %d permits", now, highest)
					}
					if j%5 == 0 {
						runtime.Gosched()
					}
					inside.Add(-int64(weight))
					p.Release()
				}
				cancel()
			}
		})
	}
	stop := make(chan struct{})
	changes.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := b.Apply(bulkhead.Settings{Permits: 1 + i%highest, MaxWaiting: i % 50, MaxWait: time.Duration(i%3) * time.Millisecond}); err != nil {
				t.Error(err)
			}
			runtime.Gosched()
		}
	})
	all.Wait()
	close(stop)
	changes.Wait()
	b.VerifyReleased(t)
	s := b.Snapshot()
	if sum := s.Granted + s.Rejected.Sum() + s.Cancelled; sum != uint64(12*n) || s.Waiting != 0 || s.LargestInUse > highest {
		t.Errorf("%d asked, %d accounted for: %+v", 12*n, sum, s)
	}
}

func TestALeakIsReportedWithTheStackThatAcquired(t *testing.T) {
	b, err := bulkhead.New(bulkhead.Config{Name: "leaky", Settings: bulkhead.Settings{Permits: 2}, TrackHolders: true, MeasureHold: true})
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.TryAcquire()
	if err != nil {
		t.Fatal(err)
	}
	leaked, err := b.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first.Release()
	var rec recorder
	b.VerifyReleased(&rec)
	text := strings.Join(rec.lines, "\n")
	if len(rec.lines) != 2 || !strings.Contains(text, "1 permits were not released") || !strings.Contains(text, "TestALeakIsReported") {
		t.Errorf("reported:\n%s", text)
	}
	leaked.Release()
	b.VerifyReleased(t)
	if s := b.Snapshot(); len(b.Holders()) != 0 || s.Hold.N() != 2 {
		t.Errorf("%d holders, %d holds", len(b.Holders()), s.Hold.N())
	}
}

type recorder struct{ lines []string }

func (*recorder) Helper()                     {}
func (r *recorder) Errorf(f string, a ...any) { r.lines = append(r.lines, fmt.Sprintf(f, a...)) }

func TestFaultySettingsNameEachFieldAndChangeNothing(t *testing.T) {
	_, err := bulkhead.New(bulkhead.Config{Settings: bulkhead.Settings{MaxWaiting: -1, MaxWait: -1}})
	for _, want := range []string{"Name: empty", "Permits: 0: allowed 1 to 1048575", "MaxWaiting: -1", "MaxWait: -1ns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	var changes []bulkhead.Change
	b, err := bulkhead.New(bulkhead.Config{
		Name: "x", Settings: bulkhead.Settings{Permits: 3}, Hooks: bulkhead.Hooks{OnApply: func(c bulkhead.Change) { changes = append(changes, c) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Apply(bulkhead.Settings{}); err == nil || b.Settings().Permits != 3 {
		t.Errorf("a faulty change: %v, in force %+v", err, b.Settings())
	}
	for range 2 {
		if err := b.Apply(bulkhead.Settings{Permits: 5}); err != nil {
			t.Fatal(err)
		}
	}
	if len(changes) != 1 || changes[0].Before.Permits != 3 || changes[0].After.Permits != 5 || changes[0].Version != 2 {
		t.Errorf("%+v", changes)
	}
}

func TestCommonPathsDoNotAllocate(t *testing.T) {
	b := newBulkhead(t, bulkhead.Settings{Permits: 1})
	if n := testing.AllocsPerRun(1000, func() {
		p, err := b.Acquire(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		p.Release()
	}); n != 0 {
		t.Errorf("Acquire and Release: %v allocations", n)
	}
	held, err := b.TryAcquire()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if n := testing.AllocsPerRun(1000, func() { b.TryAcquire() }); n != 0 {
		t.Errorf("a refusal: %v allocations", n)
	}
}
