package plan_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/plan"
)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, w := range wrong {
		f.Add([]byte(w.text))
	}
	f.Add([]byte(varied("rate: {from: 1, to: 9, step: 2}, order: shuffled")))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := plan.Parse("f.yaml", data)
		var invalid *plan.InvalidError
		if err != nil {
			if !errors.As(err, &invalid) || len(invalid.Faults) == 0 || !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		cells, err := p.Cells()
		if err != nil || len(cells) == 0 {
			t.Fatalf("a plan without fault has %d cells, %v", len(cells), err)
		}
		if _, err := p.Hosts(); err != nil {
			t.Fatal(err)
		}
		if _, err := slo.Parse(p.SLO); err != nil {
			t.Fatalf("the promise %q cannot be read: %v", p.SLO, err)
		}
	})
}

// plain is a text that YAML takes for text where it is quoted.
var plain = rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9 _./:-]{0,20}`)

func TestAPlanSaysWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := plain.Draw(t, "name")
		timeout := time.Duration(rapid.IntRange(1, 3_600_000).Draw(t, "timeout")) * time.Millisecond
		warmup := time.Duration(rapid.IntRange(0, 86_400).Draw(t, "warmup")) * time.Second
		users := rapid.IntRange(1, 1_000_000).Draw(t, "users")
		word := rapid.StringMatching(`[^"\\$\x00-\x1f\x7f-\x{9f}\x{feff}\x{fffd}\x{2028}\x{2029}]{0,10}`).Draw(t, "argument")
		text := "name: \"" + name + "\"\n" +
			"services: {a: {command: [run, \"" + word + "\", \"${v}\"]}}\n" +
			"vary: {v: [\"" + name + "\"]}\n" +
			"target: {request: {url: \"http://10.0.0.1/\", timeout: " + timeout.String() + "}}\n" +
			"load: {concurrency: " + itoa(users) + ", warmup: " + warmup.String() + "}\n"
		p, err := plan.Parse("test.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if p.Name != name || p.Target.Request.Timeout != timeout || p.Load.Warmup != warmup || p.Load.Concurrency[0] != users {
			t.Fatalf("found %q %v %v %v of\n%s", p.Name, p.Target.Request.Timeout, p.Load.Warmup, p.Load.Concurrency, text)
		}
		filled, err := p.ForSetting(p.Settings()[0])
		if err != nil || filled.Services[0].Command[1] != word || filled.Services[0].Command[2] != name {
			t.Fatalf("found %q, %v of\n%s", filled.Services[0].Command, err, text)
		}
	})
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func TestPromisesAreReadByTheirJudge(t *testing.T) {
	for text, want := range map[string]string{
		`slo: "p99<100ms, success > 99.9%"`:                          "p99<100ms,success>99.9%",
		"slo: {p99: 100ms, success: 99.9%}":                          "p99<=100ms,success>=99.9%",
		"slo: {p99.9: 1s, mean: 20ms, rejected: 1%, goodput: 100/s}": "p99.9<=1s,mean<=20ms,rejected<=1%,goodput>=100/s",
		"slo: p999<=250ms":                                           "p999<=250ms",
	} {
		p := parse(t, smallest+text+"\n")
		if p.SLO != want {
			t.Errorf("%s: found %q, want %q", text, p.SLO, want)
		}
		if s, err := slo.Parse(p.SLO); err != nil || len(s.Terms) != strings.Count(want, ",")+1 {
			t.Errorf("%q: the judge reads %v, %v", p.SLO, s, err)
		}
	}
	for _, text := range []string{"slo: p99", "slo: p100<1s", "slo: p0<1s", `slo: "success>99.9"`, `slo: "success>101%"`, `slo: "goodput>100"`, `slo: "goodput>0/s"`,
		`slo: "p99<1s,p99<2s"`, `slo: "p999<1s,p99.9<2s"`, `slo: ""`, "slo: {}", "slo: 5", "slo: [p99<1s]", "slo: max<1s", "slo: p99<0s"} {
		if p, err := plan.Parse("test.yaml", []byte(smallest+text+"\n")); err == nil {
			t.Errorf("%s was accepted as %q", text, p.SLO)
		}
	}
}

func TestAliasesAreFilledInAndCannotExplode(t *testing.T) {
	p := parse(t, `name: anchors
target: {request: {url: "http://127.0.0.1:1/"}}
services:
  a: {command: [x], ready: &r {url: "http://127.0.0.1:2/", timeout: 3s}}
  b: {command: [y], ready: *r}
load: {concurrency: 1}
`)
	if p.Services[1].Ready != p.Services[0].Ready || p.Services[1].Ready.Timeout != 3*time.Second {
		t.Errorf("%+v", p.Services)
	}
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 30; i++ {
		bomb.WriteString("a" + itoa(i) + ": &a" + itoa(i) + " [*a" + itoa(i-1) + ", *a" + itoa(i-1) + "]\n")
	}
	if _, err := plan.Parse("test.yaml", []byte(bomb.String()+smallest)); err == nil || !strings.Contains(err.Error(), "more than 100000 values") {
		t.Errorf("found %.300v", err)
	}
}
