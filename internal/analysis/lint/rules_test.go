package lint_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/lint"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

const millisecond = time.Millisecond

func at(key string, line int) limits.At { return limits.At{Key: key, File: "f.yaml", Line: line} }

func count(n int, key string, line int) limits.Of[int] { return limits.Written(n, at(key, line)) }

func span(d time.Duration, key string) limits.Of[time.Duration] { return limits.Written(d, at(key, 9)) }

func jdkPool(core, most, queue int) limits.Pool {
	return limits.Pool{Name: "biz", Core: count(core, "core", 1), Max: count(most, "max", 2), Queue: count(queue, "queue", 3), Refuses: true}
}

func system(p limits.Pool) limits.System { return limits.System{Pools: []limits.Pool{p}} }

// The first row is the layered-tuning study's original setting, whose pool of 50 was never seen with more than 31 at work.
func TestWorkersBehindADeepQueueAreNamedMaxBehindQueueOrUnreachable(t *testing.T) {
	original := jdkPool(10, 50, 200)
	original.ServiceTime = span(18*millisecond, "service")
	if f := only(t, system(original), lint.MaxBehindQueue); !strings.Contains(f.Text, "200 × 18 ms ÷ 10 = 360 ms") {
		t.Errorf("got %s", f.Text)
	}
	original.Timeout = span(100*millisecond, "timeout")
	// A queue of (100 - 18) × 10 ÷ 18 = 45 still ends in time.
	if f := only(t, system(original), finding.MaxUnreachable); !strings.Contains(f.Text, "360 ms by then, above the timeout of 100 ms") || !strings.Contains(f.Next, "queue <= 45") {
		t.Errorf("got %s; next %s", f.Text, f.Next)
	}
	if f := only(t, system(jdkPool(8, limits.Unbounded, limits.Unbounded)), finding.MaxUnreachable); !strings.Contains(f.Text, "the queue is unbounded") {
		t.Errorf("got %s", f.Text)
	}
	for _, p := range []limits.Pool{jdkPool(30, 50, 50), jdkPool(40, 50, 10), jdkPool(10, 50, 0)} {
		if got := codes(system(p)); slices.Contains(got, lint.MaxBehindQueue) || slices.Contains(got, finding.MaxUnreachable) {
			t.Errorf("%d/%d/%d: got %v", p.Core.Value, p.Max.Value, p.Queue.Value, got)
		}
	}
	eager := jdkPool(10, 50, 200)
	eager.Growth = limits.WorkersFirst
	if got := codes(system(eager)); len(got) != 0 {
		t.Errorf("workers first: got %v", got)
	}
}

func TestCoreAboveMaxIsCritical(t *testing.T) {
	if f := only(t, system(jdkPool(60, 50, 10)), lint.CoreAboveMax); f.Severity != finding.Critical || f.Line != 1 {
		t.Errorf("got %+v", f)
	}
}

func TestATaskLongerThanItsTimeoutIsCritical(t *testing.T) {
	p := jdkPool(10, 10, 0)
	p.ServiceTime, p.Timeout = span(50*millisecond, "service"), span(30*millisecond, "timeout")
	if f := only(t, system(p), finding.TimeoutBelowWait); f.Severity != finding.Critical {
		t.Errorf("got %+v", f)
	}
}

// 3000/s × 20 ms = 60 workers, times 1.5 to 2 = 90 to 120: the order-detail study's example.
func TestARateThatNeedsMoreWorkersIsPoolTooSmall(t *testing.T) {
	p := jdkPool(30, 30, 0)
	p.ServiceTime, p.RatePerSec = span(20*millisecond, "service"), limits.Written(3000.0, at("rate", 4))
	f := only(t, system(p), finding.PoolTooSmall)
	if !strings.Contains(f.Text, "= 60 workers busy, it has 30") || !strings.Contains(f.Text, "= 1500/s") || !strings.Contains(f.Next, "90 to 120") {
		t.Errorf("got %s; next %s", f.Text, f.Next)
	}
	p.Max, p.Core = count(60, "max", 2), count(60, "core", 1)
	if got := codes(system(p)); slices.Contains(got, finding.PoolTooSmall) {
		t.Errorf("60 workers suffice: got %v", got)
	}
}

