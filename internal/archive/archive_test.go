package archive_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

func open(t *testing.T, path string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Errorf("close %s: %v", path, err)
		}
	})
	return a
}

func fresh(t *testing.T) (*archive.Archive, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deep", "archive.db")
	return open(t, path), path
}

func histogram(values ...time.Duration) *hist.Histogram {
	h := hist.New()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func ptr(v float64) *float64 { return &v }

// fullRun holds a value in every field of a record.
func fullRun(id string) record.Run {
	started := time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC)
	interval := record.Interval{Phase: record.Window, Start: time.Second, End: 2 * time.Second, Planned: 5, InFlight: 2,
		Classes: []record.Class{
			{Outcome: record.Success, Inside: true, Answered: true, Count: 3, Held: 66 * time.Millisecond,
				Latency: histogram(20*time.Millisecond, 21*time.Millisecond, 25*time.Millisecond), Response: histogram(19 * time.Millisecond)},
			{Outcome: record.Dropped, Count: 2},
		},
		Lag: histogram(30 * time.Microsecond), Connect: histogram(time.Millisecond), TLS: histogram(2 * time.Millisecond),
		Addresses: map[string]int64{"127.0.0.1:8081": 3}, BytesSent: 300, BytesRead: 900, Codes: map[string]int64{"status 500": 2},
		Generator: record.GeneratorSample{CPU: 100 * time.Millisecond, LoopCPU: []time.Duration{60, 40}, RunQueueWait: 3, GCPause: 4,
			DescriptorsFree: 1000, PortsFree: -1}}
	pool := record.PoolSample{Service: "order", Pool: "price", Kind: record.KindPool, At: 1500 * time.Millisecond, Core: ptr(10), Size: ptr(10),
		Max: ptr(10), Capacity: ptr(6), Active: ptr(9.5), Queue: ptr(0), ActiveMax: ptr(10), QueueMax: ptr(6), Completed: ptr(1000), Rejected: ptr(7),
		TimedOut: ptr(1), Waiting: ptr(2),
		QueueWait: &record.Dist{Count: 3, Seconds: 0.1, Buckets: []record.DistBucket{{UpperSeconds: 0.05, Count: 2}, {UpperSeconds: math.Inf(1), Count: 3}}},
		Execution: &record.Dist{Count: 3, Seconds: 0.06}}
	return record.Run{ID: id, Name: "order detail", Started: started, Ended: started.Add(time.Minute), Partial: true, Interrupted: "Ctrl-C", SLO: "p99<100ms", Plan: []byte("name: order detail\n"),
		Environment: record.Environment{Host: "h", OS: "linux", Kernel: "6", CPUModel: "c", Cores: 2, MemoryByte: 8 << 30, Go: "go1.26", Loadline: "1",
			Limits: map[string]string{"descriptors": "1024"}},
		Cells: []record.Cell{{
			Index: 0, Setting: record.Setting{{Name: "isolation", Value: "thread"}, {Name: "slots", Value: int64(10)}}, Repeat: 1,
			Load: record.Load{Model: record.Closed, Concurrency: 50, Think: time.Millisecond}, Started: started.Add(time.Second),
			Warmup: time.Second, Discard: 2 * time.Second, Window: 3 * time.Second, Timeout: 5 * time.Second,
			Intervals: []record.Interval{{Phase: record.Warmup, End: time.Second, Planned: 1, Generator: record.GeneratorSample{DescriptorsFree: -1}}, interval},
			Processes: []record.ProcessSample{{Service: "order", At: 1, CPUUser: 2, CPUSystem: 3, Voluntary: 4, Involuntary: 5, RunQueueWait: 6, Threads: 7,
				RSSBytes: 8, Descriptors: 9, MinorFaults: 10, MajorFaults: -1}},
			Pools:  []record.PoolSample{pool, {Service: "order", Pool: "bare", Kind: record.KindBulkhead, At: 1}},
			Series: []record.SeriesSample{{Source: "host", Name: "cpu_ratio", At: 5, Value: 0.5}},
			Dumps:  []record.Dump{{Service: "order", At: 6, Why: "peak", Cost: 7, Format: "go", Data: []byte{0, 1, 2}}},
			Slots:  []record.SlotLimit{{Service: "order", Pool: "price", Slots: 10}}, Failure: "order died", Partial: true,
		}, {
			Index: 1, Repeat: 2, Imported: &record.Imported{Tool: "ab", Summary: &record.Summary{Requests: ptr(10), Mean: new(time.Duration)}}, Load: record.Load{Model: record.Open, RatePerSec: 12.5}, Started: started.Add(2 * time.Second), Setting: record.Setting{}}}}
}

