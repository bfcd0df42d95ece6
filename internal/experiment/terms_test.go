package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

func termsFor(t *testing.T, text string) terms {
	t.Helper()
	objective, err := slo.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := termsOf(objective)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ended is an interval of 100 ms in which n requests of an outcome ended, each after d.
func ended(outcome record.Outcome, n int64, d time.Duration) record.Interval {
	h := hist.New()
	h.RecordN(d, n)
	return record.Interval{Phase: record.Window, End: 100 * time.Millisecond,
		Classes: []record.Class{{Outcome: outcome, Inside: true, Answered: outcome.Answered(), Count: n, Latency: h}}}
}

func TestPercentilesLeadSoThatClumpsAreSeenWhateverTheOrderOfTheObjective(t *testing.T) {
	a, b := termsFor(t, "success>99.9%,p99<10ms"), termsFor(t, "p99<10ms,success>99.9%")
	for _, c := range []terms{a, b} {
		got := c.constraints()
		if len(got) != 2 || got[0].Name != "p99<10ms" || !close(got[0].Limit, 0.01) || !close(got[1].Limit, 0.001) {
			t.Errorf("%+v", got)
		}
	}
}

func close(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }

func TestAnObjectiveWithoutAnyShareIsRefused(t *testing.T) {
	objective, err := slo.Parse("mean<10ms,goodput>5/s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := termsOf(objective); err == nil || !strings.Contains(err.Error(), "percentile") {
		t.Errorf("%v", err)
	}
}

func TestABatchCountsWhatEachTermIsAbout(t *testing.T) {
	terms := termsFor(t, "p99<10ms,success>99%,rejected<1%,mean<5ms,goodput>1000/s")
	whole := newTally()
	for _, iv := range []record.Interval{ended(record.Success, 90, 4*time.Millisecond), ended(record.Success, 6, 20*time.Millisecond),
		ended(record.Rejected, 3, time.Millisecond), ended(record.Timeout, 1, time.Second), ended(record.Cut, 8, time.Second)} {
		whole.add(iv)
	}
	got := terms.observation(whole, []*tally{whole})
	want := []search.Count{{N: 96, Bad: 6}, {N: 100, Bad: 4}, {N: 99, Bad: 3}}
	for i, w := range want {
		if got.Counts[i] != w {
			t.Errorf("%s: %+v, want %+v", terms.shares[i], got.Counts[i], w)
		}
	}
	// 96 successes took 90 × 4 + 6 × 20 = 480 ms, 5 ms each, which is not below 5 ms; 90 of them within 10 ms in 0.5 s are 180/s.
	if strings.Join(got.Broken, " ") != "mean<5ms goodput>1000/s" {
		t.Errorf("broken: %q", got.Broken)
	}
	if got.Seconds != 0.5 || len(got.Batches) != 1 || got.Batches[0].N != 96 {
		t.Errorf("%+v", got)
	}
}

func TestABatchWithoutAnyEndSaysSo(t *testing.T) {
	if got := termsFor(t, "p99<10ms").observation(newTally(), nil); got.Counts != nil {
		t.Errorf("%+v, want no counts: nothing was answered", got)
	}
}

func TestRequestsThatHangAreSeenWhenTheLoadEnds(t *testing.T) {
	terms := termsFor(t, "p99<10ms,success>99.9%")
	ages := hist.New()
	ages.RecordN(2*time.Millisecond, 20)
	if _, ok := terms.overdue(ages); ok {
		t.Error("requests that are only under way are overdue")
	}
	ages.RecordN(3*time.Second, 4)
	got, ok := terms.overdue(ages)
	if !ok || got.Counts[0] != (search.Count{N: 4, Bad: 4}) || got.Counts[1] != (search.Count{}) {
		t.Errorf("%+v, want the four that hang, as slow", got)
	}
}

func TestAPoolOfConnectionsAdmitsNobodyAndTurnsNobodyAway(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	var a admission
	a.take(record.PoolSample{Kind: record.KindBulkhead, Max: f(4), TimedOut: f(0)})
	if a.known {
		t.Errorf("%+v", a)
	}
	a.take(record.PoolSample{Kind: record.KindPool, Max: f(16), Capacity: f(20)})
	a.take(record.PoolSample{Kind: record.KindPool, Size: f(200)})
	if !a.known || a.most != 36 {
		t.Errorf("%+v, want the smallest, 16 workers and 20 places", a)
	}
}
