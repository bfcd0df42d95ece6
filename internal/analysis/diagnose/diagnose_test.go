package diagnose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

func ptr(v float64) *float64 { return &v }

func codes(list []diagnose.Finding) []finding.Code {
	out := []finding.Code{}
	for _, f := range list {
		out = append(out, f.Code)
	}
	return out
}

// wants holds that a code is found or not.
func wants(t *testing.T, what string, s diagnose.Scene, code finding.Code, want bool) {
	t.Helper()
	if got := codes(diagnose.Of(s)); slices.Contains(got, code) != want {
		t.Errorf("%s: %s found %v, want %v (%v)", what, code, !want, want, got)
	}
}

// at is ten seconds of a step with one pool.
func at(users int, successPerSec float64, p observed.Pool) diagnose.Scene {
	p.Kind = record.KindPool
	return diagnose.Scene{To: 10 * time.Second, Load: &record.Load{Model: record.Closed, Concurrency: users}, Cores: 4, SuccessPerSec: ptr(successPerSec),
		Services: map[string]observed.Service{"order": {Pools: map[string]observed.Pool{"biz": p}}}}
}

// above puts a step above others.
func above(s diagnose.Scene, below ...diagnose.Scene) diagnose.Scene {
	s.Lowest, s.Before = &below[0], &below[len(below)-1]
	return s
}

func timing(ms float64) *observed.Timing { return &observed.Timing{N: 1000, Mean: ptr(ms)} }

// The rows of the layered-tuning study's diagnosis order and quick table, each with what must not fire it.

func TestActiveBelowMaxWithADeepQueueIsACoreTooSmall(t *testing.T) {
	p := observed.Pool{Core: ptr(10), Max: ptr(50), Size: ptr(15), Capacity: ptr(200), ActiveMean: ptr(15), ActiveMax: ptr(16), QueueMean: ptr(50)}
	wants(t, "15 of 50 at work and 50 waiting", at(200, 1750, p), finding.CoreTooSmall, true)
	if limit := diagnose.Binding(diagnose.Of(at(200, 1750, p))); limit == nil || !strings.Contains(limit.Name, "order/biz") {
		t.Errorf("binding %+v", limit)
	}
	p.ActiveMean, p.ActiveMax = ptr(48), ptr(50)
	wants(t, "48 of 50 at work", at(200, 1750, p), finding.CoreTooSmall, false)
	p.ActiveMean, p.QueueMean = ptr(15), ptr(0)
	wants(t, "nothing waits", at(200, 1750, p), finding.CoreTooSmall, false)
}

func TestAnUnboundedQueueMakesTheMaximumUnreachable(t *testing.T) {
	p := observed.Pool{Core: ptr(8), Max: ptr(50), Size: ptr(8), Capacity: ptr(2147483647), ActiveMean: ptr(8), ActiveMax: ptr(8), QueueMean: ptr(30)}
	wants(t, "unbounded", at(200, 100, p), finding.MaxUnreachable, true)
	wants(t, "unbounded", at(200, 100, p), finding.QueueBacklog, true)
	p.Capacity = ptr(100)
	wants(t, "bounded, not yet full", at(200, 100, p), finding.MaxUnreachable, false)
}

func TestThroughputThatFallsWithMoreAtWorkAndLessWaitingIsSlowedExecution(t *testing.T) {
	before := at(150, 1930, observed.Pool{Max: ptr(50), ActiveMean: ptr(20), QueueMean: ptr(40)})
	now := at(200, 1000, observed.Pool{Max: ptr(50), ActiveMean: ptr(45), QueueMean: ptr(10)})
	wants(t, "active up, queue down", above(now, before), finding.ExecutionSlowed, true)
	wants(t, "throughput as before", above(at(200, 1930, observed.Pool{Max: ptr(50), ActiveMean: ptr(45), QueueMean: ptr(10)}), before), finding.ExecutionSlowed, false)
	jump := at(200, 900, observed.Pool{Max: ptr(50), ActiveMean: ptr(20), QueueMean: ptr(120)})
	wants(t, "queue jumps, active flat", above(jump, before), finding.ConsumptionBlocked, true)
	wants(t, "queue jumps, active flat", above(jump, before), finding.ExecutionSlowed, false)
}

func TestFullWorkersWithAnEmptyQueueAndNoMoreThroughputAreHeld(t *testing.T) {
	before := at(50, 500, observed.Pool{Max: ptr(50), ActiveMean: ptr(40), QueueMean: ptr(0)})
	now := at(100, 505, observed.Pool{Max: ptr(50), ActiveMean: ptr(50), QueueMean: ptr(0)})
	wants(t, "full, empty queue, flat", above(now, before), finding.WorkersHeld, true)
	now.SuccessPerSec = ptr(900)
	wants(t, "throughput rose", above(now, before), finding.WorkersHeld, false)
}

