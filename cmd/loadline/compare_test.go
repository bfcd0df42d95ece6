package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// comparison is the part of loadline.compare/1 that these tests read.
type comparison struct {
	Schema string `json:"schema"`
	Pairs  []struct {
		Cells []struct {
			Setting string `json:"setting"`
			Load    string `json:"load"`
			Metrics []struct {
				Metric  string   `json:"metric"`
				Change  *float64 `json:"change"`
				Verdict string   `json:"verdict"`
			} `json:"metrics"`
		} `json:"cells"`
		FailOn []struct {
			Failed    bool `json:"failed"`
			Evaluated int  `json:"evaluated"`
		} `json:"fail_on"`
		Caveats []string `json:"caveats"`
	} `json:"pairs"`
}

func (c comparison) verdict(metric string) string {
	for _, m := range c.Pairs[0].Cells[0].Metrics {
		if m.Metric == metric {
			return m.Verdict
		}
	}
	return "absent"
}

// vegetaFile writes results of one request every 10 ms that each took about so long, as vegeta encode does. They hold no noise of this machine.
func vegetaFile(t *testing.T, name string, took time.Duration) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	var text strings.Builder
	for i := range 3000 {
		at := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC).Add(time.Duration(i) * 10 * time.Millisecond)
		latency := took + time.Duration(i%50)*20*time.Microsecond
		fmt.Fprintf(&text, `{"attack":"","seq":%d,"code":200,"timestamp":%q,"latency":%d,"bytes_out":0,"bytes_in":9,"error":"","body":null,"method":"GET","url":"http://127.0.0.1/","headers":null}`+"\n",
			i, at.Format(time.RFC3339Nano), latency.Nanoseconds())
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func imported(t *testing.T, archive, name string, took time.Duration) {
	t.Helper()
	got := loadline(t, time.Minute, "import", "vegeta", vegetaFile(t, name, took), "--archive", archive)
	if got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
}

func TestCompareTellsAChangeFromNoiseAndFailsOnIt(t *testing.T) {
	dir := t.TempDir()
	archive, out := filepath.Join(dir, "a.db"), filepath.Join(dir, "c.json")
	imported(t, archive, "before.json", 10*time.Millisecond)
	if got := loadline(t, time.Minute, "runs", "latest", "--baseline", "release-1.4", "--archive", archive); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	imported(t, archive, "same.json", 10*time.Millisecond)
	got := loadline(t, time.Minute, "compare", "--baseline", "release-1.4", "latest", "--fail-on", "p99>+10%", "--json", out, "--archive", archive)
	var c comparison
	validated(t, out, "compare", &c)
	if got.code != 0 || c.verdict("p99_ms") != "within noise" || !strings.Contains(got.stdout, "within noise") || c.Pairs[0].FailOn[0].Failed {
		t.Errorf("exit %d, p99 %s\n%s", got.code, c.verdict("p99_ms"), got.stdout)
	}
	imported(t, archive, "slower.json", 12*time.Millisecond)
	got = loadline(t, time.Minute, "compare", "--baseline", "release-1.4", "latest", "--fail-on", "p99>+10%", "--json", out, "--archive", archive)
	validated(t, out, "compare", &c)
	if got.code != 5 || c.verdict("p99_ms") != "worse" || !c.Pairs[0].FailOn[0].Failed || !strings.Contains(got.stdout, "failed: p99>+10%") {
		t.Errorf("exit %d, p99 %s\n%s", got.code, c.verdict("p99_ms"), got.stdout)
	}
	if got := loadline(t, time.Minute, "compare", "--baseline", "release-1.4", "latest", "--fail-on", "p99>+30%", "--archive", archive); got.code != 0 {
		t.Errorf("exit %d, want a rise of a fifth to pass +30 %%\n%s", got.code, got.stdout)
	}
	if got := loadline(t, time.Minute, "compare", "--baseline", "release-1.4", "latest", "--fail-on", "cpu>+1%", "--archive", archive); got.code != 6 {
		t.Errorf("exit %d, want 6 where nothing is known of CPU\n%s", got.code, got.stdout)
	}
}

func TestCompareReadsArchivesSideBySide(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	imported(t, a, "a.json", 10*time.Millisecond)
	imported(t, b, "b.json", 5*time.Millisecond)
	got := loadline(t, time.Minute, "compare", a, b+"#latest", "--json", "-")
	var c comparison
	if err := json.Unmarshal([]byte(got.stdout), &c); err != nil || got.code != 0 || c.Schema != "loadline.compare/1" || c.verdict("p50_ms") != "better" {
		t.Errorf("exit %d, %v\n%s\n%s", got.code, err, got.stdout, got.stderr)
	}
}

