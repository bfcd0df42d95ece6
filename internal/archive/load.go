package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// loader reads one run within one transaction.
type loader struct {
	ctx   context.Context
	tx    *sql.Tx
	run   int64
	cells map[int]*record.Cell
}

func loadRun(ctx context.Context, tx *sql.Tx, id string) (record.Run, error) {
	run := record.Run{ID: id}
	l := &loader{ctx: ctx, tx: tx, cells: map[int]*record.Cell{}}
	var started int64
	var ended sql.NullInt64
	var environment string
	err := tx.QueryRowContext(ctx, "SELECT run, name, started_ns, ended_ns, partial, interrupted, environment, plan, slo FROM run WHERE id = ?", id).
		Scan(&l.run, &run.Name, &started, &ended, &run.Partial, &run.Interrupted, &environment, &run.Plan, &run.SLO)
	if err != nil {
		return run, err
	}
	run.Started, run.Ended = wall(started), wallOrZero(ended)
	if err := json.Unmarshal([]byte(environment), &run.Environment); err != nil {
		return run, fmt.Errorf("environment: %w", err)
	}
	cells, err := l.loadCells()
	if err != nil {
		return run, err
	}
	for _, part := range []func() error{l.slots, l.intervals, l.classes, l.processes, l.pools, l.series, l.dumps} {
		if err := part(); err != nil {
			return run, err
		}
	}
	for _, c := range cells {
		run.Cells = append(run.Cells, *c)
	}
	return run, nil
}

// each calls read for every row of a query on the run.
func (l *loader) each(query string, read func(*sql.Rows) error) error {
	rows, err := l.tx.QueryContext(l.ctx, query, l.run)
	if err != nil {
		return err
	}
	defer closeRows(rows)
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (l *loader) cell(index int) (*record.Cell, error) {
	c, ok := l.cells[index]
	if !ok {
		return nil, fmt.Errorf("a row speaks of cell %d, which is not there", index)
	}
	return c, nil
}

func (l *loader) loadCells() ([]*record.Cell, error) {
	var out []*record.Cell
	err := l.each(`SELECT cell, setting, repeat, model, concurrency, rate_per_s, think_ns, started_ns, warmup_ns, discard_ns, window_ns, timeout_ns,
		partial, failure, imported FROM cell WHERE run = ? ORDER BY cell`, func(rows *sql.Rows) error {
		c := &record.Cell{}
		var setting string
		var imported *string
		var started int64
		err := rows.Scan(&c.Index, &setting, &c.Repeat, &c.Load.Model, &c.Load.Concurrency, &c.Load.RatePerSec, &c.Load.Think, &started,
			&c.Warmup, &c.Discard, &c.Window, &c.Timeout, &c.Partial, &c.Failure, &imported)
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(setting), &c.Setting); err != nil {
			return fmt.Errorf("cell %d: %w", c.Index, err)
		}
		if err := fromJSON(imported, &c.Imported); err != nil {
			return fmt.Errorf("cell %d: %w", c.Index, err)
		}
		c.Started = wall(started)
		l.cells[c.Index] = c
		out = append(out, c)
		return nil
	})
	return out, err
}

func (l *loader) slots() error {
	return l.each("SELECT cell, service, pool, slots FROM slot_limit WHERE run = ? ORDER BY rowid", func(rows *sql.Rows) error {
		var index int
		var s record.SlotLimit
		if err := rows.Scan(&index, &s.Service, &s.Pool, &s.Slots); err != nil {
			return err
		}
		c, err := l.cell(index)
		if err == nil {
			c.Slots = append(c.Slots, s)
		}
		return err
	})
}

// histogram is a stored histogram as it is scanned.
type histogram struct {
	data []byte
	sum  *int64
}

func (h histogram) decode() (*hist.Histogram, error) { return decodeHist(h.data, h.sum) }

func (l *loader) intervals() error {
	return l.each(`SELECT cell, phase, start_ns, end_ns, planned, in_flight, lag, lag_sum_ns, connect, connect_sum_ns, tls, tls_sum_ns, addresses,
		bytes_sent, bytes_read, codes, cpu_ns, loop_cpu_ns, cpu_wait_ns, gc_pause_ns, descriptors_free, ports_free
		FROM interval WHERE run = ? ORDER BY cell, seq`, l.interval)
}

func (l *loader) interval(rows *sql.Rows) error {
	var index int
	var phase string
	var lag, connect, tls histogram
	var addresses, codes, loops *string
	var iv record.Interval
	g := &iv.Generator
	err := rows.Scan(&index, &phase, &iv.Start, &iv.End, &iv.Planned, &iv.InFlight, &lag.data, &lag.sum, &connect.data, &connect.sum, &tls.data,
		&tls.sum, &addresses, &iv.BytesSent, &iv.BytesRead, &codes, &g.CPU, &loops, &g.RunQueueWait, &g.GCPause, &g.DescriptorsFree, &g.PortsFree)
	if err != nil {
		return err
	}
	if iv.Phase, err = parsePhase(phase); err != nil {
		return err
	}
	for _, part := range []struct {
		from histogram
		to   **hist.Histogram
	}{{lag, &iv.Lag}, {connect, &iv.Connect}, {tls, &iv.TLS}} {
		if *part.to, err = part.from.decode(); err != nil {
			return err
		}
	}
	if err := fromJSON(addresses, &iv.Addresses); err != nil {
		return err
	}
	if err := fromJSON(codes, &iv.Codes); err != nil {
		return err
	}
	if err := fromJSON(loops, &g.LoopCPU); err != nil {
		return err
	}
	c, err := l.cell(index)
	if err == nil {
		c.Intervals = append(c.Intervals, iv)
	}
	return err
}

