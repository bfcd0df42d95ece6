// Package archive keeps the facts of runs in one SQLite file. Rows arrive while a run goes on, so that a killed run can be read and is
// marked partial. It stores no verdicts: those are computed again from the facts.
//
// Several processes may use one archive at once: any number of readers, and writers that wait for one another. docs/formats/archive.md
// describes the tables.
package archive

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver, registered as «sqlite»
)

// busyWait is how long a statement waits for another process's write to end. Writes last milliseconds; only a deletion of a large run
// takes longer.
const busyWait = 30 * time.Second

// Archive is an open archive file. It is safe for concurrent use. Close releases it.
type Archive struct {
	path     string
	readOnly bool
	write    *sql.DB // one connection: SQLite has one writer
	read     *sql.DB
}

// DefaultPath is where the archive lies unless told otherwise: loadline/archive.db in the user's data folder, which is $XDG_DATA_HOME,
// else $HOME/.local/share. It is an error when neither is set, as a folder cannot be guessed then.
//
// Source: XDG Base Directory Specification 0.8; a relative XDG_DATA_HOME is to be ignored.
func DefaultPath(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "loadline", "archive.db"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "loadline", "archive.db"), nil
	}
	return "", errors.New("no place for the archive: neither XDG_DATA_HOME nor HOME is set; name a file with --archive")
}

// Open opens the archive for reading and writing. A missing file is created with its folders; an older one is brought to this
// program's schema. A file that may only be read is opened for reading, and Begin, Delete and SetBaseline refuse with ErrReadOnly.
// An error that means the file cannot be used as an archive matches ErrUnreadable.
func Open(ctx context.Context, path string) (*Archive, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the archive's folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil && !isReadOnlyFS(err) {
		return nil, fmt.Errorf("create the archive's folder: %w", err)
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	if !writable(path) {
		return openReadOnly(ctx, path)
	}
	write, err := connect(ctx, path, "rwc")
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	if err := migrate(ctx, write, path); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read, err := connect(ctx, path, "rw")
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &Archive{path: path, write: write, read: read}, nil
}

// OpenExisting opens an archive that is there already; a missing file is an error that matches fs.ErrNotExist.
func OpenExisting(ctx context.Context, path string) (*Archive, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open the archive: %w", err)
	}
	return Open(ctx, path)
}

func openReadOnly(ctx context.Context, path string) (*Archive, error) {
	read, err := connect(ctx, path, "ro")
	if err != nil {
		return nil, err
	}
	version, err := schemaVersion(ctx, read, path)
	if err == nil && version != newest() {
		err = fmt.Errorf("%w: %s has schema %d, this program reads %d, and the file may not be changed: make it writable once",
			ErrUnreadable, path, version, newest())
	}
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	return &Archive{path: path, readOnly: true, read: read}, nil
}

// Path is the archive's file.
func (a *Archive) Path() string { return a.path }

// Close releases the file. Writers must have ended before.
func (a *Archive) Close() error {
	err := a.read.Close()
	if a.write != nil {
		err = errors.Join(err, a.write.Close())
	}
	return err
}

// connect opens a pool of connections, each with the same pragmas, and touches the file.
func connect(ctx context.Context, path, mode string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, mode))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetConnMaxIdleTime(0)
	err = retryBusy(ctx, func() error { return db.PingContext(ctx) })
	if err != nil {
		return nil, errors.Join(classify(path, err), db.Close())
	}
	return db, nil
}

// dsn carries the pragmas, as a pragma belongs to a connection and the pool opens connections at will. synchronous=NORMAL loses
// nothing when the process dies, and at most the last transactions when the machine does.
func dsn(path, mode string) string {
	q := url.Values{}
	q.Set("mode", mode)
	q.Set("_txlock", "immediate")
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyWait.Milliseconds()))
	q.Add("_pragma", "foreign_keys(1)")
	if mode == "ro" {
		q.Set("immutable", immutable(path))
	} else {
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(NORMAL)")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// immutable tells SQLite that nobody can change the file, which it needs to know to read a WAL file whose folder is read-only. Where a
// writer's log stands beside the file, it is in use.
func immutable(path string) string {
	if _, err := os.Stat(path + "-wal"); err == nil {
		return "0"
	}
	return "1"
}

// headerSize is the length of SQLite's file header, pagesAt the place of the file's length in pages, applicationIDAt that of the
// application's mark.
//
// Source: SQLite, Database File Format, section 1.3.
const (
	headerSize      = 100
	pagesAt         = 28
	applicationIDAt = 68
	magic           = "SQLite format 3\x00"
)

// checkHeader looks at a file before SQLite does, so that nothing of another program's is changed by opening it. A missing or empty
// file is as good as an archive.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	// Nothing was written.
	defer func() { _ = f.Close() }()
	header := make([]byte, headerSize)
	n, err := io.ReadFull(f, header)
	switch {
	case err == io.EOF:
		return nil
	case err != nil && err != io.ErrUnexpectedEOF:
		return fmt.Errorf("%w: read %s: %w", ErrUnreadable, path, err)
	case n < headerSize || string(header[:len(magic)]) != magic:
		return fmt.Errorf("%w: %s is not a Loadline archive; name another file with --archive", ErrUnreadable, path)
	}
	id, pages := binary.BigEndian.Uint32(header[applicationIDAt:]), binary.BigEndian.Uint32(header[pagesAt:])
	// An archive whose first transaction is still in another process's log has one empty page and carries no mark yet.
	unborn := id == 0 && pages <= 1
	if id != applicationID && !unborn {
		return errForeign(path)
	}
	return nil
}

func errForeign(path string) error {
	return fmt.Errorf("%w: %s is a database of another program, not a Loadline archive", ErrUnreadable, path)
}

// writable tells whether the file, or its folder where there is none yet, may be written.
func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		// Closing a file opened only to be tested loses nothing.
		_ = f.Close()
		return true
	}
	return errors.Is(err, os.ErrNotExist)
}
