package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

const planText = `name: order detail <script>alert("plan")</script>
target:
  request: {url: "http://127.0.0.1:8081/api/order/detail", timeout: 5s}
load: {model: closed, concurrency: [50, 100, 200, 400], warmup: 5s, measure: 20s}
slo: {p99: 100ms, success: 99.9%}
`

// sampleRun looks like the order-detail study: six settings at four loads, figures from the slots' arithmetic with seeded noise.
func sampleRun() record.Run {
	rng := rand.New(rand.NewPCG(1, 2))
	run := record.Run{ID: "20260304-050607-ab12", Name: "order detail, cost of isolation", Started: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Ended: time.Date(2026, 3, 4, 5, 21, 7, 0, time.UTC), SLO: "p99<100ms,success>99.9%", Plan: []byte(planText),
		Environment: record.Environment{Host: "bench-1", OS: "linux", Kernel: "6.8.0", CPUModel: "Some CPU @ 3 GHz", Cores: 4, MemoryByte: 8 << 30,
			Go: "go1.26", Loadline: "0.1.0", Limits: map[string]string{"descriptors": "65536"}}}
	for _, s := range []struct {
		isolation string
		slots     int
	}{{"none", 0}, {"thread", 10}, {"thread", 30}, {"semaphore", 30}, {"thread", 200}, {"semaphore", 200}} {
		for _, users := range []int{50, 100, 200, 400} {
			c := record.Cell{Index: len(run.Cells), Repeat: 1, Load: record.Load{Model: record.Closed, Concurrency: users}, Timeout: 5 * time.Second,
				Setting: record.Setting{{Name: "isolation", Value: s.isolation}, {Name: "slots", Value: int64(s.slots)}},
				Started: run.Started, Warmup: 5 * time.Second, Window: 20 * time.Second}
			fillCell(&c, s.isolation, s.slots, users, rng)
			run.Cells = append(run.Cells, c)
		}
	}
	return run
}

func fillCell(c *record.Cell, isolation string, slots, users int, rng *rand.Rand) {
	queue := 0
	if isolation == "thread" {
		queue = 6
	}
	admitted := users
	if slots > 0 {
		admitted = min(users, slots+queue)
	}
	working := admitted
	if slots > 0 {
		working = min(admitted, slots)
	}
	success := math.Min(float64(working)/0.0205, 9000)
	refused := float64(users-admitted) / 0.004
	response := float64(admitted) / success
	for i := range 25 {
		c.Intervals = append(c.Intervals, interval(i, success, refused, response, users, rng))
	}
	for i := range 51 {
		at := time.Duration(i) * 500 * time.Millisecond
		addSamples(c, isolation, slots, queue, at, float64(working), float64(admitted-working), success, refused, rng)
	}
}

func interval(i int, success, refused, response float64, users int, rng *rand.Rand) record.Interval {
	phase := record.Window
	if i < 5 {
		phase = record.Warmup
		success *= float64(i+1) / 6
	}
	n, r := int64(success*(0.98+0.04*rng.Float64())), int64(refused*(0.95+0.1*rng.Float64()))
	ok, no := hist.New(), hist.New()
	const each = 20 // requests share a latency, so that the sample is quickly made
	n -= n % each
	for range n / each {
		ok.RecordN(time.Duration((response*(0.95+0.05*rng.ExpFloat64()))*1e9), each)
	}
	no.RecordN(4*time.Millisecond, r)
	iv := record.Interval{Phase: phase, Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second, Planned: n + r, InFlight: int64(users),
		Classes:   []record.Class{{Outcome: record.Success, Inside: phase == record.Window, Answered: true, Count: n, Latency: ok, Held: ok.Sum()}},
		Generator: record.GeneratorSample{CPU: time.Duration(float64(n+r) * 8e3), DescriptorsFree: -1, PortsFree: -1}}
	if r > 0 {
		iv.Classes = append(iv.Classes, record.Class{Outcome: record.Rejected, Inside: phase == record.Window, Answered: true, Count: r, Latency: no, Held: no.Sum()})
	}
	return iv
}

func addSamples(c *record.Cell, isolation string, slots, queue int, at time.Duration, working, waiting, success, refused float64, rng *rand.Rand) {
	s := at.Seconds()
	noise := 0.97 + 0.06*rng.Float64()
	c.Processes = append(c.Processes, record.ProcessSample{Service: "order", At: at, CPUUser: time.Duration(s * (success + refused) * 3e4), Voluntary: int64(s * success * 3),
		Involuntary: int64(s * (success + refused) * 0.05), Threads: int64(20 + slots), RSSBytes: 60 << 20},
		record.ProcessSample{Service: "price", At: at, CPUUser: time.Duration(s * success * 5e4), Voluntary: int64(s * success), Involuntary: int64(s * 20), Threads: 9, RSSBytes: 20 << 20})
	if slots == 0 {
		return
	}
	kind := record.KindPool
	if isolation == "semaphore" {
		kind = record.KindBulkhead
	}
	f := func(v float64) *float64 { return &v }
	done := s * success
	c.Pools = append(c.Pools, record.PoolSample{Service: "order", Pool: "price", Kind: kind, At: at, Core: f(float64(slots)), Size: f(float64(slots)), Max: f(float64(slots)),
		Capacity: f(float64(queue)), Active: f(math.Min(float64(slots), working*noise)), Queue: f(math.Round(waiting * noise)), Completed: f(done), Rejected: f(s * refused),
		QueueWait: &record.Dist{Count: done, Seconds: done * waiting / success}, Execution: &record.Dist{Count: done, Seconds: done * 0.0204}})
}

// hostileRun has a name, a setting, a pool and a plan that try to leave their place in the page.
func hostileRun() record.Run {
	const evil = `"><script>alert(1)</script>`
	run := sampleRun()
	run.Cells = run.Cells[4:5]
	run.Name, run.Interrupted, run.Partial = evil, evil, true
	run.Environment.Host = evil
	c := &run.Cells[0]
	c.Setting = record.Setting{{Name: evil, Value: evil}}
	for i := range c.Pools {
		c.Pools[i].Pool = evil
	}
	for i := range c.Processes {
		c.Processes[i].Service = fmt.Sprintf("%s%d", evil, i%2)
	}
	c.Failure, c.Partial = evil, true
	return run
}