func TestPoolTimesReplicasIsHeldAgainstTheDatabase(t *testing.T) {
	sys := limits.System{Replicas: count(6, "replicas", 20),
		Connections: []limits.Connections{{Name: "db", Total: count(20, "hikari.maximumPoolSize", 5), Downstream: limits.Written("db", at("d", 6))}},
		Downstreams: []limits.Downstream{{Name: "db", Limit: count(100, "max_connections", 8)}}}
	f := only(t, sys, lint.PoolAboveDownstream)
	if f.Severity != finding.Critical || !strings.Contains(f.Text, "20 × 6 replicas = 120 > 100") || !strings.Contains(f.Next, "100 ÷ 6 = 16") {
		t.Errorf("got %s; next %s", f.Text, f.Next)
	}
	sys.Replicas = count(5, "replicas", 20)
	if got := codes(sys); slices.Contains(got, lint.PoolAboveDownstream) {
		t.Errorf("5 × 20 = 100 is not above 100: got %v", got)
	}
	sys.Pools = []limits.Pool{{Name: "biz", Core: count(100, "core", 1), Max: count(100, "max", 2), Downstream: limits.Written("db", at("d", 3))}}
	if f := only(t, sys, lint.PoolAboveDownstream); f.Severity != finding.Warning || !strings.Contains(f.Text, "100 - 20 = 80 only wait") {
		t.Errorf("got %+v", f)
	}
}

func TestSeveralHoldersOfOneDependencyAreAddedUp(t *testing.T) {
	sys := limits.System{Downstreams: []limits.Downstream{{Name: "db", Limit: count(60, "limit", 9)}}}
	for _, name := range []string{"a", "b"} {
		sys.Pools = append(sys.Pools, limits.Pool{Name: name, Core: count(40, name, 1), Max: count(40, name, 2), Downstream: limits.Written("db", at("d", 3))})
	}
	if f := only(t, sys, lint.PoolAboveDownstream); !strings.Contains(f.Text, "(pool a 40 + pool b 40) × 1 replicas = 80 > 60") {
		t.Errorf("got %s", f.Text)
	}
}

func call(timeout time.Duration, possible bool) limits.Command {
	return limits.Command{Name: "user", Timeout: span(timeout, "timeout"), Attempt: limits.Attempt{Connect: span(time.Second, "ConnectTimeout"),
		Read: span(time.Second, "ReadTimeout"), SameServer: count(0, "MaxAutoRetries", 4), NextServer: count(1, "MaxAutoRetriesNextServer", 5), Possible: possible}}
}

// Ribbon's Spring defaults: (1000 + 1000) × (0 + 1) × (1 + 1) = 4000 ms.
func TestRetriesThatDoNotFitIntoTheTimeoutAreNamed(t *testing.T) {
	sys := limits.System{Commands: []limits.Command{call(3*time.Second, true)}}
	f := only(t, sys, lint.RetriesExceedTimeout)
	if !strings.Contains(f.Text, "= 4000 ms > timeout 3000 ms") || f.Evidence["attempts"] != 2 {
		t.Errorf("got %s, %v", f.Text, f.Evidence)
	}
	for _, c := range []limits.Command{call(3*time.Second, false), call(4*time.Second, true)} {
		if got := codes(limits.System{Commands: []limits.Command{c}}); slices.Contains(got, lint.RetriesExceedTimeout) {
			t.Errorf("timeout %v, retries possible %v: got %v", c.Timeout.Value, c.Attempt.Possible, got)
		}
	}
	if f := only(t, limits.System{Commands: []limits.Command{call(time.Second, true)}}, lint.InnerTimeoutAboveOuter); !strings.Contains(f.Text, "= 2000 ms > timeout 1000 ms") {
		t.Errorf("got %s", f.Text)
	}
}

