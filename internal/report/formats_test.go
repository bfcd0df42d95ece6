package report_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/audit"
	"github.com/loadline-dev/loadline/internal/analysis/compare"
	"github.com/loadline-dev/loadline/internal/analysis/lint"
	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/analysis/sizing"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/report"
)

const formats = "../../docs/formats"

// schema compiles a format's schema. Strict: a key that the schema does not list is a fault too, so that the documents stay complete;
// readers of the published schema may meet keys that were added later.
func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	files, err := filepath.Glob(formats + "/*.schema.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas in %s: %v", formats, err)
	}
	c := jsonschema.NewCompiler()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		forbidUnlisted(doc)
		if err := c.AddResource(id(doc), doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	s, err := c.Compile("https://loadline.example/formats/" + name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func id(doc any) string { return doc.(map[string]any)["$id"].(string) }

// forbidUnlisted forbids keys that are not listed wherever a schema lists some.
func forbidUnlisted(node any) {
	switch node := node.(type) {
	case map[string]any:
		_, lists := node["properties"].(map[string]any)
		if _, says := node["additionalProperties"]; lists && !says {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			forbidUnlisted(child)
		}
	case []any:
		for _, child := range node {
			forbidUnlisted(child)
		}
	}
}

func validate(t *testing.T, s *jsonschema.Schema, document []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func runJSON(t *testing.T, run record.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, analysis.Of(run)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRunsAreWrittenAsTheirSchemaSays(t *testing.T) {
	s := schema(t, "run")
	open := sampleRun()
	for i := range open.Cells {
		open.Cells[i].Load = record.Load{Model: record.Open, RatePerSec: float64(100 * (i + 1))}
	}
	mean := 20 * time.Millisecond
	requests := 100.0
	imported := record.Run{ID: "i", Cells: []record.Cell{{Load: record.Load{Model: record.Closed, Concurrency: 3}, Imported: &record.Imported{
		Caveats: []record.ImportCaveat{{Code: "resolution", Text: "whole milliseconds"}}, Summary: &record.Summary{Requests: &requests, Mean: &mean}}}}}
	for name, run := range map[string]record.Run{"study": sampleRun(), "hostile": hostileRun(), "open": open, "imported": imported, "empty": {},
		"killed": {ID: "k", Partial: true, SLO: "p99<1ms", Cells: []record.Cell{{Partial: true, Failure: "killed", Load: record.Load{Model: record.Closed}}}}} {
		if err := validate(t, s, runJSON(t, run)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheRunSchemaRefusesWhatIsWrong(t *testing.T) {
	s := schema(t, "run")
	good := string(runJSON(t, hostileRun()))
	for what, change := range map[string][2]string{
		"another schema":       {`"loadline.run/1"`, `"loadline.run/2"`},
		"a count below zero":   {`"failure": 0`, `"failure": -1`},
		"a class left out":     {`"dropped": 0`, `"lost": 0`},
		"a number as text":     {`"repeat": 1`, `"repeat": "1"`},
		"an unknown kind":      {`"kind": "pool"`, `"kind": "pond"`},
		"a null where none is": {`"valid": true`, `"valid": null`},
		"an unlisted key":      {`"partial": true`, `"partial": true, "colour": 1`},
		"a percentile renamed": {`"p99_high":`, `"p99_top":`},
		"an unknown severity":  {`"severity": "warning"`, `"severity": "dreadful"`},
	} {
		if !strings.Contains(good, change[0]) {
			t.Errorf("%s: the document holds no %s", what, change[0])
			continue
		}
		if err := validate(t, s, []byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%s was let through", what)
		}
	}
}

func TestAuditsAreWrittenAsTheirSchemaSays(t *testing.T) {
	files, err := filepath.Glob("../analysis/audit/testdata/*.csv")
	if err != nil || len(files) == 0 {
		t.Fatalf("no published figures: %v", err)
	}
	s := schema(t, "audit")
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		table, err := audit.ParseCSV(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := report.AuditJSON(&b, audit.NewReport(table, audit.PublishedTolerance)); err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, b.Bytes()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestFindingsOfSettingsAreWrittenAsTheirSchemaSays(t *testing.T) {
	number := func(n int) limits.Of[int] { return limits.Written(n, limits.At{Key: "key", File: "f.yaml", Line: 3}) }
	found := lint.Check(limits.System{Pools: []limits.Pool{{Name: "price", Core: number(10), Max: number(5)}}})
	out, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Findings) == 0 {
		t.Fatal("a core above the maximum gives no finding: there is nothing to validate")
	}
	if err := validate(t, schema(t, "findings"), out); err != nil {
		t.Error(err)
	}
}

func TestSizesAreWrittenAsTheirSchemaSays(t *testing.T) {
	asked, err := slo.Parse("p99<100ms")
	if err != nil {
		t.Fatal(err)
	}
	s := schema(t, "size")
	for _, in := range []sizing.Input{
		{RatePerSec: 3000, ServiceTime: 20 * time.Millisecond},
		{RatePerSec: 3000, ServiceTime: 20 * time.Millisecond, SLO: asked, Downstream: 40, Cores: 4, CPUTime: time.Millisecond, BreakerVolume: 20},
	} {
		r, err := sizing.Size(in)
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, out); err != nil {
			t.Error(err)
		}
	}
}

func TestComparisonsAreWrittenAsTheirSchemaSays(t *testing.T) {
	side := func(name string, p99 float64) compare.Run {
		run := compare.Run{Name: name}
		for i := range 5 {
			run.Samples = append(run.Samples, compare.Sample{Setting: "none", Load: "50 users",
				Values: map[compare.Metric]float64{compare.P99: p99 + float64(i), compare.Throughput: 100 + float64(i), compare.Rejected: 0}})
		}
		return run
	}
	fail, err := compare.ParseFailOn("p99>10%")
	if err != nil {
		t.Fatal(err)
	}
	only := side("b", 90)
	only.Samples = append(only.Samples, compare.Sample{Setting: "thread", Load: "50 users", Values: map[compare.Metric]float64{compare.P99: 1}})
	result, err := compare.Compare([]compare.Run{side("a", 50), only}, compare.Config{FailOn: fail}, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, schema(t, "compare"), out); err != nil {
		t.Error(err)
	}
}

func TestASearchIsWrittenWithTheRunAsItsSchemaSays(t *testing.T) {
	run := sampleRun()
	r := analysis.Of(run)
	s, err := search.New(search.Config{Min: 1, Max: 400, MaxRequests: 100, Constraints: []search.Constraint{{Name: "p99", Limit: 0.01}}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		trial, ok := s.Next()
		if !ok {
			break
		}
		if err := s.Report(trial, search.Observation{Counts: []search.Count{{N: trial.Requests}}, Seconds: 1}); err != nil {
			t.Fatal(err)
		}
	}
	r.SetLoadLine(run.Cells[0].Setting, run.SLO, s.Result())
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"search"`) {
		t.Fatal("the search is not in the result")
	}
	if err := validate(t, schema(t, "run"), b.Bytes()); err != nil {
		t.Error(err)
	}
}
