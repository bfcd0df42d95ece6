package interchange

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// smallRun is one cell of two seconds with known figures: 400 successes of 4 ms and 100 refusals a second.
func smallRun() record.Run {
	class := func(o record.Outcome, n int64, d time.Duration) record.Class {
		h := hist.New()
		h.RecordN(d, n)
		return record.Class{Outcome: o, Inside: true, Answered: o.Answered(), Count: n, Latency: h, Held: time.Duration(n) * d}
	}
	c := record.Cell{Setting: record.Setting{{Name: "pool.size", Value: int64(10)}}, Repeat: 1, Load: record.Load{Model: record.Closed, Concurrency: 20}, Window: 2 * time.Second}
	for s := range 2 {
		c.Intervals = append(c.Intervals, record.Interval{Phase: record.Window, Start: time.Duration(s) * time.Second, End: time.Duration(s+1) * time.Second,
			Planned: 500, InFlight: 20, Classes: []record.Class{class(record.Success, 400, 4*time.Millisecond), class(record.Rejected, 100, time.Millisecond)}})
	}
	return record.Run{ID: "r1", Name: "small", Started: time.Unix(0, 0).UTC(), Cells: []record.Cell{c}}
}

func TestParquetHoldsTheCellsAndTheIntervals(t *testing.T) {
	run := smallRun()
	var cells, intervals bytes.Buffer
	if err := WriteParquetCells(&cells, analysis.Of(run)); err != nil {
		t.Fatal(err)
	}
	if err := WriteParquetIntervals(&intervals, run); err != nil {
		t.Fatal(err)
	}
	// Read by column names, as another program would.
	type cell struct {
		Setting     string   `parquet:"setting"`
		Concurrency *int32   `parquet:"concurrency,optional"`
		Rate        *float64 `parquet:"rate_per_s,optional"`
		Success     int64    `parquet:"success"`
		Rejected    int64    `parquet:"rejected"`
		SuccessPerS *float64 `parquet:"success_per_s,optional"`
		P99         *float64 `parquet:"p99_ms,optional"`
		P999        *float64 `parquet:"p999_ms,optional"`
	}
	got, err := parquet.Read[cell](bytes.NewReader(cells.Bytes()), int64(cells.Len()))
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	c := got[0]
	if c.Setting != "pool.size=10" || *c.Concurrency != 20 || c.Rate != nil || c.Success != 800 || c.Rejected != 200 || *c.SuccessPerS != 400 {
		t.Errorf("%+v", c)
	}
	if c.P99 == nil || *c.P99 < 3.99 || *c.P99 > 4.01 || c.P999 != nil {
		t.Errorf("p99 %v, p99.9 %v, want 4 ms and unknown of 800", c.P99, c.P999)
	}
	type interval struct {
		Phase     string  `parquet:"phase"`
		StartS    float64 `parquet:"start_s"`
		Completed int64   `parquet:"completed"`
		Rejected  int64   `parquet:"rejected"`
	}
	rows, err := parquet.Read[interval](bytes.NewReader(intervals.Bytes()), int64(intervals.Len()))
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	if rows[1] != (interval{Phase: "window", StartS: 1, Completed: 500, Rejected: 100}) {
		t.Errorf("%+v", rows[1])
	}
}

func TestPrometheusTextIsReadByPrometheusParser(t *testing.T) {
	var out bytes.Buffer
	if err := WritePrometheus(&out, analysis.Of(smallRun())); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(out.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	success := families["loadline_success_per_second"].GetMetric()[0]
	labels := map[string]string{}
	for _, l := range success.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	if success.GetGauge().GetValue() != 400 || labels["setting_pool_size"] != "10" || labels["load"] != "20 users" || labels["run"] != "r1" {
		t.Errorf("%v %v", success, labels)
	}
	latency := families["loadline_latency_seconds"].GetMetric()[0].GetSummary()
	if latency.GetSampleCount() != 800 || latency.GetSampleSum() < 3.19 || latency.GetSampleSum() > 3.21 {
		t.Errorf("%v", latency)
	}
	for _, q := range latency.GetQuantile() {
		if q.GetQuantile() == 0.999 {
			t.Error("a p99.9 of 800 samples is told")
		}
	}
	if n := len(families["loadline_requests"].GetMetric()); n != record.NumOutcomes {
		t.Errorf("%d outcomes, want %d", n, record.NumOutcomes)
	}
	if _, told := families["loadline_host_cpu_ratio"]; told {
		t.Error("an unknown figure has a sample")
	}
}
