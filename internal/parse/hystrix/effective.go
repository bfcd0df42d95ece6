package hystrix

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// Command is the settings in force for one command key. Every value is known.
type Command struct {
	Key                       string
	Strategy                  limits.Of[string] // THREAD or SEMAPHORE
	Timeout                   limits.Of[time.Duration]
	TimeoutEnabled            limits.Of[bool]
	InterruptOnTimeout        limits.Of[bool]
	SemaphorePermits          limits.Of[int]
	FallbackPermits           limits.Of[int]
	FallbackEnabled           limits.Of[bool]
	BreakerEnabled            limits.Of[bool]
	RequestVolumeThreshold    limits.Of[int]
	SleepWindow               limits.Of[time.Duration]
	ErrorThresholdPercentage  limits.Of[int]
	ForceOpen, ForceClosed    limits.Of[bool]
	RollingWindow             limits.Of[time.Duration]
	RollingBuckets            limits.Of[int]
	PercentileWindow          limits.Of[time.Duration]
	PercentileBuckets         limits.Of[int]
	HealthSnapshot            limits.Of[time.Duration]
	RequestCache, RequestLog  limits.Of[bool]
	ThreadPoolKeyOverride     limits.Of[string]
	InterruptOnFutureCancel   limits.Of[bool]
	RollingPercentileEnabled  limits.Of[bool]
	RollingPercentileCapacity limits.Of[int] // samples kept in a bucket
}

// Pool is the settings in force for one thread pool key, as they are written: see Limits for what follows from them.
type Pool struct {
	Key                         string
	CoreSize, MaximumSize       limits.Of[int]
	AllowDiverge                limits.Of[bool]
	MaxQueueSize                limits.Of[int]
	QueueSizeRejectionThreshold limits.Of[int]
	KeepAlive                   limits.Of[time.Duration]
	RollingWindow               limits.Of[time.Duration]
	RollingBuckets              limits.Of[int]
}

// Command is the settings in force for a command key, whether or not a property names it.
func (s *Settings) Command(key string) Command {
	c := s.command(key)
	return Command{
		Key: key, Strategy: c.text("execution.isolation.strategy"),
		Timeout:                   c.millis("execution.isolation.thread.timeoutInMilliseconds"),
		TimeoutEnabled:            c.bool("execution.timeout.enabled"),
		InterruptOnTimeout:        c.bool("execution.isolation.thread.interruptOnTimeout"),
		InterruptOnFutureCancel:   c.bool("execution.isolation.thread.interruptOnFutureCancel"),
		SemaphorePermits:          c.int("execution.isolation.semaphore.maxConcurrentRequests"),
		FallbackPermits:           c.int("fallback.isolation.semaphore.maxConcurrentRequests"),
		FallbackEnabled:           c.bool("fallback.enabled"),
		BreakerEnabled:            c.bool("circuitBreaker.enabled"),
		RequestVolumeThreshold:    c.int("circuitBreaker.requestVolumeThreshold"),
		SleepWindow:               c.millis("circuitBreaker.sleepWindowInMilliseconds"),
		ErrorThresholdPercentage:  c.int("circuitBreaker.errorThresholdPercentage"),
		ForceOpen:                 c.bool("circuitBreaker.forceOpen"),
		ForceClosed:               c.bool("circuitBreaker.forceClosed"),
		RollingWindow:             c.millis("metrics.rollingStats.timeInMilliseconds"),
		RollingBuckets:            c.int("metrics.rollingStats.numBuckets"),
		RollingPercentileEnabled:  c.bool("metrics.rollingPercentile.enabled"),
		PercentileWindow:          c.millis("metrics.rollingPercentile.timeInMilliseconds"),
		PercentileBuckets:         c.int("metrics.rollingPercentile.numBuckets"),
		RollingPercentileCapacity: c.int("metrics.rollingPercentile.bucketSize"),
		HealthSnapshot:            c.millis("metrics.healthSnapshot.intervalInMilliseconds"),
		RequestCache:              c.bool("requestCache.enabled"), RequestLog: c.bool("requestLog.enabled"),
		ThreadPoolKeyOverride: c.text("threadPoolKeyOverride"),
	}
}

// Pool is the settings in force for a thread pool key, whether or not a property names it.
func (s *Settings) Pool(key string) Pool {
	p := s.pool(key)
	return Pool{Key: key, CoreSize: p.int("coreSize"), MaximumSize: p.int("maximumSize"),
		AllowDiverge: p.bool("allowMaximumSizeToDivergeFromCoreSize"), MaxQueueSize: p.int("maxQueueSize"),
		QueueSizeRejectionThreshold: p.int("queueSizeRejectionThreshold"), KeepAlive: p.minutes("keepAliveTimeMinutes"),
		RollingWindow: p.millis("metrics.rollingStats.timeInMilliseconds"), RollingBuckets: p.int("metrics.rollingStats.numBuckets")}
}

// Threaded is true where the command's work moves to a pool.
func (c Command) Threaded() bool { return !strings.EqualFold(c.Strategy.Value, "SEMAPHORE") }

// PoolKey is the pool that a command uses: the override, or the pool called like the command where properties name one, or «default».
// Hystrix takes the command's group otherwise, which stands in code and is not known here.
func (s *Settings) PoolKey(command string) string {
	if o := s.Command(command).ThreadPoolKeyOverride; o.Given && o.Value != "" {
		return o.Value
	}
	if _, ok := s.pools[command]; ok {
		return command
	}
	return DefaultKey
}

