package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/lint"
	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/internal/parse/settings"
)

func read(t *testing.T, name, text string) limits.System {
	t.Helper()
	sys, err := settings.Read(settings.File{Name: name, Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

func check(t *testing.T, text string) []lint.Finding {
	t.Helper()
	return lint.Check(read(t, "application.yml", text)).Findings
}

func find(findings []lint.Finding, code finding.Code) (lint.Finding, bool) {
	i := slices.IndexFunc(findings, func(f lint.Finding) bool { return f.Code == code })
	if i < 0 {
		return lint.Finding{}, false
	}
	return findings[i], true
}

func wantFinding(t *testing.T, text string, code finding.Code, line int, part string) {
	t.Helper()
	findings := check(t, text)
	for _, f := range findings {
		if f.Code == code && f.Line == line && strings.Contains(f.Text+" "+f.Next, part) {
			return
		}
	}
	t.Errorf("no %s at line %d with %q in %+v", code, line, part, findings)
}

func wantNone(t *testing.T, text string, code finding.Code) {
	t.Helper()
	if f, ok := find(check(t, text), code); ok {
		t.Errorf("got %s: %s", f.Code, f.Text)
	}
}

// The gateway-chain study's gateway: Tomcat 200, 100 permits, Ribbon 200 in all and 50 to a host.
const chain = `zuul:
  routes:
    hello:
      path: /hello/**
      serviceId: hello-service
  semaphore:
    max-semaphores: 100
server:
  tomcat:
    max-threads: 200
ribbon:
  MaxTotalConnections: 200
  MaxConnectionsPerHost: 50
  ReadTimeout: 1000
  ConnectTimeout: 1000
`

func TestTheGatewayChainPrintsWhichLimitBindsOnEachHop(t *testing.T) {
	r := lint.Check(read(t, "application.yml", chain))
	if len(r.Chains) != 1 {
		t.Fatalf("chains: got %+v", r.Chains)
	}
	want := []struct {
		slots, line int
		key         string
	}{{200, 10, "server.tomcat.max-threads"}, {100, 7, "zuul.semaphore.max-semaphores"}, {200, 12, "ribbon.MaxTotalConnections"}, {50, 13, "ribbon.MaxConnectionsPerHost"}}
	for i, h := range r.Chains[0].Hops {
		if h.Slots != want[i].slots || h.Line != want[i].line || h.Key != want[i].key || h.File != "application.yml" {
			t.Errorf("hop %d: got %+v, want %+v", i, h, want[i])
		}
	}
	if r.Binding == nil || *r.Binding != "ribbon.MaxConnectionsPerHost" {
		t.Errorf("binding: got %v", r.Binding)
	}
	f, ok := find(r.Findings, lint.SemaphoreBelowWorkers)
	if !ok || f.Line != 7 || !strings.Contains(f.Text, "opens the breaker") {
		t.Errorf("semaphore: got %+v", f)
	}
}

func TestZuulsSpringDefaultsGiveFourSeconds(t *testing.T) {
	sys := read(t, "application.yml", "zuul:\n  routes:\n    hello: /hello/**\n")
	if len(sys.Commands) != 1 || sys.Commands[0].Timeout.Value != 4*time.Second || sys.Commands[0].Permits.Value != 100 {
		t.Errorf("got %+v", sys.Commands)
	}
	if f, ok := find(lint.Check(sys).Findings, lint.RetriesExceedTimeout); ok {
		t.Errorf("a timeout derived from the retries holds them: got %s", f.Text)
	}
}

func TestAHystrixTimeoutBelowRibbonsAttemptsIsNamedOnlyWhereRetriesCanHappen(t *testing.T) {
	const base = "hystrix.command.default.execution.isolation.thread.timeoutInMilliseconds: 3000\nzuul:\n  retryable: RETRY\n  routes:\n    u: {path: /u/**, serviceId: user}\n"
	wantFinding(t, strings.Replace(base, "RETRY", "true", 1), lint.RetriesExceedTimeout, 1, "= 4000 ms > timeout 3000 ms")
	wantNone(t, strings.Replace(base, "RETRY", "false", 1), lint.RetriesExceedTimeout)
}

func TestDefaultStrategyAndPermitsOfHystrixHaveNoEffectUnderZuul(t *testing.T) {
	text := chain + "hystrix:\n  command:\n    default:\n      execution.isolation.strategy: THREAD\n      execution.isolation.semaphore.maxConcurrentRequests: 500\n"
	wantFinding(t, text, lint.SettingWithoutEffect, 19, "Zuul sets the strategy in code")
	wantFinding(t, text, lint.SettingWithoutEffect, 20, "Zuul sets the permits in code")
	sys := read(t, "application.yml", text)
	if c := sys.Commands[0]; c.Isolation.Value != limits.Permits || c.Permits.Value != 100 {
		t.Errorf("got %+v", c)
	}
	own := strings.ReplaceAll(text, "default:", "hello-service:")
	if c := read(t, "application.yml", own).Commands[0]; c.Isolation.Value != limits.ByPool {
		t.Errorf("the service's own strategy acts: got %+v", c.Isolation)
	}
}

func TestThreadIsolationSharesOnePoolOfTenUnlessToldOtherwise(t *testing.T) {
	const text = "zuul:\n  ribbonIsolationStrategy: THREAD\n  routes:\n    a: {path: /a/**, serviceId: a}\n    b: {path: /b/**, serviceId: b}\n"
	f, ok := find(check(t, text), lint.OnePoolForAll)
	if !ok || !strings.Contains(f.Text, "pool RibbonCommand with 10 workers serves 2 services (a, b)") {
		t.Errorf("got %+v", f)
	}
	wantNone(t, text+"  threadPool:\n    useSeparateThreadPools: true\n", lint.OnePoolForAll)
}

func TestZuulHostLimitsAreIgnoredForRoutesByService(t *testing.T) {
	wantFinding(t, chain+"zuul.host.maxTotalConnections: 500\n", lint.SettingWithoutEffect, 16, "routes by URL only")
	byURL := "zuul:\n  routes:\n    old:\n      path: /old/**\n      url: http://10.0.0.1:8080\n  host:\n    max-per-route-connections: 30\n"
	wantNone(t, byURL, lint.SettingWithoutEffect)
	r := lint.Check(read(t, "application.yml", byURL))
	if len(r.Chains) != 1 || r.Binding == nil || *r.Binding != "zuul.host.max-per-route-connections" {
		t.Errorf("got %+v", r.Chains)
	}
	wantFinding(t, byURL, lint.LeaseWaitUnlimited, 7, "30 calls run and 170 wait")
}

func TestTwoHungServicesAreEnoughForTwoHundredWorkers(t *testing.T) {
	text := chain + "billing:\n  ribbon:\n    listOfServers: a:1,b:2\n"
	f, ok := find(check(t, text), lint.WorkersTakenBySlow)
	if !ok || !strings.Contains(f.Text, "2 slow ones × 100 permits") {
		t.Errorf("got %+v", f)
	}
	for _, c := range lint.Check(read(t, "application.yml", text)).Chains {
		if c.Name == "billing" && c.Hops[len(c.Hops)-1].Slots != 100 {
			t.Errorf("two instances with 50 connections each: got %+v", c.Hops)
		}
	}
}

func TestMisspeltKeysOfZuulAndRibbonNameTheNearest(t *testing.T) {
	wantFinding(t, chain+"zuul.semaphore.maxSemaphore: 3\n", lint.UnknownKey, 16, "maxSemaphores")
	wantFinding(t, chain+"ribbon.readTimeout: 3\n", lint.UnknownKey, 16, "write ReadTimeout")
	wantFinding(t, chain+"ribbon.ConnectionManagerTimeout: 3\n", lint.SettingWithoutEffect, 16, "no limit")
}

func TestAFileOfPropertiesReadsLikeYAML(t *testing.T) {
	sys := read(t, "application.properties", "zuul.routes.hello.serviceId=hello-service\nzuul.semaphore.max-semaphores=30\nserver.tomcat.threads.max=100\n")
	if len(sys.Containers) != 1 || sys.Containers[0].Workers.Value != 100 || sys.Commands[0].Permits.Value != 30 || sys.Commands[0].Permits.At.Line != 2 {
		t.Errorf("got %+v", sys)
	}
}

func TestPlaceholdersAreResolvedOrSaidToBeUnknown(t *testing.T) {
	sys := read(t, "application.yml", "workers: 64\nserver.tomcat.threads.max: ${workers}\nserver.tomcat.accept-count: ${ACCEPT:7}\nserver.tomcat.max-connections: ${CONNS}\n")
	c := sys.Containers[0]
	if c.Workers.Value != 64 || c.AcceptQueue.Value != 7 {
		t.Errorf("got %+v", c)
	}
	if len(sys.Faults) != 1 || sys.Faults[0].Kind != limits.Unresolved || sys.Faults[0].At.Line != 4 {
		t.Errorf("faults: got %v", sys.Faults)
	}
}

func TestSpringProfilesFollowEachOtherAndTheLaterWins(t *testing.T) {
	sys := read(t, "application.yml", "server.tomcat.threads.max: 50\n---\nspring.profiles: prod\nserver.tomcat.threads.max: 80\n")
	if got := sys.Containers[0].Workers; got.Value != 80 || got.At.Line != 4 {
		t.Errorf("got %+v", got)
	}
}

const resilience = `resilience4j:
  circuitbreaker:
    configs:
      default:
        slidingWindowSize: 50
    instances:
      price:
        baseConfig: default
        slow-call-duration-threshold: 2s
        minimumNumberOfCalls: 60
  timelimiter:
    instances:
      price:
        timeoutDuration: 500ms
  bulkhead:
    instances:
      price:
        maxConcurrentCalls: 25
        maxWaitDuration: 1s
  thread-pool-bulkhead:
    instances:
      detail:
        coreThreadPoolSize: 20
        maxThreadPoolSize: 10
  retry:
    instances:
      price:
        maxAttempts: 5
`

func TestResilience4jTrapsAreNamedWithTheirLines(t *testing.T) {
	wantFinding(t, resilience, lint.HalfOpenWithoutExpiry, 0, "for ever")
	wantFinding(t, resilience, lint.SlowCallsNeverSeen, 9, "500 ms ends it before")
	wantFinding(t, resilience, lint.MinimumAboveWindow, 10, "min(60, 50) = 50")
	wantFinding(t, resilience, finding.TimeoutBelowWait, 19, "leaves no time for the call")
	wantFinding(t, resilience, lint.CoreAboveMax, 23, "core 20 > max 10")
	wantFinding(t, resilience, lint.RetriesMultiplyLoad, 28, "5 attempts")
	wantFinding(t, resilience+"        maxAttemps: 5\n", lint.UnknownKey, 29, "max-attempts")
	wantFinding(t, resilience+"server:\n  tomcat:\n    threads:\n      max: 200\n", lint.SemaphoreBelowWorkers, 18, "175 calls wait up to 1000 ms")
}

func TestDynamicThreadPoolsAreReadUnderEitherPrefix(t *testing.T) {
	const body = "executors:\n  - threadPoolName: biz\n    corePoolSize: 10\n    maximumPoolSize: 50\n    queueCapacity: 200\n    queueType: LinkedBlockingQueue\n    runTimeout: 300\n"
	for _, text := range []string{"dynamictp:\n" + indent(body, 2), "spring:\n  dynamic:\n    tp:\n" + indent(body, 6)} {
		sys := read(t, "application.yml", text)
		if len(sys.Pools) != 1 || sys.Pools[0].Name != "biz" || sys.Pools[0].Max.Value != 50 {
			t.Fatalf("got %+v", sys.Pools)
		}
		findings := lint.Check(sys).Findings
		for _, code := range []finding.Code{lint.MaxBehindQueue, lint.CapacityFixed, lint.TimeoutOnlyObserves} {
			if _, ok := find(findings, code); !ok {
				t.Errorf("no %s in %+v", code, findings)
			}
		}
	}
	wantFinding(t, "dynamictp:\n  executors:\n    - threadPoolName: x\n      queueType: SynchronousQueue\n      queueCapacity: 9\n", lint.SettingWithoutEffect, 5, "hands off")
}

func indent(text string, n int) string {
	return strings.Repeat(" ", n) + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+strings.Repeat(" ", n)) + "\n"
}

func TestSpringsTaskExecutorNeverGrows(t *testing.T) {
	wantFinding(t, "spring:\n  task:\n    execution:\n      pool:\n        max-size: 64\n", finding.MaxUnreachable, 5, "8 core workers to 64: it starts more only when its queue is full, and the queue is unbounded")
}

func TestConnectionsTimesReplicasAreHeldAgainstADeclaredLimit(t *testing.T) {
	app := settings.File{Name: "application.yml", Text: []byte("spring:\n  datasource:\n    hikari:\n      maximum-pool-size: 40\n")}
	declared := settings.File{Name: "limits.yaml", Text: []byte("replicas: 4\ndownstreams:\n  database:\n    limit: 100\n")}
	sys, err := settings.Read(app, declared)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := find(lint.Check(sys).Findings, lint.PoolAboveDownstream)
	if !ok || f.File != "application.yml" || f.Line != 4 || !strings.Contains(f.Text, "40 × 4 replicas = 160 > 100") {
		t.Errorf("got %+v", f)
	}
}

func TestAPlainPoolIsChecked(t *testing.T) {
	text := "pool:\n  core: 10\n  max: 50\n  queue: 200\n  service_time: 18ms\n  caller_timeout: 100ms\n"
	wantFinding(t, text, finding.MaxUnreachable, 4, "= 360 ms by then")
	if f, _ := find(check(t, text), finding.MaxUnreachable); len(f.Keys) == 0 || f.Keys[0] != "pool.queue" {
		t.Errorf("keys are those of the file: got %v", f.Keys)
	}
	wantFinding(t, "pool:\n  core: 10\n  queu: 200\n", lint.InvalidValue, 3, "did you mean queue?")
	wantFinding(t, "pool:\n  core: ten\n", lint.InvalidValue, 2, `found "ten"`)
}

func TestTheTiersOfADocumentEachHoldOnTheirOwn(t *testing.T) {
	text := `replicas: 2
downstreams: {db: {limit: 100}}
pools:
  biz: {core: 30, max: 50, queue: 50, downstream: db}
tiers:
  low: {pools: {biz: {core: 10, max: 20, queue: 50}}}
  peak: {pools: {biz: {core: 40, max: 60, queue: 10}}}
`
	findings := check(t, text)
	var above []lint.Finding
	for _, f := range findings {
		if f.Code == lint.PoolAboveDownstream {
			above = append(above, f)
		}
	}
	if len(above) != 1 || above[0].Line != 7 || !strings.Contains(above[0].Text, "biz (tier peak) 60 × 2 replicas = 120 > 100") {
		t.Errorf("got %+v", above)
	}
	wantFinding(t, text, lint.MaxBehindQueue, 6, "workers 11 to 20 only while 50 tasks wait")
}

func TestAFileThatHoldsNothingKnownIsRefusedWithWhatIsKnown(t *testing.T) {
	for _, text := range []string{"a: 1\n", "", "- 1\n- 2\n", "spring:\n  application:\n    name: x\n"} {
		_, err := settings.Read(settings.File{Name: "x.yaml", Text: []byte(text)})
		var f limits.Fault
		if !errors.As(err, &f) || !strings.Contains(err.Error(), "resilience4j.") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestABrokenFileNamesItsLine(t *testing.T) {
	_, err := settings.Read(settings.File{Name: "x.yaml", Text: []byte("a: 1\nb: [1, 2\nc: 3\n")})
	var f limits.Fault
	if !errors.As(err, &f) || f.At.Line == 0 || f.At.File != "x.yaml" {
		t.Errorf("got %v", err)
	}
}

func TestAliasesOfAliasesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("aAa: &aAa {x: 1, y: 2}\n")
	for i := 1; i < 40; i++ {
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll("aN: &aN {x: *aM, y: *aM}\n", "N", itoa(i)), "M", itoa(i-1)))
	}
	if _, err := settings.Read(settings.File{Name: "x.yaml", Text: []byte(b.String())}); err == nil || !strings.Contains(err.Error(), "too deep or too large") {
		t.Errorf("got %v", err)
	}
}

func itoa(i int) string { return string(rune('A'+i/26)) + string(rune('a'+i%26)) }

func FuzzRead(f *testing.F) {
	f.Add([]byte(chain), false)
	f.Add([]byte(resilience), false)
	f.Add([]byte("pools: {a: {core: 1, queue: unbounded}}\ntiers: {x: {pools: {a: {max: 2}}}}"), false)
	f.Add([]byte("zuul.routes.a=http://x\nribbon.ReadTimeout=${b}\nb=${ribbon.ReadTimeout}"), true)
	f.Add([]byte("dynamictp:\n  executors: [{queueType: SynchronousQueue, corePoolSize: -3}]"), false)
	f.Fuzz(func(t *testing.T, text []byte, java bool) {
		name := "f.yaml"
		if java {
			name = "f.properties"
		}
		sys, err := settings.Read(settings.File{Name: name, Text: text})
		if err != nil {
			return
		}
		for _, f := range lint.Check(sys).Findings {
			if f.Code == "" || f.Severity == "" || f.Evidence == nil || f.Keys == nil || f.Line < 0 {
				t.Fatalf("incomplete: %+v", f)
			}
		}
	})
}