// The gateway-chain study: 200 Tomcat workers, 100 permits, 50 connections to one instance.
func gateway(services ...string) limits.System {
	sys := limits.System{Containers: []limits.Container{{Name: "tomcat", Workers: limits.Default(200, "server.tomcat.max-threads")}},
		Connections: []limits.Connections{{Name: "ribbon", Total: limits.Default(200, "ribbon.MaxTotalConnections"),
			PerHost: limits.Default(50, "ribbon.MaxConnectionsPerHost"), LeaseWait: limits.Default(time.Duration(0), "lease")}}}
	for _, name := range services {
		c := call(4*time.Second, false)
		c.Name, c.Gateway, c.Connections = name, true, "ribbon"
		c.Isolation = limits.Default(limits.Permits, "zuul.ribbonIsolationStrategy")
		c.Permits = limits.Default(100, "zuul.semaphore.max-semaphores")
		c.Breaker = &limits.Breaker{Name: name, Enabled: limits.Default(true, ""), Volume: limits.Default(20, ""), FailurePercent: limits.Default(50.0, ""), RefusalsFail: true}
		sys.Commands = append(sys.Commands, c)
	}
	return sys
}

func TestPermitsBelowWorkersSayThatTheirRefusalsOpenTheBreaker(t *testing.T) {
	f := only(t, gateway("hello"), lint.SemaphoreBelowWorkers)
	if !strings.Contains(f.Text, "200 - 100 = 100 calls are refused though it is healthy") || !strings.Contains(f.Text, "a share of 50 % opens the breaker (100 of 200 is 50 %") {
		t.Errorf("got %s", f.Text)
	}
	sys := gateway("hello")
	sys.Commands[0].Permits = count(200, "zuul.semaphore.max-semaphores", 3)
	if got := codes(sys); slices.Contains(got, lint.SemaphoreBelowWorkers) {
		t.Errorf("200 permits behind 200 workers: got %v", got)
	}
}

func TestTheSmallestLimitOfTheGatewayChainBinds(t *testing.T) {
	r := lint.Check(gateway("hello"))
	if len(r.Chains) != 1 || len(r.Chains[0].Hops) != 4 {
		t.Fatalf("got %+v", r.Chains)
	}
	var slots []int
	for _, h := range r.Chains[0].Hops {
		slots = append(slots, h.Slots)
	}
	if !slices.Equal(slots, []int{200, 100, 200, 50}) || r.Chains[0].Binding != 3 || r.Binding == nil || *r.Binding != "ribbon.MaxConnectionsPerHost" {
		t.Errorf("got %v, binding %d", slots, r.Chains[0].Binding)
	}
	if f := only(t, gateway("hello"), lint.LeaseWaitUnlimited); !strings.Contains(f.Text, "50 calls run and 50 wait") {
		t.Errorf("got %s", f.Text)
	}
}

func TestLimitsThatBindAlikeAreNamedTogether(t *testing.T) {
	sys := gateway("hello")
	sys.Commands[0].Permits = count(50, "permits", 3)
	if f := only(t, sys, lint.BindingLimit); !strings.Contains(f.Next, "call 51 is refused there; only permits together with ribbon.MaxConnectionsPerHost moves") {
		t.Errorf("got %s", f.Next)
	}
}

func TestTwoHungServicesTakeEveryWorkerInSpiteOfTheirPermits(t *testing.T) {
	if f := only(t, gateway("hello", "user"), lint.WorkersTakenBySlow); !strings.Contains(f.Text, "2 slow ones × 100 permits") {
		t.Errorf("got %s", f.Text)
	}
	if got := codes(gateway("hello")); slices.Contains(got, lint.WorkersTakenBySlow) {
		t.Errorf("one service cannot: got %v", got)
	}
}

