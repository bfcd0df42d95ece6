package audit

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryFaultInATableIsNamedWithLineAndColumn(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
		says         string
	}{
		{"a percentile in seconds", "scenario,p99_s\nx,1\n", 1, 2, "rename"},
		{"a percentile in microseconds", "scenario,tps,p999_us\n", 1, 3, "allowed: p999_ms"},
		{"a mean in seconds", "mean_s\n1\n", 1, 1, "allowed: mean_ms"},
		{"a service time in seconds", "tps,service_time_s\n", 1, 2, "allowed: service_time_ms"},
		{"a rejected ratio", "tps,rejected_ratio\n", 1, 2, "allowed: rejected_pct"},
		{"a CPU ratio", "cpu_ratio,tps\n", 1, 1, "allowed: cpu_pct"},
		{"switches per minute", "tps,context_switches_per_min\n", 1, 2, "allowed: context_switches_per_s"},
		{"failures as a percentage", "tps,failed_pct\n", 1, 2, "allowed: failed"},
		{"a rate per minute", "rps_per_min\n", 1, 1, "allowed: rps"},
		{"a name twice", "tps,p99_ms,TPS\n", 1, 3, "column 1 already"},
		{"text for a number", "scenario,tps\nx,12\ny,fast\n", 3, 2, `found "fast"`},
		{"a thousands separator", "scenario,tps\nx,\"1,600\"\n", 2, 2, `found "1,600"`},
		{"not a number", "tps\nNaN\n", 2, 1, "allowed: a plain number"},
		{"infinity", "tps\ninf\n", 2, 1, "allowed: a plain number"},
		{"a queue of words", "queue,tps\nlong,1\n", 2, 1, "unbounded"},
		{"a short line", "scenario,tps\nx\n", 2, 0, "number of fields"},
		{"an unclosed quote", "scenario,tps\n\"x,1\n", 2, 0, "quote"},
		{"nothing known", "alpha;beta\n1;2\n", 1, 0, "known, separated by commas"},
		{"an empty file", "", 1, 0, "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseCSV(strings.NewReader(tt.text))
			var pe *ParseError
			if !errors.As(err, &pe) {
				t.Fatalf("error %v is not a ParseError", err)
			}
			if pe.Line != tt.line || pe.Column != tt.column || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("line %d column %d: %v; want line %d column %d and %q", pe.Line, pe.Column, err, tt.line, tt.column, tt.says)
			}
		})
	}
}

func TestATableIsReadInAnyCaseWithBlanksAndForeignColumns(t *testing.T) {
	table, err := ParseCSV(strings.NewReader("\ufeffScenario, TPS ,P95_ms,p999_ms,max_ms,queue_ms,host,queue,think_ms\r\n a , 12.5 ,,7,9,1,web,unbounded,100\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(table.Ignored, ","); got != "max_ms,queue_ms,host" {
		t.Errorf("ignored %s", got)
	}
	r := table.Rows[0]
	if r.Scenario != "a" || r.TPS != Known(12.5) || r.Queue != Known(math.Inf(1)) || r.ThinkMS != Known(100) || r.Line != 2 {
		t.Errorf("read %+v", r)
	}
	if len(r.Percentiles) != 1 || r.Percentiles[0] != (Percentile{"p999", 0.999, 7}) {
		t.Errorf("percentiles %+v", r.Percentiles)
	}
	if _, known := r.MeanMS.Get(); known {
		t.Error("a column that is not there must be unknown")
	}
}

func TestRefusalsStandBesideTheRateOnlyWhereAColumnSaysSo(t *testing.T) {
	for text, want := range map[string]bool{"tps\n1\n": false, "tps,failed\n1,\n": true, "rps,rejected_pct\n1,\n": true} {
		table, err := ParseCSV(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Rows[0].RefusalsBeside; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzParseCSV(f *testing.F) {
	files, err := filepath.Glob("testdata/*.csv")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("tps,p99_us\n1,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ParseCSV(strings.NewReader(text))
		if err != nil {
			return
		}
		for i, v := range CheckRows(table.Rows, PublishedTolerance) {
			if v.Row != i+1 || v.Checks == nil {
				t.Fatalf("row %d has verdict %+v", i+1, v)
			}
			for _, c := range v.Checks {
				if c.Verdict > v.Verdict || c.Text == "" {
					t.Fatalf("row verdict %v hides %+v", v.Verdict, c)
				}
			}
		}
	})
}
