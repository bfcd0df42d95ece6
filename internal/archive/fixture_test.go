package archive_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadline-dev/loadline/internal/archive"
)

// writeFixture makes the archive of the schema in force, once, when that schema is about to be released:
// go test ./internal/archive -run Fixture -write-fixture 1
var writeFixture = flag.Int("write-fixture", 0, "write testdata/schema-N.db")

// An archive of every schema that was ever released is kept, so that a later program is proven to read it.
func TestArchivesOfEveryReleasedSchemaAreRead(t *testing.T) {
	if n := *writeFixture; n > 0 {
		a := open(t, filepath.Join("testdata", fmt.Sprintf("schema-%d.db", n)))
		if err := a.Write(t.Context(), fullRun("kept")); err != nil {
			t.Fatal(err)
		}
		return
	}
	fixtures, err := filepath.Glob("testdata/schema-*.db")
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, fixture := range fixtures {
		data, err := os.ReadFile(fixture)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "archive.db")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		a := open(t, path)
		got, err := a.Load(t.Context(), archive.Latest)
		if err != nil {
			t.Fatalf("%s: %v", fixture, err)
		}
		equalRuns(t, got, fullRun("kept"))
	}
}
