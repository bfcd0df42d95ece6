package threaddump_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

type ctx = context.Context

// large is a dump of many threads with stacks of 30 frames.
func large(threads int) string {
	var b strings.Builder
	b.WriteString("2024-03-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n")
	for i := range threads {
		fmt.Fprintf(&b, "\"http-nio-8080-exec-%d\" #%d daemon prio=5 os_prio=0 cpu=1124.82ms elapsed=116459.50s tid=0x%016x nid=0x%x waiting on condition  [0x00007f1c20001000]\n"+
			"   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)\n"+
			"\t- parking to wait for  <0x%016x> (a java.util.concurrent.CountDownLatch$Sync)\n", i, i+20, i, i, i)
		for f := range 29 {
			fmt.Fprintf(&b, "\tat com.shop.service.layer%d.Handler.handle(Handler.java:%d)\n", f, f+i%7)
		}
		b.WriteString("\n   Locked ownable synchronizers:\n\t- <0x00000000e0000030> (a java.util.concurrent.ThreadPoolExecutor$Worker)\n\n")
	}
	return b.String()
}

func TestALongStreamIsReadInConstantMemory(t *testing.T) {
	size := int64(64 << 20)
	if testing.Short() {
		size = 16 << 20
	}
	text := large(500)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most, threads := uint64(0), 0
	err := threaddump.Visit(&repeated{text: text, left: size}, threaddump.Visitor{Thread: func(*threaddump.Thread) error {
		if threads++; threads%10000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&during)
			most = max(most, during.HeapAlloc)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 24<<20 {
		t.Errorf("%d MiB of dumps, %d threads: the heap grew by %d MiB", size>>20, threads, grown>>20)
	}
}

func BenchmarkTenThousandThreads(b *testing.B) {
	text := large(10000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dumps, err := threaddump.All(strings.NewReader(text))
		if err != nil || len(dumps[0].Threads) != 10000 {
			b.Fatal(err)
		}
	}
}
