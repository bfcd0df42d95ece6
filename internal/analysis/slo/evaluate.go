package slo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadline-dev/loadline/internal/stat"
)

// Confidence is the one-sided confidence that a pass or a fail is held to.
const Confidence = 0.95

// Verdict is what the figures prove. The zero value is NoEvidence.
type Verdict uint8

// The verdicts.
const (
	NoEvidence Verdict = iota
	Pass
	Fail
)

var verdictNames = [...]string{"no evidence", "pass", "fail"}

// String names the verdict.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// MarshalText gives the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a name as MarshalText gives it.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, n := range verdictNames {
		if n == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("unknown verdict %q: one of %v", text, verdictNames)
}

// Latencies is a distribution of response times of successes; *hist.Histogram satisfies it.
type Latencies interface {
	Count() int64
	CountAtOrBelow(time.Duration) int64
	Quantile(q float64) time.Duration
	AtRank(k int64) time.Duration
	Mean() time.Duration
}

// Evidence is what was measured in one window, or in several merged ones. Unknown counts are 0 and make their terms no evidence.
type Evidence struct {
	Seconds   float64
	Planned   int64
	Success   int64 // of the planned
	Completed int64
	Rejected  int64 // of the completed
	Good      int64 // successes within SLO.LatencyBound that ended in the window
	Latency   Latencies
	// MeanSD is the standard deviation of response times, for an interval of the mean. 0: unknown, the mean is no evidence.
	MeanSD time.Duration
	// EffectiveRatio is how many independent requests one request is worth, for correlated samples (stat.EffectiveN / n). 0 or above 1: 1.
	EffectiveRatio float64
	// Doubts withhold every verdict: no steady state, an invalid generator. Figures are still given.
	Doubts []string
}

// TermResult is the verdict on one term.
type TermResult struct {
	Term       string   `json:"term"`
	Verdict    Verdict  `json:"verdict"`
	Value      *float64 `json:"value"` // ms, ratio or per second; nil: too few samples
	Low        *float64 `json:"low"`   // 95 % interval of the value; nil: no bound on that side
	High       *float64 `json:"high"`
	Confidence *float64 `json:"confidence"` // that the verdict is right, 0…1; nil without evidence
	N          int64    `json:"n"`
	Text       string   `json:"text"`
}

// Result is the verdict on an SLO: fail if any term fails, pass if all pass, else no evidence.
type Result struct {
	Verdict Verdict      `json:"verdict"`
	Terms   []TermResult `json:"terms"`
	Doubts  []string     `json:"doubts"`
}

// Evaluate judges the evidence. An SLO without terms passes nothing: it is no evidence.
func Evaluate(s SLO, e Evidence) Result {
	out := Result{Terms: []TermResult{}, Doubts: append([]string{}, e.Doubts...)}
	if len(s.Terms) > 0 {
		out.Verdict = Pass
	}
	for _, t := range s.Terms {
		r := evaluateTerm(t, e)
		if len(e.Doubts) > 0 && r.Verdict != NoEvidence {
			r.Verdict, r.Confidence = NoEvidence, nil
			r.Text += "; verdict withheld: " + strings.Join(e.Doubts, ", ")
		}
		out.Terms = append(out.Terms, r)
		out.Verdict = worse(out.Verdict, r.Verdict)
	}
	return out
}

// worse joins two verdicts: a fail stands against everything, and a pass only with passes.
func worse(a, b Verdict) Verdict {
	if a == Fail || b == Fail {
		return Fail
	}
	if a == NoEvidence || b == NoEvidence {
		return NoEvidence
	}
	return Pass
}

func evaluateTerm(t Term, e Evidence) TermResult {
	var r TermResult
	switch t.Metric {
	case Percentile:
		r = evaluatePercentile(t, e)
	case MeanTime:
		r = evaluateMean(t, e)
	case Success:
		r = evaluateShare(t, e.Planned-e.Success, e.Planned, 1-t.Ratio, e.ratio())
	case Rejected:
		r = evaluateShare(t, e.Rejected, e.Completed, t.Ratio, e.ratio())
	default:
		r = evaluateGoodput(t, e)
	}
	r.Term = t.String()
	return r
}

func (e Evidence) ratio() float64 {
	if e.EffectiveRatio <= 0 || e.EffectiveRatio > 1 {
		return 1
	}
	return e.EffectiveRatio
}

// evaluatePercentile counts responses above the bound: a p99 below it means that their share is below 1 %.
func evaluatePercentile(t Term, e Evidence) TermResult {
	var n int64
	if e.Latency != nil {
		n = e.Latency.Count()
	}
	need := stat.MinSamples(t.Q, Confidence)
	effective := float64(n) * e.ratio()
	if n == 0 {
		return TermResult{Text: fmt.Sprintf("no successes: %s needs %d", t.Name, need)}
	}
	slow := n - e.Latency.CountAtOrBelow(t.Time)
	verdict, confidence := judgeShare(slow, n, 1-t.Q, e.ratio())
	r := TermResult{Verdict: verdict, Confidence: confidence, N: n}
	ranks := stat.QuantileRanksEffective(n, effective, t.Q, 0.95)
	if effective >= float64(need) {
		r.Value = ms(e.Latency.Quantile(t.Q))
	}
	if ranks.Lower > 0 {
		r.Low = ms(e.Latency.AtRank(ranks.Lower))
	}
	if ranks.Upper > 0 {
		r.High = ms(e.Latency.AtRank(ranks.Upper))
	}
	r.Text = fmt.Sprintf("%d of %d above %v, %.4g%% allowed", slow, n, t.Time, (1-t.Q)*100)
	if effective < float64(need) && verdict == NoEvidence {
		r.Text += fmt.Sprintf("; %.0f independent samples, %s needs %d", effective, t.Name, need)
	}
	return r
}

