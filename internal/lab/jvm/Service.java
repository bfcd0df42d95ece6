// A small service of the JDK alone, to try collectors, dumps and diagnosis against a real JVM: a ThreadPoolExecutor, a semaphore, a
// fan-out of two pools with latches, and a formatter under one lock. Run it with: java Service.java --listen=127.0.0.1:8086

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

public class Service {
    /** A pool that counts what Micrometer's executors count: executions, waits, refusals. */
    static final class Pool {
        final String name;
        final ThreadPoolExecutor executor;
        final int capacity;
        final LongAdder rejected = new LongAdder();
        final LongAdder waitNanos = new LongAdder();
        final LongAdder runNanos = new LongAdder();
        final LongAdder runs = new LongAdder();

        Pool(String name, int size, int capacity) {
            this.name = name;
            this.capacity = capacity;
            AtomicInteger number = new AtomicInteger();
            ThreadFactory named = task -> new Thread(task, name + "-" + number.incrementAndGet());
            executor = new ThreadPoolExecutor(size, size, 60, TimeUnit.SECONDS, new ArrayBlockingQueue<>(capacity), named);
            executor.prestartAllCoreThreads();
        }

        Future<?> submit(Runnable task) {
            long came = System.nanoTime();
            try {
                return executor.submit(() -> {
                    long began = System.nanoTime();
                    waitNanos.add(began - came);
                    try {
                        task.run();
                    } finally {
                        runNanos.add(System.nanoTime() - began);
                        runs.increment();
                    }
                });
            } catch (RejectedExecutionException full) {
                rejected.increment();
                throw full;
            }
        }

        void expose(StringBuilder out) {
            gauge(out, "executor_pool_core_threads", name, executor.getCorePoolSize());
            gauge(out, "executor_pool_size_threads", name, executor.getPoolSize());
            gauge(out, "executor_pool_max_threads", name, executor.getMaximumPoolSize());
            gauge(out, "executor_active_threads", name, executor.getActiveCount());
            gauge(out, "executor_queued_tasks", name, executor.getQueue().size());
            gauge(out, "executor_queue_remaining_tasks", name, executor.getQueue().remainingCapacity());
            gauge(out, "executor_completed_tasks_total", name, runs.sum());
            gauge(out, "executor_seconds_count", name, runs.sum());
            gauge(out, "executor_seconds_sum", name, runNanos.sum() / 1e9);
            gauge(out, "executor_idle_seconds_count", name, runs.sum());
            gauge(out, "executor_idle_seconds_sum", name, waitNanos.sum() / 1e9);
            gauge(out, "loadline_pool_rejected_tasks_total", name, rejected.sum());
        }
    }

    static void gauge(StringBuilder out, String metric, String name, Number value) {
        out.append(metric).append("{name=\"").append(name).append("\"} ").append(value).append('\n');
    }

    final Map<String, String> options = new HashMap<>();
    final Pool work;
    final Pool common;
    final Pool select;
    final Semaphore permits;
    final int permitted;
    final LongAdder refusedPermits = new LongAdder();
    final long sleepMillis;
    final long timeoutMillis;
    final SimpleDateFormat formatter = new SimpleDateFormat("yyyy-MM-dd HH:mm:ss.SSS");

    Service(String[] arguments) {
        for (String a : arguments) {
            int equals = a.indexOf('=');
            if (!a.startsWith("--") || equals < 0) {
                throw new IllegalArgumentException("found " + a + ", want --name=value");
            }
            options.put(a.substring(2, equals), a.substring(equals + 1));
        }
        int queue = number("queue", 100);
        work = new Pool("work", number("workers", 20), queue);
        common = new Pool("common", number("common", 8), 1000);
        select = new Pool("select", number("select", 12), 1000);
        permitted = number("permits", 20);
        permits = new Semaphore(permitted);
        sleepMillis = number("sleep", 20);
        timeoutMillis = number("timeout", 2000);
    }

    int number(String name, int otherwise) {
        return Integer.parseInt(options.getOrDefault(name, Integer.toString(otherwise)));
    }

