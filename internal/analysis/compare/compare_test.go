package compare

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/stat"
)

func stream() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// repeats is a run of one cell with so many repeats of each value's noise about a mean.
func repeats(name string, n int, mean map[Metric]float64, noise float64, seed uint64) Run {
	rng := rand.New(rand.NewPCG(seed, 77))
	r := Run{Name: name, Environment: map[string]string{"cpu": "x", "cores": "2"}}
	for range n {
		s := Sample{Setting: "thread 10", Load: "200 users", Values: map[Metric]float64{}}
		for _, m := range Metrics() {
			if v, ok := mean[m]; ok {
				s.Values[m] = v * (1 + noise*rng.NormFloat64())
			}
		}
		r.Samples = append(r.Samples, s)
	}
	return r
}

func compareRuns(t *testing.T, cfg Config, runs ...Run) Pair {
	t.Helper()
	r, err := Compare(runs, cfg, stream())
	if err != nil {
		t.Fatal(err)
	}
	return r.Pairs[0]
}

func metric(t *testing.T, p Pair, m Metric) Comparison {
	t.Helper()
	for _, c := range p.Cells[0].Metrics {
		if c.Metric == m {
			return c
		}
	}
	t.Fatalf("no %s in %+v", m, p.Cells[0])
	return Comparison{}
}

func TestAClearChangeIsNamedWithItsDirection(t *testing.T) {
	a := repeats("a", 8, map[Metric]float64{Throughput: 1000, P99: 50, CPUPerRequest: 0.5}, 0.02, 1)
	b := repeats("b", 8, map[Metric]float64{Throughput: 800, P99: 40, CPUPerRequest: 0.5}, 0.02, 2)
	p := compareRuns(t, Config{}, a, b)
	for m, want := range map[Metric]Verdict{Throughput: Worse, P99: Better, CPUPerRequest: WithinNoise} {
		if c := metric(t, p, m); c.Verdict != want {
			t.Errorf("%s: %v, want %v: %s", m, c.Verdict, want, c.Text)
		}
	}
	c := metric(t, p, Throughput)
	if math.Abs(*c.Change+0.2) > 0.03 || *c.ChangeLow > -0.2 || *c.ChangeHigh < -0.2 {
		t.Errorf("change %v in %v…%v, want about −0.2", *c.Change, *c.ChangeLow, *c.ChangeHigh)
	}
	if c.A.Low == nil || *c.A.Low > c.A.Median || *c.A.High < c.A.Median {
		t.Errorf("median %v without its interval", c.A)
	}
}

// Of comparisons without any change, at most about 5 % of the families may contain a false alarm.
func TestRunsOfOneKindAreWithinNoise(t *testing.T) {
	alarms := 0
	all := map[Metric]float64{Throughput: 1000, Success: 900, P50: 20, P99: 50, CPUPerRequest: 0.5, SwitchesPerRequest: 3}
	for seed := range uint64(200) {
		p := compareRuns(t, Config{Rounds: 200}, repeats("a", 8, all, 0.05, 2*seed), repeats("b", 8, all, 0.05, 2*seed+1))
		for _, c := range p.Cells[0].Metrics {
			if c.Verdict != WithinNoise {
				alarms++
				break
			}
		}
	}
	if alarms > 18 {
		t.Errorf("%d of 200 families raise a false alarm", alarms)
	}
}

func TestHolmIsAppliedOverAllComparisons(t *testing.T) {
	values := map[Metric]float64{Throughput: 1000, P50: 20, P99: 50}
	p := compareRuns(t, Config{}, repeats("a", 6, values, 0.01, 3), repeats("b", 6, map[Metric]float64{Throughput: 500, P50: 20, P99: 50}, 0.01, 4))
	c := metric(t, p, Throughput)
	// Six against six without overlap: p = 2/924, times three comparisons.
	if math.Abs(*c.P-2.0/924) > 1e-12 || math.Abs(*c.PAdjusted-6.0/924) > 1e-12 {
		t.Errorf("p %v adjusted %v, want 2/924 and 6/924", *c.P, *c.PAdjusted)
	}
}

