package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// wantedDiagnosis is what is right to say first of each fault of the lab; of the healthy service nothing.
var wantedDiagnosis = map[string][]string{
	"healthy":     nil,
	"leak":        {"thread-leak"},
	"backlog":     {"queue-backlog"},
	"rejection":   {"rejection-storm"},
	"switch":      {"switch-overload"},
	"starvation":  {"pool-starvation"},
	"lock":        {"lock-contention"},
	"slow":        {"downstream-slow"},
	"connections": {"downstream-pool-binding"},
	"zombie":      {"zombie-workers", "timeout-below-wait"},
	"small-pool":  {"pool-too-small"},
}

// faultCell is a step of a run over the lab's faults.
type faultCell struct {
	Setting struct {
		Fault string `json:"fault"`
	} `json:"setting"`
	Load struct {
		Concurrency int `json:"concurrency"`
	} `json:"load"`
	Findings []struct {
		Code     string         `json:"code"`
		Severity string         `json:"severity"`
		Evidence map[string]any `json:"evidence"`
		Next     string         `json:"next"`
		Refute   string         `json:"refuted_by"`
	} `json:"findings"`
	Caveats []coded `json:"caveats"`
}

// says is the first finding of a step; empty where there is none.
func (c faultCell) says() string {
	if len(c.Findings) == 0 {
		return ""
	}
	return c.Findings[0].Code
}

