package analysis_test

import (
	"math"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/record"
)

func withSamples(processes []record.ProcessSample, pools []record.PoolSample, series ...record.SeriesSample) analysis.CellResult {
	c := steadyCell(closed(10), class(record.Success, 500, 20*time.Millisecond))
	c.Processes, c.Pools, c.Series = processes, pools, series
	return analysis.Of(run(c)).Cells[0]
}

// The window is 0…10 s. Samples before it and after it are of no account.
func TestProcessFiguresAreRatesInsideTheWindow(t *testing.T) {
	at := func(s float64, cpu time.Duration, voluntary, involuntary, threads int64) record.ProcessSample {
		return record.ProcessSample{Service: "order", At: time.Duration(s * float64(time.Second)), CPUUser: cpu / 2, CPUSystem: cpu / 2,
			Voluntary: voluntary, Involuntary: involuntary, Threads: threads, RSSBytes: threads << 20}
	}
	s := withSamples([]record.ProcessSample{
		at(-5, 0, 0, 0, 99),
		at(-0.04, 10*time.Second, 1000, 100, 5), // taken at the window's edge
		at(4.96, 12*time.Second, 6000, 200, 7),
		at(9.96, 17*time.Second, 11000, 400, 6),
		at(20, 100*time.Second, 999999, 99999, 99),
	}, nil).Services["order"]
	near(t, "CPU", s.CPURatio, 7.0/10)
	near(t, "voluntary", s.Switches.Voluntary, 10000/10.0)
	near(t, "involuntary", s.Switches.Involuntary, 300/10.0)
	near(t, "threads", s.Threads, 7)
	near(t, "RSS", s.RSSBytes, 7<<20)
}

func TestAPairOfSamplesAcrossARestartIsLeftOutWithItsTime(t *testing.T) {
	at := func(s int, switches int64) record.ProcessSample {
		return record.ProcessSample{Service: "order", At: time.Duration(s) * time.Second, Voluntary: switches, Involuntary: -1, CPUUser: -1, Threads: -1, RSSBytes: -1}
	}
	s := withSamples([]record.ProcessSample{at(0, 1000), at(2, 1200), at(4, 50), at(6, 250)}, nil).Services["order"]
	near(t, "voluntary", s.Switches.Voluntary, (200+200)/4.0)
	unknown(t, "involuntary", s.Switches.Involuntary)
	unknown(t, "CPU", s.CPURatio)
	unknown(t, "threads", s.Threads)
	one := withSamples([]record.ProcessSample{at(3, 5)}, nil).Services["order"]
	unknown(t, "a rate of one sample", one.Switches.Voluntary)
}

func TestPoolFiguresAreMeansMaximaAndDifferences(t *testing.T) {
	sample := func(s int, active, high, completed, rejected float64, wait, execution *record.Dist) record.PoolSample {
		return record.PoolSample{Service: "order", Pool: "price", Kind: record.KindPool, At: time.Duration(s) * time.Second, Core: ptr(10), Max: ptr(12),
			Active: ptr(active), ActiveMax: ptr(high), Completed: ptr(completed), Rejected: ptr(rejected), QueueWait: wait, Execution: execution}
	}
	p := withSamples(nil, []record.PoolSample{
		sample(-3, 12, 12, 0, 0, nil, nil),
		sample(1, 4, 11, 1000, 5, &record.Dist{Count: 100, Seconds: 1}, &record.Dist{Count: 1000, Seconds: 30}),
		sample(3, 6, 9, 1500, 6, &record.Dist{Count: 200, Seconds: 1.5}, &record.Dist{Count: 1500, Seconds: 40}),
		sample(5, 8, 8, 2000, 9, &record.Dist{Count: 300, Seconds: 2}, &record.Dist{Count: 2000, Seconds: 45}),
	}).Services["order"].Pools["price"]
	near(t, "active mean", p.ActiveMean, 6)
	near(t, "active max", p.ActiveMax, 9) // 11 was reached before the window, perhaps
	near(t, "completed", p.Completed, 1000)
	near(t, "rejected", p.Rejected, 4)
	near(t, "queue wait", p.QueueWait.Mean, 1000.0/200)
	near(t, "execution", p.Execution.Mean, 15*1000.0/1000)
	near(t, "core", p.Core, 10)
	unknown(t, "queue mean", p.QueueMean)
	unknown(t, "capacity", p.Capacity)
	unknown(t, "p99 without buckets", p.Execution.P99)
}

