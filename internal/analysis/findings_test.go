package analysis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/record"
)

const ms = time.Millisecond

// found computes one cell with one pool and gives the codes of its findings.
func found(load record.Load, pool poolFigures, classes ...record.Class) []finding.Code {
	c := steadyCell(load, classes...)
	c.Pools = pool.samples()
	return codes(analysis.Of(run(c)).Cells[0].Findings)
}

func codes(findings []analysis.Finding) []finding.Code {
	var out []finding.Code
	for _, f := range findings {
		out = append(out, f.Code)
	}
	return out
}

func expect(t *testing.T, what string, got []finding.Code, code finding.Code, want bool) {
	t.Helper()
	if slices.Contains(got, code) != want {
		t.Errorf("%s: %s found %v, want %v (%v)", what, code, !want, want, got)
	}
}

func TestAFullPoolUnderPressureIsASlotCeiling(t *testing.T) {
	full := poolFigures{kind: record.KindPool, core: 10, max: 10, capacity: 6, active: 9.9, queue: 6, completed: 5000, rejected: 100, executionMS: 20, waitMS: 12}
	success := class(record.Success, 500, 32*ms)
	expect(t, "full", found(closed(16), full, success), finding.SlotCeiling, true)
	half := full
	half.active = 5
	expect(t, "half full", found(closed(16), half, success), finding.SlotCeiling, false)
	idleQueue := full
	idleQueue.queue, idleQueue.rejected = 0, 0
	expect(t, "full and nobody waiting", found(closed(10), idleQueue, success), finding.SlotCeiling, false)
	c := steadyCell(closed(16), success)
	c.Pools = full.samples()
	for _, f := range analysis.Of(run(c)).Cells[0].Findings {
		if f.Code == finding.SlotCeiling && (f.Evidence["ceiling_per_s"] != 500.0 || f.Evidence["pool"] != "price" || f.Evidence["service"] != "order") {
			t.Errorf("evidence %v, want 10 × 1000 / 20 = 500/s at order/price", f.Evidence)
		}
	}
}

func TestRefusalsInAClosedLoopWithoutBackOffAreARetryStorm(t *testing.T) {
	none := poolFigures{}
	storm := []record.Class{class(record.Success, 500, 20*ms), class(record.Rejected, 4500, 2*ms)}
	got := found(closed(19), none, storm...)
	expect(t, "no think time", got, finding.RetryStorm, true)
	expect(t, "no think time", got, finding.RejectionStorm, false)
	thinking := closed(200)
	thinking.Think = 195 * ms
	got = found(thinking, none, storm...)
	expect(t, "with think time", got, finding.RetryStorm, false)
	expect(t, "with think time", got, finding.RejectionStorm, true)
	expect(t, "open", found(record.Load{Model: record.Open, RatePerSec: 5000}, none, storm...), finding.RejectionStorm, true)
	few := []record.Class{class(record.Success, 980, 20*ms), class(record.Rejected, 20, 2*ms)}
	expect(t, "2 % refused", found(closed(20), none, few...), finding.RetryStorm, false)
}

