package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/internal/buckets"
	"github.com/loadline-dev/loadline/pool"
)

// The figures of Hystrix's own stream servlet.
const (
	streamInterval = 500 * time.Millisecond // hystrix.stream.dashboard.intervalInMilliseconds
	maxStreams     = 5                      // hystrix.config.stream.maxConcurrentConnections
	rollingWindow  = 10 * time.Second       // metrics.rollingStats.timeInMilliseconds
)

// HystrixStream is the handler of /hystrix.stream, in the form that the Hystrix Dashboard and Turbine read: one event per command and pool
// each 500 ms (delay=MS in the query for another interval from 100 ms), a ping where there is nothing to tell, and 503 for the sixth
// connection. Rolling figures cover the last 10 s of observation: they are taken while at least one stream is open and begin
// with the first event. It ends with the client, or when the server's Shutdown begins, which so need not wait for it.
func (r *Registry) HystrixStream() http.Handler {
	s := &streamer{r: r, leaving: map[*http.Server]chan struct{}{}}
	return http.HandlerFunc(s.stream)
}

// streamer knows which of its servers are shutting down.
type streamer struct {
	r       *Registry
	mu      sync.Mutex                     // guards leaving
	leaving map[*http.Server]chan struct{} // closed when the server's Shutdown begins
}

// end is closed when the server of a request shuts down; nil, which never is, without one that says so.
func (s *streamer) end(q *http.Request) <-chan struct{} {
	server, ok := q.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	end, known := s.leaving[server]
	if !known {
		end = make(chan struct{})
		s.leaving[server] = end
		server.RegisterOnShutdown(sync.OnceFunc(func() { close(end) }))
	}
	return end
}

func (s *streamer) stream(w http.ResponseWriter, q *http.Request) {
	r := s.r
	interval, err := streamDelay(q.URL.Query().Get("delay"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !r.openStream() {
		http.Error(w, fmt.Sprintf("more than %d streams", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer r.closeStream()
	w.Header().Set("Content-Type", "text/event-stream;charset=UTF-8")
	w.Header().Set("Cache-Control", "no-cache, no-store, max-age=0, must-revalidate")
	w.Header().Set("Pragma", "no-cache")
	control := http.NewResponseController(w)
	if err := control.Flush(); errors.Is(err, http.ErrNotSupported) {
		http.Error(w, "streaming is not possible on this connection", http.StatusInternalServerError)
		return
	}
	r.streamTo(q.Context(), s.end(q), w, control, interval)
}

func streamDelay(text string) (time.Duration, error) {
	if text == "" {
		return streamInterval, nil
	}
	d, err := time.ParseDuration(text + "ms")
	if err != nil || d < 100*time.Millisecond || d > time.Minute {
		return 0, fmt.Errorf("delay=%q: 100 to 60000 milliseconds are allowed", text)
	}
	return d, nil
}

func (r *Registry) streamTo(ctx context.Context, end <-chan struct{}, w http.ResponseWriter, control *http.ResponseController, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		text := "ping: \n\n"
		if events := r.events(); len(events) > 0 {
			text = ""
			for _, e := range events {
				text += "data: " + string(e) + "\n\n"
			}
		}
		if _, err := w.Write([]byte(text)); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-ticker.C:
		}
	}
}

func (r *Registry) openStream() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.streams >= maxStreams {
		return false
	}
	r.streams++
	return true
}

func (r *Registry) closeStream() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams--
}

// events is one event per command and per pool, as JSON.
func (r *Registry) events() [][]byte {
	s := r.Snapshot()
	r.rolling.add(s)
	var out [][]byte
	add := func(e any) {
		if text, err := json.Marshal(e); err == nil {
			out = append(out, text)
		}
	}
	for _, c := range s.Commands {
		e := commandEvent(s.At, c, r.rolling.commandBefore(c.Name))
		e["rollingMaxConcurrentExecutionCount"] = max(c.Active+c.Zombies, r.rolling.mostActive(c.Name))
		add(e)
	}
	for _, p := range s.Pools {
		add(poolEvent(s.At, p, r.rolling.poolBefore(p.Name)))
	}
	return out
}

// rolling keeps snapshots of the last window, at most one a second, so that counters since the beginning become counts of a window.
type rolling struct {
	mu   sync.Mutex // guards kept
	kept []sample
}

type sample struct {
	at       time.Time
	commands map[string]command.Snapshot
	pools    map[string]pool.Snapshot
}

func newRolling() *rolling { return &rolling{} }

func (o *rolling) add(s Snapshot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.kept); n > 0 && s.At.Sub(o.kept[n-1].at) > rollingWindow {
		o.kept = nil // Nobody looked for a while: what is kept is no part of this window.
	}
	if n := len(o.kept); n == 0 || s.At.Sub(o.kept[n-1].at) >= time.Second {
		k := sample{at: s.At, commands: map[string]command.Snapshot{}, pools: map[string]pool.Snapshot{}}
		for _, c := range s.Commands {
			k.commands[c.Name] = c.Snapshot
		}
		for _, p := range s.Pools {
			k.pools[p.Name] = p
		}
		o.kept = append(o.kept, k)
	}
	for len(o.kept) > 1 && s.At.Sub(o.kept[0].at) > rollingWindow {
		o.kept = o.kept[1:]
	}
}

