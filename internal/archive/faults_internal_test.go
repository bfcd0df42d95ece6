package archive

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/record"
)

func openOne(t *testing.T) *Archive {
	t.Helper()
	a, err := Open(t.Context(), filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// SQLite's own limit of pages gives the same error as a full disk does.
func TestAFullDiskIsSaidAndEveryLaterCallFailsWithIt(t *testing.T) {
	a := openOne(t)
	w, err := a.Begin(t.Context(), record.Run{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.BeginCell(record.Cell{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.write.Exec("PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Dumps(record.Dump{Data: make([]byte, 1<<20)}); err != nil {
		t.Fatal(err)
	}
	err = w.Flush()
	if err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("flush on a full disk: %v", err)
	}
	if err := c.Interval(record.Interval{}); err == nil {
		t.Error("an interval was taken after the disk was full")
	}
	if err := w.End(RunEnd{}); err == nil {
		t.Error("the end was taken after the disk was full")
	}
}

func TestAReadOnlyArchiveIsReadAndRefusesWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	a, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Write(t.Context(), record.Run{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	// A test run by root may write every file, so the read-only way in is taken here, not found.
	ro, err := openReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ro.Close() }()
	if run, err := ro.Load(t.Context(), Latest); err != nil || run.ID != "r" {
		t.Errorf("load: %q, %v", run.ID, err)
	}
	_, begin := ro.Begin(t.Context(), record.Run{ID: "s"})
	for what, err := range map[string]error{"begin": begin, "delete": ro.Delete(t.Context(), "r"), "baseline": ro.DeleteBaseline(t.Context(), "b")} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = ro.read.Exec("DELETE FROM run")
	if err := classify(path, err); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a write that slipped through: %v", err)
	}
}

func FuzzBucketsAreReadOrRefusedAndReadBackAlike(f *testing.F) {
	f.Add(`[[0.1,2],[null,3]]`)
	f.Add(`[[1,null]]`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, text string) {
		buckets, err := decodeBuckets(&text)
		if err != nil || len(buckets) == 0 {
			return
		}
		encoded, err := encodeBuckets(buckets)
		if err != nil {
			t.Fatal(err)
		}
		again := encoded.(string)
		back, err := decodeBuckets(&again)
		if err != nil || !slices.Equal(back, buckets) {
			t.Errorf("%v was read back as %v (%v)", buckets, back, err)
		}
	})
}