func TestTheTrapsOfTheOrderDetailStudyAreNamed(t *testing.T) {
	success := class(record.Success, 500, 32*ms)
	base := poolFigures{kind: record.KindPool, core: 10, max: 10, capacity: 6, active: 8, completed: 5000, executionMS: 20, waitMS: 5}
	with := func(change func(*poolFigures)) poolFigures {
		p := base
		change(&p)
		return p
	}
	check := func(what string, code finding.Code, p poolFigures, want bool, classes ...record.Class) {
		t.Helper()
		if classes == nil {
			classes = []record.Class{success}
		}
		expect(t, what, found(closed(16), p, classes...), code, want)
	}
	check("queue wait 5 ms, execution 20", finding.PoolTooSmall, base, false)
	check("queue wait 21 ms, execution 20", finding.PoolTooSmall, with(func(p *poolFigures) { p.waitMS = 21 }), true)
	diverging := with(func(p *poolFigures) { p.max, p.rejected = 30, 50 })
	check("max 30, core 10, 8 at work, refusals", finding.MaxUnreachable, diverging, true)
	check("max 30, core 10, 20 at work, refusals", finding.MaxUnreachable, with(func(p *poolFigures) { p.max, p.rejected, p.active = 30, 50, 20 }), false)
	check("wait and execution above the timeout of 5 s", finding.TimeoutBelowWait, with(func(p *poolFigures) { p.waitMS, p.executionMS = 4000, 1500 }), true)
	check("wait and execution below the timeout of 5 s", finding.TimeoutBelowWait, with(func(p *poolFigures) { p.waitMS, p.executionMS = 3000, 1500 }), false)
	cut := class(record.Timeout, 50, 300*ms)
	cut.Answered = true
	check("the service's own timeout of 300 ms", finding.TimeoutBelowWait, with(func(p *poolFigures) { p.waitMS, p.executionMS = 200, 150 }), true, success, cut)
	check("5500 executions for 5000 served and 500 gone", finding.ZombieWorkers, with(func(p *poolFigures) { p.completed, p.timedOut = 5500, 500 }), true, success, cut)
	check("5000 executions for 5000 served and 500 gone", finding.ZombieWorkers, with(func(p *poolFigures) { p.timedOut = 500 }), false, success, cut)
	deep := with(func(p *poolFigures) { p.capacity, p.queue = 50, 50 })
	check("a queue of 50 for 10 slots stands full", finding.QueueBacklog, deep, true)
	check("a queue of 6 for 10 slots stands full", finding.QueueBacklog, with(func(p *poolFigures) { p.queue = 6 }), false)
	check("a queue that grows", finding.QueueBacklog, with(func(p *poolFigures) { p.capacity, p.queueEnd = 10000, 100 }), true)
	check("work of 0.2 ms", finding.IsolationTooDear, with(func(p *poolFigures) { p.executionMS, p.waitMS = 0.2, 0.1 }), true)
	check("work of 20 ms", finding.IsolationTooDear, base, false)
	check("3 callers wait for a connection", finding.DownstreamPoolBinding, with(func(p *poolFigures) { p.waiting = 3 }), true)
}

// hostBusy is a machine of one core that was busy for this share of a second, user and system alike.
func hostBusy(share float64) []record.SeriesSample {
	var out []record.SeriesSample
	for second := range 2 {
		for name, perSecond := range map[string]float64{"cpu_user_seconds_total": share / 2, "cpu_system_seconds_total": share / 2,
			"cpu_idle_seconds_total": 0.9 * (1 - share), "cpu_iowait_seconds_total": 0.1 * (1 - share)} {
			out = append(out, record.SeriesSample{Source: "host", Name: name, At: time.Duration(second) * time.Second, Value: 1000 + perSecond*float64(second)})
		}
	}
	return out
}

// steps computes two steps of one setting with the second pool's figures.
func steps(first, second poolFigures, cpu float64) []finding.Code {
	low, high := steadyCell(closed(50), class(record.Success, 500, 20*ms)), steadyCell(closed(100), class(record.Success, 500, 20*ms))
	low.Pools, high.Pools = first.samples(), second.samples()
	high.Index = 1
	high.Series = hostBusy(cpu)
	return codes(analysis.Of(run(low, high)).Cells[1].Findings)
}

