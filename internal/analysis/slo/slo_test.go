package slo

import (
	"math"
	"sort"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTermsAreReadAndWrittenBack(t *testing.T) {
	tests := []struct{ text, want string }{
		{"p99<10ms,success>99.9%", "p99<10ms,success>99.9%"},
		{" P999 <= 1.5s , goodput>100/s", "p99.9<=1.5s,goodput>100/s"},
		{"p99.9<1s", "p99.9<1s"},
		{"mean<20ms,rejected<1%", "mean<20ms,rejected<1%"},
		{"success>=100%", "success>=100%"},
		{"p50<500us", "p50<500µs"},
		{"", ""},
	}
	for _, tt := range tests {
		s, err := Parse(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if s.String() != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, s, tt.want)
		}
	}
	s, err := Parse("p99<10ms,p999<50ms,success>99.9%")
	if err != nil {
		t.Fatal(err)
	}
	if s.Terms[1].Q != 0.999 || s.Terms[2].Ratio != 0.999 {
		t.Errorf("terms %+v", s.Terms)
	}
	if b, ok := s.LatencyBound(); !ok || b != 50*time.Millisecond {
		t.Errorf("latency bound %v %v, want 50ms", b, ok)
	}
}

func TestTheFormOfPlansTakesTheSideFromTheName(t *testing.T) {
	s, err := FromPairs([]Pair{{"p99", "100ms"}, {"success", "99.9%"}, {"goodput", "50/s"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.String() != "p99<=100ms,success>=99.9%,goodput>=50/s" {
		t.Errorf("%s", s)
	}
	if again, err := Parse(s.String()); err != nil || again.String() != s.String() {
		t.Errorf("read back: %v %v", again, err)
	}
	if _, err := FromPairs([]Pair{{"p99", "100"}, {"speed", "1"}}); err == nil || !strings.Contains(err.Error(), "p99") || !strings.Contains(err.Error(), "speed") {
		t.Errorf("both faults must be named: %v", err)
	}
}

func TestFaultsSayWhatIsAllowed(t *testing.T) {
	for text, says := range map[string]string{
		"p99":                  "has no < or >",
		"p99>10ms":             "write p99<10ms",
		"success<99.9%":        "write success>99.9%",
		"p99<10":               "a duration above zero with its unit",
		"p99<0s":               "above zero",
		"p100<1s":              `unknown metric "p100"`,
		"p0<1s":                "unknown metric",
		"latency<1s":           "allowed: p99<100ms",
		"success>99.9":         "with the sign",
		"success>120%":         "0% to 100%",
		"goodput>100":          "such as 100/s",
		"goodput>NaN/s":        "above zero",
		"p99<10ms,p99<20ms":    "bounded twice",
		"p99<10ms,,mean<5ms":   "term 2",
		"p1e1<5ms":             "unknown metric",
		"p99<10ms,rejected<x%": "term 2: rejected",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want it to say %q", text, err, says)
		}
	}
}

func TestPercentagesOfAnySizeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := SLO{Terms: []Term{{Metric: Success, Name: "success", Ratio: float64(rapid.IntRange(0, 1000000).Draw(t, "ppm")) / 1e6}}}
		back, err := Parse(s.String())
		if err != nil || math.Abs(back.Terms[0].Ratio-s.Terms[0].Ratio) > 1e-15 {
			t.Fatalf("%s: %+v %v", s, back, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("p99<10ms,success>99.9%")
	f.Add("p99.99<=1s,goodput>=1e3/s")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		back, err := Parse(s.String())
		if err != nil || back.String() != s.String() {
			t.Fatalf("%q is written as %q and read back as %q, %v", text, s, back, err)
		}
	})
}

// sample is an exact distribution, independent of the histogram that is used in runs.
type sample []time.Duration

func (s sample) Count() int64 { return int64(len(s)) }
func (s sample) CountAtOrBelow(d time.Duration) int64 {
	return int64(sort.Search(len(s), func(i int) bool { return s[i] > d }))
}
func (s sample) Quantile(q float64) time.Duration {
	return s[max(0, int(math.Ceil(q*float64(len(s))))-1)]
}
func (s sample) AtRank(k int64) time.Duration { return s[k-1] }
func (s sample) Mean() time.Duration {
	var sum time.Duration
	for _, d := range s {
		sum += d
	}
	return sum / time.Duration(len(s))
}

// withSlow is n responses of 5 ms of which slow took 50 ms.
func withSlow(n, slow int) sample {
	s := make(sample, n)
	for i := range s {
		s[i] = 5 * time.Millisecond
		if i >= n-slow {
			s[i] = 50 * time.Millisecond
		}
	}
	return s
}

// The numbers of slow responses that still prove a p99 are those of the one-sided exact binomial bound.
func TestAPercentilePassesFailsOrIsOpenByCounting(t *testing.T) {
	s, err := Parse("p99<10ms")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		n, slow int
		want    Verdict
	}{
		{298, 0, NoEvidence}, {299, 0, Pass}, {473, 1, Pass}, {472, 1, NoEvidence}, {1000, 4, Pass}, {1000, 5, NoEvidence}, {1000, 10, NoEvidence},
		{1000, 16, Fail}, {1000, 15, NoEvidence}, {10000, 83, Pass}, {10000, 84, NoEvidence}, {100, 8, Fail}, {0, 0, NoEvidence},
	}
	for _, tt := range tests {
		got := Evaluate(s, Evidence{Latency: withSlow(tt.n, tt.slow)})
		if got.Verdict != tt.want {
			t.Errorf("%d slow of %d: %v, want %v: %s", tt.slow, tt.n, got.Verdict, tt.want, got.Terms[0].Text)
		}
		if (got.Terms[0].Confidence != nil) != (tt.want != NoEvidence) {
			t.Errorf("%d slow of %d: confidence %v with verdict %v", tt.slow, tt.n, got.Terms[0].Confidence, got.Verdict)
		}
	}
	got := Evaluate(s, Evidence{Latency: withSlow(299, 0)}).Terms[0]
	if math.Abs(*got.Confidence-(1-math.Pow(0.99, 299))) > 1e-12 {
		t.Errorf("confidence %v, want 1 − 0.99^299", *got.Confidence)
	}
	if got.High != nil || got.Value == nil {
		t.Errorf("299 samples give a p99 without an upper bound, got %+v", got)
	}
	if got := Evaluate(s, Evidence{Latency: withSlow(298, 0)}).Terms[0]; got.Value != nil || !strings.Contains(got.Text, "needs 299") {
		t.Errorf("298 samples give %+v, want no value and the number needed", got)
	}
}

