package hystrix

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// kind is the form of a property's value.
type kind int

const (
	whole  kind = iota // an integer within [low, high]
	toggle             // a boolean
	choice             // one of some words
	text
)

// spec is one property: its name after the key, the form of its value, Hystrix 1.5's built-in default.
type spec struct {
	name    string
	kind    kind
	builtIn string
	low     int
	choices []string
}

// commandSpecs is the table of HystrixCommandProperties.
var commandSpecs = []spec{
	{name: "execution.isolation.strategy", kind: choice, builtIn: "THREAD", choices: []string{"THREAD", "SEMAPHORE"}},
	{name: "execution.isolation.thread.timeoutInMilliseconds", builtIn: "1000", low: 0},
	{name: "execution.timeout.enabled", kind: toggle, builtIn: "true"},
	{name: "execution.isolation.thread.interruptOnTimeout", kind: toggle, builtIn: "true"},
	{name: "execution.isolation.thread.interruptOnFutureCancel", kind: toggle, builtIn: "false"},
	{name: "execution.isolation.semaphore.maxConcurrentRequests", builtIn: "10", low: 0},
	{name: "fallback.isolation.semaphore.maxConcurrentRequests", builtIn: "10", low: 0},
	{name: "fallback.enabled", kind: toggle, builtIn: "true"},
	{name: "circuitBreaker.enabled", kind: toggle, builtIn: "true"},
	{name: "circuitBreaker.requestVolumeThreshold", builtIn: "20", low: 0},
	{name: "circuitBreaker.sleepWindowInMilliseconds", builtIn: "5000", low: 0},
	{name: "circuitBreaker.errorThresholdPercentage", builtIn: "50", low: 0},
	{name: "circuitBreaker.forceOpen", kind: toggle, builtIn: "false"},
	{name: "circuitBreaker.forceClosed", kind: toggle, builtIn: "false"},
	{name: "metrics.rollingStats.timeInMilliseconds", builtIn: "10000", low: 1},
	{name: "metrics.rollingStats.numBuckets", builtIn: "10", low: 1},
	{name: "metrics.rollingPercentile.enabled", kind: toggle, builtIn: "true"},
	{name: "metrics.rollingPercentile.timeInMilliseconds", builtIn: "60000", low: 1},
	{name: "metrics.rollingPercentile.numBuckets", builtIn: "6", low: 1},
	{name: "metrics.rollingPercentile.bucketSize", builtIn: "100", low: 1},
	{name: "metrics.healthSnapshot.intervalInMilliseconds", builtIn: "500", low: 1},
	{name: "requestCache.enabled", kind: toggle, builtIn: "true"},
	{name: "requestLog.enabled", kind: toggle, builtIn: "true"},
	{name: "threadPoolKeyOverride", kind: text},
}

// poolSpecs is the table of HystrixThreadPoolProperties.
var poolSpecs = []spec{
	{name: "coreSize", builtIn: "10", low: 1},
	{name: "maximumSize", builtIn: "10", low: 1},
	{name: "allowMaximumSizeToDivergeFromCoreSize", kind: toggle, builtIn: "false"},
	{name: "maxQueueSize", builtIn: "-1", low: -1},
	{name: "queueSizeRejectionThreshold", builtIn: "5", low: 0},
	{name: "keepAliveTimeMinutes", builtIn: "1", low: 0},
	{name: "metrics.rollingStats.timeInMilliseconds", builtIn: "10000", low: 1},
	{name: "metrics.rollingStats.numBuckets", builtIn: "10", low: 1},
}

// collapserSpecs is the table of HystrixCollapserProperties; known so that their keys are not called unknown.
var collapserSpecs = []spec{
	{name: "maxRequestsInBatch", builtIn: "2147483647", low: 1},
	{name: "timerDelayInMilliseconds", builtIn: "10", low: 1},
	{name: "requestCache.enabled", kind: toggle, builtIn: "true"},
	{name: "metrics.rollingStats.timeInMilliseconds", builtIn: "10000", low: 1},
	{name: "metrics.rollingStats.numBuckets", builtIn: "10", low: 1},
	{name: "metrics.rollingPercentile.enabled", kind: toggle, builtIn: "true"},
	{name: "metrics.rollingPercentile.timeInMilliseconds", builtIn: "60000", low: 1},
	{name: "metrics.rollingPercentile.numBuckets", builtIn: "6", low: 1},
	{name: "metrics.rollingPercentile.bucketSize", builtIn: "100", low: 1},
}

// maxInt is Java's Integer.MAX_VALUE.
const maxInt = 1<<31 - 1

// fault says what is wrong with a value, if anything.
func (sp spec) fault(p limits.Property) (limits.Fault, bool) {
	value := strings.TrimSpace(p.Value)
	f := limits.Fault{Kind: limits.Invalid, At: p.At, Text: fmt.Sprintf("found %q", p.Value)}
	switch sp.kind {
	case whole:
		n, err := strconv.Atoi(value)
		if err == nil && n >= sp.low && n <= maxInt {
			return f, false
		}
		f.Next = fmt.Sprintf("a whole number from %d to %d is allowed; Hystrix falls back to the next value in its precedence", sp.low, maxInt)
	case toggle:
		if _, err := parseBool(value); err == nil {
			return f, false
		}
		f.Next = "true or false is allowed"
	case choice:
		for _, c := range sp.choices {
			if strings.EqualFold(c, value) {
				return f, false
			}
		}
		f.Next = "one of " + strings.Join(sp.choices, ", ") + " is allowed"
	case text:
		return f, false
	}
	return f, true
}
