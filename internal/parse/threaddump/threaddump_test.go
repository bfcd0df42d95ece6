package threaddump_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/unicode"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func all(t testing.TB, text string) []*threaddump.Dump {
	t.Helper()
	out, err := threaddump.All(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func one(t testing.TB, name string) *threaddump.Dump {
	t.Helper()
	out := all(t, fixture(t, name))
	if len(out) != 1 {
		t.Fatalf("%s: %d dumps, want 1", name, len(out))
	}
	return out[0]
}

func named(t testing.TB, d *threaddump.Dump, name string) threaddump.Thread {
	t.Helper()
	for _, th := range d.Threads {
		if th.Name == name {
			return th
		}
	}
	t.Fatalf("no thread %q in %+v", name, d.Threads)
	return threaddump.Thread{}
}

func check[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestJDK8(t *testing.T) {
	d := one(t, "jdk8.txt")
	check(t, "threads", len(d.Threads), 5)
	check(t, "time", d.When, "2024-03-01 10:00:00")
	check(t, "owners listed", d.Locks, true)
	check(t, "runtime", d.Runtime, "Java HotSpot(TM) 64-Bit Server VM (25.202-b08 mixed mode)")
	a := named(t, d, "http-nio-8080-exec-1")
	check(t, "state", a.State, threaddump.Blocked)
	check(t, "id", a.ID, 20)
	check(t, "native id", a.Native, 0x2a43)
	check(t, "daemon", a.Daemon, true)
	check(t, "wait", a.Wait, threaddump.ForMonitor)
	check(t, "waits for", a.WaitFor, threaddump.Object{ID: "0x00000000e0000010", Class: "java.text.SimpleDateFormat"})
	check(t, "frames", len(a.Stack), 2)
	check(t, "first frame", a.Stack[0], threaddump.Frame{Func: "com.shop.Dates.format", File: "Dates.java", Line: 14})
	check(t, "held", a.Held[0], threaddump.Object{ID: "0x00000000e0000020", Class: "com.shop.Order"})
	check(t, "owned", a.Owned[0].Class, "java.util.concurrent.ThreadPoolExecutor$Worker")
	b := named(t, d, `Signal "quoted" name`)
	check(t, "wait", b.Wait, threaddump.OnMonitor)
	check(t, "monitors held while waiting on one's own", len(b.Held), 0)
	check(t, "state", b.State, threaddump.TimedWaiting)
	vm := named(t, d, "VM Thread")
	check(t, "internal", vm.Internal, true)
	check(t, "state", vm.State, threaddump.Runnable)
	if len(d.Deadlocks) != 1 || strings.Join(d.Deadlocks[0], " ") != "left right" {
		t.Errorf("deadlocks %v, want left and right", d.Deadlocks)
	}
}

func TestJDK11(t *testing.T) {
	d := one(t, "jdk11.txt")
	check(t, "threads", len(d.Threads), 2)
	check(t, "owners listed", d.Locks, false)
	w := named(t, d, "pool-1-thread-1")
	check(t, "CPU", w.CPU, 1124820*time.Microsecond)
	check(t, "elapsed", w.Elapsed, 116459500*time.Millisecond)
	check(t, "wait", w.Wait, threaddump.Parked)
	check(t, "waits for", w.WaitFor.Class, "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject")
	check(t, "module before the file", w.Stack[1], threaddump.Frame{Func: "java.util.concurrent.locks.LockSupport.park", File: "LockSupport.java", Line: 194})
	check(t, "hidden class", w.Stack[5].Func, "com.shop.Tasks$$Lambda$14.run")
	check(t, "native method", w.Stack[0], threaddump.Frame{Func: "jdk.internal.misc.Unsafe.park"})
}

func TestDumpsWithinALogAreFoundAndTheLogIsPassedOver(t *testing.T) {
	dumps := all(t, fixture(t, "jdk17-mixed.log"))
	check(t, "dumps", len(dumps), 2)
	check(t, "threads of the first", len(dumps[0].Threads), 2)
	check(t, "threads of the second", len(dumps[1].Threads), 1)
	check(t, "time of the second", dumps[1].When, "2024-03-01 10:00:12")
	w := named(t, dumps[0], "hystrix-Price-1")
	check(t, "frames without those of another exception", len(w.Stack), 2)
	check(t, "frame after a line of the log", w.Stack[1].Func, "sun.nio.ch.NioSocketImpl.read")
	check(t, "owned", len(w.Owned), 2)
}

func TestLinesThatAContainerPrefixesAreCut(t *testing.T) {
	d := one(t, "jdk17-container.log")
	check(t, "time", d.When, "2024-03-01 10:00:02")
	w := named(t, d, "main")
	check(t, "state", w.State, threaddump.Waiting)
	check(t, "frames", len(w.Stack), 2)
	check(t, "object", w.WaitFor, threaddump.Object{})
}

func TestJDK21HasDecimalIDsAndCarriers(t *testing.T) {
	d := one(t, "jdk21.txt")
	r := named(t, d, "Reference Handler")
	check(t, "id", r.ID, 9)
	check(t, "native id", r.Native, 30467)
	c := named(t, d, "ForkJoinPool-1-worker-1")
	check(t, "carries", c.Carries, 21)
	check(t, "frames", len(c.Stack), 2)
	check(t, "internal", named(t, d, "GC Thread#0").Internal, true)
}

func TestJDK25ShowsMountedVirtualThreads(t *testing.T) {
	d := one(t, "jdk25.txt")
	check(t, "threads", len(d.Threads), 3)
	v := d.Threads[2]
	check(t, "virtual", v.Virtual, true)
	check(t, "id", v.ID, 35)
	check(t, "held", len(v.Held), 1)
	check(t, "loader before the file", named(t, d, "main").Stack[3], threaddump.Frame{Func: "com.shop.Commission.query", File: "Commission.java", Line: 77})
}

func TestWhatManagementBeansPrint(t *testing.T) {
	d := one(t, "jmx.txt")
	check(t, "id", named(t, d, "Timer-180").ID, 332)
	check(t, "owner", named(t, d, "Worker-3").WaitFor, threaddump.Object{ID: "5c7b10f2", Class: "com.shop.Stock", Owner: "Worker-4"})
	d = one(t, "threadinfo.txt")
	check(t, "threads", len(d.Threads), 3)
	a := named(t, d, "worker-1")
	check(t, "state", a.State, threaddump.Blocked)
	check(t, "id", a.ID, 12)
	check(t, "waits for", a.WaitFor, threaddump.Object{ID: "com.shop.Stock@1b2c6ec2", Class: "com.shop.Stock", Owner: "worker-2"})
	check(t, "owned", len(a.Owned), 1)
	check(t, "held", named(t, d, "worker-2").Held[0].ID, "com.shop.Stock@1b2c6ec2")
	check(t, "state", named(t, d, "old style").State, threaddump.Runnable)
}

func TestJDK5AndHPUX(t *testing.T) {
	d := one(t, "old.txt")
	w := named(t, d, "Worker")
	check(t, "state without a state line", w.State, threaddump.Waiting)
	check(t, "held", len(w.Held), 0)
	check(t, "light-weight process", named(t, d, "HP").Native, 12345)
}

func TestJSONOfJDK21HasNoStates(t *testing.T) {
	d := one(t, "jdk21.json")
	check(t, "time", d.When, "2025-10-01T12:00:00.123456Z")
	check(t, "runtime", d.Runtime, "21.0.9+10-LTS")
	check(t, "threads", len(d.Threads), 3)
	m := named(t, d, "main")
	check(t, "state", m.State, threaddump.Unknown)
	check(t, "frame", m.Stack[1], threaddump.Frame{Func: "com.shop.Commission.query", File: "Commission.java", Line: 77})
	check(t, "container", d.Threads[1].Container, "java.util.concurrent.ThreadPerTaskExecutor@1b2c6ec2")
	check(t, "escapes", d.Threads[2].Name, `q"uoted\`)
}

func TestLaterJSONHasStatesLocksAndIDsOfTwoTypes(t *testing.T) {
	d := one(t, "jdk26.json")
	l := named(t, d, "left")
	check(t, "id", l.ID, 31)
	check(t, "state", l.State, threaddump.Blocked)
	check(t, "waits for", l.WaitFor, threaddump.Object{ID: "java.lang.Object@1", Class: "java.lang.Object"})
	check(t, "held without the one it waits for", len(l.Held), 1)
	r := named(t, d, "right")
	check(t, "id", r.ID, 32)
	check(t, "virtual", r.Virtual, true)
	check(t, "owner", r.WaitFor.Owner, "#31")
	check(t, "held while waiting on it", len(named(t, d, "waiter").Held), 0)
}

func TestTextOfDumpToFile(t *testing.T) {
	d := one(t, "jdk21-file.txt")
	check(t, "format", d.Format, threaddump.HotSpotFile)
	check(t, "time", d.When, "2025-10-01T12:00:00.123456Z")
	check(t, "runtime", d.Runtime, "21.0.9+10-LTS")
	check(t, "threads", len(d.Threads), 3)
	check(t, "virtual", d.Threads[1].Virtual, true)
	check(t, "frames", len(d.Threads[1].Stack), 2)
	check(t, "state", named(t, d, "pool-1-thread-1").State, threaddump.Waiting)
}

func TestUTF16IsRecognisedWithAndWithoutItsMark(t *testing.T) {
	for name, enc := range map[string]unicode.Endianness{"little": unicode.LittleEndian, "big": unicode.BigEndian} {
		for _, mark := range []unicode.BOMPolicy{unicode.UseBOM, unicode.IgnoreBOM} {
			text, err := unicode.UTF16(enc, mark).NewEncoder().String(fixture(t, "jdk8.txt"))
			if err != nil {
				t.Fatal(err)
			}
			dumps := all(t, text)
			if len(dumps) != 1 || len(dumps[0].Threads) != 5 {
				t.Errorf("%s endian, mark %v: %d dumps", name, mark, len(dumps))
			}
		}
	}
	if d := all(t, "\xef\xbb\xbf"+fixture(t, "jdk21.json")); len(d) != 1 {
		t.Error("UTF-8 with a mark was not read")
	}
	windows := all(t, strings.ReplaceAll(fixture(t, "jdk11.txt"), "\n", "\r\n"))
	check(t, "native id after a line with CR LF", windows[0].Threads[0].Native, 0x2a50)
}

func TestATextWithoutADumpIsRefused(t *testing.T) {
	for _, text := range []string{"", "hello\n", "{}", "[]x"} {
		if _, err := threaddump.All(strings.NewReader(text)); err == nil {
			t.Errorf("%q was taken for a dump", text)
		}
	}
	if _, err := threaddump.All(strings.NewReader("hello\n")); !errors.Is(err, threaddump.ErrNoDump) {
		t.Errorf("error %v, want ErrNoDump", err)
	}
	if _, err := threaddump.All(strings.NewReader(`{"threadDump":{"time":"x","threadContainers":[{"threads":[{"tid":1`)); err == nil || !strings.Contains(err.Error(), "byte") {
		t.Errorf("error %v, want one that says where the text ends", err)
	}
}

func TestAnErrorOfTheVisitorEndsTheReading(t *testing.T) {
	stop := errors.New("enough")
	n := 0
	err := threaddump.Visit(strings.NewReader(fixture(t, "jdk8.txt")), threaddump.Visitor{Thread: func(*threaddump.Thread) error { n++; return stop }})
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("error %v after %d threads", err, n)
	}
}

func FuzzVisitNeverPanicsAndPairsBeginAndEnd(f *testing.F) {
	names, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		f.Add(fixture(f, filepath.Base(name)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		open := 0
		err := threaddump.Visit(strings.NewReader(text), threaddump.Visitor{
			Begin: func(threaddump.Head) error { open++; return nil },
			Thread: func(th *threaddump.Thread) error {
				if open != 1 || th.Count < 1 {
					t.Errorf("thread %q while %d dumps are open", th.Name, open)
				}
				return nil
			},
			End: func(threaddump.Head) error { open--; return nil },
		})
		if err == nil && open != 0 {
			t.Errorf("%d dumps were left open", open)
		}
	})
}

// repeated yields a text again and again until so many bytes were read.
type repeated struct {
	text string
	at   int
	left int64
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	r.left -= int64(n)
	return n, nil
}