func TestCorrelatedSamplesProveLess(t *testing.T) {
	s, err := Parse("p99<10ms")
	if err != nil {
		t.Fatal(err)
	}
	e := Evidence{Latency: withSlow(1000, 0), EffectiveRatio: 0.3}
	if got := Evaluate(s, e); got.Verdict != Pass {
		t.Errorf("300 effective: %v, want pass", got.Verdict)
	}
	e.EffectiveRatio = 0.298
	if got := Evaluate(s, e); got.Verdict != NoEvidence {
		t.Errorf("298 effective: %v, want no evidence", got.Verdict)
	}
}

func TestSharesRatesAndMeansAreJudgedWithTheirIntervals(t *testing.T) {
	tests := []struct {
		slo  string
		e    Evidence
		want Verdict
	}{
		{"success>99.9%", Evidence{Planned: 2995, Success: 2995}, Pass},
		{"success>99.9%", Evidence{Planned: 2994, Success: 2994}, NoEvidence},
		{"success>99.9%", Evidence{Planned: 1000, Success: 900}, Fail},
		{"success>=100%", Evidence{Planned: 1000, Success: 1000}, NoEvidence},
		{"success>=100%", Evidence{Planned: 1000, Success: 999}, Fail},
		{"success>99%", Evidence{}, NoEvidence},
		{"rejected<1%", Evidence{Completed: 299}, Pass},
		{"rejected<1%", Evidence{Completed: 1000, Rejected: 450}, Fail},
		{"goodput>100/s", Evidence{Seconds: 10, Good: 1100}, Pass},
		{"goodput>100/s", Evidence{Seconds: 10, Good: 1010}, NoEvidence},
		{"goodput>100/s", Evidence{Seconds: 10, Good: 900}, Fail},
		{"goodput>100/s", Evidence{Seconds: 10}, Fail},
		{"mean<6ms", Evidence{Latency: withSlow(1000, 0), MeanSD: time.Millisecond}, Pass},
		{"mean<5ms", Evidence{Latency: withSlow(1000, 10), MeanSD: 4 * time.Millisecond}, Fail},
		{"mean<6ms", Evidence{Latency: withSlow(1000, 0)}, NoEvidence},
		{"mean<6ms", Evidence{Latency: withSlow(50, 0), MeanSD: time.Millisecond}, NoEvidence},
	}
	for _, tt := range tests {
		s, err := Parse(tt.slo)
		if err != nil {
			t.Fatal(err)
		}
		if got := Evaluate(s, tt.e); got.Verdict != tt.want {
			t.Errorf("%s with %+v: %v, want %v: %s", tt.slo, tt.e, got.Verdict, tt.want, got.Terms[0].Text)
		}
	}
}

func TestTheWorstTermDecidesAndNothingProvesNothing(t *testing.T) {
	s, err := Parse("p99<10ms,success>99%")
	if err != nil {
		t.Fatal(err)
	}
	good := Evidence{Latency: withSlow(1000, 0), Planned: 1000, Success: 1000}
	if got := Evaluate(s, good); got.Verdict != Pass {
		t.Errorf("both hold: %v", got.Verdict)
	}
	short := Evidence{Latency: withSlow(1000, 0), Planned: 100, Success: 100}
	if got := Evaluate(s, short); got.Verdict != NoEvidence {
		t.Errorf("one unproved: %v, want no evidence", got.Verdict)
	}
	bad := Evidence{Latency: withSlow(100, 0), Planned: 1000, Success: 500}
	if got := Evaluate(s, bad); got.Verdict != Fail {
		t.Errorf("one unproved, one broken: %v, want fail", got.Verdict)
	}
	if got := Evaluate(SLO{}, good); got.Verdict != NoEvidence {
		t.Errorf("nothing asked: %v, want no evidence", got.Verdict)
	}
	good.Doubts = []string{"no steady state"}
	got := Evaluate(s, good)
	if got.Verdict != NoEvidence || !strings.Contains(got.Terms[0].Text, "no steady state") || got.Terms[0].Value == nil {
		t.Errorf("doubt withholds the verdict and keeps the figures: %+v", got)
	}
}