func (o *rolling) commandBefore(name string) command.Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.kept) == 0 {
		return command.Snapshot{}
	}
	return o.kept[0].commands[name]
}

// mostActive is the most calls that a kept snapshot saw under way.
func (o *rolling) mostActive(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	most := 0
	for _, k := range o.kept {
		most = max(most, k.commands[name].Active+k.commands[name].Zombies)
	}
	return most
}

func (o *rolling) poolBefore(name string) pool.Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.kept) == 0 {
		return pool.Snapshot{}
	}
	return o.kept[0].pools[name]
}

func outcomeName(i int) string { return command.Outcome(i).String() }

// latency is the quantiles of a distribution in whole milliseconds, by the dashboard's names.
func latency(h buckets.Snapshot) (mean int64, quantiles map[string]int64) {
	if d, ok := h.Mean(); ok {
		mean = d.Milliseconds()
	}
	quantiles = map[string]int64{}
	for name, q := range map[string]float64{"0": 0, "25": 0.25, "50": 0.5, "75": 0.75, "90": 0.9, "95": 0.95, "99": 0.99, "99.5": 0.995, "100": 1} {
		d, _ := h.Quantile(q)
		quantiles[name] = d.Milliseconds()
	}
	return mean, quantiles
}

// merged leaves its parts as they are: a copy of a distribution shares its cells, and these are kept for the next event.
func merged(parts ...buckets.Snapshot) buckets.Snapshot {
	var out buckets.Snapshot
	for _, p := range parts {
		out.Merge(p)
	}
	return out
}

// commandEvent has every key that the dashboard needs: it leaves a circuit out silently where one is missing.
func commandEvent(now time.Time, c CommandSnapshot, before command.Snapshot) map[string]any {
	count := func(e command.Event) uint64 { return c.Events[e] - min(before.Events[e], c.Events[e]) }
	execution, earlier := merged(c.Execution, c.Unsuccessful), merged(before.Execution, before.Unsuccessful)
	window := c.Breaker.Window
	percent := uint64(0)
	if window.Calls > 0 {
		percent = 100 * window.Failures / window.Calls
	}
	meanExecute, execute := latency(execution.Since(earlier))
	meanTotal, total := latency(c.Total.Since(before.Total))
	e := map[string]any{"type": "HystrixCommand", "name": c.Name, "group": c.Group, "currentTime": now.UnixMilli(),
		"isCircuitBreakerOpen": c.Breaker.State != breaker.Closed, "errorPercentage": percent, "errorCount": window.Failures, "requestCount": window.Calls,
		"rollingCountBadRequests": count(command.EventBadRequest), "rollingCountCollapsedRequests": 0, "rollingCountEmit": 0,
		"rollingCountExceptionsThrown": count(command.EventExceptionThrown), "rollingCountFailure": count(command.EventFailure),
		"rollingCountFallbackEmit": 0, "rollingCountFallbackFailure": count(command.EventFallbackFailure),
		"rollingCountFallbackMissing": count(command.EventFallbackMissing), "rollingCountFallbackRejection": count(command.EventFallbackRejection),
		"rollingCountFallbackSuccess": count(command.EventFallbackSuccess), "rollingCountResponsesFromCache": 0,
		"rollingCountSemaphoreRejected": count(command.EventSemaphoreRejected), "rollingCountShortCircuited": count(command.EventShortCircuited),
		"rollingCountSuccess": count(command.EventSuccess), "rollingCountThreadPoolRejected": count(command.EventThreadPoolRejected),
		"rollingCountTimeout": count(command.EventTimeout), "currentConcurrentExecutionCount": c.Active + c.Zombies,
		"latencyExecute_mean": meanExecute, "latencyExecute": execute,
		"latencyTotal_mean": meanTotal, "latencyTotal": total, "reportingHosts": 1, "threadPool": c.Group}
	if p := c.PoolName; p != "" {
		e["threadPool"] = p
	}
	commandProperties(e, c)
	return e
}

