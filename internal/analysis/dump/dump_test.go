package dump_test

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
)

func read(t *testing.T, texts ...string) []*dump.Summary {
	t.Helper()
	out, err := dump.Read(strings.NewReader(strings.Join(texts, "")))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const opening = "2024-03-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n"

// thread writes a thread as HotSpot does. Lines are frames, or begin with a dash.
func thread(name, state string, lines ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\"%s\" #1 prio=5 os_prio=0 tid=0x1 nid=0x1 waiting [0x1]\n   java.lang.Thread.State: %s\n", name, state)
	owned := false
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "owns "):
			if !owned {
				b.WriteString("\n   Locked ownable synchronizers:\n")
			}
			owned = true
			b.WriteString("\t- " + line[len("owns "):] + "\n")
		case strings.HasPrefix(line, "- "):
			b.WriteString("\t" + line + "\n")
		default:
			b.WriteString("\tat " + line + "(File.java:1)\n")
		}
	}
	return b.String() + "\n"
}

func idle(name string) string {
	return thread(name, "WAITING (parking)", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.LinkedBlockingQueue.take", "java.util.concurrent.ThreadPoolExecutor.getTask")
}

func latch(name string) string {
	return thread(name, "WAITING (parking)", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.CountDownLatch.await", "com.shop.Commission.query", "java.util.concurrent.ThreadPoolExecutor.runWorker")
}

func loop(name string) string {
	return thread(name, "RUNNABLE", "sun.nio.ch.EPoll.wait", "sun.nio.ch.EPollSelectorImpl.doSelect", "io.netty.channel.nio.NioEventLoop.run")
}

func socket(name string) string {
	return thread(name, "RUNNABLE", "sun.nio.ch.SocketDispatcher.read0", "sun.nio.ch.NioSocketImpl.read", "com.shop.Price.get")
}

func many(n int, name string, write func(string) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(write(fmt.Sprintf(name, i+1)))
	}
	return b.String()
}

func codes(list []finding.Finding) []string {
	out := []string{}
	for _, f := range list {
		out = append(out, string(f.Code))
	}
	return out
}

func with(t *testing.T, list []finding.Finding, code finding.Code) finding.Finding {
	t.Helper()
	for _, f := range list {
		if f.Code == code {
			if f.Text == "" || f.Next == "" || f.Evidence == nil {
				t.Errorf("%s lacks text, advice or evidence: %+v", code, f)
			}
			return f
		}
	}
	t.Fatalf("no %s in %v", code, codes(list))
	return finding.Finding{}
}

func TestTheNestedFanOutShowsWhichPoolIsIdleAndWhichWaitsOnLatches(t *testing.T) {
	s := read(t, opening, many(5, "common-%d", latch), many(18, "select-%d", idle), many(7, "select-1%d", socket))[0]
	common, _ := s.Pool("common")
	if common.Threads != 5 || common.Idle != 0 || common.On(dump.Latch) != 5 {
		t.Errorf("common: %+v", common)
	}
	sel, _ := s.Pool("select")
	if sel.Threads != 25 || sel.Idle != 18 || sel.On(dump.SocketRead) != 7 {
		t.Errorf("select: %+v", sel)
	}
	list := dump.Findings([]*dump.Summary{s})
	if f := with(t, list, finding.PoolOversized); f.Evidence["pool"] != "select" {
		t.Errorf("%+v", f)
	}
	if slices.Contains(codes(list), "pool-starvation") {
		t.Errorf("select works, so common is not starved: %v", codes(list))
	}
}

func TestPoolsThatOnlyWaitForEachOtherAreStarvedAndForCertainInTheSecondDump(t *testing.T) {
	text := opening + many(8, "common-%d", latch) + many(12, "select-%d", latch) + thread("Signal Dispatcher", "RUNNABLE") + idle("other-1")
	f := with(t, dump.Findings(read(t, text)), finding.PoolStarvation)
	if f.Severity != finding.Warning || !reflect.DeepEqual(f.Evidence["pools"], []string{"select", "common"}) {
		t.Errorf("%+v", f)
	}
	if f := with(t, dump.Findings(read(t, text, text)), finding.PoolStarvation); f.Severity != finding.Critical {
		t.Errorf("two dumps: %+v", f)
	}
	working := text + many(1, "select-2%d", socket)
	if got := codes(dump.Findings(read(t, working))); slices.Contains(got, "pool-starvation") {
		t.Errorf("one worker works: %v", got)
	}
}

func TestCallersOfAnAsynchronousClientAreNotStarved(t *testing.T) {
	blocked := func(name string) string {
		return thread(name, "WAITING (parking)", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.CompletableFuture.waitingGet", "jdk.internal.net.http.HttpClientImpl.send")
	}
	list := dump.Findings(read(t, opening, many(10, "http-nio-8080-exec-%d", blocked)))
	if got := codes(list); !reflect.DeepEqual(got, []string{"downstream-slow"}) {
		t.Errorf("%v, want downstream-slow alone", got)
	}
}

func TestDeadlocksOfMonitorsAndLocksAreFoundWhereTheJVMPrintsNone(t *testing.T) {
	a := thread("a-1", "BLOCKED (on object monitor)", "com.shop.A.run", "- waiting to lock <0x2> (a java.lang.Object)", "- locked <0x1> (a java.lang.Object)")
	b := thread("b-1", "WAITING (parking)", "jdk.internal.misc.Unsafe.park", "- parking to wait for  <0x3> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)",
		"java.util.concurrent.locks.ReentrantLock.lock", "- locked <0x2> (a java.lang.Object)")
	c := thread("c-1", "BLOCKED (on object monitor)", "com.shop.C.run", "- waiting to lock <0x1> (a java.lang.Object)",
		"owns <0x3> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)")
	outside := thread("d-1", "BLOCKED (on object monitor)", "com.shop.D.run", "- waiting to lock <0x1> (a java.lang.Object)")
	s := read(t, opening, a, b, c, outside)[0]
	if want := [][]string{{"a-1", "b-1", "c-1"}}; !reflect.DeepEqual(s.Deadlocks, want) {
		t.Errorf("cycles %v, want %v", s.Deadlocks, want)
	}
	if f := with(t, dump.Findings([]*dump.Summary{s}), finding.Deadlock); f.Severity != finding.Critical || !strings.Contains(f.Text, "a-1 → b-1 → c-1 → a-1") {
		t.Errorf("%+v", f)
	}
	waiter := thread("w-1", "WAITING (on object monitor)", "java.lang.Object.wait", "- waiting on <0x1> (a java.lang.Object)", "com.shop.W.run", "- locked <0x1> (a java.lang.Object)")
	chain := read(t, opening, waiter, thread("x-1", "BLOCKED (on object monitor)", "com.shop.X.run", "- waiting to lock <0x1> (a java.lang.Object)"))[0]
	if len(chain.Deadlocks) != 0 || chain.Locks[0].Holder != "" {
		t.Errorf("a thread in wait has given its monitor back: %+v", chain.Locks)
	}
}

func TestACycleThatTheJVMPrintedIsNotToldTwice(t *testing.T) {
	text, err := os.ReadFile("../../parse/threaddump/testdata/jdk8.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := read(t, string(text))[0]
	if !reflect.DeepEqual(s.Deadlocks, [][]string{{"left", "right"}}) {
		t.Errorf("%v", s.Deadlocks)
	}
}

func TestTheHolderOfAHotFormatterIsNamedWithTheChainBehindIt(t *testing.T) {
	holder := thread("http-nio-8080-exec-9", "RUNNABLE", "java.text.SimpleDateFormat.format", "com.shop.Dates.format", "- locked <0x1> (a com.shop.Dates)")
	waiter := func(name string) string {
		return thread(name, "BLOCKED (on object monitor)", "com.shop.Dates.format", "- waiting to lock <0x1> (a com.shop.Dates)", "com.shop.Order.get", "- locked <0x9> (a com.shop.Order)")
	}
	behind := thread("sweeper", "BLOCKED (on object monitor)", "com.shop.Sweep.run", "- waiting to lock <0x9> (a com.shop.Order)")
	s := read(t, opening, holder, many(6, "http-nio-8080-exec-%d", waiter), behind)[0]
	f := with(t, dump.Findings([]*dump.Summary{s}), finding.LockContention)
	if f.Evidence["holder"] != "http-nio-8080-exec-9" || f.Evidence["waiters"] != 6 || f.Evidence["behind"] != 7 ||
		f.Evidence["formatter"] != "java.text.SimpleDateFormat.format" || !strings.Contains(f.Next, "DateTimeFormatter") {
		t.Errorf("%+v", f)
	}
	if len(s.Stacks) == 0 || s.Stacks[0].Count != 6 || s.Stacks[0].Reason != dump.LockWait {
		t.Errorf("identical stacks: %+v", s.Stacks)
	}
}

func TestAConnectionPoolThatBindsIsToldFromTheLocksItIsMadeOf(t *testing.T) {
	waits := func(name string) string {
		return thread(name, "TIMED_WAITING (parking)", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.SynchronousQueue.poll",
			"com.zaxxer.hikari.util.ConcurrentBag.borrow", "com.zaxxer.hikari.pool.HikariPool.getConnection", "com.shop.Orders.find")
	}
	list := dump.Findings(read(t, opening, many(20, "biz-handler-pool-%d", waits), many(10, "biz-handler-pool-9%d", socket)))
	if f := with(t, list, finding.DownstreamPoolBinding); f.Evidence["waiting"] != 20 || f.Evidence["workers"] != 30 {
		t.Errorf("%+v", f)
	}
}

func TestThreadsThatBecomeMoreFromDumpToDumpAreALeak(t *testing.T) {
	at := func(pools int) string {
		var b strings.Builder
		b.WriteString(opening)
		for i := range pools {
			b.WriteString(many(2, fmt.Sprintf("pool-%d-thread-%%d", i+1), idle))
		}
		return b.String() + many(10, "http-nio-8080-exec-%d", socket)
	}
	f := with(t, dump.Findings(read(t, at(5), at(9), at(15))), finding.ThreadLeak)
	if !reflect.DeepEqual(f.Evidence["counts"], []int{10, 18, 30}) || f.Evidence["kind"] != "pool-*-thread" {
		t.Errorf("%+v", f)
	}
	if names := f.Evidence["threads"].([]string); !slices.Contains(names, "pool-15-thread-2") || slices.Contains(names, "pool-1-thread-1") {
		t.Errorf("new names %v", names)
	}
	if f := with(t, dump.Findings(read(t, at(12))), finding.ThreadLeak); f.Evidence["pools"] != 12 {
		t.Errorf("one dump with many pools of one kind: %+v", f)
	}
	if got := codes(dump.Findings(read(t, at(5), at(5), at(5)))); slices.Contains(got, "thread-leak") {
		t.Errorf("level: %v", got)
	}
	if got := codes(dump.Findings(read(t, at(8), at(5), at(9)))); slices.Contains(got, "thread-leak") {
		t.Errorf("fell in between: %v", got)
	}
}

func TestAHealthyServiceHasNoFinding(t *testing.T) {
	text := opening + many(6, "http-nio-8080-exec-%d", idle) + many(3, "http-nio-8080-exec-1%d", socket) +
		thread("http-nio-8080-exec-20", "RUNNABLE", "com.shop.Order.get") + thread("main", "WAITING (on object monitor)", "java.lang.Object.wait") +
		many(16, "nioEventLoopGroup-2-%d", loop) + many(2, "hystrix-Price-%d", socket) + many(4, "hystrix-Price-1%d", idle)
	if got := codes(dump.Findings(read(t, text, text))); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestThreadsThatStandStillInThreeDumpsAreNamed(t *testing.T) {
	text := opening + thread("batch-1", "RUNNABLE", "com.shop.Batch.loop") + idle("batch-2")
	f := with(t, dump.Findings(read(t, text, text, text)), finding.StuckThreads)
	if !reflect.DeepEqual(f.Evidence["threads"], []string{"batch-1"}) {
		t.Errorf("%+v", f)
	}
}

func TestNamesOfPools(t *testing.T) {
	for name, want := range map[string]string{
		"http-nio-8080-exec-10": "http-nio-8080-exec", "pool-1-thread-3": "pool-1-thread", "ForkJoinPool.commonPool-worker-3": "ForkJoinPool.commonPool-worker",
		"hystrix-Price-10": "hystrix-Price", "qtp1584365902-34": "qtp1584365902", "qtp1584365902-35-acceptor-0@5c": "qtp1584365902",
		"RMI TCP Connection(3)-10.0.0.1": "RMI TCP Connection", "main": "main", "Thread-12": "Thread", "XNIO-1 task-3": "XNIO-1 task", "42": "42",
		"kafka-producer-network-thread | producer-1": "kafka-producer-network-thread | producer",
	} {
		s := read(t, opening, idle(name))[0]
		if s.Pools[0].Name != want {
			t.Errorf("%s: pool %q, want %q", name, s.Pools[0].Name, want)
		}
	}
}

// worker is a pool's worker: it takes tasks until there are no more.
type worker struct{ tasks chan func() }

func (w *worker) run() {
	for task := range w.tasks {
		task()
	}
}

func TestGoWorkersThatWaitForTasksAreIdleAndThoseWhoseTaskWaitsAreNot(t *testing.T) {
	w := &worker{tasks: make(chan func())}
	var ended, busy sync.WaitGroup
	for range 5 {
		ended.Go(w.run)
	}
	hold := make(chan struct{})
	for range 2 {
		busy.Add(1)
		w.tasks <- func() { busy.Done(); <-hold }
	}
	busy.Wait()
	defer ended.Wait()
	defer close(w.tasks)
	defer close(hold)
	for range 1000 { // Until the three others have parked again.
		stacks := make([]byte, 1<<20)
		s := read(t, string(stacks[:runtime.Stack(stacks, true)]))[0]
		for _, p := range s.Pools {
			if p.Threads == 5 && p.Idle == 3 && p.On(dump.Channel) == 2 {
				return
			}
		}
		runtime.Gosched()
	}
	t.Error("never three idle and two waiting workers")
}
