package analysis_test

import (
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/record"
)

// trial is a cell that a search took off after three tenths of a second.
func trial(index, users int, classes ...record.Class) record.Cell {
	c := record.Cell{Index: index, Repeat: 1, Load: closed(users), Window: record.Endless, Timeout: 5 * time.Second}
	var planned int64
	for _, k := range classes {
		planned += k.Count
	}
	for i := range 3 {
		iv := window(i, planned, classes...)
		iv.Start, iv.End = time.Duration(i)*100*time.Millisecond, time.Duration(i+1)*100*time.Millisecond
		c.Intervals = append(c.Intervals, iv)
	}
	return c
}

func searched() record.Run {
	cut := record.Class{Outcome: record.Cut, Inside: true, Count: 3}
	r := run(trial(0, 4, class(record.Success, 200, time.Millisecond), cut), trial(1, 4, class(record.Success, 200, time.Millisecond), cut),
		trial(2, 8, class(record.Success, 200, 30*time.Millisecond)))
	r.SLO = "p99<10ms,success>99%"
	return r
}

func TestTrialsAtOneLoadAreJudgedTogetherAndNotReproachedWithTheirLength(t *testing.T) {
	r := analysis.Of(searched())
	for i, want := range []slo.Verdict{slo.Pass, slo.Pass, slo.Fail} {
		c := r.Cells[i]
		if c.SLO == nil || c.SLO.Verdict != want {
			t.Errorf("trial %d: %+v, want %v", i, c.SLO, want)
		}
		if c.Steady != nil || hasCaveat(c.Caveats, finding.NoSteadyState) || hasCaveat(c.Caveats, finding.TooFewSamples) || hasCaveat(c.Caveats, finding.PartialCell) {
			t.Errorf("trial %d: steady %+v, caveats %+v", i, c.Steady, c.Caveats)
		}
	}
	// 600 successes bound no p99 by themselves in one trial of 200, which is what makes «together» matter.
	if line := r.LoadLine; line == nil || *line.Concurrency != 4 || *line.High != 8 {
		t.Errorf("load line %+v, want 4, failed at 8", line)
	}
}

func TestACellThatWasInterruptedIsNoTrial(t *testing.T) {
	in := searched()
	in.Cells[0].Partial = true
	if c := analysis.Of(in).Cells[0]; !hasCaveat(c.Caveats, finding.PartialCell) || c.SLO.Verdict != slo.NoEvidence {
		t.Errorf("%+v with %+v, want no verdict on what was interrupted", c.SLO, c.Caveats)
	}
}

func TestWhatASearchFoundStandsInThePlaceOfTheLadder(t *testing.T) {
	in := searched()
	// The trial at 4 users shows full slots; the one above the line was over before anything was sampled.
	for i := range in.Cells[:2] {
		in.Cells[i].Pools = poolFigures{kind: record.KindPool, core: 4, max: 4, capacity: 4, active: 4, queue: 1, completed: 600, executionMS: 2}.samples()
		for k := range in.Cells[i].Pools {
			in.Cells[i].Pools[k].At /= 30
		}
	}
	r := analysis.Of(in)
	yes, no := true, false
	found := search.Result{Status: search.Found, Value: ptr(4), Low: ptr(4), High: ptr(8), PError: 0.01, Trials: 3, Requests: 1800, Headroom: ptr(1),
		Cells: []search.CellSummary{{Load: 4, Holds: &yes}, {Load: 8, Holds: &no}}}
	r.SetLoadLine(in.Cells[0].Setting, in.SLO, found)
	line := r.LoadLine
	if line == nil || *line.Concurrency != 4 || *line.High != 8 || line.BindingLimit == nil || *line.BindingLimit != "slots of order/price" {
		t.Fatalf("%+v, want the pool's slots to bind at 4", line)
	}
	near(t, "rate at the line", line.RatePerSec, 2000)
	r.SetLoadLine(in.Cells[0].Setting, in.SLO, search.Result{Status: search.None})
	if r.LoadLine != nil {
		t.Errorf("%+v, want no line where the search found none", r.LoadLine)
	}
}