func TestExecutionThatGrowsPointsDownstreamWhetherOrNotTheQueueFollows(t *testing.T) {
	first := poolFigures{kind: record.KindPool, core: 30, max: 30, capacity: 6, active: 20, completed: 5000, executionMS: 20, waitMS: 1}
	slow := first
	slow.executionMS = 60
	expect(t, "20 to 60 ms", steps(first, slow, 0.5), finding.DownstreamSlow, true)
	expect(t, "20 to 60 ms on busy CPUs", steps(first, slow, 0.95), finding.DownstreamSlow, false)
	slow.waitMS = 100
	// Slower work fills the workers, and then the queue: the wait follows, and cannot be what made the work slower.
	if got := steps(first, slow, 0.5); len(got) < 2 || got[0] != finding.DownstreamSlow || !slices.Contains(got, finding.PoolTooSmall) {
		t.Errorf("the queue wait grew too: %v, want downstream-slow first and pool-too-small", got)
	}
	little := first
	little.executionMS = 25
	expect(t, "20 to 25 ms", steps(first, little, 0.5), finding.DownstreamSlow, false)
	permits := poolFigures{kind: record.KindBulkhead, max: 30, active: 29.9, completed: 1000, rejected: 400, executionMS: 300}
	before := permits
	before.executionMS, before.active, before.rejected = 20, 10, 0
	expect(t, "a full bulkhead of slow calls", steps(before, permits, 0.5), finding.PermitsHeldBySlow, true)
	expect(t, "a full bulkhead of slow calls", steps(before, permits, 0.5), finding.DownstreamSlow, false)
}

func TestBusyCPUsAreACaveatAndBindWhereNoPoolIsFull(t *testing.T) {
	c := steadyCell(closed(10), class(record.Success, 500, 20*ms))
	c.Series = hostBusy(0.93)
	r := analysis.Of(run(c)).Cells[0]
	if !hasCaveat(r.Caveats, finding.CPUSaturated) || !hasFinding(r.Findings, finding.CPUBinding) {
		t.Errorf("caveats %v, findings %v", r.Caveats, r.Findings)
	}
	c.Series = hostBusy(0.85)
	r = analysis.Of(run(c)).Cells[0]
	if hasCaveat(r.Caveats, finding.CPUSaturated) || hasFinding(r.Findings, finding.CPUBinding) {
		t.Errorf("at 85 %%: caveats %v, findings %v", r.Caveats, r.Findings)
	}
}

// 40 000 switches a second at 3.8 µs are 0.152 of a core: 30 % of half a core's work, 15 % of one core's.
func TestSwitchingIsAnOverloadFromAQuarterOfTheCPUTime(t *testing.T) {
	switching := func(cores float64) []finding.Code {
		c := steadyCell(closed(10), class(record.Success, 500, 20*ms))
		c.Processes = []record.ProcessSample{{Service: "order"}, {Service: "order", At: 10 * time.Second, Voluntary: 300000, Involuntary: 100000,
			CPUUser: time.Duration(cores * 10 * float64(time.Second))}}
		return codes(analysis.Of(run(c)).Cells[0].Findings)
	}
	expect(t, "half a core", switching(0.5), finding.SwitchOverload, true)
	expect(t, "one core", switching(1), finding.SwitchOverload, false)
}

func TestTheAuditHoldsOnAPerfectLoopAndSpeaksOnABrokenOne(t *testing.T) {
	// 10 users, 20 ms each: 500/s.
	good := steadyCell(closed(10), class(record.Success, 500, 20*ms))
	if r := analysis.Of(run(good)).Cells[0]; len(r.Caveats) != 0 || len(r.Checks) == 0 {
		t.Errorf("a perfect loop: caveats %v, %d checks", r.Caveats, len(r.Checks))
	}
	busy := steadyCell(closed(10), class(record.Success, 515, 20*ms)) // 10.3 users in a loop of 10
	if r := analysis.Of(run(busy)).Cells[0]; !hasCaveat(r.Caveats, finding.LittleViolated) {
		t.Errorf("3 %% too many: %v", r.Caveats)
	}
	lost := steadyCell(closed(10), class(record.Success, 500, 20*ms))
	lost.Intervals[3].Planned++
	if r := analysis.Of(run(lost)).Cells[0]; !hasCaveat(r.Caveats, finding.OutcomeSumWrong) {
		t.Errorf("one outcome missing: %v", r.Caveats)
	}
	// 10 slots of 20 ms allow 10 × (10 s / 20 ms + 1) = 5010 successes, 0.5 % more at most.
	ceiling := func(perSecond int64) bool {
		c := steadyCell(closed(20), class(record.Success, perSecond, 20*ms))
		c.Slots = []record.SlotLimit{{Service: "order", Slots: 10}}
		c.Pools = poolFigures{kind: record.KindPool, core: 10, max: 10, active: 10, completed: 5000, executionMS: 20}.samples()
		return hasCaveat(analysis.Of(run(c)).Cells[0].Caveats, finding.SlotCeilingExceeded)
	}
	if ceiling(503) || !ceiling(504) {
		t.Errorf("5030 successes too many %v, 5040 too many %v; the limit is 5035", ceiling(503), ceiling(504))
	}
}