func readFaults(t *testing.T, path string) []faultCell {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Cells []faultCell `json:"cells"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r.Cells
}

// faultsPlan is the scenario on a free port, with short steps, each fault twice.
func faultsPlan(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../scenarios/faults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.ReplaceAll(string(text), ":8084", fmt.Sprintf(":%d", freePort(t)))
	for from, to := range map[string]string{"warmup: 5s": "warmup: 600ms", "measure: 20s": "measure: 2s", "rest: 2s": "rest: 100ms\n  repeats: 2"} {
		if !strings.Contains(plan, from) {
			t.Fatalf("the scenario has no %q", from)
		}
		plan = strings.Replace(plan, from, to, 1)
	}
	path := filepath.Join(t.TempDir(), "faults.yaml")
	if err := os.WriteFile(path, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheDiagnosisOfKnownFaultsIsRight is the confusion matrix over the lab's faults: what the first finding says against what is wrong.
func TestTheDiagnosisOfKnownFaultsIsRight(t *testing.T) {
	if testing.Short() {
		t.Skip("runs eleven faults twice, about two minutes")
	}
	dir := t.TempDir()
	archive, result := filepath.Join(dir, "a.db"), filepath.Join(dir, "run.json")
	got := loadline(t, 6*time.Minute, "run", faultsPlan(t), "--html", "", "--archive", archive, "--json", result)
	if got.code != 0 {
		t.Fatalf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	right, judged := 0, 0
	for _, c := range readFaults(t, result) {
		if c.Load.Concurrency < 40 {
			continue
		}
		judged++
		want, ok := wantedDiagnosis[c.Setting.Fault]
		if !ok {
			t.Fatalf("no diagnosis is wanted for %q", c.Setting.Fault)
		}
		says := c.says()
		hit := slices.Contains(want, says) || len(want) == 0 && says == ""
		if hit {
			right++
		}
		t.Logf("%-11s  %-24s %v  caveats %v", c.Setting.Fault, says, hit, c.Caveats)
		if len(want) == 0 && says != "" {
			t.Errorf("the healthy service has findings: %+v", c.Findings)
		}
		for _, f := range c.Findings {
			if f.Next == "" || f.Refute == "" || f.Evidence["from_s"] == nil || f.Evidence["to_s"] == nil {
				t.Errorf("%s: %s lacks advice, refutation or times: %+v", c.Setting.Fault, f.Code, f)
			}
		}
	}
	if judged != 2*len(wantedDiagnosis) {
		t.Fatalf("%d steps judged, want every fault twice", judged)
	}
	if share := float64(right) / float64(judged); share < 0.95 {
		t.Errorf("%d of %d diagnoses are right (%.0f %%), want 95 %%", right, judged, 100*share)
	}
	checkRunDiagnosis(t, archive)
}

// checkRunDiagnosis asks diagnose of the run that was just kept.
func checkRunDiagnosis(t *testing.T, archive string) {
	t.Helper()
	dir := t.TempDir()
	findings, page := filepath.Join(dir, "f.json"), filepath.Join(dir, "d.html")
	got := loadline(t, time.Minute, "diagnose", "latest", "--archive", archive, "--json", findings, "--html", page)
	if got.code != 0 || !strings.Contains(got.stdout, "fault=lock at 40 users: binding limit: the lock at ") {
		t.Errorf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	d := readDiagnosis(t, findings)
	if len(d.Steps) != 2*len(wantedDiagnosis) {
		t.Errorf("%d steps, want every fault twice", len(d.Steps))
	}
	for _, s := range d.Steps {
		if strings.HasPrefix(s.Step, "fault=healthy") && (s.Binding != nil || len(s.Missing) > 1) {
			t.Errorf("%+v", s)
		}
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), "pool-starvation") || !strings.Contains(string(html), "</html>") {
		t.Errorf("page: %v, %d bytes", err, len(html))
	}
}

// diagnosis is loadline.findings/1 as its document has it.
type diagnosis struct {
	Schema   string `json:"schema"`
	Findings []struct {
		Code     string         `json:"code"`
		Evidence map[string]any `json:"evidence"`
	} `json:"findings"`
	Binding *string  `json:"binding_limit"`
	Missing []string `json:"missing"`
	Pools   []struct {
		Name    string         `json:"name"`
		Threads *int           `json:"threads"`
		Idle    *int           `json:"idle"`
		Waiting map[string]int `json:"waiting"`
	} `json:"pools"`
	Steps []struct {
		Step    string   `json:"step"`
		Binding *string  `json:"binding_limit"`
		Missing []string `json:"missing"`
	} `json:"steps"`
}

func readDiagnosis(t *testing.T, path string) diagnosis {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var d diagnosis
	if err := json.Unmarshal(data, &d); err != nil || d.Schema != "loadline.findings/1" {
		t.Fatalf("%s: %v, schema %q", path, err, d.Schema)
	}
	return d
}

func TestDumpFilesAreAnalysedAlone(t *testing.T) {
	const dumps = "internal/parse/threaddump/testdata/"
	findings := filepath.Join(t.TempDir(), "f.json")
	got := loadline(t, time.Minute, "diagnose", "--dump", dumps+"jdk8.txt", "--json", findings)
	if got.code != 0 || !strings.Contains(got.stdout, "deadlock") || !strings.Contains(got.stdout, "held by http-nio-8080-exec-2") {
		t.Errorf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	if d := readDiagnosis(t, findings); len(d.Findings) == 0 || d.Findings[0].Code != "deadlock" || d.Binding == nil || len(d.Pools) == 0 {
		t.Errorf("%+v", d)
	}
	got = loadline(t, time.Minute, "diagnose", "--dump", dumps+"go-debug2.txt", dumps+"jdk17-mixed.log")
	if got.code != 0 {
		t.Errorf("several files: exit %d\n%s", got.code, got.stderr)
	}
}

func TestDiagnoseSaysWhatIsWrongWithItsArguments(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.txt")
	if err := os.WriteFile(empty, []byte("nothing here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		word string
		args []string
	}{
		{2, "nothing to look at", []string{"diagnose"}},
		{2, "no-such.txt", []string{"diagnose", "--dump", "no-such.txt"}},
		{3, "found no thread dump", []string{"diagnose", "--dump", empty}},
		{4, "no such process", []string{"diagnose", "--pid", "99999999", "--for", "1s"}},
		{4, "refused", []string{"diagnose", "--metrics", fmt.Sprintf("http://127.0.0.1:%d/metrics", freePort(t)), "--for", "1s"}},
		{2, "at most one RUN", []string{"diagnose", "a", "b"}},
		{8, "does not exist", []string{"diagnose", "latest", "--archive", filepath.Join(t.TempDir(), "none.db")}},
	} {
		got := loadline(t, time.Minute, c.args...)
		if got.code != c.code || !strings.Contains(got.stderr, c.word) || !strings.Contains(got.stderr, "Try: ") {
			t.Errorf("%v: exit %d, want %d and %q\n%s", c.args, got.code, c.code, c.word, got.stderr)
		}
	}
}