func TestCompareRefusesUnlikeMachinesUnlessForced(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "a.db")
	imported(t, archive, "elsewhere.json", 10*time.Millisecond) // Nothing is known of its machine.
	path, _ := planFile(t, priceTarget+priceService+shortLoad)
	if got := loadline(t, time.Minute, "run", path, "--html", "", "--archive", archive); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	list := loadline(t, time.Minute, "runs", "--archive", archive, "--json", "-")
	var runs struct{ Runs []struct{ ID string } }
	if err := json.Unmarshal([]byte(list.stdout), &runs); err != nil || len(runs.Runs) != 2 {
		t.Fatal(err, list.stdout)
	}
	got := loadline(t, time.Minute, "compare", runs.Runs[0].ID, runs.Runs[1].ID, "--archive", archive)
	if got.code != 2 || !strings.Contains(got.stderr, "unlike environments") || !strings.Contains(got.stderr, "--force") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	got = loadline(t, time.Minute, "compare", runs.Runs[0].ID, runs.Runs[1].ID, "--force", "--archive", archive)
	if got.code != 6 || !strings.Contains(got.stdout, "the environments differ") || !strings.Contains(got.stdout, "no cell is the same") {
		t.Errorf("exit %d\n%s", got.code, got.stdout)
	}
}

func TestCompareNamesFaultsOfItsArguments(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "a.db")
	imported(t, archive, "a.json", 10*time.Millisecond)
	for _, c := range []struct {
		args  []string
		words string
	}{
		{[]string{"latest"}, "at least 2"},
		{[]string{"latest", "nothing-like-it"}, "nothing-like-it"},
		{[]string{"--baseline", "release-9", "latest"}, "release-9"},
		{[]string{"latest", "latest", "--fail-on", "p99>10"}, "--fail-on"},
		{[]string{"latest", "latest", "--fail-on", "speed>+1%"}, "speed"},
	} {
		got := loadline(t, time.Minute, append([]string{"compare", "--archive", archive}, c.args...)...)
		if got.code != 2 || !strings.Contains(got.stderr, c.words) {
			t.Errorf("%v: exit %d, want 2 and %q\n%s", c.args, got.code, c.words, got.stderr)
		}
	}
}

func TestExportWritesEveryForm(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "a.db")
	path, _ := planFile(t, priceTarget+priceService+shortLoad)
	if got := loadline(t, time.Minute, "run", path, "--html", "", "--archive", archive); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	for format, begins := range map[string]string{"json": "{", "csv": "repeat,model,concurrency", "markdown": "# faults", "html": "<!doctype html>", "hdr": "#[Histogram log format version 1.3]",
		"ab": "Server Software:", "prometheus": "# HELP loadline_requests", "parquet": "PAR1"} {
		got := loadline(t, time.Minute, "export", format, "latest", "--archive", archive)
		if got.code != 0 || !strings.HasPrefix(strings.ToLower(got.stdout), strings.ToLower(begins)) {
			t.Errorf("%s: exit %d, begins %.60q, want %q\n%s", format, got.code, got.stdout, begins, got.stderr)
		}
		file := filepath.Join(dir, "out."+format)
		if got := loadline(t, time.Minute, "export", format, "latest", "--archive", archive, "--out", file); got.code != 0 || got.stdout != "" {
			t.Errorf("%s to a file: exit %d, stdout %.60q\n%s", format, got.code, got.stdout, got.stderr)
		}
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", format, err)
		}
	}
	var r result
	validated(t, filepath.Join(dir, "out.json"), "run", &r)
	// What was written in other tools' forms is read back as the same number of requests.
	for format, as := range map[string]string{"hdr": "hdr", "ab": "ab"} {
		got := loadline(t, time.Minute, "import", as, filepath.Join(dir, "out."+format), "--json", "-", "--archive", filepath.Join(dir, "b.db"))
		var back result
		if err := json.Unmarshal([]byte(got.stdout), &back); err != nil || got.code != 0 {
			t.Fatalf("%s: exit %d, %v\n%s", format, got.code, err, got.stderr)
		}
		if a, b := back.Cells[0].Outcomes["success"], r.Cells[0].Outcomes["success"]; a < b || a > b+8 {
			t.Errorf("%s: %d successes, want %d and perhaps what was planned before the window", format, a, b)
		}
	}
	if got := loadline(t, time.Minute, "export", "xml", "latest", "--archive", archive); got.code != 2 || !strings.Contains(got.stderr, "prometheus") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}