func TestSlotsThatDidNotReachTheServiceAreACaveat(t *testing.T) {
	c := steadyCell(closed(10), class(record.Success, 500, 20*ms))
	c.Slots = []record.SlotLimit{{Service: "order", Pool: "price", Slots: 30}}
	c.Pools = poolFigures{kind: record.KindPool, core: 10, max: 10, active: 5, completed: 5000, executionMS: 20}.samples()
	if r := analysis.Of(run(c)).Cells[0]; !hasCaveat(r.Caveats, finding.SlotsNotInForce) {
		t.Errorf("30 planned, 10 in force: %v", r.Caveats)
	}
	c.Slots[0].Slots = 10
	if r := analysis.Of(run(c)).Cells[0]; hasCaveat(r.Caveats, finding.SlotsNotInForce) {
		t.Errorf("10 planned, 10 in force: %v", r.Caveats)
	}
}

// ladder is a setting that answers in d at each of the loads.
func ladder(setting string, answers map[int]time.Duration) []record.Cell {
	var out []record.Cell
	for _, users := range []int{50, 100, 200, 400} {
		d, ok := answers[users]
		if !ok {
			continue
		}
		c := steadyCell(closed(users), class(record.Success, int64(float64(users)/d.Seconds()), d))
		c.Setting = record.Setting{{Name: "isolation", Value: setting}}
		c.Index = len(out)
		out = append(out, c)
	}
	return out
}

func TestTheLoadLineIsTheLargestStepWhoseSLOHolds(t *testing.T) {
	r := run(ladder("none", map[int]time.Duration{50: 20 * ms, 100: 25 * ms, 200: 50 * ms, 400: 30 * ms})...)
	r.SLO = "p99<30ms"
	got := analysis.Of(r)
	line := got.LoadLine
	if line == nil || line.Concurrency == nil || *line.Concurrency != 100 {
		t.Fatalf("load line %+v, want 100 users", line)
	}
	near(t, "rate", line.RatePerSec, 100/0.025)
	near(t, "low", line.Low, 100)
	near(t, "high", line.High, 200)
	r.SLO = "p99<1ms"
	if got := analysis.Of(r).LoadLine; got != nil {
		t.Errorf("load line %+v where no step holds", got)
	}
	r.SLO = "p99<1s"
	if got := analysis.Of(r).LoadLine; got == nil || *got.Concurrency != 400 || got.High != nil {
		t.Errorf("load line %+v where every step holds", got)
	}
}

func TestALimitIsNamedWhereTheFirstFailingStepShowsOne(t *testing.T) {
	cells := ladder("thread", map[int]time.Duration{50: 20 * ms, 100: 40 * ms})
	cells[1].Pools = poolFigures{kind: record.KindPool, core: 50, max: 50, capacity: 100, active: 50, queue: 50, completed: 25000, executionMS: 20, waitMS: 20}.samples()
	r := run(cells...)
	r.SLO = "p99<30ms"
	line := analysis.Of(r).LoadLine
	if line == nil || line.BindingLimit == nil || *line.BindingLimit != "slots of order/price" || len(line.Evidence) == 0 {
		t.Errorf("load line %+v", line)
	}
}

