package settings

import (
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// module is one family of resilience4j settings: instances, which may build on a named configuration, which builds on «default».
type module struct {
	s      *source
	prefix string // such as resilience4j.bulkhead.
	fields []string
}

func (m module) instances() []string {
	out := m.s.names(m.prefix + "instances.")
	for _, old := range m.s.names(m.prefix + "backends.") {
		if !slices.Contains(out, old) {
			out = append(out, old)
		}
	}
	return out
}

// keys are where a setting of an instance may stand, the strongest first.
func (m module) keys(instance, field string) []string {
	base := m.s.text(m.prefix+"instances."+instance+".base-config", m.prefix+"backends."+instance+".base-config").Or(limits.Default("default", ""))
	return []string{m.prefix + "instances." + instance + "." + field, m.prefix + "backends." + instance + "." + field,
		m.prefix + "configs." + base.Value + "." + field, m.prefix + "configs.default." + field}
}

// check reports fields that resilience4j does not have.
func (m module) check() {
	for _, p := range m.s.all {
		rest, ok := strings.CutPrefix(canonical(p.At.Key), canonical(m.prefix))
		parts := strings.Split(rest, ".")
		if !ok || len(parts) < 3 || !slices.Contains([]string{"instances", "backends", "configs"}, parts[0]) {
			continue
		}
		field, _, _ := strings.Cut(parts[2], "[")
		if len(parts) > 3 || slices.ContainsFunc(m.fields, func(f string) bool { return canonical(f) == field }) {
			continue
		}
		f := limits.Fault{Kind: limits.Unknown, At: p.At, Text: "resilience4j reads no such setting", Next: "known are " + strings.Join(m.fields, ", ")}
		if near, ok := limits.Nearest(p.At.Key[strings.LastIndexByte(p.At.Key, '.')+1:], m.fields); ok {
			f.Next = "did you mean " + near + "?"
		}
		m.s.fault(f)
	}
}

func readResilience(s *source) limits.System {
	var sys limits.System
	if !s.has("resilience4j.") {
		return sys
	}
	limiter := module{s, "resilience4j.timelimiter.", []string{"timeout-duration", "cancel-running-future", "base-config", "event-consumer-buffer-size"}}
	limiter.check()
	sys.Bulkheads = r4jBulkheads(s, limiter)
	sys.Pools = r4jPools(s)
	sys.Breakers = r4jBreakers(s, limiter)
	sys.Commands = r4jRetries(s, limiter)
	return sys
}

// timeout is the time limiter of the same name: Spring nests it outside the bulkhead, so the wait for a permit counts.
func (m module) timeout(instance string) limits.Of[time.Duration] {
	if !slices.Contains(m.instances(), instance) {
		return limits.Of[time.Duration]{}
	}
	return m.s.duration(time.Millisecond, m.keys(instance, "timeout-duration")...).
		Or(limits.Default(time.Second, m.prefix+"instances."+instance+".timeout-duration"))
}

func r4jBulkheads(s *source, limiter module) []limits.Bulkhead {
	m := module{s, "resilience4j.bulkhead.", []string{"max-concurrent-calls", "max-wait-duration", "fair-call-handling-enabled",
		"writable-stack-trace-enabled", "base-config", "event-consumer-buffer-size"}}
	m.check()
	var out []limits.Bulkhead
	for _, name := range m.instances() {
		at := m.prefix + "instances." + name
		out = append(out, limits.Bulkhead{Name: name, At: limits.At{Key: at},
			Permits: s.int(m.keys(name, "max-concurrent-calls")...).Or(limits.Default(25, at+".max-concurrent-calls")),
			Wait:    s.duration(time.Millisecond, m.keys(name, "max-wait-duration")...).Or(limits.Default(time.Duration(0), at+".max-wait-duration")),
			Timeout: limiter.timeout(name)})
	}
	return out
}

func r4jPools(s *source) []limits.Pool {
	m := module{s, "resilience4j.thread-pool-bulkhead.", []string{"max-thread-pool-size", "core-thread-pool-size", "queue-capacity", "keep-alive-duration",
		"writable-stack-trace-enabled", "context-propagators", "base-config", "event-consumer-buffer-size"}}
	m.check()
	var out []limits.Pool
	for _, name := range m.instances() {
		at := m.prefix + "instances." + name
		p := limits.Pool{Name: name, At: limits.At{Key: at}, Refuses: true,
			Core:      s.int(m.keys(name, "core-thread-pool-size")...),
			Max:       s.int(m.keys(name, "max-thread-pool-size")...),
			Queue:     s.int(m.keys(name, "queue-capacity")...).Or(limits.Default(100, at+".queue-capacity")),
			KeepAlive: s.duration(time.Millisecond, m.keys(name, "keep-alive-duration")...)}
		out = append(out, p)
	}
	return out
}

func r4jBreakers(s *source, limiter module) []limits.Breaker {
	m := module{s, "resilience4j.circuitbreaker.", []string{"failure-rate-threshold", "slow-call-rate-threshold", "slow-call-duration-threshold",
		"permitted-number-of-calls-in-half-open-state", "max-wait-duration-in-half-open-state", "transition-to-state-after-wait-duration", "sliding-window-type",
		"sliding-window-size", "minimum-number-of-calls", "wait-duration-in-open-state", "automatic-transition-from-open-to-half-open-enabled",
		"record-exceptions", "ignore-exceptions", "record-failure-predicate", "ignore-exception-predicate", "register-health-indicator",
		"allow-health-indicator-to-fail", "base-config", "event-consumer-buffer-size", "writable-stack-trace-enabled", "ignore-class-binding-exceptions",
		"enable-exponential-backoff", "exponential-backoff-multiplier", "exponential-max-wait-duration-in-open-state", "enable-randomized-wait",
		"randomized-wait-factor", "record-result-predicate", "initial-state", "ring-buffer-size-in-closed-state", "ring-buffer-size-in-half-open-state",
		"failure-rate-threshold-in-half-open-state"}}
	m.check()
	var out []limits.Breaker
	for _, name := range m.instances() {
		out = append(out, r4jBreaker(s, m, name, limiter.timeout(name)))
	}
	return out
}

func r4jBreaker(s *source, m module, name string, timeout limits.Of[time.Duration]) limits.Breaker {
	at := m.prefix + "instances." + name
	window := s.int(m.keys(name, "sliding-window-size")...).Or(limits.Default(100, at+".sliding-window-size"))
	b := limits.Breaker{Name: name, At: limits.At{Key: at}, Timeout: timeout,
		Volume:         s.int(m.keys(name, "minimum-number-of-calls")...).Or(limits.Default(100, at+".minimum-number-of-calls")),
		FailurePercent: s.float(m.keys(name, "failure-rate-threshold")...).Or(limits.Default(50.0, at+".failure-rate-threshold")),
		Sleep:          s.duration(time.Millisecond, m.keys(name, "wait-duration-in-open-state")...).Or(limits.Default(time.Minute, at+".wait-duration-in-open-state")),
		Probes: s.int(m.keys(name, "permitted-number-of-calls-in-half-open-state")...).
			Or(limits.Default(10, at+".permitted-number-of-calls-in-half-open-state")),
		HalfOpenMax: s.duration(time.Millisecond, m.keys(name, "max-wait-duration-in-half-open-state")...).
			Or(limits.Default(time.Duration(0), at+".max-wait-duration-in-half-open-state")),
		SlowCall: s.duration(time.Millisecond, m.keys(name, "slow-call-duration-threshold")...).Or(limits.Default(time.Minute, at+".slow-call-duration-threshold"))}
	if kind := s.text(m.keys(name, "sliding-window-type")...); strings.EqualFold(kind.Value, "TIME_BASED") {
		b.Window = limits.Of[time.Duration]{Value: time.Duration(window.Value) * time.Second, Known: true, Given: window.Given, At: window.At}
	} else {
		b.WindowCalls = window
	}
	return b
}

// r4jRetries are commands whose tries each have a time limit of their own: Spring nests Retry outermost, and nothing bounds the sum.
func r4jRetries(s *source, limiter module) []limits.Command {
	m := module{s, "resilience4j.retry.", []string{"max-attempts", "wait-duration", "retry-exceptions", "ignore-exceptions", "enable-exponential-backoff",
		"exponential-backoff-multiplier", "exponential-max-wait-duration", "enable-randomized-wait", "randomized-wait-factor", "base-config",
		"event-consumer-buffer-size", "fail-after-max-attempts", "retry-exception-predicate", "result-predicate", "interval-bi-function", "max-retry-attempts",
		"consume-result-before-retry-attempt", "ignore-class-binding-exceptions", "register-health-indicator"}}
	m.check()
	var out []limits.Command
	for _, name := range m.instances() {
		at := m.prefix + "instances." + name
		tries := s.int(m.keys(name, "max-attempts")...).Or(limits.Default(3, at+".max-attempts"))
		same := tries
		same.Value = max(tries.Value-1, 0)
		out = append(out, limits.Command{Name: name, At: limits.At{Key: at}, Attempt: limits.Attempt{Read: limiter.timeout(name), SameServer: same,
			Backoff: s.duration(time.Millisecond, m.keys(name, "wait-duration")...).Or(limits.Default(500*time.Millisecond, at+".wait-duration")), Possible: true}})
	}
	return out
}
