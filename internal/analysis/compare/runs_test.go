package compare

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// measured is a cell of n seconds, each with so many successes of d.
func measured(users int, perSecond []int64, d time.Duration) record.Cell {
	c := record.Cell{Setting: record.Setting{{Name: "slots", Value: int64(10)}}, Repeat: 1, Load: record.Load{Model: record.Closed, Concurrency: users}, Window: time.Duration(len(perSecond)) * time.Second}
	for s, n := range perSecond {
		h := hist.New()
		h.RecordN(d, n)
		c.Intervals = append(c.Intervals, record.Interval{Phase: record.Window, Start: time.Duration(s) * time.Second, End: time.Duration(s+1) * time.Second,
			Planned: n, InFlight: int64(users), Classes: []record.Class{{Outcome: record.Success, Inside: true, Answered: true, Count: n, Latency: h, Held: time.Duration(n) * d}}})
	}
	return c
}

func runOf(cells ...record.Cell) record.Run {
	return record.Run{ID: "r", Cells: cells, Environment: record.Environment{OS: "linux/amd64", Cores: 2, Loadline: "1.0"}}
}

func of(name string, r record.Run) Run { return OfRun(name, r, analysis.Of(r)) }

func TestACellsFiguresAndTheirOwnSpreadAreTaken(t *testing.T) {
	c := measured(4, []int64{1000, 1010, 990, 1000, 1005, 995, 1000, 1002, 998, 1000}, 4*time.Millisecond)
	// The service used 0.5 cores and 3000 switches a second, for 1000 answers a second: 0.5 ms and 3 for each.
	for s := range 11 {
		c.Processes = append(c.Processes, record.ProcessSample{Service: "order", At: time.Duration(s) * time.Second, CPUUser: time.Duration(s) * 500 * time.Millisecond,
			Voluntary: int64(2000 * s), Involuntary: int64(1000 * s)})
	}
	s := of("a", runOf(c)).Samples[0]
	if s.Setting != "slots=10" || s.Load != "4 users" || s.Doubt != "" {
		t.Errorf("%+v", s)
	}
	for m, want := range map[Metric]float64{Throughput: 1000, Success: 1000, P50: 4, P99: 4, Rejected: 0, CPUPerRequest: 0.5, SwitchesPerRequest: 3} {
		if got, ok := s.Values[m]; !ok || math.Abs(got-want) > 0.01*max(1, want) {
			t.Errorf("%s = %v, want %v", m, got, want)
		}
	}
	// The rates' standard deviation is 5.5, so Student's 95 % interval of ten independent ones is ±2.262 × 5.5/√10 = ±3.9.
	i := s.Within[Throughput]
	if half := (i.High - i.Low) / 2; math.Abs((i.High+i.Low)/2-1000) > 1 || half < 3.5 || half > 6 {
		t.Errorf("throughput within %v…%v, want about ±3.9 about 1000", i.Low, i.High)
	}
	if p99 := s.Within[P99]; p99.Low > 4.01 || p99.High < 3.99 {
		t.Errorf("p99 within %+v", p99)
	}
}

func TestTrialsOfASearchAreNotCompared(t *testing.T) {
	c := measured(4, []int64{100}, time.Millisecond)
	c.Window = record.Endless
	r := of("a", runOf(c))
	if len(r.Samples) != 0 || !strings.Contains(r.LeftOut, "1 trials of a search") {
		t.Errorf("%+v", r)
	}
}

func TestOnACellInDoubtNoVerdictRests(t *testing.T) {
	good := measured(4, []int64{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}, 4*time.Millisecond)
	slow := measured(4, []int64{500, 500, 500, 500, 500, 500, 500, 500, 500, 500}, 8*time.Millisecond)
	conditions, err := ParseFailOn("p99>+10%")
	if err != nil {
		t.Fatal(err)
	}
	sound := compareRuns(t, Config{FailOn: conditions}, of("a", runOf(good)), of("b", runOf(slow)))
	if !sound.FailOn[0].Failed {
		t.Errorf("%+v, want the doubled p99 to fail", sound.FailOn[0])
	}
	slow.Partial = true
	doubted := compareRuns(t, Config{FailOn: conditions}, of("a", runOf(good)), of("b", runOf(slow)))
	if got := doubted.FailOn[0]; got.Failed || got.Evaluated != 0 {
		t.Errorf("%+v, want it not judged", got)
	}
	if c := metric(t, doubted, P99); c.Verdict != NoEvidence || !strings.Contains(c.Text, "ended before its time in B") {
		t.Errorf("%+v", c)
	}
}

func TestReleasesOfLoadlineOnOneMachineAreAlikeAndOtherMachinesAreNot(t *testing.T) {
	a, b := runOf(measured(1, []int64{9}, time.Millisecond)), runOf(measured(1, []int64{9}, time.Millisecond))
	b.Environment.Loadline = "2.0"
	compareRuns(t, Config{}, of("a", a), of("b", b))
	b.Environment.Cores = 8
	if _, err := Compare([]Run{of("a", a), of("b", b)}, Config{}, stream()); err == nil || !strings.Contains(err.Error(), "cores: 2 against 8") {
		t.Errorf("%v, want it refused for the cores", err)
	}
	a.Environment, b.Environment = record.Environment{}, record.Environment{}
	if p := compareRuns(t, Config{}, of("a", a), of("b", b)); !strings.Contains(strings.Join(p.Caveats, " "), "nothing is known of the machines") {
		t.Errorf("%q", p.Caveats)
	}
}

func TestRatesThatWereAchievedMatchWhereTheyAreNear(t *testing.T) {
	at := func(rates ...float64) Run {
		r := Run{Name: "x", Environment: map[string]string{"cores": "2"}}
		for _, rate := range rates {
			r.Samples = append(r.Samples, Sample{Setting: "default", Load: fmt.Sprintf("%g/s", rate), RatePerSec: rate, Values: map[Metric]float64{P99: 5}})
		}
		return r
	}
	p := compareRuns(t, Config{}, at(100, 200), at(99.2, 200, 201, 300))
	if len(p.Cells) != 2 || p.Cells[0].Load != "100/s" || p.Cells[1].Load != "200/s" || p.Cells[1].Metrics[0].B.N != 1 {
		t.Errorf("%+v, want 99.2 beside 100, and 200 beside 200 alone", p.Cells)
	}
	if len(p.Unmatched) != 2 {
		t.Errorf("%q, want 201 and 300 left", p.Unmatched)
	}
}