func TestTheBestSettingsLoadLineIsTheRuns(t *testing.T) {
	cells := append(ladder("slow", map[int]time.Duration{50: 20 * ms, 100: 200 * ms}), ladder("fast", map[int]time.Duration{50: 20 * ms, 100: 20 * ms})...)
	r := run(cells...)
	r.SLO = "p99<30ms"
	got := analysis.Of(r)
	if got.LoadLine == nil || *got.LoadLine.Concurrency != 100 || len(got.Settings) != 2 || *got.Settings[0].LoadLine.Concurrency != 50 {
		t.Errorf("run %+v, settings %+v", got.LoadLine, got.Settings)
	}
}

func TestVerdictsAreWithheldWithoutEvidence(t *testing.T) {
	verdict := func(c record.Cell, slo string) slo.Verdict {
		r := run(c)
		r.SLO = slo
		return analysis.Of(r).Cells[0].SLO.Verdict
	}
	good := steadyCell(closed(10), class(record.Success, 500, 20*ms))
	if v := verdict(good, "p99<30ms,success>99%"); v != slo.Pass {
		t.Errorf("a steady cell: %v", v)
	}
	short := good
	short.Intervals = good.Intervals[:2]
	if v := verdict(short, "p99<30ms"); v != slo.NoEvidence {
		t.Errorf("two intervals: %v", v)
	}
	if v := verdict(short, "success>99%"); v != slo.Pass {
		t.Errorf("two intervals, success alone: %v", v)
	}
	late := steadyCell(closed(10), class(record.Success, 500, 20*ms))
	for i := range late.Intervals {
		late.Intervals[i].Generator.RunQueueWait = 500 * ms
	}
	if v := verdict(late, "p99<30ms"); v != slo.NoEvidence {
		t.Errorf("an invalid generator: %v", v)
	}
	storm := steadyCell(closed(19), class(record.Success, 500, 20*ms), class(record.Rejected, 4500, 2*ms))
	if v := verdict(storm, "p99<30ms"); v != slo.NoEvidence {
		t.Errorf("latency in a storm: %v", v)
	}
	if v := verdict(storm, "success>99%"); v != slo.Fail {
		t.Errorf("success in a storm: %v", v)
	}
	if analysis.Of(run(good)).Cells[0].SLO != nil {
		t.Error("a verdict where no SLO was asked")
	}
}

func TestIsolationIsPricedBesideNoneAtTheHighestStepWithoutRefusals(t *testing.T) {
	// At 200 users: 10 000/s without, 9 000/s with isolation. At 400 the isolated setting refuses.
	none := ladder("none", map[int]time.Duration{100: 20 * ms, 200: 20 * ms, 400: 20 * ms})
	thread := ladder("thread", map[int]time.Duration{100: 20 * ms})
	at200 := steadyCell(closed(180), class(record.Success, 9000, 20*ms))
	at200.Load.Concurrency, at200.Setting = 200, thread[0].Setting
	at400 := steadyCell(closed(400), class(record.Success, 9000, 20*ms), class(record.Rejected, 9000, 20*ms))
	at400.Setting = thread[0].Setting
	got := analysis.Of(run(append(append(none, thread...), at200, at400)...))
	if len(got.Settings) != 2 || len(got.Settings[1].Findings) != 1 {
		t.Fatalf("settings %+v", got.Settings)
	}
	f := got.Settings[1].Findings[0]
	cost := f.Evidence["cost_ratio"].(float64)
	if f.Code != finding.IsolationCost || cost < 0.0999 || cost > 0.1001 {
		t.Errorf("%+v, want a cost of 10 %%", f)
	}
	if f.Evidence["in_doubt"] != false || strings.Contains(f.Text, "no verdict") {
		t.Errorf("%+v is in doubt", f)
	}
	for i := range at200.Intervals {
		at200.Intervals[i].Generator.RunQueueWait = at200.Intervals[i].End - at200.Intervals[i].Start
	}
	f = analysis.Of(run(append(append(none, thread...), at200, at400)...)).Settings[1].Findings[0]
	if f.Evidence["in_doubt"] != true || !strings.Contains(f.Text, "no verdict") || strings.Contains(f.Next, "repeat") {
		t.Errorf("%+v is not in doubt although the generator was at its limit", f)
	}
}