func TestBreakerTrapsOfResilience4jAreNamed(t *testing.T) {
	b := limits.Breaker{Name: "b", At: at("b", 1), HalfOpenMax: limits.Default(time.Duration(0), "maxWaitDurationInHalfOpenState"),
		SlowCall: span(time.Minute, "slowCallDurationThreshold"), Timeout: span(time.Second, "timeoutDuration"),
		Volume: count(200, "minimumNumberOfCalls", 3), WindowCalls: count(100, "slidingWindowSize", 4)}
	sys := limits.System{Breakers: []limits.Breaker{b}}
	for _, code := range []finding.Code{lint.HalfOpenWithoutExpiry, lint.SlowCallsNeverSeen, lint.MinimumAboveWindow} {
		only(t, sys, code)
	}
}

func TestABreakerWhoseVolumeIsAboveItsTrafficIsNamed(t *testing.T) {
	b := limits.Breaker{Name: "b", Volume: count(20, "volume", 1), Window: span(10*time.Second, "window"), RatePerSec: limits.Written(1.5, at("rate", 2))}
	if f := only(t, limits.System{Breakers: []limits.Breaker{b}}, lint.BreakerNeverTrips); !strings.Contains(f.Text, "1.5/s × 10 s = 15") {
		t.Errorf("got %s", f.Text)
	}
}

func TestFindingsAreOrderedBySeverityAndWrittenWithTheirKeys(t *testing.T) {
	p := jdkPool(60, 50, limits.Unbounded)
	r := lint.Check(system(p))
	if len(r.Findings) < 2 || r.Findings[0].Severity != finding.Critical || len(r.Errors()) != 1 {
		t.Fatalf("got %+v", r.Findings)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"schema":"loadline.findings/1"`, `"code":"core-above-max"`, `"keys":["core","max"]`, `"line":1`, `"binding_limit":null`, `"threads":`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is missing in %s", part, text)
		}
	}
}

func TestEveryRuleHasOneCodeWithAMeaning(t *testing.T) {
	seen := map[finding.Code]bool{}
	for _, r := range lint.Rules() {
		if seen[r.Code] || r.Meaning == "" {
			t.Errorf("%s: twice, or without a meaning", r.Code)
		}
		seen[r.Code] = true
	}
}

// Whatever the settings, no rule panics, every finding is complete, and Slots never exceeds what the pool may have.
func TestAnySettingsGiveCompleteFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(-2, 1000)
		d := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(n.Draw(t, "d")) * millisecond })
		p := limits.Pool{Name: "p", Growth: limits.Growth(rapid.IntRange(0, 1).Draw(t, "growth")), Core: count(n.Draw(t, "core"), "core", 1),
			Max: count(n.Draw(t, "max"), "max", 2), Queue: count(n.Draw(t, "queue"), "queue", 3), Threshold: count(n.Draw(t, "threshold"), "threshold", 4),
			ServiceTime: span(d.Draw(t, "service"), "service"), Timeout: span(d.Draw(t, "timeout"), "timeout"),
			RatePerSec: limits.Written(float64(n.Draw(t, "rate")), at("rate", 5)), Downstream: limits.Written("db", at("d", 6))}
		sys := gateway("a", "b")
		sys.Pools = append(sys.Pools, p)
		sys.Replicas = count(n.Draw(t, "replicas"), "replicas", 7)
		sys.Downstreams = []limits.Downstream{{Name: "db", Limit: count(n.Draw(t, "limit"), "limit", 8)}}
		sys.Commands[0].Timeout = span(d.Draw(t, "outer"), "outer")
		sys.Commands[0].Attempt.SameServer = count(n.Draw(t, "same"), "same", 10)
		sys.Commands[0].Permits = count(n.Draw(t, "permits"), "permits", 11)
		for _, f := range lint.Check(sys).Findings {
			if f.Code == "" || f.Text == "" || f.Next == "" || f.Evidence == nil || len(f.Keys) == 0 || f.Severity == "" {
				t.Fatalf("incomplete: %+v", f)
			}
		}
	})
}
