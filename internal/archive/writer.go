package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// flushEvery is how long a sample may wait in memory. With intervals handed over as they end, a killed process loses less than 1 s.
const flushEvery = 500 * time.Millisecond

// errClosed is the programmer's error of writing to a run that was ended.
var errClosed = errors.New("archive: the run was ended already")

// Writer adds the facts of one run. Rows are gathered in memory and committed by one goroutine at least every 500 ms; nobody who
// hands over a row waits for the disk, only for Begin…, End… and Flush. Once a commit has failed every call returns that error. It is
// safe for concurrent use. End or Close must be called; Close without End leaves the run partial, as a kill does.
type Writer struct {
	a   *Archive
	run int64

	mu     sync.Mutex // guards what follows
	rows   []row
	err    error
	closed bool

	wake chan chan struct{} // ask for a flush; the channel handed in is closed once it is done
	quit chan struct{}
	done chan struct{}
}

// row is one statement to come.
type row struct {
	query string
	args  []any
	// late computes the arguments on the writing goroutine, where encoding a histogram is not in the load's way.
	late func() ([]any, error)
}

// CellWriter adds the facts of one cell; it is a load.Sink. It is safe for concurrent use.
type CellWriter struct {
	w    *Writer
	cell int

	mu  sync.Mutex // guards seq
	seq int
}

// CellEnd says how a cell ended.
type CellEnd struct {
	Partial bool
	Failure string
}

// RunEnd says how a run ended.
type RunEnd struct {
	Ended       time.Time
	Partial     bool
	Interrupted string
}

// Begin adds a run without its cells, marked partial until End says otherwise. An id that is there already is an error.
func (a *Archive) Begin(ctx context.Context, run record.Run) (*Writer, error) {
	if a.readOnly {
		return nil, fmt.Errorf("begin run: %s: %w", a.path, ErrReadOnly)
	}
	if run.ID == "" {
		return nil, errors.New("begin run: it has no id")
	}
	environment, err := json.Marshal(run.Environment)
	if err != nil {
		return nil, fmt.Errorf("begin run: environment: %w", err)
	}
	plan := run.Plan
	if plan == nil {
		plan = []byte{}
	}
	res, err := a.write.ExecContext(ctx, `INSERT INTO run (id, name, started_ns, partial, interrupted, environment, plan, slo)
		VALUES (?, ?, ?, 1, '', ?, ?, ?)`, run.ID, run.Name, run.Started.UnixNano(), string(environment), plan, run.SLO)
	if err != nil {
		return nil, fmt.Errorf("begin run %s: %w", run.ID, classify(a.path, err))
	}
	id, err := res.LastInsertId()
	if err != nil {
		return nil, fmt.Errorf("begin run %s: %w", run.ID, err)
	}
	w := &Writer{a: a, run: id, wake: make(chan chan struct{}), quit: make(chan struct{}), done: make(chan struct{})}
	go w.loop()
	return w, nil
}