func TestAPoolRestartedInTheWindowCountsFromZeroAgain(t *testing.T) {
	sample := func(s int, n float64) record.PoolSample {
		return record.PoolSample{Service: "order", Pool: "price", At: time.Duration(s) * time.Second, Completed: ptr(n), Execution: &record.Dist{Count: n, Seconds: n / 100}}
	}
	p := withSamples(nil, []record.PoolSample{sample(0, 100), sample(1, 300), sample(2, 50), sample(3, 80)}).Services["order"].Pools["price"]
	near(t, "completed", p.Completed, 200+50+30)
	near(t, "executions since the restart", &p.Execution.N, 80)
}

// Between two samples 1000 executions: 500 up to 10 ms, 460 more up to 20 ms, 35 more up to 40 ms, 5 beyond.
func TestQuantilesAreInterpolatedWithinBuckets(t *testing.T) {
	inf := math.Inf(1)
	dist := func(scale float64) *record.Dist {
		return &record.Dist{Count: 1000 * scale, Seconds: 12 * scale, Buckets: []record.DistBucket{{UpperSeconds: 0.010, Count: 500 * scale},
			{UpperSeconds: 0.020, Count: 960 * scale}, {UpperSeconds: 0.040, Count: 995 * scale}, {UpperSeconds: inf, Count: 1000 * scale}}}
	}
	sample := func(s int, scale float64) record.PoolSample {
		return record.PoolSample{Service: "order", Pool: "price", At: time.Duration(s) * time.Second, Execution: dist(scale)}
	}
	e := withSamples(nil, []record.PoolSample{sample(0, 1), sample(5, 2)}).Services["order"].Pools["price"].Execution
	near(t, "n", &e.N, 1000)
	near(t, "mean", e.Mean, 12)
	near(t, "p50", e.P50, 10)
	near(t, "p95", e.P95, 10+10*(950-500)/460.0)
	near(t, "p99", e.P99, 20+20*(990-960)/35.0)
	few := withSamples(nil, []record.PoolSample{sample(0, 0), sample(5, 0.298)}).Services["order"].Pools["price"].Execution
	unknown(t, "p99 of 298", few.P99)
	open := &record.Dist{Count: 1000, Seconds: 1, Buckets: []record.DistBucket{{UpperSeconds: 0.01, Count: 900}, {UpperSeconds: inf, Count: 1000}}}
	beyond := withSamples(nil, []record.PoolSample{{Service: "order", Pool: "price", Execution: &record.Dist{}}, {Service: "order", Pool: "price", At: 1, Execution: open}})
	unknown(t, "p99 in the open bucket", beyond.Services["order"].Pools["price"].Execution.P99)
}

func TestTheMachinesUseIsTheHostsSeriesElseTheSumOfWhatWasSampled(t *testing.T) {
	at := func(s int, cpu time.Duration) record.ProcessSample {
		return record.ProcessSample{Service: "order", At: time.Duration(s) * time.Second, CPUUser: cpu}
	}
	processes := []record.ProcessSample{at(0, 0), at(10, 20*time.Second)}
	near(t, "2 of 4 cores", withSamples(processes, nil).HostCPURatio, 0.5)
	near(t, "the host's own figure", withSamples(processes, nil, hostBusy(0.75)...).HostCPURatio, 0.75)
	unknown(t, "nothing sampled", withSamples(nil, nil).HostCPURatio)
}
