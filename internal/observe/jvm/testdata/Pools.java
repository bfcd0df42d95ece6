import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/** Threads of which the test knows what they do: 3 idle workers, 2 that wait on a latch, a deadlock of a monitor and a lock. */
public class Pools {
    static ExecutorService pool(String name, int size) {
        AtomicInteger n = new AtomicInteger();
        return Executors.newFixedThreadPool(size, task -> {
            Thread t = new Thread(task, name + "-" + n.incrementAndGet());
            t.setDaemon(true);
            return t;
        });
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        ExecutorService biz = pool("biz-handler-pool", 5);
        CountDownLatch started = new CountDownLatch(5);
        CountDownLatch go = new CountDownLatch(1);
        for (int i = 0; i < 5; i++) {
            boolean waits = i < 2;
            biz.submit(() -> {
                started.countDown();
                go.await();
                if (waits) {
                    never.await();
                }
                return null;
            });
        }
        started.await();
        go.countDown();

        Object monitor = new Object();
        ReentrantLock lock = new ReentrantLock();
        CountDownLatch both = new CountDownLatch(2);
        thread("left", () -> {
            synchronized (monitor) {
                meet(both);
                lock.lock();
            }
        });
        thread("right", () -> {
            lock.lock();
            meet(both);
            synchronized (monitor) {
                System.out.println("never");
            }
        });
        both.await();
        System.gc();
        Thread.sleep(300);
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
        System.exit(0);
    }

    static void meet(CountDownLatch both) {
        both.countDown();
        try {
            both.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void thread(String name, Runnable task) {
        Thread t = new Thread(task, name);
        t.setDaemon(true);
        t.start();
    }
}