    void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    /** The pool of workers does the work; the container's thread waits for its result. */
    int pool() throws Exception {
        try {
            work.submit(() -> sleep(sleepMillis)).get(timeoutMillis, TimeUnit.MILLISECONDS);
            return 200;
        } catch (RejectedExecutionException full) {
            return 503;
        } catch (TimeoutException late) {
            return 504;
        } catch (ExecutionException failed) {
            return 500;
        }
    }

    /** The container's own thread does the work, with a permit. */
    int semaphore() {
        if (!permits.tryAcquire()) {
            refusedPermits.increment();
            return 503;
        }
        try {
            sleep(sleepMillis);
            return 200;
        } finally {
            permits.release();
        }
    }

    /** An item on common gives four conversions to select and waits on a latch; the container's thread waits on another. */
    int fanout() throws InterruptedException {
        CountDownLatch items = new CountDownLatch(2);
        for (int i = 0; i < 2; i++) {
            common.submit(() -> {
                convert();
                items.countDown();
            });
        }
        return items.await(timeoutMillis, TimeUnit.MILLISECONDS) ? 200 : 504;
    }

    void convert() {
        CountDownLatch parts = new CountDownLatch(4);
        for (int i = 0; i < 4; i++) {
            select.submit(() -> {
                sleep(sleepMillis / 2);
                parts.countDown();
            });
        }
        try {
            parts.await();
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    /** The study's hot formatter: one for all, and so under a lock. */
    int format() throws Exception {
        try {
            work.submit(() -> {
                synchronized (formatter) {
                    for (int i = 0; i < 2000; i++) {
                        formatter.format(new Date(i));
                    }
                }
            }).get(timeoutMillis, TimeUnit.MILLISECONDS);
            return 200;
        } catch (RejectedExecutionException full) {
            return 503;
        } catch (TimeoutException late) {
            return 504;
        }
    }

    String metrics() {
        StringBuilder out = new StringBuilder();
        for (Pool p : new Pool[] {work, common, select}) {
            p.expose(out);
        }
        gauge(out, "resilience4j_bulkhead_max_allowed_concurrent_calls", "permits", permitted);
        gauge(out, "resilience4j_bulkhead_available_concurrent_calls", "permits", permits.availablePermits());
        gauge(out, "loadline_bulkhead_rejected_calls_total", "permits", refusedPermits.sum());
        return out.toString();
    }

    interface Handler {
        int handle() throws Exception;
    }

    static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        if (status == 503 || status == 504) {
            exchange.getResponseHeaders().set("X-Loadline-Outcome", status == 503 ? "rejected" : "timeout");
        }
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    static void route(HttpServer server, String path, Handler handler) {
        server.createContext(path, exchange -> {
            int status;
            try {
                status = handler.handle();
            } catch (Exception failed) {
                status = 500;
            }
            answer(exchange, status, "status " + status + "\n");
        });
    }

    public static void main(String[] arguments) throws Exception {
        Service service = new Service(arguments);
        String listen = service.options.getOrDefault("listen", "127.0.0.1:8086");
        int colon = listen.lastIndexOf(':');
        InetSocketAddress address = new InetSocketAddress(listen.substring(0, colon), Integer.parseInt(listen.substring(colon + 1)));
        HttpServer server = HttpServer.create(address, 1024);
        AtomicInteger number = new AtomicInteger();
        ThreadPoolExecutor container = new ThreadPoolExecutor(service.number("container", 200), service.number("container", 200), 60, TimeUnit.SECONDS,
            new java.util.concurrent.LinkedBlockingQueue<>(), task -> new Thread(task, "http-" + address.getPort() + "-exec-" + number.incrementAndGet()));
        server.setExecutor(container);
        route(server, "/pool", service::pool);
        route(server, "/semaphore", service::semaphore);
        route(server, "/fanout", service::fanout);
        route(server, "/format", service::format);
        server.createContext("/ready", exchange -> answer(exchange, 200, "ready\n"));
        server.createContext("/metrics", exchange -> {
            exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4");
            answer(exchange, 200, service.metrics());
        });
        server.start();
        System.err.println("service listens on http://" + listen);
    }
}