// Write adds a whole run that lies in memory, such as an imported one.
func (a *Archive) Write(ctx context.Context, run record.Run) error {
	w, err := a.Begin(ctx, run)
	if err != nil {
		return err
	}
	for _, cell := range run.Cells {
		if err := w.writeCell(cell); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.End(RunEnd{Ended: run.Ended, Partial: run.Partial, Interrupted: run.Interrupted})
}

func (w *Writer) writeCell(cell record.Cell) error {
	c, err := w.BeginCell(cell)
	if err != nil {
		return err
	}
	for _, iv := range cell.Intervals {
		err = errors.Join(err, c.Interval(iv))
	}
	err = errors.Join(err, c.Processes(cell.Processes...), c.Pools(cell.Pools...), c.Series(cell.Series...), c.Dumps(cell.Dumps...))
	return errors.Join(err, c.End(CellEnd{Partial: cell.Partial, Failure: cell.Failure}))
}

// BeginCell adds a cell with its setting, load, planned lengths and slot limits; what it holds besides is not written. It returns
// when the cell is on disk.
func (w *Writer) BeginCell(cell record.Cell) (*CellWriter, error) {
	setting := cell.Setting
	if setting == nil {
		setting = record.Setting{}
	}
	text, err := json.Marshal(setting)
	if err != nil {
		return nil, fmt.Errorf("begin cell %d: %w", cell.Index, err)
	}
	imported, err := importedText(cell.Imported)
	if err != nil {
		return nil, fmt.Errorf("begin cell %d: %w", cell.Index, err)
	}
	l := cell.Load
	rows := []row{{query: `INSERT INTO cell (run, cell, setting, repeat, model, concurrency, rate_per_s, think_ns, started_ns, warmup_ns, discard_ns,
		window_ns, timeout_ns, partial, failure, imported) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, '', ?)`,
		args: []any{w.run, cell.Index, string(text), cell.Repeat, string(l.Model), l.Concurrency, l.RatePerSec, int64(l.Think),
			cell.Started.UnixNano(), int64(cell.Warmup), int64(cell.Discard), int64(cell.Window), int64(cell.Timeout), imported}}}
	for _, s := range cell.Slots {
		rows = append(rows, row{query: "INSERT INTO slot_limit VALUES (?, ?, ?, ?, ?)", args: []any{w.run, cell.Index, s.Service, s.Pool, s.Slots}})
	}
	if err := w.add(rows...); err != nil {
		return nil, err
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return &CellWriter{w: w, cell: cell.Index}, nil
}

// Interval adds an interval and has it committed at once. The interval must not be changed afterwards.
func (c *CellWriter) Interval(iv record.Interval) error {
	c.mu.Lock()
	seq := c.seq
	c.seq++
	c.mu.Unlock()
	rows := []row{{query: insertInterval, late: func() ([]any, error) { return intervalArgs(c.w.run, c.cell, seq, iv) }}}
	for place, class := range iv.Classes {
		rows = append(rows, row{query: insertClass, late: func() ([]any, error) { return classArgs(c.w.run, c.cell, seq, place, class) }})
	}
	if err := c.w.add(rows...); err != nil {
		return err
	}
	c.w.nudge()
	return nil
}

// Processes adds samples of services' processes.
func (c *CellWriter) Processes(samples ...record.ProcessSample) error {
	rows := make([]row, 0, len(samples))
	for _, s := range samples {
		rows = append(rows, row{query: insertProcess, args: []any{c.w.run, c.cell, s.Service, int64(s.At), int64(s.CPUUser), int64(s.CPUSystem),
			s.Voluntary, s.Involuntary, int64(s.RunQueueWait), s.Threads, s.RSSBytes, s.Descriptors, s.MinorFaults, s.MajorFaults}})
	}
	return c.w.add(rows...)
}

// Pools adds samples of services' pools.
func (c *CellWriter) Pools(samples ...record.PoolSample) error {
	rows := make([]row, 0, len(samples))
	for _, s := range samples {
		rows = append(rows, row{query: insertPool, late: func() ([]any, error) { return poolArgs(c.w.run, c.cell, s) }})
	}
	return c.w.add(rows...)
}

// Series adds samples of other series.
func (c *CellWriter) Series(samples ...record.SeriesSample) error {
	rows := make([]row, 0, len(samples))
	for _, s := range samples {
		rows = append(rows, row{query: "INSERT INTO series_sample VALUES (?, ?, ?, ?, ?, ?)",
			args: []any{c.w.run, c.cell, s.Source, s.Name, int64(s.At), s.Value}})
	}
	return c.w.add(rows...)
}

// Dumps adds thread dumps.
func (c *CellWriter) Dumps(dumps ...record.Dump) error {
	rows := make([]row, 0, len(dumps))
	for _, d := range dumps {
		data := d.Data
		if data == nil {
			data = []byte{}
		}
		rows = append(rows, row{query: "INSERT INTO dump VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			args: []any{c.w.run, c.cell, d.Service, int64(d.At), d.Why, int64(d.Cost), d.Format, data}})
	}
	return c.w.add(rows...)
}

// End marks the cell as over and returns when all of it is on disk.
func (c *CellWriter) End(end CellEnd) error {
	err := c.w.add(row{query: "UPDATE cell SET partial = ?, failure = ? WHERE run = ? AND cell = ?",
		args: []any{end.Partial, end.Failure, c.w.run, c.cell}})
	if err != nil {
		return err
	}
	return c.w.Flush()
}

// End marks the run as over, commits what is left and releases the writer.
func (w *Writer) End(end RunEnd) error {
	var ended any
	if !end.Ended.IsZero() {
		ended = end.Ended.UnixNano()
	}
	err := w.add(row{query: "UPDATE run SET ended_ns = ?, partial = ?, interrupted = ? WHERE run = ?",
		args: []any{ended, end.Partial, end.Interrupted, w.run}})
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Flush returns when everything handed over so far is on disk, or with the error that kept it from getting there.
func (w *Writer) Flush() error {
	ack := make(chan struct{})
	select {
	case w.wake <- ack:
		<-ack
	case <-w.done:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close commits what is left and releases the writer; the run stays marked as it is. A second call does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		<-w.done
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	close(w.quit)
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) add(rows ...row) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	if w.err == nil {
		w.rows = append(w.rows, rows...)
	}
	return w.err
}

// nudge asks for a flush without waiting for it; where one is under way the next tick takes the rows.
func (w *Writer) nudge() {
	select {
	case w.wake <- make(chan struct{}):
	default:
	}
}

// loop is the one writing goroutine; it ends when quit is closed.
func (w *Writer) loop() {
	defer close(w.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.commit()
		case ack := <-w.wake:
			w.commit()
			close(ack)
		case <-w.quit:
			w.commit()
			return
		}
	}
}

func (w *Writer) commit() {
	w.mu.Lock()
	rows := w.rows
	w.rows = nil
	w.mu.Unlock()
	if len(rows) == 0 {
		return
	}
	if err := w.insert(rows); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.err == nil {
			w.err = fmt.Errorf("%w: %w", ErrNotRecorded, classify(w.a.path, err))
		}
	}
}

// insert writes rows in one transaction. It does not end with a caller's context: what was measured is kept.
func (w *Writer) insert(rows []row) error {
	ctx := context.Background()
	tx, err := w.a.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	// After a commit this does nothing.
	defer func() { _ = tx.Rollback() }()
	if err := insertRows(ctx, tx, rows); err != nil {
		return err
	}
	return tx.Commit()
}

func insertRows(ctx context.Context, tx *sql.Tx, rows []row) error {
	for _, r := range rows {
		args := r.args
		if r.late != nil {
			var err error
			if args, err = r.late(); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, r.query, args...); err != nil {
			return err
		}
	}
	return nil
}
