package archive

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

// migrationFiles are applied in the order of their numbers, each once and in one transaction. A released file never changes.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID marks the file as ours in SQLite's header: «LLNA».
const applicationID = 0x4c4c4e41

// newest is the schema that this program writes.
func newest() int { return len(migrations()) }

// migrations lists the files' names; the n-th leads to schema n.
func migrations() []string {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		// The pattern is a constant: only a programmer's error can reach this.
		panic(err)
	}
	return names
}

// schemaVersion reads the file's schema; 0 for an empty file. A database that is not ours, or newer than this program, is an error.
func schemaVersion(ctx context.Context, db queryer, path string) (int, error) {
	var id, tables int
	// One statement sees one state of a file that another process is creating.
	err := db.QueryRowContext(ctx, "SELECT count(*), (SELECT application_id FROM pragma_application_id) FROM sqlite_schema").Scan(&tables, &id)
	if err != nil {
		return 0, classify(path, err)
	}
	if id == 0 && tables == 0 {
		return 0, nil
	}
	if id != applicationID {
		return 0, errForeign(path)
	}
	var version int
	if err := db.QueryRowContext(ctx, "SELECT version FROM schema_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("%w: %s does not tell its schema (%w)", ErrUnreadable, path, err)
	}
	if version > newest() {
		return version, &NewerError{Path: path, Found: version, Known: newest()}
	}
	return version, nil
}

// queryer is a database or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// migrate brings the file to the newest schema. Each step holds the write lock while it looks and acts, so that two processes that
// open a new file at once do it once.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	for {
		version, err := schemaVersion(ctx, db, path)
		if err != nil {
			return err
		}
		if version == newest() {
			return nil
		}
		if err := migrateOnce(ctx, db, path); err != nil {
			return err
		}
	}
}

func migrateOnce(ctx context.Context, db *sql.DB, path string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return classify(path, err)
	}
	// After a commit this does nothing.
	defer func() { _ = tx.Rollback() }()
	version, err := schemaVersion(ctx, tx, path)
	if err != nil || version == newest() {
		return err
	}
	if version == 0 {
		first := fmt.Sprintf("PRAGMA application_id = %d; CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT; "+
			"INSERT INTO schema_version VALUES (0);", applicationID)
		if _, err := tx.ExecContext(ctx, first); err != nil {
			return classify(path, err)
		}
	}
	name := migrations()[version]
	text, err := migrationFiles.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return fmt.Errorf("migrate to schema %d: %w", version+1, classify(path, err))
	}
	if _, err := tx.ExecContext(ctx, "UPDATE schema_version SET version = ?", version+1); err != nil {
		return classify(path, err)
	}
	return classify(path, tx.Commit())
}
