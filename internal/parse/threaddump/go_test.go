package threaddump_test

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

func byID(t testing.TB, d *threaddump.Dump, id int64) threaddump.Thread {
	t.Helper()
	for _, th := range d.Threads {
		if th.ID == id {
			return th
		}
	}
	t.Fatalf("no goroutine %d", id)
	return threaddump.Thread{}
}

func TestGoroutinesOneByOne(t *testing.T) {
	d := one(t, "go-debug2.txt")
	check(t, "goroutines", len(d.Threads), 4)
	p := byID(t, d, 7)
	check(t, "reason", p.Detail, "chan receive")
	check(t, "waited", p.Waited, 5*time.Minute)
	check(t, "created by", p.CreatedBy, "main.(*Pool).start")
	check(t, "frame", p.Stack[0], threaddump.Frame{Func: "main.(*Pool).work", File: "/src/order/pool.go", Line: 33})
	check(t, "frames", len(p.Stack), 1)
	m := byID(t, d, 8)
	check(t, "state", m.State, threaddump.Blocked)
	check(t, "frames without those of its ancestor", len(m.Stack), 2)
	check(t, "closure", m.Stack[1].Func, "main.handle.func1")
	l := byID(t, d, 9)
	check(t, "label", l.Labels["pool"], `pri[c]e, "x"`)
	check(t, "name", l.Name, "price-worker-1")
	check(t, "reason", l.Detail, "select (scan)")
	check(t, "waited", l.Waited, 2*time.Minute)
}

func TestGoroutinesCounted(t *testing.T) {
	d := one(t, "go-debug1.txt")
	check(t, "groups", len(d.Threads), 2)
	check(t, "count", d.Threads[0].Count, 12)
	check(t, "label", d.Threads[0].Labels["pool"], "price")
	check(t, "frame", d.Threads[0].Stack[0], threaddump.Frame{Func: "sync.(*WaitGroup).Wait", File: "/usr/local/go/src/sync/waitgroup.go", Line: 118})
}

func TestACrash(t *testing.T) {
	d := one(t, "go-crash.txt")
	check(t, "goroutines", len(d.Threads), 2)
	m := byID(t, d, 1)
	check(t, "reason", m.Detail, "semacquire")
	check(t, "last frame", m.Stack[2], threaddump.Frame{Func: "main.main", File: "/src/order/main.go", Line: 12})
}

func TestDumpsThatFollowEachOtherAreToldApartByIDsThatComeAgain(t *testing.T) {
	text := fixture(t, "go-debug2.txt")
	check(t, "dumps", len(all(t, text+text+fixture(t, "go-debug1.txt")+text)), 4)
}

// parked is a goroutine that waits until the test ends.
func parked(ready *sync.WaitGroup, end chan struct{}) {
	ready.Done()
	<-end
}

func TestWhatThisRuntimePrintsIsReadWhole(t *testing.T) {
	const n = 100
	end := make(chan struct{})
	var ready, ended sync.WaitGroup
	ready.Add(n)
	for range n {
		ended.Go(func() {
			pprof.Do(t.Context(), pprof.Labels("pool", "price"), func(_ ctx) { parked(&ready, end) })
		})
	}
	ready.Wait()
	defer ended.Wait()
	defer close(end)
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var debug1, debug2 bytes.Buffer
	profile := pprof.Lookup("goroutine")
	if profile.WriteTo(&debug1, 1) != nil || profile.WriteTo(&debug2, 2) != nil {
		t.Fatal("no profile")
	}
	for name, text := range map[string]string{"Stack": string(stacks), "debug=1": debug1.String(), "debug=2": debug2.String()} {
		d := all(t, text)[0]
		count, total := 0, 0
		for _, th := range d.Threads {
			total += th.Count
			for _, f := range th.Stack {
				if strings.HasSuffix(f.Func, "threaddump_test.parked") {
					count += th.Count
				}
			}
		}
		if count != n {
			t.Errorf("%s: %d goroutines are parked, want %d", name, count, n)
		}
		if want := runtime.NumGoroutine(); total < want-1 || total > want+2 {
			t.Errorf("%s: %d goroutines, the runtime counts %d", name, total, want)
		}
	}
}