func TestTooFewRepeatsAreSaidToBeTooFew(t *testing.T) {
	many := map[Metric]float64{Throughput: 1000, Success: 900, P50: 20, P99: 50}
	p := compareRuns(t, Config{}, repeats("a", 4, many, 0.01, 5), repeats("b", 4, map[Metric]float64{Throughput: 500, Success: 400, P50: 40, P99: 90}, 0.01, 6))
	if !strings.Contains(strings.Join(p.Caveats, " "), "with 4 repeats and 4 comparisons no single difference can be significant at 0.05: repeat 5 times") {
		t.Errorf("caveats %v", p.Caveats)
	}
	if c := metric(t, p, Throughput); c.Verdict != NoEvidence {
		t.Errorf("half the throughput in 4 of 4 repeats, which 4 comparisons cannot prove: %v, want no evidence", c.Verdict)
	}
	p = compareRuns(t, Config{}, repeats("a", 2, many, 0.01, 5), repeats("b", 3, map[Metric]float64{Throughput: 500}, 0.01, 6))
	if c := metric(t, p, Throughput); c.Verdict != NoEvidence {
		t.Errorf("two against three: %v, want no evidence", c.Verdict)
	}
}

// once is a run of a single repeat with an interval of its p99.
func once(name string, p99, low, high float64) Run {
	return Run{Name: name, Samples: []Sample{{Setting: "none", Load: "50 users", Values: map[Metric]float64{P99: p99, Throughput: 100},
		Within: map[Metric]stat.Interval{P99: {Low: low, High: high, Level: 0.95}}}}}
}

func TestSingleRunsAreComparedByTheirOwnIntervals(t *testing.T) {
	for _, tt := range []struct {
		p99, low, high float64
		want           Verdict
	}{{51, 49, 53, WithinNoise}, {60, 57, 63, Worse}, {40, 38, 42, Better}, {60, 57, math.NaN(), Worse}, {50, math.NaN(), math.NaN(), WithinNoise}, {55, math.NaN(), 60, NoEvidence}} {
		p := compareRuns(t, Config{}, once("a", 50, 48, 52), once("b", tt.p99, tt.low, tt.high))
		c := metric(t, p, P99)
		if c.Verdict != tt.want {
			t.Errorf("%+v: %v: %s", tt, c.Verdict, c.Text)
		}
		if c := metric(t, p, Throughput); c.Verdict != WithinNoise || *c.Change != 0 {
			t.Errorf("equal throughputs: %+v", c)
		}
		if !strings.Contains(strings.Join(p.Caveats, " "), "repeat them 4 times") {
			t.Errorf("caveats %v", p.Caveats)
		}
	}
}

func TestConditionsFailOnlyBeyondThresholdAndNoise(t *testing.T) {
	conditions, err := ParseFailOn("p99>+10%, throughput<-5%")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		b      Run
		failed bool
	}{
		{once("b", 60, 57, 63), true}, {once("b", 53, 52.5, 54), false}, {once("b", 56, 47, 70), false}, {once("b", 40, 38, 42), false}, {once("b", 60, math.NaN(), math.NaN()), true},
	} {
		p := compareRuns(t, Config{FailOn: conditions}, once("a", 50, 48, 52), tt.b)
		if p.FailOn[0].Failed != tt.failed || p.FailOn[0].Evaluated != 1 || p.FailOn[1].Failed {
			t.Errorf("%+v: %+v, want failed %v", tt.b.Samples[0].Values, p.FailOn, tt.failed)
		}
	}
	p := compareRuns(t, Config{FailOn: []Condition{{Metric: Goodput, text: "goodput<-1%"}}}, once("a", 50, 48, 52), once("b", 50, 48, 52))
	if p.FailOn[0].Evaluated != 0 || p.FailOn[0].Failed {
		t.Errorf("an unknown metric: %+v, want nothing evaluated", p.FailOn[0])
	}
}

func TestRefusalsAreComparedInPoints(t *testing.T) {
	with := func(name string, v float64) Run {
		return Run{Name: name, Samples: []Sample{{Setting: "s", Load: "l", Values: map[Metric]float64{Rejected: v}}}}
	}
	conditions, err := ParseFailOn("rejected>+1%")
	if err != nil {
		t.Fatal(err)
	}
	p := compareRuns(t, Config{FailOn: conditions}, with("a", 0), with("b", 0.05))
	if c := metric(t, p, Rejected); math.Abs(*c.Change-0.05) > 1e-12 || !strings.Contains(c.Text, "+5.0 points") {
		t.Errorf("%+v", c)
	}
	if !p.FailOn[0].Failed {
		t.Errorf("%+v, want failed", p.FailOn)
	}
}