func TestAFullPoolOfWhichHardlyAnythingEndsIsBlocked(t *testing.T) {
	low := at(2, 30, observed.Pool{Max: ptr(8), ActiveMean: ptr(2), QueueMean: ptr(0), Completed: ptr(300)})
	stuck := at(40, 0, observed.Pool{Max: ptr(8), ActiveMean: ptr(8), QueueMean: ptr(60), Completed: ptr(3)})
	wants(t, "3 of 300", above(stuck, low), finding.ConsumptionBlocked, true)
	wants(t, "as many", above(at(40, 30, observed.Pool{Max: ptr(8), ActiveMean: ptr(8), QueueMean: ptr(60), Completed: ptr(300)}), low), finding.ConsumptionBlocked, false)
}

func TestMoreThreadsThatCarryLessOnBusyCPUsAreTooMany(t *testing.T) {
	with := func(threads, rate, cpu float64) diagnose.Scene {
		s := at(100, rate, observed.Pool{})
		s.HostCPURatio = ptr(cpu)
		s.Services["order"] = observed.Service{Threads: ptr(threads)}
		return s
	}
	wants(t, "1200/s from 1800/s", above(with(250, 1200, 0.95), with(60, 1800, 0.9)), finding.TooManyThreads, true)
	wants(t, "idle CPUs", above(with(250, 1200, 0.5), with(60, 1800, 0.9)), finding.TooManyThreads, false)
	wants(t, "few threads", above(with(20, 1200, 0.95), with(10, 1800, 0.9)), finding.TooManyThreads, false)
}

func TestASlowPoolIsToldFromAThrottledACollectingAndALockedOne(t *testing.T) {
	low := at(10, 400, observed.Pool{Max: ptr(30), ActiveMean: ptr(8), Execution: timing(20)})
	slow := func(change func(*observed.Service)) diagnose.Scene {
		s := at(100, 400, observed.Pool{Max: ptr(30), ActiveMean: ptr(29), Execution: timing(70)})
		service := s.Services["order"]
		change(&service)
		s.Services["order"] = service
		return above(s, low)
	}
	wants(t, "20 to 70 ms", slow(func(*observed.Service) {}), finding.DownstreamSlow, true)
	for what, c := range map[finding.Code]func(*observed.Service){
		finding.CgroupThrottled: func(s *observed.Service) { s.ThrottledRatio = ptr(0.4) },
		finding.GCPressure:      func(s *observed.Service) { s.GCRatio = ptr(0.3) },
		finding.SwitchOverload: func(s *observed.Service) {
			s.CPURatio, s.Switches = ptr(1.5), observed.Switches{Voluntary: ptr(200000), Involuntary: ptr(20000)}
		},
	} {
		wants(t, string(what), slow(c), what, true)
		wants(t, string(what), slow(c), finding.DownstreamSlow, false)
	}
}

func TestCPUThatOthersTakeIsNoLimitOfTheService(t *testing.T) {
	s := at(10, 100, observed.Pool{})
	s.HostCPURatio, s.OwnCores = ptr(0.97), ptr(3.0)
	wants(t, "3 of 4 cores are ours", s, finding.CPUBinding, true)
	s.OwnCores = ptr(0.3)
	wants(t, "0.3 of 4 cores are ours", s, finding.CPUBinding, false)
}

func TestAResponseSpentOutsideIdlePoolsPointsUpstream(t *testing.T) {
	s := at(10, 100, observed.Pool{Max: ptr(30), ActiveMean: ptr(2), QueueMean: ptr(0), Execution: timing(20), QueueWait: timing(0.1)})
	s.MeanMS = ptr(95)
	wants(t, "95 ms of which 20", s, finding.TimeOutsidePools, true)
	s.MeanMS = ptr(24)
	wants(t, "24 ms of which 20", s, finding.TimeOutsidePools, false)
}

func TestABacklogAtTheSocketIsFound(t *testing.T) {
	wants(t, "40 waiting", diagnose.Scene{AcceptQueue: ptr(40)}, finding.AcceptBacklog, true)
	wants(t, "1 waiting", diagnose.Scene{AcceptQueue: ptr(1)}, finding.AcceptBacklog, false)
}

func TestRetriesOfAServiceAreAStorm(t *testing.T) {
	s := at(10, 100, observed.Pool{Completed: ptr(1000)})
	service := s.Services["order"]
	service.RetriedPerSec = ptr(40)
	s.Services["order"] = service
	wants(t, "40/s of 100/s", s, finding.RetryStorm, true)
	service.RetriedPerSec = ptr(2)
	s.Services["order"] = service
	wants(t, "2/s of 100/s", s, finding.RetryStorm, false)
}

