package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// varied is a plan of two factors; the rest of load is given.
func varied(load string) string {
	return `name: two factors
target: {request: {url: "http://127.0.0.1:8081/${kind}?n=${n}"}}
vary: {kind: [a, b], n: [1, 2, 3]}
load: {` + load + "}\n"
}

func cells(t *testing.T, p *plan.Plan) []plan.Cell {
	t.Helper()
	out, err := p.Cells()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// short writes a cell as kind, n, step and repeat.
func short(c plan.Cell) string {
	kind, _ := c.Setting.Value("kind")
	n, _ := c.Setting.Value("n")
	return fmt.Sprintf("%v%v@%d#%d", kind, n, c.Load.Concurrency, c.Repeat)
}

func TestFactorsAreCrossedAndTheLastVariesFastest(t *testing.T) {
	var got []string
	for _, s := range parse(t, varied("concurrency: 1")).Settings() {
		got = append(got, s.String())
	}
	want := []string{"kind=a n=1", "kind=a n=2", "kind=a n=3", "kind=b n=1", "kind=b n=2", "kind=b n=3"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestValuesKeepTheirTypes(t *testing.T) {
	p := parse(t, `name: types
target: {request: {url: "http://127.0.0.1:1/${a}${b}${c}${d}${e}"}}
vary: {settings: [{a: text, b: 3, c: 2.5, d: true, e: "7"}]}
load: {concurrency: 1}
`)
	want := record.Setting{{Name: "a", Value: "text"}, {Name: "b", Value: int64(3)}, {Name: "c", Value: 2.5}, {Name: "d", Value: true}, {Name: "e", Value: "7"}}
	if !slices.Equal(p.Settings()[0], want) {
		t.Errorf("found %#v, want %#v", p.Settings()[0], want)
	}
	filled, err := p.ForSetting(want)
	if err != nil || filled.Target.Request.URL != "http://127.0.0.1:1/text32.5true7" {
		t.Errorf("%v, %v", filled, err)
	}
}

func TestListedOrderGoesBySettingThenStepThenRepeat(t *testing.T) {
	got := cells(t, parse(t, varied("concurrency: [10, 20], repeats: 2")))
	if len(got) != 6*2*2 {
		t.Fatalf("%d cells", len(got))
	}
	for i, want := range []string{"a1@10#1", "a1@10#2", "a1@20#1", "a1@20#2", "a2@10#1"} {
		if short(got[i]) != want || got[i].Index != i {
			t.Errorf("cell %d is %s with index %d, want %s", i, short(got[i]), got[i].Index, want)
		}
	}
}

func TestInterleavedOrderMeasuresEverySettingOnceBeforeTheNextRepeat(t *testing.T) {
	got := cells(t, parse(t, varied("concurrency: [10, 20], repeats: 3, order: interleaved")))
	for i, c := range got {
		setting, repeat, step := i%6, i/6%3+1, []int{10, 20}[i/18]
		want := fmt.Sprintf("%s@%d#%d", []string{"a1", "a2", "a3", "b1", "b2", "b3"}[setting], step, repeat)
		if short(c) != want {
			t.Fatalf("cell %d is %s, want %s", i, short(c), want)
		}
	}
}

func TestEveryOrderHasTheSameCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfNDistinct(rapid.IntRange(1, 500), 1, 6, rapid.ID[int]).Draw(t, "steps")
		repeats := rapid.IntRange(1, 4).Draw(t, "repeats")
		seed := rapid.IntRange(0, 5).Draw(t, "seed")
		byOrder := map[string][]string{}
		for _, order := range []string{"listed", "shuffled", "interleaved"} {
			text := varied(fmt.Sprintf("concurrency: %s, repeats: %d, order: %s, seed: %d", strings.ReplaceAll(fmt.Sprint(steps), " ", ", "), repeats, order, seed))
			p, err := plan.Parse("test.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			cells, err := p.Cells()
			if err != nil || len(cells) != 6*len(steps)*repeats {
				t.Fatalf("%d cells, %v", len(cells), err)
			}
			again, err := p.Cells()
			if err != nil || !slices.EqualFunc(cells, again, func(a, b plan.Cell) bool { return a.Index == b.Index }) {
				t.Fatalf("%s: a second expansion differs", order)
			}
			for _, c := range cells {
				byOrder[order] = append(byOrder[order], fmt.Sprintf("%d %s", c.Index, short(c)))
			}
			slices.Sort(byOrder[order])
		}
		if !slices.Equal(byOrder["listed"], byOrder["shuffled"]) || !slices.Equal(byOrder["listed"], byOrder["interleaved"]) {
			t.Fatal("the orders have different cells")
		}
	})
}

func TestAShuffleDependsOnItsSeedAlone(t *testing.T) {
	order := func(seed int) string {
		var b strings.Builder
		for _, c := range cells(t, parse(t, varied(fmt.Sprintf("concurrency: [1, 2, 3, 4], order: shuffled, seed: %d", seed)))) {
			b.WriteString(short(c) + " ")
		}
		return b.String()
	}
	first, again, other := order(1), order(1), order(2)
	if first != again || first == other {
		t.Errorf("seed 1: %s\nagain:  %s\nseed 2: %s", first, again, other)
	}
}

func TestStepsOfEveryForm(t *testing.T) {
	for text, want := range map[string][]float64{
		"rate: 7.5":                             {7.5},
		"rate: [1, 2.5]":                        {1, 2.5},
		"rate: {from: 100, to: 300, step: 100}": {100, 200, 300},
		"rate: {from: 100, to: 299, step: 100}": {100, 200},
		"rate: {from: 0.1, to: 0.3, step: 0.1}": {0.1, 0.2, 0.30000000000000004},
		"rate: {from: 5, to: 5, step: 1}":       {5},
	} {
		p := parse(t, varied(text))
		if p.Load.Model != record.Open || !slices.Equal(p.Load.Rate, want) {
			t.Errorf("%s: %s %v, want open %v", text, p.Load.Model, p.Load.Rate, want)
		}
	}
	p := parse(t, varied("concurrency: {from: 50, to: 200, step: 50}"))
	if !slices.Equal(p.Load.Concurrency, []int{50, 100, 150, 200}) {
		t.Errorf("%v", p.Load.Concurrency)
	}
}

func TestLoadCanVaryToo(t *testing.T) {
	p := parse(t, `name: think
target: {request: {url: "http://127.0.0.1:1/"}}
vary: {think: [0s, 195ms], users: [10, 20]}
load: {concurrency: ["${users}"], think: {mean: "${think}", distribution: exponential}}
`)
	var got []record.Load
	for _, c := range cells(t, p) {
		got = append(got, c.Load)
	}
	want := []record.Load{{Model: record.Closed, Concurrency: 10}, {Model: record.Closed, Concurrency: 20},
		{Model: record.Closed, Concurrency: 10, Think: 195 * time.Millisecond}, {Model: record.Closed, Concurrency: 20, Think: 195 * time.Millisecond}}
	if !slices.Equal(got, want) || p.Load.ThinkKind != plan.ThinkExponential {
		t.Errorf("found %+v, want %+v", got, want)
	}
}

func TestAVariedValueIsCheckedInEverySetting(t *testing.T) {
	_, err := plan.Parse("test.yaml", []byte(`name: think
target: {request: {url: "http://127.0.0.1:1/"}}
vary: {think: [195ms, soon]}
load: {concurrency: 1, think: "${think}"}
`))
	if err == nil || !strings.Contains(err.Error(), "test.yaml:4: load.think: found soon") {
		t.Errorf("found %v", err)
	}
}

func TestWhatMustBeTheSameForAllSettingsCannotVary(t *testing.T) {
	for _, key := range []string{"name", "slo", "load.order", "load.repeats"} {
		text := map[string]string{
			"name":         strings.Replace(varied("concurrency: 1"), "two factors", "\"of ${kind}\"", 1),
			"slo":          varied("concurrency: 1") + "slo: \"p99<${n}s\"\n",
			"load.order":   varied(`concurrency: 1, order: "${kind}"`),
			"load.repeats": varied(`concurrency: 1, repeats: "${n}"`),
		}[key]
		if _, err := plan.Parse("test.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), key+": found") || !strings.Contains(err.Error(), "the same for all settings") {
			t.Errorf("%s: found %v", key, err)
		}
	}
}

func TestADollarCanBeWrittenTwiceToMeanItself(t *testing.T) {
	p := parse(t, `name: shell
target: {request: {url: "http://127.0.0.1:1/"}}
services: {a: {command: [sh, -c, "exec x --home=$${HOME} --price=$5 --n=${n}"]}}
vary: {n: [1]}
load: {concurrency: 1}
`)
	filled, err := p.ForSetting(p.Settings()[0])
	if err != nil || filled.Services[0].Command[2] != "exec x --home=${HOME} --price=$5 --n=1" {
		t.Errorf("%v %v", filled.Services[0].Command, err)
	}
}

func TestQuickShortensEveryCellAndItsSettings(t *testing.T) {
	p := parse(t, varied("concurrency: 1, warmup: 30s, measure: 60s, discard: 15s, rest: 2m")).Quick()
	filled, err := p.ForSetting(p.Settings()[3])
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []plan.Load{p.Load, filled.Load} {
		if l.Warmup != 500*time.Millisecond || l.Measure != 2500*time.Millisecond || l.Discard != 0 || l.Rest != 300*time.Millisecond {
			t.Errorf("%+v", l)
		}
	}
}

func TestASettingThatThePlanDoesNotHaveIsRefused(t *testing.T) {
	p := parse(t, varied("concurrency: 1"))
	if _, err := p.ForSetting(record.Setting{{Name: "kind", Value: "a"}}); err == nil || !strings.Contains(err.Error(), "${n}, which vary does not set") {
		t.Errorf("found %v", err)
	}
	made := &plan.Plan{Target: plan.Target{Request: plan.Request{URL: "http://127.0.0.1/"}}, Load: plan.Load{Model: record.Closed, Concurrency: []int{3}}}
	if got := cells(t, made); len(got) != 1 || got[0].Load.Concurrency != 3 || got[0].Repeat != 1 {
		t.Errorf("a plan made without a file: %+v", got)
	}
}

func TestTheDocumentedPlanIsReadAsItStands(t *testing.T) {
	const documented = `name: order detail, cost of isolation
target:
  request: {url: "http://127.0.0.1:8081/api/order/detail", method: GET, timeout: 5s}
  outcomes: [{status: 500, header: {X-Reason: full}, is: rejected}]
services:
  price: {command: [loadline, lab, price, --listen=127.0.0.1:8082, --sleep=20ms], ready: {url: "http://127.0.0.1:8082/ready", timeout: 10s}}
  order: {command: [loadline, lab, order, --listen=127.0.0.1:8081, "--isolation=${isolation}", "--slots=${slots}"],
          ready: {url: "http://127.0.0.1:8081/ready"}, env: {}, cpus: "0-1", stop: {signal: TERM, grace: 5s}}
vary: {settings: [{isolation: none, slots: 0}, {isolation: thread, slots: 10}]}
load: {model: closed, concurrency: [50, 100, 200, 400], think: 0s, warmup: 30s, measure: 60s, discard: 15s, rest: 2m, repeats: 1, order: listed}
observe: [{process: order}, {prometheus: "http://127.0.0.1:8081/metrics", service: order}]
slo: {p99: 100ms, success: 99.9%}
`
	p, err := plan.Parse("documented.yaml", []byte(documented))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Services[0].Command[3]; got != "--listen=127.0.0.1:8082" {
		t.Errorf("a plain value with a colon in a list within a flow mapping: got %q", got)
	}
	cells, err := p.Cells()
	if err != nil || len(cells) != 8 {
		t.Errorf("%d cells, %v", len(cells), err)
	}
}

func TestAnEscapedReferenceIsTextWhereNothingVaries(t *testing.T) {
	p, err := plan.Parse("t.yaml", []byte(`name: x
target: {request: {url: "http://127.0.0.1:8081/", method: POST, body: "$${a}"}}
services: {a: {command: [sh, -c, "exec x --home=$${HOME}"]}}
load: {concurrency: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	filled, err := p.ForSetting(p.Settings()[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := filled.Services[0].Command[2]; got != "exec x --home=${HOME}" {
		t.Errorf("command: %s", got)
	}
	if got := filled.Target.Request.Body; got != "${a}" {
		t.Errorf("body: %s", got)
	}
	if len(filled.Vary) != 0 {
		t.Errorf("a plan without vary varies %v", filled.Vary)
	}
}

func TestASettingKeepsWhatWasChangedForAllOfThem(t *testing.T) {
	p, err := plan.Parse("t.yaml", []byte(`name: x
target: {request: {url: "http://127.0.0.1:8081/${n}"}}
vary: {n: [1, 2]}
load: {concurrency: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	changed := *p
	changed.Load.Model, changed.SLO = record.Open, "p99<1s"
	filled, err := changed.ForSetting(changed.Settings()[1])
	if err != nil {
		t.Fatal(err)
	}
	if filled.Load.Model != record.Open || filled.SLO != "p99<1s" || filled.Target.Request.URL != "http://127.0.0.1:8081/2" {
		t.Errorf("model %s, SLO %s, URL %s", filled.Load.Model, filled.SLO, filled.Target.Request.URL)
	}
}
