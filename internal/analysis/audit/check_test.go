package audit

import (
	"encoding/json"
	"strings"
	"testing"
)

// worstOf is the worst verdict of a law, and whether the law was applied.
func worstOf(v RowVerdict, law string) (worst Verdict, applied bool) {
	for _, c := range v.Checks {
		if c.Law == law {
			worst, applied = max(worst, c.Verdict), true
		}
	}
	return worst, applied
}

func TestEachLawIsJudgedAtItsBoundary(t *testing.T) {
	closed := func(n, x, r float64) Row { return Row{Concurrency: Known(n), TPS: Known(x), MeanMS: Known(r)} }
	slots := func(m, x float64) Row { return Row{Slots: Known(m), TPS: Known(x), ServiceTimeMS: Known(20)} }
	with := func(r Row, edit func(*Row)) Row { edit(&r); return r }
	tests := []struct {
		name string
		row  Row
		law  string
		want Verdict
	}{
		{"104 in flight of 100 users is rounding", closed(100, 1040, 100), LawLittle, Consistent},
		{"106 in flight of 100 users cannot be", closed(100, 1060, 100), LawLittle, Impossible},
		{"96 in flight of 100 users is rounding", closed(100, 960, 100), LawLittle, Consistent},
		{"94 in flight of 100 users left some idle", closed(100, 940, 100), LawLittle, Suspicious},
		{"a stated think time explains idle users", with(closed(200, 500, 205), func(r *Row) { r.ThinkMS = Known(195) }), LawLittle, Consistent},
		{"a stated think time that does not fit is named", with(closed(200, 500, 205), func(r *Row) { r.ThinkMS = Known(500) }), LawLittle, Suspicious},
		{"a think time does not save more in flight than users", with(closed(100, 1060, 100), func(r *Row) { r.ThinkMS = Known(10) }), LawLittle, Impossible},
		{"1570/s on 30 slots of 20 ms is rounding", slots(30, 1570), LawSlotCeiling, Consistent},
		{"1580/s on 30 slots of 20 ms cannot be", slots(30, 1580), LawSlotCeiling, Impossible},
		{"a column of failures with a blank leaves the share unknown", with(slots(30, 3500), func(r *Row) { r.RefusalsBeside = true }), LawSlotCeiling, Suspicious},
		{"failures counted in requests are not successes",
			with(slots(30, 3000), func(r *Row) { r.RefusalsBeside = true; r.Requests, r.Failed = Known(6000), Known(3100) }), LawSlotCeiling, Consistent},
		{"abort with room for every user excludes refusals",
			with(slots(30, 3500), func(r *Row) { r.Policy = "abort"; r.Concurrency, r.Queue = Known(40), Known(10) }), LawSlotCeiling, Impossible},
		{"abort without room may have counted refusals",
			with(slots(30, 3500), func(r *Row) { r.Policy = "AbortPolicy"; r.Concurrency, r.Queue = Known(200), Known(10) }), LawSlotCeiling, Suspicious},
		{"three users cannot be served by four slots", Row{Concurrency: Known(3), Slots: Known(4), TPS: Known(190), ServiceTimeMS: Known(20)}, LawSlotCeiling, Impossible},
		{"an unbounded queue keeps the pool at core",
			Row{Concurrency: Known(500), Core: Known(8), Max: Known(200), Queue: mustQueue("unbounded"), TPS: Known(500), ServiceTimeMS: Known(20)}, LawSlotCeiling, Impossible},
		{"callers run tasks too, so max is no ceiling",
			Row{Concurrency: Known(500), Core: Known(8), Max: Known(10), Queue: Known(5), Policy: "CallerRunsPolicy", TPS: Known(5000), ServiceTimeMS: Known(20)}, LawSlotCeiling, Consistent},
		{"callers run nothing while the queue has room",
			Row{Concurrency: Known(50), Core: Known(8), Max: Known(10), Queue: Known(100), Policy: "caller-runs", TPS: Known(500), ServiceTimeMS: Known(20)}, LawSlotCeiling, Impossible},
		{"p99 below p95 cannot be", Row{Percentiles: []Percentile{{"p99", 0.99, 40}, {"p95", 0.95, 50}}}, LawPercentileOrder, Impossible},
		{"a mean of 1 ms with 1 % above 200 ms cannot be", Row{MeanMS: Known(1), Percentiles: []Percentile{{"p99", 0.99, 200}}}, LawPercentileMean, Impossible},
		{"a mean of 3 ms with 1 % above 200 ms can be", Row{MeanMS: Known(3), Percentiles: []Percentile{{"p99", 0.99, 200}}}, LawPercentileMean, Consistent},
		{"a reported mean above p95 needs a tail", Row{MeanMS: Known(60), Percentiles: []Percentile{{"p95", 0.95, 50}}}, LawPercentileMean, Suspicious},
		{"p99 within 1.5 × what pool and queue explain", with(slots(10, 400), func(r *Row) { r.Queue = Known(6); r.Percentiles = []Percentile{{"p99", 0.99, 60}} }), LawQueueBound, Consistent},
		{"p99 above 1.5 × what pool and queue explain", with(slots(10, 400), func(r *Row) { r.Queue = Known(6); r.Percentiles = []Percentile{{"p99", 0.99, 61}} }), LawQueueBound, Suspicious},
		{"more failed than requested cannot be", Row{Requests: Known(10), Failed: Known(11)}, LawSum, Impossible},
		{"more successes than completions cannot be", Row{RPSCompleted: Known(100), TPS: Known(120)}, LawSum, Impossible},
		{"requests / seconds is the rate", Row{Requests: Known(50000), Seconds: Known(10), RPS: Known(5100)}, LawRate, Consistent},
		{"requests / seconds is not the rate", Row{Requests: Known(50000), Seconds: Known(10), RPS: Known(7000)}, LawRate, Impossible},
		{"a rate may leave out what failed", Row{Requests: Known(50000), Failed: Known(25000), Seconds: Known(10), RPS: Known(2500), RefusalsBeside: true}, LawRate, Consistent},
		{"130 % refused cannot be", Row{RejectedPct: Known(130)}, LawRange, Impossible},
		{"a negative rate cannot be", Row{TPS: Known(-1)}, LawRange, Impossible},
		{"a CPU of 180 % must be a sum over cores", Row{CPUPct: Known(180)}, LawUtilisation, Suspicious},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := CheckRow(tt.row, PublishedTolerance)
			if worst, applied := worstOf(got, tt.law); !applied || worst != tt.want {
				t.Errorf("%s applied %v: %v, want %v: %+v", tt.law, applied, worst, tt.want, got.Checks)
			}
		})
	}
}