func TestFaultyConditionsAreRefusedWithWhatIsAllowed(t *testing.T) {
	for text, says := range map[string]string{
		"p99": "no < or >", "speed>+1%": "unknown metric \"speed\"", "p99>10": "signed percentage", "p99>-10%": "without any change",
		"throughput<5%": "without any change", "p99>+1%,": "condition 2", "p99>nan%": "signed percentage",
	} {
		if _, err := ParseFailOn(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if c, err := ParseFailOn("p99_ms > +2.5 %"); err != nil || c[0].Metric != P99 || math.Abs(c[0].Threshold-0.025) > 1e-12 || !c[0].Above {
		t.Errorf("%+v %v", c, err)
	}
}

func FuzzParseFailOn(f *testing.F) {
	f.Add("p99>+10%,throughput<-5%")
	f.Fuzz(func(t *testing.T, text string) {
		conditions, err := ParseFailOn(text)
		if err != nil {
			return
		}
		for _, c := range conditions {
			if c.Above != (c.Threshold > 0) && c.Threshold != 0 {
				t.Fatalf("%q is read as %+v", text, c)
			}
		}
	})
}

func TestUnlikeEnvironmentsAreRefusedUnlessForced(t *testing.T) {
	a, b := repeats("a", 4, map[Metric]float64{P99: 1}, 0.1, 1), repeats("b", 4, map[Metric]float64{P99: 1}, 0.1, 2)
	b.Environment = map[string]string{"cpu": "y", "kernel": "6"}
	_, err := Compare([]Run{a, b}, Config{}, stream())
	var unlike *UnlikeError
	if !errors.As(err, &unlike) || len(unlike.Differences) != 3 || !strings.Contains(err.Error(), "cpu: x against y") {
		t.Errorf("%v", err)
	}
	p := compareRuns(t, Config{Force: true}, a, b)
	if !strings.Contains(p.Caveats[0], "environments differ") {
		t.Errorf("caveats %v", p.Caveats)
	}
}

func TestCellsThatOnlyOneRunHasAreListed(t *testing.T) {
	a, b := once("a", 50, 48, 52), once("b", 50, 48, 52)
	a.Samples = append(a.Samples, Sample{Setting: "thread 10", Load: "50 users"})
	b.Samples = append(b.Samples, Sample{Setting: "none", Load: "100 users"})
	p := compareRuns(t, Config{}, a, b)
	if strings.Join(p.Unmatched, "|") != "thread 10 at 50 users: only in a|none at 100 users: only in b" || len(p.Cells) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestTheFirstRunIsTheBaselineOfAllOthersAndTheResultRepeats(t *testing.T) {
	runs := []Run{repeats("a", 6, map[Metric]float64{P99: 50}, 0.05, 1), repeats("b", 6, map[Metric]float64{P99: 50}, 0.05, 2), repeats("c", 6, map[Metric]float64{P99: 90}, 0.05, 3)}
	one, err := Compare(runs, Config{}, stream())
	if err != nil {
		t.Fatal(err)
	}
	two, err := Compare(runs, Config{}, stream())
	if err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(one)
	b, errB := json.Marshal(two)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("the same stream gave another result: %v %v", errA, errB)
	}
	if len(one.Pairs) != 2 || one.Pairs[1].A != "a" || one.Pairs[1].B != "c" || !strings.Contains(string(a), `"schema":"loadline.compare/1"`) {
		t.Errorf("%s", a)
	}
	if c := metric(t, one.Pairs[1], P99); c.Verdict != Worse {
		t.Errorf("%s", c.Text)
	}
	if _, err := Compare(runs[:1], Config{}, stream()); err == nil {
		t.Error("one run was compared")
	}
	if _, err := Compare(runs, Config{Level: 2, Rounds: -1}, stream()); err == nil || !strings.Contains(err.Error(), "level = 2") || !strings.Contains(err.Error(), "rounds = -1") {
		t.Errorf("%v", err)
	}
}