// A pool of 100 slots of 20 ms carries 50 × N up to 100 users and 5000/s beyond.
func TestTheKneeLiesWhereThroughputStopsGrowing(t *testing.T) {
	rising := func(loads ...int) *analysis.Knee {
		var cells []record.Cell
		for _, n := range loads {
			rate := min(50*n, 5000)
			c := steadyCell(closed(n), class(record.Success, int64(rate), time.Duration(n)*time.Second/time.Duration(rate)))
			c.Index = len(cells)
			cells = append(cells, c)
		}
		return analysis.Of(run(cells...)).Knee
	}
	k := rising(20, 40, 60, 80, 120, 160, 200, 240)
	if k == nil || k.Concurrency == nil || *k.Concurrency < 95 || *k.Concurrency > 105 || *k.RatePerSec < 4750 || *k.RatePerSec > 5250 {
		t.Errorf("knee %+v, want 100 users and 5000/s", k)
	}
	if k := rising(20, 40, 60, 80, 100); k != nil {
		t.Errorf("a knee where throughput only grows: %+v", k)
	}
	if k := rising(50, 100, 200, 400); k != nil {
		t.Errorf("a knee from four loads: %+v", k)
	}
}

func TestAGeneratorThatOnlyWaitedForACPUIsInvalidButDoesNotBind(t *testing.T) {
	c := steadyCell(closed(10), class(record.Success, 500, 20*ms))
	for i := range c.Intervals {
		c.Intervals[i].Generator.RunQueueWait = (c.Intervals[i].End - c.Intervals[i].Start) / 4
	}
	r := analysis.Of(run(c)).Cells[0]
	if r.Generator.Valid || !hasCaveat(r.Caveats, finding.GeneratorLimit) || hasFinding(r.Findings, finding.GeneratorBinding) {
		t.Errorf("generator %+v, caveats %v, findings %v", r.Generator, r.Caveats, r.Findings)
	}
	for i := range c.Intervals {
		c.Intervals[i].Generator.LoopCPU = []time.Duration{c.Intervals[i].End - c.Intervals[i].Start}
	}
	if r := analysis.Of(run(c)).Cells[0]; !hasFinding(r.Findings, finding.GeneratorBinding) {
		t.Errorf("a busy loop does not bind: generator %+v, findings %v", r.Generator, r.Findings)
	}
}

func TestCPUsThatThreadsQueueForAreSaturatedBelowNinetyPercent(t *testing.T) {
	waiting := func(busy float64, wait float64) bool {
		c := steadyCell(closed(10), class(record.Success, 500, 20*ms))
		c.Series = hostBusy(busy)
		for i := range c.Intervals {
			c.Intervals[i].Generator.RunQueueWait = time.Duration(wait * float64(c.Intervals[i].End-c.Intervals[i].Start))
		}
		return hasCaveat(analysis.Of(run(c)).Cells[0].Caveats, finding.CPUSaturated)
	}
	if !waiting(0.8, 0.3) || waiting(0.8, 0.05) || waiting(0.5, 0.3) {
		t.Errorf("80 %% busy with waits of 30 %%: %v, of 5 %%: %v; 50 %% busy: %v; want true, false, false", waiting(0.8, 0.3), waiting(0.8, 0.05), waiting(0.5, 0.3))
	}
}