func commandProperties(e map[string]any, c CommandSnapshot) {
	strategy := "SEMAPHORE"
	if c.Settings.Isolation == command.Pool {
		strategy = "THREAD"
	}
	fallback := c.Settings.FallbackMax
	if fallback == 0 {
		fallback = 1<<31 - 1 // Java's way to say without bound.
	}
	b := c.Breaker.Settings
	for key, value := range map[string]any{
		"circuitBreakerRequestVolumeThreshold": b.MinVolume, "circuitBreakerSleepWindowInMilliseconds": b.SleepWindow.Milliseconds(),
		"circuitBreakerErrorThresholdPercentage": int(100*b.FailureRatio + 0.5), "circuitBreakerForceOpen": b.Force == breaker.ForcedOpen,
		"circuitBreakerForceClosed": b.Force == breaker.ForcedClosed, "circuitBreakerEnabled": b.Force != breaker.Disabled,
		"executionIsolationStrategy": strategy, "executionIsolationThreadTimeoutInMilliseconds": c.Settings.Timeout.Milliseconds(),
		"executionTimeoutInMilliseconds": c.Settings.Timeout.Milliseconds(), "executionIsolationThreadInterruptOnTimeout": true,
		"executionIsolationThreadPoolKeyOverride": nil, "executionIsolationSemaphoreMaxConcurrentRequests": c.Settings.MaxConcurrent,
		"fallbackIsolationSemaphoreMaxConcurrentRequests": fallback, "metricsRollingStatisticalWindowInMilliseconds": rollingWindow.Milliseconds(),
		"requestCacheEnabled": false, "requestLogEnabled": false,
	} {
		e["propertyValue_"+key] = value
	}
}

func poolEvent(now time.Time, p pool.Snapshot, before pool.Snapshot) map[string]any {
	executed := p.Completed + p.Failed
	// The dashboard calls «Queue Size» what is the depth from which tasks are refused.
	threshold := p.Settings.EffectiveQueue()
	if threshold < 0 {
		threshold = 1<<31 - 1
	}
	return map[string]any{"type": "HystrixThreadPool", "name": p.Name, "currentTime": now.UnixMilli(), "currentActiveCount": p.Active,
		"currentCompletedTaskCount": executed, "currentCorePoolSize": p.Settings.Core, "currentLargestPoolSize": p.LargestWorkers,
		"currentMaximumPoolSize": p.Settings.Max, "currentPoolSize": p.Workers, "currentQueueSize": p.Waiting, "currentTaskCount": p.Submitted,
		"rollingCountThreadsExecuted": executed - min(before.Completed+before.Failed, executed), "rollingMaxActiveThreads": p.RecentActive,
		"rollingCountCommandRejections":                               p.Rejected.Sum() - min(before.Rejected.Sum(), p.Rejected.Sum()),
		"propertyValue_queueSizeRejectionThreshold":                   threshold,
		"propertyValue_metricsRollingStatisticalWindowInMilliseconds": rollingWindow.Milliseconds(), "reportingHosts": 1}
}