// Limits gives the settings in the common model: every command and pool that a property names, and «default» where nothing else is
// named or where a command falls back to it.
func (s *Settings) Limits() limits.System {
	commands := s.CommandKeys()
	if len(commands) == 0 && len(s.pools) > 0 {
		commands = []string{DefaultKey}
	}
	if len(commands) == 0 {
		return limits.System{Faults: s.Faults()}
	}
	return s.LimitsOf(commands)
}

// LimitsOf is Limits for the commands given.
func (s *Settings) LimitsOf(commands []string) limits.System {
	sys := limits.System{Faults: s.Faults()}
	pools := s.PoolKeys()
	for _, key := range commands {
		c := s.Command(key)
		sys.Commands = append(sys.Commands, s.common(c))
		sys.Faults = append(sys.Faults, uneven(c.RollingWindow, c.RollingBuckets)...)
		sys.Faults = append(sys.Faults, uneven(c.PercentileWindow, c.PercentileBuckets)...)
		if pool := s.PoolKey(key); c.Threaded() && !slices.Contains(pools, pool) {
			pools = append(pools, pool)
		}
	}
	slices.Sort(pools)
	for _, key := range slices.Compact(pools) {
		p := s.Pool(key).Common()
		p.Timeout = shortest(sys.Commands, key)
		sys.Pools = append(sys.Pools, p)
	}
	return sys
}

// uneven finds a window that its buckets do not divide: Hystrix then throws when the command is made.
func uneven(window limits.Of[time.Duration], buckets limits.Of[int]) []limits.Fault {
	if buckets.Value > 0 && window.Value.Milliseconds()%int64(buckets.Value) == 0 {
		return nil
	}
	first, second := window.At, buckets.At
	if !window.Given {
		first, second = second, first
	}
	return []limits.Fault{{Kind: limits.Invalid, At: first, Also: []limits.At{second},
		Text: fmt.Sprintf("%d ms in %d buckets leaves a remainder, and Hystrix refuses to make the command", window.Value.Milliseconds(), buckets.Value),
		Next: "a window that is a multiple of its buckets, such as 10000 and 10"}}
}

// shortest is the timeout of the least patient command on a pool.
func shortest(commands []limits.Command, pool string) limits.Of[time.Duration] {
	var out limits.Of[time.Duration]
	for _, c := range commands {
		if c.Isolation.Value != limits.ByPool || c.Pool != pool || c.Timeout.Value <= 0 {
			continue
		}
		if !out.Known || c.Timeout.Value < out.Value {
			out = c.Timeout
		}
	}
	return out
}

func (s *Settings) common(c Command) limits.Command {
	out := limits.Command{Name: c.Key, At: limits.At{Key: "hystrix.command." + c.Key}, Permits: c.SemaphorePermits,
		FallbackPermits: c.FallbackPermits, Timeout: c.Timeout, Breaker: c.Breaker()}
	out.Isolation = limits.Of[limits.Isolation]{Value: limits.Permits, Known: true, Given: c.Strategy.Given, At: c.Strategy.At}
	if c.Threaded() {
		out.Isolation.Value, out.Pool = limits.ByPool, s.PoolKey(c.Key)
	}
	if !c.TimeoutEnabled.Value {
		out.Timeout = limits.Of[time.Duration]{Known: true, Given: c.TimeoutEnabled.Given, At: c.TimeoutEnabled.At}
	}
	if !c.FallbackEnabled.Value {
		out.FallbackPermits = limits.Of[int]{}
	}
	return out
}

// Breaker is the command's breaker in the common model.
func (c Command) Breaker() *limits.Breaker {
	b := &limits.Breaker{Name: c.Key, At: limits.At{Key: "hystrix.command." + c.Key + ".circuitBreaker"}, Enabled: c.BreakerEnabled,
		ForceOpen: c.ForceOpen, ForceClosed: c.ForceClosed, Volume: c.RequestVolumeThreshold, Window: c.RollingWindow,
		Buckets: c.RollingBuckets, Sleep: c.SleepWindow, Probes: limits.Default(1, "one probe"), RefusalsFail: true}
	percent := c.ErrorThresholdPercentage
	b.FailurePercent = limits.Of[float64]{Value: float64(percent.Value), Known: true, Given: percent.Given, At: percent.At}
	return b
}

// Common is the pool in the common model: max is core unless it may diverge (and then at least core), a maxQueueSize of 0 or less hands
// off, and the threshold holds only where there is a queue.
func (p Pool) Common() limits.Pool {
	out := limits.Pool{Name: p.Key, At: limits.At{Key: "hystrix.threadpool." + p.Key}, Core: p.CoreSize, Max: p.CoreSize,
		Queue: p.MaxQueueSize, KeepAlive: p.KeepAlive, Refuses: true}
	if p.AllowDiverge.Value {
		out.Max = p.MaximumSize
		out.Max.Value = max(p.MaximumSize.Value, p.CoreSize.Value)
	}
	if p.MaxQueueSize.Value > 0 {
		out.Threshold = p.QueueSizeRejectionThreshold
	} else {
		out.Queue.Value = 0
	}
	if p.MaxQueueSize.Given {
		out.Fixed = []limits.Of[int]{p.MaxQueueSize}
	}
	out.Hystrix = &limits.HystrixPool{CoreSize: p.CoreSize, MaximumSize: p.MaximumSize, AllowDiverge: p.AllowDiverge,
		MaxQueueSize: p.MaxQueueSize, Threshold: p.QueueSizeRejectionThreshold}
	return out
}