func TestThreadsThatGrowAllThroughTheWindowAreALeakAndAPoolThatFillsIsNot(t *testing.T) {
	with := func(g observed.Growth) diagnose.Scene {
		return diagnose.Scene{Services: map[string]observed.Service{"order": {ThreadGrowth: &g}}}
	}
	wants(t, "30, 60, 90", with(observed.Growth{First: 30, Second: 60, Last: 90}), finding.ThreadLeak, true)
	wants(t, "30, 90, 95", with(observed.Growth{First: 30, Second: 90, Last: 95}), finding.ThreadLeak, false)
	wants(t, "30, 32, 34", with(observed.Growth{First: 30, Second: 32, Last: 34}), finding.ThreadLeak, false)
}

func TestOfTwoPoolsThatAreTooSmallTheInnerBinds(t *testing.T) {
	s := at(20, 80, observed.Pool{Max: ptr(10), ActiveMean: ptr(10), QueueMean: ptr(30), Execution: timing(61), QueueWait: timing(178)})
	s.Services["order"].Pools["select"] = observed.Pool{Kind: record.KindPool, Max: ptr(10), ActiveMean: ptr(10), QueueMean: ptr(12), Execution: timing(10), QueueWait: timing(13)}
	if limit := diagnose.Binding(diagnose.Of(s)); limit == nil || limit.Name != "slots of order/select" {
		t.Errorf("binding %+v, want order/select: the other's workers wait for it", limit)
	}
}

const goDump = `goroutine 1 [running]:
main.main()
	/src/main.go:1 +0x1

`

// goroutines writes n workers of a pool with one stack.
func goroutines(from, n int, pool, state string, frames ...string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goroutine %d [%s labels:{\"pool\": %q, \"worker\": \"%s-worker-%d\"}]:\n", from+i, state, pool, pool, i+1)
		for _, f := range frames {
			fmt.Fprintf(&b, "%s(...)\n\t/src/x.go:10 +0x1\n", f)
		}
		b.WriteString("created by pool.(*Pool).spawn in goroutine 1\n\t/src/pool.go:1 +0x1\n\n")
	}
	return b.String()
}

func dumps(t *testing.T, texts ...string) map[string][]*dump.Summary {
	t.Helper()
	out := map[string][]*dump.Summary{}
	for _, text := range texts {
		list, err := dump.Read(strings.NewReader(goDump + text))
		if err != nil {
			t.Fatal(err)
		}
		out["order"] = append(out["order"], list...)
	}
	return out
}

func TestWorkersOfAGoPoolBehindOneMutexAreContention(t *testing.T) {
	locked := goroutines(10, 6, "biz", "sync.Mutex.Lock", "sync.runtime_SemacquireMutex", "sync.(*Mutex).Lock", "shop.(*Dates).Format", "pool.(*worker).run") +
		goroutines(30, 4, "biz", "IO wait", "net.(*conn).Read", "shop.(*Price).get", "pool.(*worker).run")
	s := diagnose.Scene{Dumps: dumps(t, locked)}
	found := diagnose.Of(s)
	if len(found) == 0 || found[0].Code != finding.LockContention || found[0].Evidence["where"] != "shop.(*Dates).Format" {
		t.Fatalf("%+v", found)
	}
	few := goroutines(10, 2, "biz", "sync.Mutex.Lock", "sync.(*Mutex).Lock", "shop.(*Dates).Format") + goroutines(30, 8, "biz", "IO wait", "net.(*conn).Read", "shop.(*Price).get")
	wants(t, "2 of 10", diagnose.Scene{Dumps: dumps(t, few)}, finding.LockContention, false)
}

func TestAPoolThatWaitsForItselfIsStarvedWhateverOthersDo(t *testing.T) {
	text := goroutines(10, 8, "biz", "sync.WaitGroup.Wait", "sync.(*WaitGroup).Wait", "shop.fan", "pool.(*worker).run") +
		goroutines(50, 5, "web", "IO wait", "net.(*conn).Read", "shop.(*Price).get")
	s := at(40, 0, observed.Pool{Max: ptr(8), ActiveMean: ptr(8), QueueMean: ptr(64), Completed: ptr(0)})
	s.Dumps = dumps(t, text, text)
	if found := diagnose.Of(s); len(found) == 0 || found[0].Code != finding.PoolStarvation || found[0].Severity != finding.Critical {
		t.Errorf("%v", codes(found))
	}
	working := at(40, 100, observed.Pool{Max: ptr(8), ActiveMean: ptr(8), QueueMean: ptr(64), Completed: ptr(1000)})
	working.Dumps = s.Dumps
	wants(t, "1000 tasks ended", working, finding.PoolStarvation, false)
}

