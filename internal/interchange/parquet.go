package interchange

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// cellRow is a cell of a run, or what all rows of its intervals share. Times are ms, rates per second; what is unknown is null.
type cellRow struct {
	Run         string   `parquet:"run,dict"`
	Cell        int32    `parquet:"cell"`
	Setting     string   `parquet:"setting,dict"` // name=value …
	Repeat      int32    `parquet:"repeat"`
	Model       string   `parquet:"model,dict"`
	Concurrency *int32   `parquet:"concurrency,optional"`
	RatePerSec  *float64 `parquet:"rate_per_s,optional"`
}

// outcomeCounts has a column for every class.
type outcomeCounts struct {
	Success        int64 `parquet:"success"`
	Failure        int64 `parquet:"failure"`
	Timeout        int64 `parquet:"timeout"`
	Late           int64 `parquet:"late"`
	Rejected       int64 `parquet:"rejected"`
	ShortCircuited int64 `parquet:"short_circuited"`
	Refused        int64 `parquet:"refused"`
	Reset          int64 `parquet:"reset"`
	DNS            int64 `parquet:"dns"`
	TLS            int64 `parquet:"tls"`
	ClientLimit    int64 `parquet:"client_limit"`
	Cut            int64 `parquet:"cut"`
	Dropped        int64 `parquet:"dropped"`
}

func countsOf(n [record.NumOutcomes]int64) outcomeCounts {
	return outcomeCounts{Success: n[record.Success], Failure: n[record.Failure], Timeout: n[record.Timeout], Late: n[record.Late], Rejected: n[record.Rejected],
		ShortCircuited: n[record.ShortCircuited], Refused: n[record.Refused], Reset: n[record.Reset], DNS: n[record.DNS], TLS: n[record.TLS],
		ClientLimit: n[record.ClientLimit], Cut: n[record.Cut], Dropped: n[record.Dropped]}
}

type cellFigures struct {
	cellRow
	Seconds float64 `parquet:"window_s"`
	Planned int64   `parquet:"planned"`
	outcomeCounts
	OfferedPerS   *float64 `parquet:"offered_per_s,optional"`
	CompletedPerS *float64 `parquet:"completed_per_s,optional"`
	SuccessPerS   *float64 `parquet:"success_per_s,optional"`
	GoodputPerS   *float64 `parquet:"goodput_per_s,optional"`
	RejectedRatio *float64 `parquet:"rejected_ratio,optional"`
	Mean          *float64 `parquet:"mean_ms,optional"`
	P50           *float64 `parquet:"p50_ms,optional"`
	P90           *float64 `parquet:"p90_ms,optional"`
	P95           *float64 `parquet:"p95_ms,optional"`
	P99           *float64 `parquet:"p99_ms,optional"`
	P99Low        *float64 `parquet:"p99_low_ms,optional"`
	P99High       *float64 `parquet:"p99_high_ms,optional"`
	P999          *float64 `parquet:"p999_ms,optional"`
	Max           *float64 `parquet:"max_ms,optional"`
	HostCPURatio  *float64 `parquet:"host_cpu_ratio,optional"`
	Valid         bool     `parquet:"generator_valid"`
}

type intervalFigures struct {
	cellRow
	Phase     string  `parquet:"phase,dict"`
	StartS    float64 `parquet:"start_s"`
	EndS      float64 `parquet:"end_s"`
	Planned   int64   `parquet:"planned"`
	InFlight  int64   `parquet:"in_flight"`
	Completed int64   `parquet:"completed"`
	outcomeCounts
	Mean *float64 `parquet:"mean_ms,optional"` // of successes that ended in the interval
	P50  *float64 `parquet:"p50_ms,optional"`
	P99  *float64 `parquet:"p99_ms,optional"`
	Max  *float64 `parquet:"max_ms,optional"`
}

// WriteParquetCells writes a row for each cell with its figures.
func WriteParquetCells(w io.Writer, r analysis.Result) error {
	rows := make([]cellFigures, 0, len(r.Cells))
	for _, c := range r.Cells {
		rows = append(rows, cellFigures{cellRow: rowOf(r.ID, c.Index, c.Setting, c.Repeat, loadOf(c.Load)), Seconds: c.Window.Seconds, Planned: c.Planned,
			outcomeCounts: countsOf(c.Outcomes), OfferedPerS: c.Rates.Offered, CompletedPerS: c.Rates.Completed, SuccessPerS: c.Rates.Success,
			GoodputPerS: c.Rates.Goodput, RejectedRatio: c.RejectedRatio, Mean: c.Latency.Mean, P50: c.Latency.P50, P90: c.Latency.P90, P95: c.Latency.P95,
			P99: c.Latency.P99, P99Low: c.Latency.P99Low, P99High: c.Latency.P99High, P999: c.Latency.P999, Max: c.Latency.Max,
			HostCPURatio: c.HostCPURatio, Valid: c.Generator.Valid})
	}
	return writeParquet(w, rows)
}

// WriteParquetIntervals writes a row for each interval of each cell, as it was measured, all phases.
func WriteParquetIntervals(w io.Writer, run record.Run) error {
	var rows []intervalFigures
	for _, c := range run.Cells {
		about := rowOf(run.ID, c.Index, c.Setting, c.Repeat, c.Load)
		for _, iv := range c.Intervals {
			rows = append(rows, intervalRow(about, iv))
		}
	}
	return writeParquet(w, rows)
}

func intervalRow(about cellRow, iv record.Interval) intervalFigures {
	row := intervalFigures{cellRow: about, Phase: iv.Phase.String(), StartS: iv.Start.Seconds(), EndS: iv.End.Seconds(), Planned: iv.Planned, InFlight: iv.InFlight}
	var counts [record.NumOutcomes]int64
	successes := hist.New()
	for _, c := range iv.Classes {
		counts[c.Outcome] += c.Count
		if c.Answered {
			row.Completed += c.Count
		}
		if c.Outcome == record.Success && c.Latency != nil {
			successes.Merge(c.Latency)
		}
	}
	row.outcomeCounts = countsOf(counts)
	if successes.Count() > 0 {
		ms := func(ns float64) *float64 { return new(ns / 1e6) }
		row.Mean, row.P50, row.Max = ms(float64(successes.Mean())), ms(float64(successes.Quantile(0.5))), ms(float64(successes.Max()))
		row.P99 = ms(float64(successes.Quantile(0.99)))
	}
	return row
}

func loadOf(l analysis.Load) record.Load {
	out := record.Load{Model: l.Model}
	if l.Concurrency != nil {
		out.Concurrency = *l.Concurrency
	}
	if l.RatePerSec != nil {
		out.RatePerSec = *l.RatePerSec
	}
	return out
}

func rowOf(run string, index int, setting record.Setting, repeat int, l record.Load) cellRow {
	row := cellRow{Run: run, Cell: int32(index), Setting: setting.String(), Repeat: int32(repeat), Model: string(l.Model)}
	if l.Model == record.Open {
		row.RatePerSec = &l.RatePerSec
	} else {
		row.Concurrency = new(int32(l.Concurrency))
	}
	return row
}

func writeParquet[T any](w io.Writer, rows []T) error {
	out := parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd))
	if _, err := out.Write(rows); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}