func TestARunIsReadBackAsItWasWritten(t *testing.T) {
	a, _ := fresh(t)
	want := fullRun("r1")
	if err := a.Write(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := a.Load(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	equalRuns(t, got, want)
}

// equalRuns compares histograms by their samples, everything else by value.
func equalRuns(t *testing.T, got, want record.Run) {
	t.Helper()
	gotHists, wantHists := takeHistograms(&got), takeHistograms(&want)
	for i := range wantHists {
		g, w := gotHists[i], wantHists[i]
		if (g == nil) != (w == nil) || g.Sum() != w.Sum() || !reflect.DeepEqual(g.Buckets(), w.Buckets()) {
			t.Errorf("histogram %d: got %v, want %v", i, g, w)
		}
	}
	// A nil and an empty setting mean the same.
	for _, r := range []*record.Run{&got, &want} {
		for i := range r.Cells {
			if len(r.Cells[i].Setting) == 0 {
				r.Cells[i].Setting = nil
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func takeHistograms(r *record.Run) []*hist.Histogram {
	var out []*hist.Histogram
	take := func(h **hist.Histogram) {
		out = append(out, *h)
		*h = nil
	}
	cells := append([]record.Cell(nil), r.Cells...)
	for c := range cells {
		cells[c].Intervals = append([]record.Interval(nil), cells[c].Intervals...)
		for i := range cells[c].Intervals {
			iv := &cells[c].Intervals[i]
			iv.Classes = append([]record.Class(nil), iv.Classes...)
			take(&iv.Lag)
			take(&iv.Connect)
			take(&iv.TLS)
			for k := range iv.Classes {
				take(&iv.Classes[k].Latency)
				take(&iv.Classes[k].Response)
			}
		}
	}
	r.Cells = cells
	return out
}

func TestAReaderSeesWhatAWriterHasFlushedAndTheRunIsPartialUntilItEnds(t *testing.T) {
	a, path := fresh(t)
	reader := open(t, path)
	run := fullRun("going")
	w, err := a.Begin(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.BeginCell(run.Cells[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Interval(run.Cells[0].Intervals[0]); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	got, err := reader.Load(t.Context(), archive.Latest)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Partial || !got.Ended.IsZero() || len(got.Cells) != 1 || !got.Cells[0].Partial || len(got.Cells[0].Intervals) != 1 {
		t.Errorf("while it goes on: partial %v, ended %v, cells %+v", got.Partial, got.Ended, got.Cells)
	}
	if err := errors.Join(c.End(archive.CellEnd{}), w.End(archive.RunEnd{Ended: run.Ended})); err != nil {
		t.Fatal(err)
	}
	got, err = reader.Load(t.Context(), "going")
	if err != nil {
		t.Fatal(err)
	}
	if got.Partial || !got.Ended.Equal(run.Ended) || got.Cells[0].Partial {
		t.Errorf("after its end: partial %v, ended %v, cell partial %v", got.Partial, got.Ended, got.Cells[0].Partial)
	}
	if err := c.Interval(record.Interval{}); err == nil {
		t.Error("an interval after the end was taken")
	}
}

func TestIntervalsAreCommittedWithoutBeingAskedFor(t *testing.T) {
	a, path := fresh(t)
	reader := open(t, path)
	run := fullRun("r")
	w, err := a.Begin(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := w.BeginCell(run.Cells[0])
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := errors.Join(c.Interval(run.Cells[0].Intervals[0]), c.Processes(run.Cells[0].Processes...)); err != nil {
		t.Fatal(err)
	}
	for {
		got, err := reader.Load(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Cells[0].Intervals) == 1 && len(got.Cells[0].Processes) == 1 {
			break
		}
		if time.Since(begun) > 5*time.Second {
			t.Fatal("nothing was committed within 5 s")
		}
	}
}

func TestRunsAreListedFoundByPrefixAndDeletedWithAllTheirRows(t *testing.T) {
	ctx := t.Context()
	a, path := fresh(t)
	for i, id := range []string{"abc1", "abd2", "xyz3"} {
		run := fullRun(id)
		run.Started = run.Started.Add(time.Duration(i) * time.Hour)
		if err := a.Write(ctx, run); err != nil {
			t.Fatal(err)
		}
	}
	list, err := a.List(ctx)
	if err != nil || len(list) != 3 || list[0].ID != "xyz3" || list[2].ID != "abc1" || list[0].Cells != 2 || list[0].SLO != "p99<100ms" {
		t.Fatalf("list: %+v, %v", list, err)
	}
	resolves := func(what, want string, wantErr error) {
		t.Helper()
		got, err := a.Resolve(ctx, what)
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("resolve %q: %q, %v; want %q, %v", what, got, err, want, wantErr)
		}
	}
	resolves("latest", "xyz3", nil)
	resolves("abc", "abc1", nil)
	resolves("abd2", "abd2", nil)
	resolves("ab", "", archive.ErrAmbiguous)
	resolves("q", "", archive.ErrNoRun)
	resolves("", "", archive.ErrNoRun)
	resolves("%", "", archive.ErrNoRun)
	if err := a.Delete(ctx, "abc"); !errors.Is(err, archive.ErrNoRun) {
		t.Errorf("delete by prefix: %v", err)
	}
	for _, id := range []string{"abc1", "abd2", "xyz3"} {
		if err := a.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	resolves("latest", "", archive.ErrNoRun)
	for _, table := range []string{"cell", "slot_limit", "interval", "class", "process_sample", "pool_sample", "series_sample", "dump"} {
		if n := count(t, path, table); n != 0 {
			t.Errorf("%d rows left in %s", n, table)
		}
	}
}

func count(t *testing.T, path, table string) int {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestABaselineNamesARunUntilTheRunIsDeleted(t *testing.T) {
	ctx := t.Context()
	a, _ := fresh(t)
	now := time.Unix(100, 0)
	for _, id := range []string{"r1", "r2"} {
		if err := a.Write(ctx, fullRun(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.SetBaseline(ctx, "good", "r1", now); err != nil {
		t.Fatal(err)
	}
	if id, err := a.Resolve(ctx, "good"); id != "r1" || err != nil {
		t.Errorf("good is %q, %v", id, err)
	}
	if err := a.SetBaseline(ctx, "good", "r2", now); err != nil {
		t.Fatal(err)
	}
	if id, err := a.Resolve(ctx, "good"); id != "r2" || err != nil {
		t.Errorf("moved good is %q, %v", id, err)
	}
	list, err := a.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if want := s.ID == "r2"; (len(s.Baselines) == 1) != want {
			t.Errorf("%s has baselines %v", s.ID, s.Baselines)
		}
	}
	for _, bad := range []string{"", "latest", "r1"} {
		if err := a.SetBaseline(ctx, bad, "r2", now); err == nil {
			t.Errorf("baseline %q was taken", bad)
		}
	}
	if err := a.SetBaseline(ctx, "x", "r9", now); !errors.Is(err, archive.ErrNoRun) {
		t.Errorf("baseline of no run: %v", err)
	}
	if err := a.Delete(ctx, "r2"); err != nil {
		t.Fatal(err)
	}
	if err := a.DeleteBaseline(ctx, "good"); !errors.Is(err, archive.ErrNoBaseline) {
		t.Errorf("baseline of a deleted run: %v", err)
	}
}

func TestWhatIsNoArchiveIsRefusedAndLeftAsItIs(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	long := strings.Repeat("not a database ", 100)
	foreign := filepath.Join(dir, "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE other (x)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	foreignBytes, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	marked := append([]byte(nil), foreignBytes...)
	marked[71] = 7
	for path, content := range map[string][]byte{text: []byte(long), filepath.Join(dir, "short"): []byte("x"), foreign: foreignBytes,
		filepath.Join(dir, "marked.db"): marked} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := archive.Open(t.Context(), path)
		if !errors.Is(err, archive.ErrUnreadable) || !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s: %v", path, err)
		}
		after, readErr := os.ReadFile(path)
		if readErr != nil || string(after) != string(content) {
			t.Errorf("%s was changed (%v)", path, readErr)
		}
	}
	if _, err := archive.OpenExisting(t.Context(), filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing archive: %v", err)
	}
	if _, err := archive.Open(t.Context(), dir); !errors.Is(err, archive.ErrUnreadable) {
		t.Errorf("a folder: %v", err)
	}
}

func TestAnArchiveOfALaterProgramIsRefusedWithBothNumbers(t *testing.T) {
	a, path := fresh(t)
	if err := a.Write(t.Context(), fullRun("r")); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE schema_version SET version = 1000"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = archive.Open(t.Context(), path)
	var newer *archive.NewerError
	if !errors.As(err, &newer) || newer.Found != 1000 || !errors.Is(err, archive.ErrUnreadable) {
		t.Errorf("got %v", err)
	}
}

func TestTwoWritersOfOneArchiveWaitForOneAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	const writers, intervals = 4, 30
	var wg sync.WaitGroup
	errs := make(chan error, writers)
	for n := range writers {
		wg.Go(func() { errs <- writeRun(t.Context(), path, fmt.Sprintf("run%d", n), intervals) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	a := open(t, path)
	for n := range writers {
		run, err := a.Load(t.Context(), fmt.Sprintf("run%d", n))
		if err != nil {
			t.Fatal(err)
		}
		if run.Partial || len(run.Cells[0].Intervals) != intervals {
			t.Errorf("run%d: partial %v, %d intervals", n, run.Partial, len(run.Cells[0].Intervals))
		}
	}
}

// writeRun opens the archive by itself, as another process would, and flushes after every interval.
func writeRun(ctx context.Context, path, id string, intervals int) (err error) {
	a, err := archive.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	run := fullRun(id)
	w, err := a.Begin(ctx, run)
	if err != nil {
		return err
	}
	c, err := w.BeginCell(run.Cells[0])
	if err != nil {
		return err
	}
	for range intervals {
		if err := errors.Join(c.Interval(run.Cells[0].Intervals[1]), w.Flush()); err != nil {
			return err
		}
	}
	return errors.Join(c.End(archive.CellEnd{}), w.End(archive.RunEnd{Ended: run.Ended}))
}

func TestTheSameIdTwiceIsRefused(t *testing.T) {
	a, _ := fresh(t)
	if err := a.Write(t.Context(), fullRun("r")); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(t.Context(), fullRun("r")); err == nil {
		t.Error("a second run of the same id was taken")
	}
	if err := a.Write(t.Context(), record.Run{}); err == nil {
		t.Error("a run without an id was taken")
	}
}

func TestTheDefaultPlaceFollowsTheEnvironment(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"/data", "/home/u", "/data/loadline/archive.db"},
		{"", "/home/u", "/home/u/.local/share/loadline/archive.db"},
		{"relative", "/home/u", "/home/u/.local/share/loadline/archive.db"},
		{"", "", ""},
	} {
		got, err := archive.DefaultPath(func(name string) string {
			return map[string]string{"XDG_DATA_HOME": c.xdg, "HOME": c.home}[name]
		})
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("XDG_DATA_HOME=%q HOME=%q: %q, %v; want %q", c.xdg, c.home, got, err, c.want)
		}
	}
}

// A field added to the record must be added to fullRun, and then the read-back test asks for its column.
func TestTheRunUsedForReadingBackHasAValueInEveryField(t *testing.T) {
	filled := map[string]bool{}
	fill(reflect.ValueOf(fullRun("r")), filled)
	for field, ok := range filled {
		if !ok {
			t.Errorf("%s is zero everywhere", field)
		}
	}
}

// fill notes for every field of the record's types below v whether it was seen with a value.
func fill(v reflect.Value, filled map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			fill(v.Elem(), filled)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), filled)
		}
	case reflect.Struct:
		if !strings.HasSuffix(v.Type().PkgPath(), "/record") {
			return
		}
		// What an imported cell holds is kept as one JSON text.
		if v.Type() == reflect.TypeFor[record.Imported]() {
			return
		}
		for i := range v.NumField() {
			name := v.Type().String() + "." + v.Type().Field(i).Name
			filled[name] = filled[name] || !v.Field(i).IsZero()
			fill(v.Field(i), filled)
		}
	}
}