func mustQueue(s string) Figure {
	var r Row
	if err := setQueue(&r, s); err != nil {
		panic(err)
	}
	return r.Queue
}

func TestUnknownFiguresAreNotZeroAndBreakNothing(t *testing.T) {
	for _, r := range []Row{{}, {Concurrency: Known(100)}, {TPS: Known(5000), Slots: Known(1)}, {TPS: Known(0), Concurrency: Known(5), MeanMS: Known(0)}} {
		if got := CheckRow(r, PublishedTolerance); got.Verdict != Consistent {
			t.Errorf("%+v: %v %+v", r, got.Verdict, got.Checks)
		}
	}
}

func TestTheReportHasTheFormOfItsSchema(t *testing.T) {
	table, err := ParseCSV(strings.NewReader("scenario,concurrency,rps,note\nidle,,,x\nfast,100,1060,\n"))
	if err != nil {
		t.Fatal(err)
	}
	table.Rows[1].MeanMS = Known(100)
	data, err := json.Marshal(NewReport(table, PublishedTolerance))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":"loadline.audit/1","rows":[{"row":1,"scenario":"idle","verdict":"consistent","checks":[]},` +
		`{"row":2,"scenario":"fast","verdict":"impossible","checks":[{"law":"little","verdict":"impossible","expected":100,"found":106,` +
		`"unit":"requests in flight","text":"1060/s × 100 ms = 106 in flight, not 100: impossible at any think time"}]}],"ignored_columns":["note"]}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

func TestOurOwnCellsAreHeldToTheTighterTolerances(t *testing.T) {
	base := Cell{WindowSeconds: 45, Closed: true, Concurrency: 200, EndedPerSec: Known(1000), MeanHeldMS: Known(200), Planned: 45000,
		Outcomes: []Count{{"success", 44000}, {"rejected", 1000}}, Success: 22500, Slots: []SlotLimit{{"price", 10, 20}},
		Utilisation: []Utilisation{{"cores", 1.9, 2}}, MeanMS: Known(20), MaxMS: Known(100), Percentiles: []Percentile{{"p50", 0.5, 20}, {"p99", 0.99, 30}}}
	tests := []struct {
		name string
		edit func(*Cell)
		law  string
		want Verdict
	}{
		{"as measured", func(*Cell) {}, LawLittle, Consistent},
		{"1.5 % too many in 45 s", func(c *Cell) { c.EndedPerSec = Known(1015) }, LawLittle, Impossible},
		{"1.5 % too few in 45 s", func(c *Cell) { c.EndedPerSec = Known(985) }, LawLittle, Suspicious},
		{"1.5 % too many in 2.5 s", func(c *Cell) { c.EndedPerSec = Known(1015); c.WindowSeconds = 2.5 }, LawLittle, Consistent},
		{"2.5 % too many in 2.5 s", func(c *Cell) { c.EndedPerSec = Known(1025); c.WindowSeconds = 2.5 }, LawLittle, Impossible},
		{"think time is counted", func(c *Cell) { c.EndedPerSec = Known(500); c.ThinkMS = 200 }, LawLittle, Consistent},
		{"ten slots of 20 ms serve 22510 in 45 s", func(c *Cell) { c.Success = 22510 }, LawSlotCeiling, Consistent},
		{"and not 22630", func(c *Cell) { c.Success = 22630 }, LawSlotCeiling, Impossible},
		{"outcomes sum to the planned", func(*Cell) {}, LawSum, Consistent},
		{"one is missing", func(c *Cell) { c.Planned++ }, LawSum, Impossible},
		{"1.9 of 2 cores", func(*Cell) {}, LawUtilisation, Consistent},
		{"2.1 of 2 cores", func(c *Cell) { c.Utilisation[0].Busy = 2.1 }, LawUtilisation, Impossible},
		{"mean between its bounds", func(*Cell) {}, LawPercentileMean, Consistent},
		{"mean above q·p99 + (1−q)·max", func(c *Cell) { c.MeanMS = Known(31) }, LawPercentileMean, Impossible},
		{"mean below (1−q)·p50", func(c *Cell) { c.MeanMS = Known(9) }, LawPercentileMean, Impossible},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := base
			c.Utilisation = append([]Utilisation(nil), base.Utilisation...)
			tt.edit(&c)
			got := CheckCell(c)
			if worst, applied := worstOf(got, tt.law); !applied || worst != tt.want {
				t.Errorf("%s applied %v: %v, want %v; %+v", tt.law, applied, worst, tt.want, got.Checks)
			}
		})
	}
}
