package archive

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What callers branch on.
var (
	// ErrUnreadable says that the file cannot be used as an archive: it is none, it is damaged, or a newer program wrote it.
	ErrUnreadable = errors.New("archive unreadable")
	// ErrReadOnly says that the archive may be read but not written.
	ErrReadOnly = errors.New("archive is read-only")
	// ErrNotRecorded says that facts of a run that is under way could not be stored. Every later call of its Writer returns the same error.
	ErrNotRecorded = errors.New("the run cannot be recorded any further")
	// ErrNoRun says that no run has the id, or that there is none at all.
	ErrNoRun = errors.New("no such run")
	// ErrAmbiguous says that several runs' ids begin with what was given.
	ErrAmbiguous = errors.New("several runs match")
	// ErrName says that a baseline cannot have the name.
	ErrName = errors.New("not a name for a baseline")
	// ErrNoBaseline says that no baseline has the name.
	ErrNoBaseline = errors.New("no such baseline")
)

// NewerError is the error for an archive of a later program. It matches ErrUnreadable.
type NewerError struct {
	Path         string
	Found, Known int // schema versions
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("archive %s has schema %d, this program knows up to %d: use a newer loadline, or another file with --archive",
		e.Path, e.Found, e.Known)
}

// Is makes the error match ErrUnreadable.
func (e *NewerError) Is(target error) bool { return target == ErrUnreadable }

// classify says in words what SQLite's code means for the person who ran us.
func classify(path string, err error) error {
	if err == nil {
		return nil
	}
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %s is not a Loadline archive (%w)", ErrUnreadable, path, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %s is damaged (%w)", ErrUnreadable, path, err)
	case sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: %s cannot be opened; does its folder exist, and may you write there? (%w)", ErrUnreadable, path, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("write archive %s: the disk is full: %w", path, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("write archive %s: %w (%w)", path, ErrReadOnly, err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("archive %s: another process has kept it locked for %v: %w", path, busyWait, err)
	default:
		return fmt.Errorf("archive %s: %w", path, err)
	}
}

// code is SQLite's primary result code, 0 for an error that is not SQLite's.
func code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// retryBusy repeats what another process's lock kept from happening. SQLite does not wait by itself when two processes switch a new
// file to its write-ahead log at once.
func retryBusy(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(busyWait)
	for {
		err := do()
		if code(err) != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }
