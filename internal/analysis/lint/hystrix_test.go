package lint_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/lint"
	"github.com/loadline-dev/loadline/internal/parse/hystrix"
	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/internal/parse/properties"
)

// only is the one finding with a code, or a failed test.
func only(t *testing.T, sys limits.System, code finding.Code) lint.Finding {
	t.Helper()
	var found []lint.Finding
	for _, f := range lint.Check(sys).Findings {
		if f.Code == code {
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s: got %d findings, want one, in %v", code, len(found), codes(sys))
	}
	return found[0]
}

func codes(sys limits.System) []finding.Code {
	var out []finding.Code
	for _, f := range lint.Check(sys).Findings {
		out = append(out, f.Code)
	}
	return out
}

func pool(lines ...string) limits.System {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString("hystrix.threadpool.default." + l + "\n")
	}
	return properly(text.String())
}

func properly(text string) limits.System {
	props, _ := properties.Parse(text, "app.properties")
	s := hystrix.Read(props)
	return s.Limits()
}

// Each row is behaviour measured on Hystrix 1.5.18, or read in its source where the fact says so.
func TestHystrixPoolTrapsAreNamedWithTheirArithmetic(t *testing.T) {
	for _, c := range []struct {
		what     string
		lines    []string
		code     finding.Code
		severity finding.Severity
		text     string // part of the finding
		line     int
	}{
		{"a hand-off ignores the threshold", []string{"coreSize=10", "queueSizeRejectionThreshold=6"}, lint.HandoffIgnoresThreshold, finding.Warning, "queueSizeRejectionThreshold 6 is ignored", 2},
		{"threshold 0 with a queue refuses everything", []string{"maxQueueSize=100", "queueSizeRejectionThreshold=0"}, lint.ThresholdRefusesAll, finding.Critical, "queue of 100", 2},
		{"maximumSize is ignored without the diverge flag", []string{"coreSize=10", "maximumSize=30"}, lint.MaximumIgnored, finding.Warning, "maximumSize 30 has no effect, the pool has coreSize = 10", 2},
		{"with the flag and a threshold within the queue it never grows", []string{"maximumSize=30", "allowMaximumSizeToDivergeFromCoreSize=true", "maxQueueSize=100", "queueSizeRejectionThreshold=50"},
			finding.MaxUnreachable, finding.Warning, "queue depth of 50, before the queue of 100 is full", 4},
		{"a large queue is cut by the default threshold", []string{"maxQueueSize=1000"}, lint.QueueCutByThreshold, finding.Warning, "min(threshold 5 by default, capacity 1000) = 5", 1},
		{"a threshold above the capacity never acts", []string{"maxQueueSize=10", "queueSizeRejectionThreshold=50"}, lint.ThresholdAboveCapacity, finding.Warning, "min(50, 10) = 10", 2},
		{"a maximum below core is lifted", []string{"coreSize=40", "maximumSize=30", "allowMaximumSizeToDivergeFromCoreSize=true"}, lint.CoreAboveMax, finding.Warning, "lifts it to 40", 2},
		{"keep-alive ends nobody where max = core", []string{"keepAliveTimeMinutes=5"}, lint.KeepAliveWithoutEffect, finding.Info, "core = max = 10", 1},
	} {
		f := only(t, pool(c.lines...), c.code)
		if f.Severity != c.severity || !strings.Contains(f.Text, c.text) || f.Line != c.line || f.File != "app.properties" {
			t.Errorf("%s: got %s at %s:%d: %s", c.what, f.Severity, f.File, f.Line, f.Text)
		}
		if f.Next == "" || len(f.Keys) == 0 || f.Evidence == nil {
			t.Errorf("%s: a finding names keys, evidence and the mend: %+v", c.what, f)
		}
	}
}

func TestSettingsThatHoldRaiseNothing(t *testing.T) {
	for _, lines := range [][]string{
		{"coreSize=30"},
		{"coreSize=30", "maximumSize=30", "maxQueueSize=50", "queueSizeRejectionThreshold=50"},
		{"coreSize=10", "maximumSize=30", "allowMaximumSizeToDivergeFromCoreSize=true"},
		{"coreSize=10", "maximumSize=30", "allowMaximumSizeToDivergeFromCoreSize=true", "maxQueueSize=10", "queueSizeRejectionThreshold=11"},
	} {
		for _, f := range lint.Check(pool(lines...)).Findings {
			if f.Severity != finding.Info {
				t.Errorf("%v: got %s: %s", lines, f.Code, f.Text)
			}
		}
	}
}

