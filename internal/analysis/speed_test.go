package analysis_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// longRun is cells of 1000 intervals each, 100 requests in every one, so that 100 cells are 10^5 interval rows and 10^7 samples: spread as response
// times are, one in twenty refused, with a pool and a process sampled every second. Ten cells are made and the others are the same again.
func longRun(cells int) record.Run {
	const made, intervals, requests = 10, 1000, 100
	rng := rand.New(rand.NewPCG(1, 2))
	r := record.Run{ID: "long", Started: time.Unix(0, 0).UTC(), SLO: "p99<100ms,success>99%", Environment: record.Environment{Cores: 4}}
	for i := range cells {
		if i >= made {
			c := r.Cells[i%made]
			c.Index, c.Setting = i, record.Setting{{Name: "slots", Value: int64(i / 10)}}
			r.Cells = append(r.Cells, c)
			continue
		}
		c := record.Cell{Index: i, Repeat: 1, Setting: record.Setting{{Name: "slots", Value: int64(i / 10)}}, Load: closed(10 + i%10*10), Window: intervals * time.Second, Timeout: 5 * time.Second}
		for s := range intervals {
			good, refused := hist.New(), hist.New()
			for range requests * 19 / 20 {
				good.Record(time.Duration(20e6 * math.Exp(0.5*rng.NormFloat64())))
			}
			refused.RecordN(200*time.Microsecond, requests/20)
			c.Intervals = append(c.Intervals, window(s, requests,
				record.Class{Outcome: record.Success, Inside: true, Answered: true, Count: good.Count(), Latency: good, Held: good.Sum()},
				record.Class{Outcome: record.Rejected, Inside: true, Answered: true, Count: refused.Count(), Latency: refused, Held: refused.Sum()}))
			at := time.Duration(s) * time.Second
			c.Processes = append(c.Processes, record.ProcessSample{Service: "order", At: at, CPUUser: at / 2, Voluntary: int64(s * 1000), Involuntary: int64(s * 100)})
			n := float64(s * requests)
			c.Pools = append(c.Pools, record.PoolSample{Service: "order", Pool: "price", Kind: record.KindPool, At: at, Core: ptr(10), Max: ptr(10), Size: ptr(10), Capacity: ptr(6),
				Active: ptr(9), Queue: ptr(2), Completed: ptr(n), Rejected: ptr(n / 20), Execution: &record.Dist{Count: n, Seconds: n * 0.02}})
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}

// A run of 10^7 samples in 10^5 interval rows is analysed in less than a second.
func BenchmarkALongRun(b *testing.B) {
	run := longRun(100)
	for b.Loop() {
		if r := analysis.Of(run); len(r.Cells) != 100 || r.Cells[0].Latency.P99 == nil {
			b.Fatal("no figures")
		}
	}
}

func TestALongRunKeepsEverySampleOfEveryInterval(t *testing.T) {
	r := analysis.Of(longRun(2))
	if r.Cells[0].Latency.P99 == nil || r.Cells[0].Latency.N != 95_000 {
		t.Errorf("latency %+v", r.Cells[0].Latency)
	}
}
