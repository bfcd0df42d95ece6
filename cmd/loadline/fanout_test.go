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

// fanoutCell is a setting of the nested-fan-out study.
type fanoutCell struct {
	Setting struct{ Common, Select int } `json:"setting"`
	Rates   struct {
		Success float64 `json:"success_per_s"`
	} `json:"rates"`
	Services map[string]struct {
		Pools map[string]struct {
			ActiveMean  float64 `json:"active_mean"`
			QueueMean   float64 `json:"queue_mean"`
			QueueWaitMS struct {
				Mean float64 `json:"mean"`
			} `json:"queue_wait_ms"`
			ExecutionMS struct {
				Mean float64 `json:"mean"`
			} `json:"execution_ms"`
		} `json:"pools"`
	} `json:"services"`
}

func (c fanoutCell) name() string { return fmt.Sprintf("%d/%d", c.Setting.Common, c.Setting.Select) }

// TestTheNestedFanOutStudyIsReproduced holds what the study saw: which of two pools idles, and which waits on latches.
func TestTheNestedFanOutStudyIsReproduced(t *testing.T) {
	if testing.Short() {
		t.Skip("runs five settings, about 20 s")
	}
	dir := t.TempDir()
	archive, result, findings := filepath.Join(dir, "a.db"), filepath.Join(dir, "run.json"), filepath.Join(dir, "f.json")
	got := loadline(t, 3*time.Minute, "run", "scenarios/nested-fanout.yaml", "--quick", "--html", "", "--archive", archive, "--json", result)
	if got.code != 0 {
		t.Fatalf("exit %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	t.Logf("the table:\n%s", got.stdout)
	cells := fanoutCells(t, result)
	of := func(name, pool string) (active, queue, wait, run float64) {
		p := cells[name].Services["fanout"].Pools[pool]
		return p.ActiveMean, p.QueueMean, p.QueueWaitMS.Mean, p.ExecutionMS.Mean
	}
	rate := func(name string) float64 { return cells[name].Rates.Success }

	// 5/25: select threads idle; too many.
	wide, _, _, _ := of("5/25", "select")
	if idle := 25 - wide; idle < 10 {
		t.Errorf("5/25: %.1f of 25 workers of select idle, want the most of them", idle)
	}
	// 5/10: the same throughput, fewer idle.
	narrow, _, _, _ := of("5/10", "select")
	if r := rate("5/10") / rate("5/25"); r < 0.75 || r > 1.1 || 10-narrow >= 25-wide {
		t.Errorf("5/10 carries %.2f of 5/25 with %.1f idle against %.1f, want about the same with fewer", r, 10-narrow, 25-wide)
	}
	// 10/10: twice the common workers carry hardly more: they wait for select, which is full and queues.
	full, queued, wait, _ := of("10/10", "select")
	_, _, _, before := of("5/25", "common")
	_, _, _, after := of("10/10", "common")
	if r := rate("10/10") / rate("5/25"); r > 1.4 || full < 9 || queued < 5 || wait < 5 || after < 1.4*before {
		t.Errorf("10/10 carries %.2f of 5/25; select %.1f at work, %.1f queued, %.1f ms waited; an item takes %.1f ms, before %.1f", r, full, queued, wait, after, before)
	}
	// 10/20: more, and 8/12 between.
	if rate("10/20") < 1.3*rate("10/10") || rate("8/12") < 1.05*rate("10/10") || rate("8/12") > rate("10/20") {
		t.Errorf("10/10 carries %.0f/s, 8/12 %.0f/s, 10/20 %.0f/s: want them to rise", rate("10/10"), rate("8/12"), rate("10/20"))
	}
	checkLatches(t, archive, findings)
}

func fanoutCells(t *testing.T, path string) map[string]fanoutCell {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Cells []fanoutCell `json:"cells"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	out := map[string]fanoutCell{}
	for _, c := range r.Cells {
		out[c.name()] = c
	}
	if len(out) != 5 {
		t.Fatalf("%d settings, want 5", len(out))
	}
	return out
}

// checkLatches holds that dumps show the workers of common on latches and idle ones of select.
func checkLatches(t *testing.T, archive, findings string) {
	t.Helper()
	got := loadline(t, time.Minute, "diagnose", "latest", "--archive", archive, "--json", findings)
	if got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	d := readDiagnosis(t, findings)
	latches, idle := 0, 0
	for _, p := range d.Pools {
		switch {
		case p.Name == "common":
			latches += p.Waiting["latch"]
		case p.Name == "select" && p.Idle != nil:
			idle += *p.Idle
		}
	}
	if latches < 8 || idle < 8 {
		t.Errorf("%d workers of common wait on latches and %d of select idle, over five dumps\n%s", latches, idle, got.stdout)
	}
	if !strings.Contains(got.stdout, "common=10 select=10 at 20 users: binding limit: slots of fanout/select") {
		t.Errorf("10/10 is not bound by select:\n%s", got.stdout)
	}
}

func TestAPoolThatWaitsForItselfIsFoundStarved(t *testing.T) {
	if testing.Short() {
		t.Skip("looks at a live service")
	}
	const plan = `name: self-wait
target: {request: {url: "http://127.0.0.1:PORT/commission", timeout: 2s}}
services:
  fanout: {command: [loadline, lab, fanout, --listen=127.0.0.1:PORT, --common=4, --self-wait, --timeout=300ms], ready: {url: "http://127.0.0.1:PORT/ready"}}
load: {concurrency: [10], warmup: 500ms, measure: 2s}
observe:
  - {prometheus: "http://127.0.0.1:PORT/metrics", service: fanout}
  - {dumps: "http://127.0.0.1:PORT/debug/pprof", service: fanout}
`
	path, _ := planFile(t, plan)
	dir := t.TempDir()
	archive, findings := filepath.Join(dir, "a.db"), filepath.Join(dir, "f.json")
	if got := loadline(t, time.Minute, "run", path, "--html", "", "--archive", archive); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	got := loadline(t, time.Minute, "diagnose", "latest", "--archive", archive, "--json", findings)
	d := readDiagnosis(t, findings)
	if len(d.Findings) == 0 || d.Findings[0].Code != "pool-starvation" || d.Findings[0].Evidence["pool"] != "common" {
		t.Errorf("want pool-starvation of common first:\n%s", got.stdout)
	}
}
