package plan_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

const smallest = `name: small
target: {request: {url: "http://127.0.0.1:8081/"}}
load: {concurrency: [1]}
`

// parse reads a plan that must be right.
func parse(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, text)
	}
	return p
}

func TestTheSmallestPlanHasTheDocumentedDefaults(t *testing.T) {
	p := parse(t, smallest)
	r := p.Target.Request
	if r.Method != "GET" || r.Timeout != 5*time.Second {
		t.Errorf("request: %+v", r)
	}
	l := p.Load
	want := plan.Load{Model: record.Closed, Concurrency: []int{1}, ThinkKind: "constant", Warmup: 10 * time.Second, Measure: 30 * time.Second, Rest: 2 * time.Second, Repeats: 1, Order: plan.Listed, Seed: 1}
	if l.Model != want.Model || l.ThinkKind != want.ThinkKind || l.Warmup != want.Warmup || l.Measure != want.Measure || l.Discard != 0 ||
		l.Rest != want.Rest || l.Repeats != 1 || l.Order != plan.Listed || l.Seed != 1 {
		t.Errorf("load: found %+v, want %+v", l, want)
	}
	if s := p.Settings(); len(s) != 1 || len(s[0]) != 0 {
		t.Errorf("settings: %v, want the one empty setting", s)
	}
}