// judgeShare holds a share of bad ones against its limit with exact one-sided bounds.
func judgeShare(bad, n int64, limit, ratio float64) (Verdict, *float64) {
	k, m := scaled(bad, ratio), int64(math.Floor(float64(n)*ratio))
	if m < 1 {
		return NoEvidence, nil
	}
	if most, ok := stat.MaxBad(m, limit, Confidence); ok && k <= most {
		return Pass, confidenceOf(stat.ConfidenceBelow(k, m, limit))
	}
	if fewest, ok := stat.MinBad(m, limit, Confidence); ok && k >= fewest {
		return Fail, confidenceOf(stat.ConfidenceAbove(k, m, limit))
	}
	return NoEvidence, nil
}

// scaled is a count in a sample shrunk to its effective size, to the nearest whole.
func scaled(k int64, ratio float64) int64 { return int64(math.Round(float64(k) * ratio)) }

func confidenceOf(v float64) *float64 { return &v }

func evaluateShare(t Term, bad, n int64, limit, ratio float64) TermResult {
	if n < 1 {
		return TermResult{Text: "no requests"}
	}
	verdict, confidence := judgeShare(bad, n, limit, ratio)
	share := float64(bad) / float64(n)
	i := stat.ClopperPearson(scaled(bad, ratio), max(1, int64(math.Floor(float64(n)*ratio))), 0.95)
	value, low, high, what := share, i.Low, i.High, "rejected"
	if t.Metric == Success {
		value, low, high, what = 1-share, 1-i.High, 1-i.Low, "did not succeed"
	}
	text := fmt.Sprintf("%d of %d %s, %.4g%% allowed", bad, n, what, limit*100)
	if limit <= 0 && bad == 0 {
		text += ": no number of samples proves a share of exactly none; bound it by a small share instead"
	}
	return TermResult{Verdict: verdict, Confidence: confidence, Value: &value, Low: &low, High: &high, N: n, Text: text}
}

// minMeanSamples is where the central limit theorem may be leant on for means of skewed response times.
const minMeanSamples = 100

func evaluateMean(t Term, e Evidence) TermResult {
	if e.Latency == nil || e.Latency.Count() == 0 {
		return TermResult{Text: "no successes"}
	}
	n := e.Latency.Count()
	r := TermResult{N: n, Value: ms(e.Latency.Mean())}
	effective := float64(n) * e.ratio()
	if e.MeanSD <= 0 || effective < minMeanSamples {
		r.Text = fmt.Sprintf("mean %v of %d: a verdict needs %d independent samples and their spread", e.Latency.Mean(), n, minMeanSamples)
		return r
	}
	mean, se := *r.Value, e.MeanSD.Seconds()*1000/math.Sqrt(effective)
	r.Low, r.High = ptr(mean-1.959964*se), ptr(mean+1.959964*se)
	r.Verdict, r.Confidence = judgeNormal(mean, se, t.Time.Seconds()*1000)
	r.Text = fmt.Sprintf("mean %.3f ms ± %.3f, bound %v", mean, 1.959964*se, t.Time)
	return r
}

// evaluateGoodput takes the count of good responses as a Poisson count: its standard error is the root of the count.
func evaluateGoodput(t Term, e Evidence) TermResult {
	if e.Seconds <= 0 {
		return TermResult{Text: "no window"}
	}
	rate := float64(e.Good) / e.Seconds
	se := math.Sqrt(float64(e.Good)/e.ratio()) / e.Seconds
	verdict, confidence := judgeNormal(-rate, math.Max(se, 1/e.Seconds), -t.PerSec)
	return TermResult{Verdict: verdict, Confidence: confidence, Value: &rate, Low: ptr(max(0, rate-1.959964*se)), High: ptr(rate + 1.959964*se), N: e.Good,
		Text: fmt.Sprintf("%d good in %s s = %.4g/s, bound %s", e.Good, strconv.FormatFloat(e.Seconds, 'f', -1, 64), rate, t.bound())}
}

// judgeNormal asks whether a normal estimate proves to lie below or above a bound.
func judgeNormal(value, se, bound float64) (Verdict, *float64) {
	below := distuv.UnitNormal.CDF((bound - value) / se)
	switch {
	case below >= Confidence:
		return Pass, &below
	case 1-below >= Confidence:
		return Fail, ptr(1 - below)
	default:
		return NoEvidence, nil
	}
}

func ms(d time.Duration) *float64 { return ptr(d.Seconds() * 1000) }

func ptr(v float64) *float64 { return &v }
