package registry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

func newCommand(t *testing.T, r *registry.Registry, name string, settings command.Settings) *command.Command[int] {
	t.Helper()
	c, err := command.New(command.Config[int]{Name: name, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	if err := r.Add(c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHystrixPropertiesSetMembersWithHystrixsPrecedence(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	price := newCommand(t, r, "price", command.HystrixSettings())
	inCode := command.HystrixSettings()
	inCode.Timeout = 500 * time.Millisecond
	detail := newCommand(t, r, "detail", inCode)
	p := newPool(t, r, "price", pool.Settings{Core: 1})
	d, _, err := r.ParseHystrix(`hystrix.command.default.execution.isolation.thread.timeoutInMilliseconds=300
hystrix.command.price.execution.isolation.semaphore.maxConcurrentRequests=30
hystrix.command.price.circuitBreaker.errorThresholdPercentage=25
hystrix.command.detail.circuitBreaker.forceOpen=true
hystrix.threadpool.price.coreSize=12
hystrix.threadpool.price.maxQueueSize=100`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Apply(d); err != nil {
		t.Fatal(err)
	}
	if s := price.Settings(); s.Timeout != 300*time.Millisecond || s.MaxConcurrent != 30 || s.Breaker.FailureRatio != 0.25 {
		t.Errorf("price: got %+v", s)
	}
	if s := detail.Settings(); s.Timeout != 500*time.Millisecond || s.Breaker.Force != breaker.ForcedOpen {
		t.Errorf("detail: the code stands above «default»: got %+v", s)
	}
	// Hystrix's own default threshold of 5 cuts the queue of 100.
	if s := p.Settings(); s.Core != 12 || s.Max != 12 || s.Queue != 100 || s.EffectiveQueue() != 5 {
		t.Errorf("pool: got %+v", s)
	}
}

func TestHystrixTrapsAreReportedWithTheDocument(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	_, findings, err := r.ParseHystrix("hystrix.threadpool.p.maximumSize=30\nhystrix.threadpool.p.metrics.rollingStats.numBuckets=10")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, f := range findings {
		codes = append(codes, f.Code)
	}
	if got := strings.Join(codes, " "); !strings.Contains(got, "maximum-ignored") || !strings.Contains(got, "setting-without-effect") {
		t.Errorf("got %s", got)
	}
	if _, _, err := r.ParseHystrix("hystrix.threadpool.p.coreSize=30\nhystrix.threadpool.p.maxQueueSize=many"); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}

func TestAThresholdOfZeroRefusesEverythingHereToo(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "p", pool.Settings{Core: 1})
	d, findings, err := r.ParseHystrix("hystrix.threadpool.p.maxQueueSize=10\nhystrix.threadpool.p.queueSizeRejectionThreshold=0")
	if err != nil || len(findings) == 0 || findings[0].Code != "threshold-refuses-all" || !findings[0].Critical() {
		t.Fatalf("got %v, %v", findings, err)
	}
	if d.Pools["p"]["threshold"] != "refuse-all" || p.Settings().Threshold != 0 {
		t.Errorf("got %v", d.Pools)
	}
}

func TestCommandsAndTheirBreakersAreSetThroughADocument(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	c := newCommand(t, r, "price", command.Settings{Isolation: command.Semaphore, MaxConcurrent: 20, Timeout: 200 * time.Millisecond})
	apply(t, r, `{"commands": {"price": {"max_concurrent": 25, "breaker": {"window": "count", "window_calls": 50}}}}`)
	if s := c.Settings(); s.MaxConcurrent != 25 || s.Breaker.Window != breaker.Count || s.Breaker.WindowCalls != 50 || s.Timeout != 200*time.Millisecond {
		t.Errorf("got %+v", s)
	}
	if s := setting(t, r, "price", "breaker.window_calls"); s.Value != 50 || s.Origin != registry.FromFile {
		t.Errorf("got %+v", s)
	}
	if _, err := r.Override(registry.Command, "price", registry.Section{"breaker": registry.Section{"failure_ratio": 0.0000001}}); err == nil {
		t.Error("a failure ratio near 0 was accepted")
	}
	if snapshot := r.Snapshot(); len(snapshot.Commands) != 1 || snapshot.Commands[0].Breaker.Settings.WindowCalls != 50 {
		t.Errorf("got %+v", snapshot)
	}
}

func TestACommandOnASharedPoolGivesThePoolItsTimeout(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "remote", pool.Settings{Core: 10, Max: 10, Queue: 200})
	c, err := command.New(command.Config[int]{Name: "price", Pool: p, Settings: command.Settings{Isolation: command.Pool, Timeout: 300 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	if err := r.Add(c); err != nil {
		t.Fatal(err)
	}
	result := apply(t, r, `{"pools": {"remote": {"service_time": "20ms"}}, "commands": {"price": {"pool": "remote"}}}`)
	// 200 × 20 ms ÷ 10 = 400 ms of waiting, + 20 ms, above the command's 300 ms.
	if len(result.Findings) != 1 || result.Findings[0].Code != "timeout-below-wait" || !strings.Contains(result.Findings[0].Text, "420 ms > timeout 300 ms") {
		t.Errorf("got %+v", result.Findings)
	}
	if _, err := r.Apply(document(t, `{"commands": {"price": {"pool": "other"}}}`)); err == nil || !strings.Contains(err.Error(), `"other" is not what the code gave`) {
		t.Errorf("got %v", err)
	}
}

func TestASharedBreakerIsNotSetThroughACommand(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	b, err := breaker.New(breaker.Config{Name: "db"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := command.New(command.Config[int]{Name: "read", Breaker: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	if err := r.Add(b, c); err != nil {
		t.Fatal(err)
	}
	apply(t, r, `{"commands": {"read": {"timeout": "400ms"}}, "breakers": {"db": {"min_volume": 9}}}`)
	if c.Settings().Timeout != 400*time.Millisecond || b.Settings().MinVolume != 9 {
		t.Errorf("got %+v and %+v", c.Settings(), b.Settings())
	}
	if _, err := r.Apply(document(t, `{"commands": {"read": {"breaker": {"min_volume": 3}}}}`)); err == nil || b.Settings().MinVolume != 9 {
		t.Errorf("got %v, volume %d", err, b.Settings().MinVolume)
	}
}
