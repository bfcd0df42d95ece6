package interchange

import (
	"bytes"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// twoSeconds is a cell of 2 s: 200 successes of 10 ms, 100 refusals of 1 ms, 5 resets.
func twoSeconds() record.Cell {
	class := func(o record.Outcome, n int64, d time.Duration) record.Class {
		h := hist.New()
		h.RecordN(d, n)
		return record.Class{Outcome: o, Inside: true, Answered: o.Answered(), Count: n, Latency: h}
	}
	c := record.Cell{Repeat: 1, Load: record.Load{Model: record.Closed, Concurrency: 2}, Started: time.Unix(1796078564, 0), Window: 2 * time.Second}
	for i := range 2 {
		c.Intervals = append(c.Intervals, record.Interval{Phase: record.Window, Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second,
			BytesRead: 1000, Classes: []record.Class{class(record.Success, 100, 10*time.Millisecond), class(record.Rejected, 50, time.Millisecond)}})
	}
	c.Intervals[1].Classes = append(c.Intervals[1].Classes, class(record.Reset, 5, time.Millisecond))
	return c
}

func TestAbsFormIsReadBackAsItWasWritten(t *testing.T) {
	var out bytes.Buffer
	if err := WriteAb(&out, twoSeconds(), AbTarget{URL: "http://127.0.0.1:8081/x?y=1", DocumentSize: 5}); err != nil {
		t.Fatal(err)
	}
	run, err := Import("ab", "ab.txt", bytes.NewReader(out.Bytes()), Options{})
	if err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	s := run.Cells[0].Imported.Summary
	near(t, "requests", s.Requests, 300)
	near(t, "seconds", s.Seconds, 2)
	near(t, "rate", s.RatePerSec, 150)
	near(t, "failed", s.Failed, 100)
	if quantile(t, s, 0.5) != 10*time.Millisecond || run.Cells[0].Load.Concurrency != 2 {
		t.Errorf("p50 %v in:\n%s", quantile(t, s, 0.5), out.String())
	}
}

func TestAnIntervalLogIsReadBackAsItWasWritten(t *testing.T) {
	var out bytes.Buffer
	if err := WriteHlog(&out, twoSeconds()); err != nil {
		t.Fatal(err)
	}
	run, err := Import("hdr", "run.hlog", bytes.NewReader(out.Bytes()), Options{})
	if err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	c := run.Cells[0]
	if len(c.Intervals) != 2 || c.Window != 2*time.Second {
		t.Fatalf("%d intervals in %v", len(c.Intervals), c.Window)
	}
	merged, counts := outcomesOf(c)
	if counts[record.Success] != 300 || merged[record.Success].Quantile(0.9).Round(100*time.Microsecond) != 10*time.Millisecond {
		t.Errorf("count %d, p90 %v", counts[record.Success], merged[record.Success].Quantile(0.9))
	}
}