// The settings of the order-detail study, THREAD 10 with a threshold of 6.
func TestTheOrderDetailSettingsShowThatTheirThresholdHadNoEffect(t *testing.T) {
	sys := properly(`hystrix.command.default.execution.isolation.strategy=THREAD
hystrix.command.default.execution.isolation.thread.timeoutInMilliseconds=800
hystrix.threadpool.default.coreSize=10
hystrix.threadpool.default.maximumSize=10
hystrix.threadpool.default.queueSizeRejectionThreshold=6
hystrix.threadpool.default.allowMaximumSizeToDivergeFromCoreSize=false
hystrix.command.default.execution.isolation.semaphore.maxConcurrentRequests=30`)
	if f := only(t, sys, lint.HandoffIgnoresThreshold); f.Line != 5 {
		t.Errorf("got line %d", f.Line)
	}
	if got := codes(sys); slices.Contains(got, lint.MaximumIgnored) {
		t.Errorf("maximumSize = coreSize is no trap: %v", got)
	}
}

func TestSemaphoreTimeoutsAndUnusedPermitsAreNamed(t *testing.T) {
	sys := properly("hystrix.command.a.execution.isolation.strategy=SEMAPHORE\nhystrix.command.a.execution.isolation.thread.timeoutInMilliseconds=800\n" +
		"hystrix.command.b.execution.isolation.semaphore.maxConcurrentRequests=50")
	if f := only(t, sys, lint.TimeoutKeepsCaller); f.Line != 2 {
		t.Errorf("got %+v", f)
	}
	if f := only(t, sys, lint.SettingWithoutEffect); f.Line != 3 {
		t.Errorf("got %+v", f)
	}
}

func TestABreakerThatCannotOpenOrCannotCloseIsNamed(t *testing.T) {
	const prefix = "hystrix.command.a.circuitBreaker."
	for text, want := range map[string]finding.Code{
		"forceClosed=true":             lint.BreakerNeverTrips,
		"errorThresholdPercentage=101": lint.BreakerNeverTrips,
		"errorThresholdPercentage=0":   lint.BreakerAlwaysOpen,
		"forceOpen=true":               lint.BreakerAlwaysOpen,
	} {
		only(t, properly(prefix+text), want)
	}
	// forceOpen wins over forceClosed.
	both := properly(prefix + "forceOpen=true\n" + prefix + "forceClosed=true")
	if got := codes(both); slices.Contains(got, lint.BreakerNeverTrips) {
		t.Errorf("forced open wins: got %v", got)
	}
}

func TestATimeoutOfACommandBoundsItsPoolsQueue(t *testing.T) {
	sys := properly("hystrix.command.p.execution.isolation.thread.timeoutInMilliseconds=300\nhystrix.threadpool.p.maxQueueSize=200\nhystrix.threadpool.p.queueSizeRejectionThreshold=200")
	sys.Pools[0].ServiceTime = limits.Written(20*time.Millisecond, limits.At{Key: "measured"})
	f := only(t, sys, finding.TimeoutBelowWait)
	// 200 × 20 ms ÷ 10 = 400 ms, + 20 = 420 > 300; a queue of (300 - 20) × 10 ÷ 20 = 140 fits.
	if !strings.Contains(f.Text, "400 ms of waiting, + 20 ms = 420 ms > timeout 300 ms") || !strings.Contains(f.Next, "= 140") {
		t.Errorf("got %s; next %s", f.Text, f.Next)
	}
}

// Measured: raising coreSize at run time above the old maximum fails every call on a modern JDK.
func TestLiveChangesThatHystrixMisappliesAreNamed(t *testing.T) {
	before := pool("coreSize=10")
	for _, c := range []struct {
		after limits.System
		code  finding.Code
		text  string
	}{
		{pool("coreSize=30"), lint.CoreRaisedAboveMax, "core goes from 10 to 30, above the maximum of 10 in force"},
		{pool("coreSize=10", "maxQueueSize=50", "queueSizeRejectionThreshold=50"), lint.ChangeWithoutEffect, "maxQueueSize goes from -1 to 50"},
		{pool("coreSize=10", "allowMaximumSizeToDivergeFromCoreSize=true"), lint.ChangeWithoutEffect, "false stays in force"},
	} {
		got := lint.Changes(before, c.after)
		if len(got) != 1 || got[0].Code != c.code || !strings.Contains(got[0].Text, c.text) || got[0].Next == "" {
			t.Errorf("%s: got %+v", c.text, got)
		}
	}
	if got := lint.Changes(pool("coreSize=10", "maximumSize=40", "allowMaximumSizeToDivergeFromCoreSize=true"),
		pool("coreSize=30", "maximumSize=40", "allowMaximumSizeToDivergeFromCoreSize=true")); len(got) != 0 {
		t.Errorf("within the maximum in force: got %+v", got)
	}
}

func TestAProbeThatFindsNoPermitIsAKnownTrapOfHystrix(t *testing.T) {
	sys := properly("hystrix.command.a.execution.isolation.strategy=SEMAPHORE")
	if f := only(t, sys, lint.HalfOpenWithoutExpiry); f.Severity != finding.Info || !strings.Contains(f.Text, "5000 ms") {
		t.Errorf("got %+v", f)
	}
	if got := codes(properly("hystrix.command.a.circuitBreaker.requestVolumeThreshold=20")); slices.Contains(got, lint.HalfOpenWithoutExpiry) {
		t.Errorf("a thread's probe ends by its timeout: got %v", got)
	}
}
