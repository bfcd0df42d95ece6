package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// Latest is the id that means the run begun last.
const Latest = "latest"

// Summary is a run as it is listed.
type Summary struct {
	ID          string
	Name        string
	Started     time.Time
	Ended       time.Time // zero while it goes on or where it was killed
	Partial     bool
	Interrupted string
	SLO         string
	Cells       int
	Baselines   []string // names under which it is kept for comparison
}

// List gives all runs, the latest first.
func (a *Archive) List(ctx context.Context) ([]Summary, error) {
	rows, err := a.read.QueryContext(ctx, `SELECT id, name, started_ns, ended_ns, partial, interrupted, slo,
		(SELECT count(*) FROM cell WHERE cell.run = run.run),
		(SELECT json_group_array(name) FROM (SELECT name FROM baseline WHERE baseline.run = run.run ORDER BY name))
		FROM run ORDER BY started_ns DESC, run DESC`)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", classify(a.path, err))
	}
	defer closeRows(rows)
	var out []Summary
	for rows.Next() {
		var s Summary
		var started int64
		var ended sql.NullInt64
		var baselines string
		if err := rows.Scan(&s.ID, &s.Name, &started, &ended, &s.Partial, &s.Interrupted, &s.SLO, &s.Cells, &baselines); err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		if err := json.Unmarshal([]byte(baselines), &s.Baselines); err != nil {
			return nil, fmt.Errorf("list runs: baselines of %s: %w", s.ID, err)
		}
		s.Started, s.Ended = wall(started), wallOrZero(ended)
		out = append(out, s)
	}
	return out, classify(a.path, rows.Err())
}

// Resolve finds the full id that an id, its beginning, a baseline's name or «latest» means. ErrNoRun and ErrAmbiguous say why not.
func (a *Archive) Resolve(ctx context.Context, what string) (string, error) {
	if what == Latest {
		return a.latest(ctx)
	}
	var exact string
	err := a.read.QueryRowContext(ctx, `SELECT id FROM run WHERE id = ?1
		UNION ALL SELECT id FROM baseline JOIN run USING (run) WHERE baseline.name = ?1`, what).Scan(&exact)
	if err == nil {
		return exact, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("find run %q: %w", what, classify(a.path, err))
	}
	ids, err := a.beginningWith(ctx, what)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("%w: %q in %s (loadline runs lists them)", ErrNoRun, what, a.path)
	case len(ids) > 1:
		return "", fmt.Errorf("%w: %q begins %s", ErrAmbiguous, what, strings.Join(ids, ", "))
	}
	return ids[0], nil
}

func (a *Archive) latest(ctx context.Context) (string, error) {
	var id string
	err := a.read.QueryRowContext(ctx, "SELECT id FROM run ORDER BY started_ns DESC, run DESC LIMIT 1").Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("%w: %s holds none yet", ErrNoRun, a.path)
	}
	return id, classify(a.path, err)
}

func (a *Archive) beginningWith(ctx context.Context, prefix string) ([]string, error) {
	rows, err := a.read.QueryContext(ctx, "SELECT id FROM run WHERE ?1 <> '' AND substr(id, 1, length(?1)) = ?1 ORDER BY id", prefix)
	if err != nil {
		return nil, fmt.Errorf("find run %q: %w", prefix, classify(a.path, err))
	}
	defer closeRows(rows)
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("find run %q: %w", prefix, err)
		}
		ids = append(ids, id)
	}
	return ids, classify(a.path, rows.Err())
}

// Load reads a whole run, named as Resolve reads it. A run that goes on is read as far as it has come.
func (a *Archive) Load(ctx context.Context, what string) (record.Run, error) {
	id, err := a.Resolve(ctx, what)
	if err != nil {
		return record.Run{}, err
	}
	// One transaction sees one state of a run that goes on.
	tx, err := a.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return record.Run{}, fmt.Errorf("load run %s: %w", id, classify(a.path, err))
	}
	// Nothing was written.
	defer func() { _ = tx.Rollback() }()
	run, err := loadRun(ctx, tx, id)
	if err != nil {
		return record.Run{}, fmt.Errorf("load run %s: %w", id, classify(a.path, err))
	}
	return run, nil
}

// Delete removes a run with all that belongs to it, baselines included. The id must be whole; ErrNoRun says that there is none.
func (a *Archive) Delete(ctx context.Context, id string) error {
	if a.readOnly {
		return fmt.Errorf("delete run: %s: %w", a.path, ErrReadOnly)
	}
	res, err := a.write.ExecContext(ctx, "DELETE FROM run WHERE id = ?", id)
	if err != nil {
		return fmt.Errorf("delete run %s: %w", id, classify(a.path, err))
	}
	return wantOne(res, fmt.Errorf("%w: %q", ErrNoRun, id))
}

// SetBaseline keeps a run, named as Resolve reads it, under a name for later comparison; a name in use moves to it. The name must not
// be empty, «latest» or the id of a run.
func (a *Archive) SetBaseline(ctx context.Context, name, what string, now time.Time) error {
	if a.readOnly {
		return fmt.Errorf("set baseline: %s: %w", a.path, ErrReadOnly)
	}
	if name == "" || name == Latest {
		return fmt.Errorf("set baseline: %w: found %q, allowed any text but the empty one and %q", ErrName, name, Latest)
	}
	id, err := a.Resolve(ctx, what)
	if err != nil {
		return fmt.Errorf("set baseline %s: %w", name, err)
	}
	res, err := a.write.ExecContext(ctx, `INSERT INTO baseline (name, run, set_ns) SELECT ?1, run, ?3 FROM run
		WHERE id = ?2 AND NOT EXISTS (SELECT 1 FROM run WHERE id = ?1)
		ON CONFLICT (name) DO UPDATE SET run = excluded.run, set_ns = excluded.set_ns`, name, id, now.UnixNano())
	if err != nil {
		return fmt.Errorf("set baseline %s: %w", name, classify(a.path, err))
	}
	return wantOne(res, fmt.Errorf("set baseline: %w: %q is the id of a run; choose another", ErrName, name))
}

// DeleteBaseline forgets a name; the run stays. ErrNoBaseline says that there is none of that name.
func (a *Archive) DeleteBaseline(ctx context.Context, name string) error {
	if a.readOnly {
		return fmt.Errorf("delete baseline: %s: %w", a.path, ErrReadOnly)
	}
	res, err := a.write.ExecContext(ctx, "DELETE FROM baseline WHERE name = ?", name)
	if err != nil {
		return fmt.Errorf("delete baseline %s: %w", name, classify(a.path, err))
	}
	return wantOne(res, fmt.Errorf("%w: %q", ErrNoBaseline, name))
}

// wantOne gives otherwise when a statement changed nothing.
func wantOne(res sql.Result, otherwise error) error {
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return otherwise
	}
	return nil
}

func wall(ns int64) time.Time { return time.Unix(0, ns).UTC() }

func wallOrZero(ns sql.NullInt64) time.Time {
	if !ns.Valid {
		return time.Time{}
	}
	return wall(ns.Int64)
}

// closeRows ends a query. What went wrong while reading stands in rows.Err, which the reader checks.
func closeRows(rows *sql.Rows) { _ = rows.Close() }