func TestAPoolIsOversizedOnlyAtTheHighestStepAndByItsOwnPeaks(t *testing.T) {
	idle := goroutines(10, 20, "biz", "chan receive", "pool.(*worker).next", "pool.(*worker).run")
	s := at(10, 100, observed.Pool{Max: ptr(20), ActiveMean: ptr(2), ActiveMax: ptr(4), Execution: timing(20)})
	s.Dumps = dumps(t, idle)
	wants(t, "a lower step", s, finding.PoolOversized, false)
	s.Highest = true
	wants(t, "the highest step", s, finding.PoolOversized, true)
	busy := at(10, 100, observed.Pool{Max: ptr(20), ActiveMean: ptr(2), ActiveMax: ptr(19), Execution: timing(20)})
	busy.Dumps, busy.Highest = s.Dumps, true
	wants(t, "19 were at work once", busy, finding.PoolOversized, false)
}

func TestAnEmptySceneHasNoFindingAndSaysWhatIsMissing(t *testing.T) {
	r := diagnose.NewReport(diagnose.Scene{})
	if len(r.Findings) != 0 || r.Binding != nil || len(r.Missing) < 5 {
		t.Errorf("%+v", r)
	}
}

func TestAHealthyStepHasNoFinding(t *testing.T) {
	low := at(2, 33, observed.Pool{Core: ptr(20), Max: ptr(20), Size: ptr(20), Capacity: ptr(64), ActiveMean: ptr(0.6), ActiveMax: ptr(2), QueueMean: ptr(0), Execution: timing(20), QueueWait: timing(0.1), Completed: ptr(330)})
	high := at(40, 560, observed.Pool{Core: ptr(20), Max: ptr(20), Size: ptr(20), Capacity: ptr(64), ActiveMean: ptr(11), ActiveMax: ptr(19), QueueMean: ptr(0), Execution: timing(21), QueueWait: timing(0.1), Completed: ptr(5600)})
	high.MeanMS, high.Highest, high.HostCPURatio = ptr(21.5), true, ptr(0.2)
	if got := codes(diagnose.Of(above(high, low))); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestEveryFindingIsWhole draws scenes at random: whatever is found has a sentence, evidence with its times, advice and a refutation, and the
// limit named is one of them.
func TestEveryFindingIsWhole(t *testing.T) {
	figure := rapid.Custom(func(t *rapid.T) *float64 {
		if rapid.Bool().Draw(t, "known") {
			return ptr(rapid.Float64Range(0, 300).Draw(t, "value"))
		}
		return nil
	})
	ratio := rapid.Custom(func(t *rapid.T) *float64 { return ptr(rapid.Float64Range(0, 1).Draw(t, "ratio")) })
	scene := rapid.Custom(func(t *rapid.T) diagnose.Scene {
		p := observed.Pool{Core: figure.Draw(t, "core"), Max: figure.Draw(t, "max"), Capacity: figure.Draw(t, "capacity"), ActiveMean: figure.Draw(t, "active"),
			ActiveMax: figure.Draw(t, "most"), QueueMean: figure.Draw(t, "queue"), Completed: figure.Draw(t, "completed"), Rejected: figure.Draw(t, "rejected"), Waiting: figure.Draw(t, "waiting")}
		if rapid.Bool().Draw(t, "timed") {
			p.Execution, p.QueueWait = timing(rapid.Float64Range(0.1, 100).Draw(t, "run")), timing(rapid.Float64Range(0, 100).Draw(t, "wait"))
		}
		s := at(rapid.IntRange(1, 100).Draw(t, "users"), rapid.Float64Range(0, 1000).Draw(t, "rate"), p)
		s.HostCPURatio, s.MeanMS, s.RejectedRatio, s.AcceptQueue = ratio.Draw(t, "cpu"), figure.Draw(t, "mean"), ratio.Draw(t, "refused"), figure.Draw(t, "accept")
		service := s.Services["order"]
		service.GCRatio, service.ThrottledRatio, service.CPURatio, service.Threads = ratio.Draw(t, "gc"), ratio.Draw(t, "throttled"), figure.Draw(t, "used"), figure.Draw(t, "threads")
		service.Switches = observed.Switches{Voluntary: ptr(rapid.Float64Range(0, 1e6).Draw(t, "switches")), Involuntary: ptr(0)}
		s.Services["order"] = service
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		s := scene.Draw(t, "scene")
		if rapid.Bool().Draw(t, "steps") {
			s = above(s, scene.Draw(t, "below"))
		}
		found := diagnose.Of(s)
		for _, f := range found {
			if f.Text == "" || f.Next == "" || f.Refute == "" || f.Severity == "" || f.Evidence["to_s"] != 10.0 || strings.Contains(f.Text, "%!") || strings.Contains(f.Text, "NaN") {
				t.Fatalf("%+v", f)
			}
		}
		if limit := diagnose.Binding(found); limit != nil && !slices.Contains(codes(found), limit.Finding.Code) {
			t.Fatalf("%+v of %v", limit, codes(found))
		}
	})
}