func TestTheStudysPlanReadsAndExpandsInto24Cells(t *testing.T) {
	data, err := os.ReadFile("../../scenarios/order-detail.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := parse(t, string(data))
	cells, err := p.Cells()
	if err != nil {
		t.Fatal(err)
	}
	if len(cells) != 24 || len(p.Services) != 2 || p.Services[0].Name != "price" || p.Services[1].Name != "order" {
		t.Fatalf("%d cells, services %v", len(cells), p.Services)
	}
	if got := cells[5]; got.Index != 5 || got.Setting.Key() != "isolation=thread slots=10" || got.Load.Concurrency != 100 || got.Repeat != 1 {
		t.Errorf("cell 5: %+v", got)
	}
	filled, err := p.ForSetting(cells[5].Setting)
	if err != nil {
		t.Fatal(err)
	}
	command := strings.Join(filled.Services[1].Command, " ")
	if !strings.Contains(command, "--isolation=thread --slots=10") {
		t.Errorf("command of thread 10: %s", command)
	}
	if base := strings.Join(p.Services[1].Command, " "); !strings.Contains(base, "--slots=${slots}") {
		t.Errorf("the unexpanded command reads %s", base)
	}
	if p.Load.Measure != 60*time.Second || p.Load.Discard != 15*time.Second || p.Load.Rest != 2*time.Minute || p.Load.Warmup != 30*time.Second {
		t.Errorf("durations: %+v", p.Load)
	}
}

// edits of a right plan, each with what the error must name.
var wrong = []struct{ why, text, line, says string }{
	{"unknown top key", smallest + "sloo: {p99: 1s}\n", ":4:", "sloo: found an unknown key; allowed: name, target, services, vary, apply, load, observe, slo; did you mean slo?"},
	{"unknown nested key", strings.Replace(smallest, "{concurrency: [1]}", "\n  concurrency: [1]\n  warm_up: 3s", 1), ":5:", "load.warm_up: found an unknown key"},
	{"duration without unit", strings.Replace(smallest, "[1]", "[1], warmup: 30", 1), ":3:", "load.warmup: found 30 without a unit"},
	{"duration with a unit Go does not know", strings.Replace(smallest, "[1]", "[1], warmup: 30sec", 1), ":3:", "load.warmup: found 30sec"},
	{"negative duration", strings.Replace(smallest, "[1]", "[1], warmup: -1s", 1), ":3:", "from 0s to 24h0m0s"},
	{"concurrency of none", strings.Replace(smallest, "[1]", "[0]", 1), ":3:", "load.concurrency[0]: found 0; allowed: a whole number from 1 to 1000000"},
	{"half a user", strings.Replace(smallest, "[1]", "[1.5]", 1), ":3:", "found 1.5; allowed: a whole number"},
	{"quoted number", strings.Replace(smallest, "[1]", `["50"]`, 1), ":3:", "remove the quotes"},
	{"octal number", strings.Replace(smallest, "[1]", `[010]`, 1), ":3:", "load.concurrency[0]: found 010"},
	{"a step twice", strings.Replace(smallest, "[1]", `[5, 5]`, 1), ":3:", "use load.repeats"},
	{"no steps", strings.Replace(smallest, "[1]", `[]`, 1), ":3:", "found an empty list"},
	{"duplicate key", smallest + "name: again\n", ":4:", "found the key a second time, first on line 1"},
	{"missing target", "name: x\nload: {concurrency: 1}\n", ":1:", "target: found no such key"},
	{"missing url", "name: x\ntarget: {request: {method: GET}}\nload: {concurrency: 1}\n", ":2:", "target.request.url: found no such key"},
	{"relative url", strings.Replace(smallest, "http://127.0.0.1:8081/", "/api", 1), ":2:", `found text "/api"; allowed: an http or https URL`},
	{"unset reference", strings.Replace(smallest, "8081/", "8081/${slots}", 1), ":2:", "found ${slots}, which vary does not set"},
	{"misspelt reference", strings.Replace(smallest, "8081/", "8081/${slot}", 1) + "vary: {slots: [1]}\n", ":2:", "did you mean ${slots}?"},
	{"unused factor", smallest + "vary: {slots: [1]}\n", ":4:", "vary.slots: found a varied value that nothing uses"},
	{"empty factor", smallest + "vary: {slots: []}\n", ":4:", "vary.slots: found an empty list"},
	{"empty matrix", smallest + "vary: {settings: []}\n", ":4:", "vary.settings: found an empty list"},
	{"nothing varied", smallest + "vary: {}\n", ":4:", "vary: found nothing to vary"},
	{"settings of unlike names", strings.Replace(smallest, "8081/", "8081/${a}", 1) + "vary: {settings: [{a: 1}, {b: 2}]}\n", ":4:", "found a setting without a"},
	{"a setting twice", strings.Replace(smallest, "8081/", "8081/${a}", 1) + "vary: {settings: [{a: 1}, {a: 1}]}\n", ":4:", "the same setting as settings[0]"},
	{"reference without end", strings.Replace(smallest, "8081/", "8081/${a", 1), ":2:", "found ${ without }"},
	{"open keys in the closed model", strings.Replace(smallest, "[1]", "[1], arrivals: poisson", 1), ":3:", "load.arrivals: found a key of the other load model"},
	{"unknown word", strings.Replace(smallest, "[1]", "[1], order: shufled", 1), ":3:", "did you mean shuffled?"},
	{"discard eats the window", strings.Replace(smallest, "[1]", "[1], measure: 5s, discard: 5s", 1), ":3:", "less than measure, which is 5s"},
	{"rate ladder that falls", strings.Replace(smallest, "concurrency: [1]", "rate: {from: 10, to: 1, step: 1}", 1), ":3:", "load.rate.to: found 1"},
	{"too many steps", strings.Replace(smallest, "concurrency: [1]", "rate: {from: 1, to: 1000000, step: 1}", 1), ":3:", "at most 1000 steps"},
	{"rate of nothing", strings.Replace(smallest, "concurrency: [1]", "rate: [0]", 1), ":3:", "a number above 0"},
	{"command as text", smallest + "services: {a: {command: loadline lab price}}\n", ":4:", "write a list: [loadline, lab, price]"},
	{"no command", smallest + "services: {a: {}}\n", ":4:", "services.a.command: found no such key"},
	{"bad cpus", smallest + `services: {a: {command: [x], cpus: "3-1"}}` + "\n", ":4:", "services.a.cpus"},
	{"bad signal", smallest + `services: {a: {command: [x], stop: {signal: SIGTERM}}}` + "\n", ":4:", "TERM, INT"},
	{"ready of both kinds", smallest + `services: {a: {command: [x], ready: {url: "http://a/", tcp: "a:1"}}}` + "\n", ":4:", "found url and tcp"},
	{"observe an unknown process", smallest + "services: {order: {command: [x]}}\nobserve: [{process: ordr}]\n", ":5:", "did you mean order?"},
	{"a source of two kinds", smallest + "services: {order: {command: [x]}}\nobserve: [{process: order, jvm: order}]\n", ":5:", "observe[0]: found process and jvm; allowed: one of process, prometheus, dumps, jvm in a source"},
	{"a source of no kind", smallest + "observe: [{every: 1s}]\n", ":4:", "observe[0]: found none"},
	{"dumps of an unknown JVM", smallest + "services: {order: {command: [x]}}\nobserve: [{dumps: \"jvm:ordr\"}]\n", ":5:", "did you mean order?"},
	{"dumps of nobody", smallest + `observe: [{dumps: "http://127.0.0.1:6060/debug/pprof"}]` + "\n", ":4:", "observe[0].service: found no such key"},
	{"dumps from nowhere", smallest + `observe: [{dumps: pprof, service: order}]` + "\n", ":4:", "observe[0].dumps: found"},
	{"metrics of nobody", smallest + `observe: [{prometheus: "http://127.0.0.1/metrics"}]` + "\n", ":4:", "observe[0].service: found no such key"},
	{"slo with a wrong side", smallest + "slo: p99>100ms\n", ":4:", "bounded from the wrong side"},
	{"slo without a unit", smallest + "slo: {p99: 100}\n", ":4:", `slo.p99: found the term "p99<=100"`},
	{"slo of an unknown figure", smallest + "slo: {q99: 100ms}\n", ":4:", "slo.q99"},
	{"outcome of the generator", strings.Replace(smallest, "}}", "}, outcomes: [{status: 500, is: reset}]}", 1), ":2:", "success, failure, rejected, short_circuited, timeout"},
	{"rule that matches all", strings.Replace(smallest, "}}", "}, outcomes: [{is: failure}]}", 1), ":2:", "a rule that matches every answer"},
	{"status out of range", strings.Replace(smallest, "}}", "}, outcomes: [{status: 6xx, is: failure}]}", 1), ":2:", "from 100 to 599"},
	{"apply of both kinds", smallest + `apply: {command: [x], http: {url: "http://127.0.0.1/"}}` + "\n", ":4:", "found command and http"},
	{"wrong type", "name: [a]\ntarget: 3\nload: x\n", ":2:", "target: found 3; allowed: a mapping with the keys request, outcomes"},
	{"syntax", "name: {a\n", ":", "a YAML syntax fault"},
	{"empty", "", ":", "an empty file"},
	{"a comment alone", "# nothing\n", ":", "an empty file"},
	{"two documents", smallest + "---\nname: x\n", ":", "a second YAML document"},
	{"merge key", "a: &a {b: 1}\n" + smallest + "slo: {<<: *a}\n", ":5:", "the merge key <<"},
	{"tag", strings.Replace(smallest, "small", "!!str small", 1), ":1:", "the tag !!str"},
	{"unknown alias", strings.Replace(smallest, "small", "*x", 1), ":1:", "*x"},
	{"not text", "\xff\xfe", ":", "not UTF-8"},
	{"brackets", strings.Repeat("[", 4000), ":", "nested too deep"},
	{"dashes", strings.Repeat("- ", 60_000), ":", "dashes nested too deep"},
	{"many lines", strings.Repeat("a: b\n", 40_000), ":", "found 40000 lines"},
	{"null", strings.Replace(smallest, "small", "", 1), ":1:", "name: found nothing"},
	{"name that steers a terminal", strings.Replace(smallest, "small", `"a\x1b[31mred"`, 1), ":1:", "name: found several lines or control characters"},
	{"name of several lines", strings.Replace(smallest, "small", `"a\nb"`, 1), ":1:", "name: found several lines"},
	{"port that is none", strings.Replace(smallest, "8081", "99999", 1), ":2:", "an http or https URL with a host"},
	{"header that frames the body", strings.Replace(smallest, "}}", ", headers: {content-length: 5}}}", 1), ":2:", "target.request.headers.content-length: found a header that frames"},
}

func TestAFaultNamesFileLineKeyFoundAndAllowed(t *testing.T) {
	for _, w := range wrong {
		t.Run(w.why, func(t *testing.T) {
			_, err := plan.Parse("test.yaml", []byte(w.text))
			var invalid *plan.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("found %v, want an InvalidError\n%s", err, w.text)
			}
			for _, line := range strings.Split(err.Error(), "\n") {
				if strings.HasPrefix(line, "test.yaml"+w.line) && strings.Contains(line, w.says) {
					return
				}
			}
			t.Errorf("found\n%v\nwant a line test.yaml%s … %s\n%s", err, w.line, w.says, w.text)
		})
	}
}

func TestAllFaultsAreToldAtOnceInTheOrderOfTheirLines(t *testing.T) {
	_, err := plan.Parse("test.yaml", []byte("name: x\ntarget: {request: {url: nope, timeout: 5}}\nload: {concurrency: [0], warmup: 3}\nslo: {p99: 1}\n"))
	if err == nil {
		t.Fatal("the plan was accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 5 {
		t.Fatalf("found %d faults, want 5:\n%v", len(lines), err)
	}
	for i, prefix := range []string{"test.yaml:2:", "test.yaml:2:", "test.yaml:3:", "test.yaml:3:", "test.yaml:4:"} {
		if !strings.HasPrefix(lines[i], prefix) {
			t.Errorf("fault %d: %s, want %s", i, lines[i], prefix)
		}
	}
}
