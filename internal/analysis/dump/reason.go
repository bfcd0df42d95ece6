package dump

import (
	"strings"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

// Reason is what a thread does or waits for, told from its state and stack.
type Reason string

// The reasons.
const (
	Running        Reason = "running"
	Idle           Reason = "idle"            // a worker that waits for work of its own pool, or a timer
	Selector       Reason = "selector"        // idle as well: an event loop, an acceptor or a kept connection that waits for the network
	ConnectionPool Reason = "connection pool" // for a connection or pooled object
	Latch          Reason = "latch"           // for others to count down
	Future         Reason = "future"          // for a result
	Semaphore      Reason = "semaphore"       // for a permit
	LockWait       Reason = "lock"            // to enter a monitor, or for a lock of java.util.concurrent, or a Go mutex
	SocketRead     Reason = "socket read"     // for an answer
	SocketConnect  Reason = "socket connect"  // for a connection to be made
	Sleep          Reason = "sleep"
	QueueFull      Reason = "queue full"  // to put into a bounded queue
	QueueEmpty     Reason = "queue empty" // to take from a queue that is not its pool's
	ObjectWait     Reason = "object wait" // Object.wait or a condition
	Channel        Reason = "channel"     // Go: send, receive or select
	Other          Reason = "other"       // waits, for what cannot be told
	Untold         Reason = "unknown"     // the format tells no state, and the stack nothing
	unset          Reason = ""
)

// callReasons tells what a call high in a waiting thread's stack means. When several are in a stack the first of precedence counts.
var callReasons = reasonTable(map[Reason]string{
	Idle: `java.util.concurrent.ThreadPoolExecutor.getTask org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask
java.util.concurrent.ForkJoinPool.awaitWork org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll
org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll java.util.TimerThread.mainLoop
io.netty.util.concurrent.SingleThreadEventExecutor.takeTask java.lang.ref.ReferenceQueue.remove java.lang.ref.Reference.waitForReferencePendingList
org.apache.catalina.core.StandardServer.await
org.jboss.threads.EnhancedQueueExecutor$PoolThreadNode.park org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.reservedWait
jdk.internal.misc.Signal.waitForSignal jdk.internal.ref.CleanerImpl.run`,
	Selector: `sun.nio.ch.EPoll.wait sun.nio.ch.EPollArrayWrapper.epollWait sun.nio.ch.KQueue.poll sun.nio.ch.WEPoll.wait io.netty.channel.epoll.Native.epollWait
sun.nio.ch.Net.accept sun.nio.ch.ServerSocketImpl.accept0 sun.nio.ch.NioSocketImpl.accept java.net.PlainSocketImpl.socketAccept
org.apache.tomcat.util.net.NioEndpoint.serverSocketAccept
net.(*netFD).accept`,
	ConnectionPool: `com.zaxxer.hikari.pool.HikariPool.getConnection com.zaxxer.hikari.util.ConcurrentBag.borrow
org.apache.commons.pool2.impl.GenericObjectPool.borrowObject org.apache.commons.pool2.impl.GenericKeyedObjectPool.borrowObject
org.apache.commons.pool.impl.GenericObjectPool.borrowObject redis.clients.jedis.util.Pool.getResource
com.alibaba.druid.pool.DruidDataSource.takeLast com.alibaba.druid.pool.DruidDataSource.pollLast
org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection com.mchange.v2.resourcepool.BasicResourcePool.awaitAvailable
org.apache.http.pool.AbstractConnPool.getPoolEntryBlocking org.apache.http.impl.conn.PoolingHttpClientConnectionManager.leaseConnection
org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager.lease oracle.ucp.common.UniversalConnectionPoolBase.borrowConnection
database/sql.(*DB).conn github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire github.com/jackc/puddle/v2.(*Pool).Acquire
github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn net/http.(*Transport).getConn`,
	Latch: `java.util.concurrent.CountDownLatch.await java.util.concurrent.CyclicBarrier.dowait java.util.concurrent.Phaser.internalAwaitAdvance
sync.(*WaitGroup).Wait golang.org/x/sync/errgroup.(*Group).Wait`,
	Future: `java.util.concurrent.FutureTask.get java.util.concurrent.FutureTask.awaitDone java.util.concurrent.CompletableFuture.waitingGet
java.util.concurrent.CompletableFuture.timedGet java.util.concurrent.CompletableFuture$Signaller.block java.util.concurrent.ForkJoinTask.awaitDone
java.util.concurrent.ForkJoinTask.externalAwaitDone java.util.concurrent.ForkJoinTask.get java.util.concurrent.ForkJoinTask.join
io.netty.util.concurrent.DefaultPromise.await com.google.common.util.concurrent.AbstractFuture.get
java.util.concurrent.ExecutorCompletionService.take`,
	Semaphore: `java.util.concurrent.Semaphore.acquire java.util.concurrent.Semaphore.acquireUninterruptibly java.util.concurrent.Semaphore.tryAcquire
golang.org/x/sync/semaphore.(*Weighted).Acquire`,
	SocketConnect: `java.net.PlainSocketImpl.socketConnect sun.nio.ch.Net.connect0 sun.nio.ch.NioSocketImpl.connect net.(*netFD).connect`,
	SocketRead: `java.net.SocketInputStream.socketRead0 sun.nio.ch.SocketDispatcher.read0 sun.nio.ch.NioSocketImpl.implRead sun.nio.ch.NioSocketImpl.read
sun.nio.ch.FileDispatcherImpl.read0 sun.nio.ch.UnixFileDispatcherImpl.read0 net.(*netFD).Read net.(*conn).Read
net/http.(*persistConn).roundTrip net/http.(*http2ClientConn).RoundTrip google.golang.org/grpc.(*clientStream).RecvMsg
reactor.core.publisher.BlockingSingleSubscriber.blockingGet reactor.core.publisher.Mono.block reactor.core.publisher.Flux.blockLast
jdk.internal.net.http.HttpClientImpl.send io.grpc.stub.ClientCalls.blockingUnaryCall io.lettuce.core.LettuceFutures.awaitOrCancel
io.lettuce.core.internal.Futures.awaitOrCancel org.apache.dubbo.common.threadpool.ThreadlessExecutor.waitAndDrain
org.apache.dubbo.remoting.exchange.support.DefaultFuture.get com.alibaba.dubbo.remoting.exchange.support.DefaultFuture.get
org.apache.kafka.clients.producer.internals.FutureRecordMetadata.get`,
	QueueFull: `java.util.concurrent.LinkedBlockingQueue.put java.util.concurrent.ArrayBlockingQueue.put java.util.concurrent.SynchronousQueue.put
java.util.concurrent.LinkedBlockingQueue.offer java.util.concurrent.ArrayBlockingQueue.offer`,
	LockWait: `java.util.concurrent.locks.ReentrantLock.lock java.util.concurrent.locks.ReentrantLock$Sync.lock
java.util.concurrent.locks.ReentrantLock$NonfairSync.lock java.util.concurrent.locks.ReentrantLock$FairSync.lock
java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock.lock java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock
java.util.concurrent.locks.StampedLock.writeLock java.util.concurrent.locks.StampedLock.readLock java.util.concurrent.locks.ReentrantLock.tryLock
sync.(*Mutex).Lock sync.(*RWMutex).Lock sync.(*RWMutex).RLock`,
	QueueEmpty: `java.util.concurrent.LinkedBlockingQueue.take java.util.concurrent.LinkedBlockingQueue.poll java.util.concurrent.ArrayBlockingQueue.take
java.util.concurrent.ArrayBlockingQueue.poll java.util.concurrent.SynchronousQueue.take java.util.concurrent.SynchronousQueue.poll
java.util.concurrent.LinkedBlockingDeque.take java.util.concurrent.DelayQueue.take java.util.concurrent.PriorityBlockingQueue.take`,
	Sleep:      `java.lang.Thread.sleep java.lang.Thread.sleep0 java.util.concurrent.TimeUnit.sleep time.Sleep`,
	ObjectWait: `java.lang.Object.wait java.lang.Object.wait0 java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await sync.(*Cond).Wait`,
})

// precedence: what says most about a worker comes first. A pool's take is above everything that it is built of; a socket is above the
// connection pool that makes or tries a connection over it; a connection pool is above the locks and queues within it.
var precedence = []Reason{Idle, Selector, SocketConnect, SocketRead, ConnectionPool, Latch, Future, Semaphore, QueueFull, LockWait, QueueEmpty, Sleep, ObjectWait}

type ranked struct {
	reason Reason
	rank   int
}

func reasonTable(calls map[Reason]string) map[string]ranked {
	out := map[string]ranked{}
	for rank, reason := range precedence {
		for _, call := range strings.Fields(calls[reason]) {
			out[call] = ranked{reason, rank}
		}
	}
	return out
}

// deepest is how far below the top of a stack the reason is looked for: what lies deeper is who called the caller.
const deepest = 25

// ReasonOf tells what a thread does.
func ReasonOf(t *threaddump.Thread) Reason {
	found := fromCalls(t.Stack)
	switch {
	case strings.HasPrefix(t.CreatedBy, "runtime.") && t.State != threaddump.Runnable:
		return Idle // Go's own helpers.
	case t.State == threaddump.Blocked:
		return LockWait
	case t.State == threaddump.Runnable:
		// A native read or a selector is runnable in Java's words; everything else that looks like waiting is on its way out of it.
		if found == SocketRead || found == SocketConnect || found == Selector && nativeIdle(t.Stack) {
			return found
		}
		return Running
	case found == SocketRead && goIdleConnection(t.Stack):
		return Selector
	case found != unset && found != ObjectWait && found != QueueEmpty:
		return found
	case goWorkerIdle(t):
		return Idle
	case found != unset:
		return found
	}
	return fromWords(t)
}

func fromCalls(stack []threaddump.Frame) Reason {
	best := ranked{unset, len(precedence)}
	for i := range min(len(stack), deepest) {
		if r, ok := callReasons[stack[i].Func]; ok && r.rank < best.rank {
			best = r
		}
	}
	return best.reason
}

// nativeIdle tells whether a runnable thread is in a selector or acceptor.
func nativeIdle(stack []threaddump.Frame) bool {
	const top = 3
	for i := range min(len(stack), top) {
		if r, ok := callReasons[stack[i].Func]; ok && r.reason == Selector {
			return true
		}
	}
	return false
}

// fromWords takes the format's own words where no call tells more.
func fromWords(t *threaddump.Thread) Reason {
	switch {
	case strings.HasPrefix(t.Detail, "chan "), strings.HasPrefix(t.Detail, "select"):
		return Channel
	case strings.HasPrefix(t.Detail, "sync.WaitGroup"):
		return Latch
	case strings.HasPrefix(t.Detail, "sync.Cond"), t.Wait == threaddump.OnMonitor:
		return ObjectWait
	case t.Detail == "semacquire":
		return LockWait
	case t.Detail == "IO wait":
		return SocketRead
	case t.Detail == "sleep", t.Detail == "sleeping":
		return Sleep
	case t.State == threaddump.Waiting, t.State == threaddump.TimedWaiting:
		return Other
	case t.State == threaddump.Unknown:
		return Untold
	}
	return Running
}

// goIdleConnection is a server's or client's connection between two requests.
func goIdleConnection(stack []threaddump.Frame) bool {
	for i := range stack {
		switch stack[i].Func {
		case "net/http.(*connReader).backgroundRead", "net/http.(*persistConn).readLoop", "net/http.(*persistConn).Read":
			return true
		case "net/http.(*conn).serve":
			return i > 0 && (strings.HasPrefix(stack[i-1].Func, "bufio.") || strings.HasPrefix(stack[i-1].Func, "net/http.(*conn).readRequest"))
		}
	}
	return false
}

// goWorkerIdle tells a Go worker that waits for work from one whose task waits: nothing but the worker's own methods is on its stack.
func goWorkerIdle(t *threaddump.Thread) bool {
	waits := strings.HasPrefix(t.Detail, "chan receive") || strings.HasPrefix(t.Detail, "select") || strings.HasPrefix(t.Detail, "sync.Cond")
	counted := t.Detail == "" && t.State == threaddump.Unknown && t.CreatedBy == "" && labelled(t) != ""
	if !waits && !counted {
		return false
	}
	own, frames := "", 0
	for i := len(t.Stack) - 1; i >= 0; i-- {
		f := t.Stack[i].Func
		if strings.HasPrefix(f, "runtime.") || strings.HasPrefix(f, "sync.") || strings.HasPrefix(f, "runtime/pprof.") {
			continue
		}
		frames++
		if own == "" {
			own = receiver(f)
		}
		if receiver(f) != own {
			return false
		}
	}
	return own != "" && (frames == 1 || strings.Contains(own, "(*"))
}

// receiver is a method's package and type, or a function's name, closures without their number.
func receiver(call string) string {
	if at := strings.Index(call, ")."); at >= 0 {
		return call[:at+1]
	}
	if at := strings.Index(call, ".func"); at >= 0 {
		return call[:at]
	}
	return call
}