func (l *loader) classes() error {
	return l.each(`SELECT cell, seq, outcome, inside, answered, count, latency, latency_sum_ns, response, response_sum_ns, held_ns
		FROM class WHERE run = ? ORDER BY cell, seq, place`, func(rows *sql.Rows) error {
		var index, seq int
		var outcome string
		var latency, response histogram
		var class record.Class
		err := rows.Scan(&index, &seq, &outcome, &class.Inside, &class.Answered, &class.Count, &latency.data, &latency.sum, &response.data,
			&response.sum, &class.Held)
		if err != nil {
			return err
		}
		if class.Outcome, err = record.ParseOutcome(outcome); err != nil {
			return err
		}
		if class.Latency, err = latency.decode(); err != nil {
			return err
		}
		if class.Response, err = response.decode(); err != nil {
			return err
		}
		c, err := l.cell(index)
		if err != nil {
			return err
		}
		if seq < 0 || seq >= len(c.Intervals) {
			return fmt.Errorf("cell %d: a class speaks of interval %d of %d", index, seq, len(c.Intervals))
		}
		c.Intervals[seq].Classes = append(c.Intervals[seq].Classes, class)
		return nil
	})
}

func (l *loader) processes() error {
	return l.each(`SELECT cell, service, at_ns, cpu_user_ns, cpu_system_ns, voluntary, involuntary, run_queue_wait_ns, threads, rss_bytes, descriptors,
		minor_faults, major_faults FROM process_sample WHERE run = ? ORDER BY rowid`, func(rows *sql.Rows) error {
		var index int
		var s record.ProcessSample
		err := rows.Scan(&index, &s.Service, &s.At, &s.CPUUser, &s.CPUSystem, &s.Voluntary, &s.Involuntary, &s.RunQueueWait, &s.Threads, &s.RSSBytes,
			&s.Descriptors, &s.MinorFaults, &s.MajorFaults)
		if err != nil {
			return err
		}
		c, err := l.cell(index)
		if err == nil {
			c.Processes = append(c.Processes, s)
		}
		return err
	})
}

func (l *loader) pools() error {
	return l.each(`SELECT cell, service, pool, kind, at_ns, core, size, max, capacity, active, queue, active_max, queue_max, completed, rejected, timed_out,
		waiting, queue_wait_count, queue_wait_seconds, queue_wait_buckets, execution_count, execution_seconds, execution_buckets
		FROM pool_sample WHERE run = ? ORDER BY rowid`, func(rows *sql.Rows) error {
		var index int
		var s record.PoolSample
		var wait, execution distribution
		into := []any{&index, &s.Service, &s.Pool, &s.Kind, &s.At}
		for _, f := range poolFigures(&s) {
			into = append(into, f)
		}
		into = append(into, &wait.count, &wait.seconds, &wait.buckets, &execution.count, &execution.seconds, &execution.buckets)
		err := rows.Scan(into...)
		if err != nil {
			return err
		}
		if s.QueueWait, err = wait.decode(); err != nil {
			return err
		}
		if s.Execution, err = execution.decode(); err != nil {
			return err
		}
		c, err := l.cell(index)
		if err == nil {
			c.Pools = append(c.Pools, s)
		}
		return err
	})
}

// distribution is a stored distribution as it is scanned.
type distribution struct {
	count, seconds *float64
	buckets        *string
}

func (d distribution) decode() (*record.Dist, error) {
	if d.count == nil || d.seconds == nil {
		return nil, nil
	}
	buckets, err := decodeBuckets(d.buckets)
	if err != nil {
		return nil, err
	}
	return &record.Dist{Count: *d.count, Seconds: *d.seconds, Buckets: buckets}, nil
}

func (l *loader) series() error {
	return l.each("SELECT cell, source, name, at_ns, value FROM series_sample WHERE run = ? AND value IS NOT NULL ORDER BY rowid", func(rows *sql.Rows) error {
		var index int
		var s record.SeriesSample
		if err := rows.Scan(&index, &s.Source, &s.Name, &s.At, &s.Value); err != nil {
			return err
		}
		c, err := l.cell(index)
		if err == nil {
			c.Series = append(c.Series, s)
		}
		return err
	})
}

func (l *loader) dumps() error {
	return l.each("SELECT cell, service, at_ns, why, cost_ns, format, data FROM dump WHERE run = ? ORDER BY rowid", func(rows *sql.Rows) error {
		var index int
		var d record.Dump
		var at, cost int64
		if err := rows.Scan(&index, &d.Service, &at, &d.Why, &cost, &d.Format, &d.Data); err != nil {
			return err
		}
		d.At, d.Cost = time.Duration(at), time.Duration(cost)
		c, err := l.cell(index)
		if err == nil {
			c.Dumps = append(c.Dumps, d)
		}
		return err
	})
}

func parsePhase(name string) (record.Phase, error) {
	for p := record.Warmup; p <= record.Drain; p++ {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown phase %q", name)
}

// fromJSON reads what jsonText wrote; nothing stays nothing.
func fromJSON(text *string, into any) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*text), into); err != nil {
		return fmt.Errorf("decode %T: %w", into, err)
	}
	return nil
}
