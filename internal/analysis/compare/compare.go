// Package compare puts runs side by side, cell by cell, and says which differences are more than noise.
//
// Opinions: only repeated runs tell what noise is. With four and more repeats on both sides a difference needs a rank test that survives
// Holm's correction for the number of comparisons, and a bootstrap interval over runs that excludes no change. A single run on each side
// knows the spread within the run only: overlapping intervals are within noise, anything else is reported as unrepeated. Runs from unlike
// environments are refused unless forced: their difference is mostly that of the machines.
//
// Sources: golang/perf, package benchmath (medians with order-statistic intervals, Mann–Whitney, no decision below the smallest possible p); B.
// Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993); S. Holm (1979).
package compare

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"

	"github.com/loadline-dev/loadline/internal/stat"
)

// Metric is a figure of a cell. Its name carries the unit.
type Metric string

// The metrics.
const (
	Throughput         Metric = "completed_per_s"
	Success            Metric = "success_per_s"
	Goodput            Metric = "goodput_per_s"
	P50                Metric = "p50_ms"
	P99                Metric = "p99_ms"
	Rejected           Metric = "rejected_ratio" // 0…1; compared in points, not in proportion
	CPUPerRequest      Metric = "cpu_ms_per_request"
	SwitchesPerRequest Metric = "context_switches_per_request"
)

// Metrics lists all in the order in which they are shown.
func Metrics() []Metric {
	return []Metric{Throughput, Success, Goodput, P50, P99, Rejected, CPUPerRequest, SwitchesPerRequest}
}

// moreIsBetter tells the good direction.
func (m Metric) moreIsBetter() bool { return m == Throughput || m == Success || m == Goodput }

// inPoints tells whether the metric is itself a ratio, whose change is a difference.
func (m Metric) inPoints() bool { return m == Rejected }

// Sample is one repeat of one cell. What is absent or NaN is unknown.
type Sample struct {
	Setting string // canonical text of the setting; cells match by it and Load
	Load    string // canonical text of the load
	// RatePerSec is the load of the open model, 0 in the closed one. Rates are often what was achieved and not what was asked, so that those
	// within 5 % match where none is the same.
	RatePerSec float64
	Values     map[Metric]float64
	// Within is the interval of a value inside this one run, such as that of a percentile by order statistics.
	Within map[Metric]stat.Interval
	// Doubt is why no verdict may rest on the sample, such as a load generator at its limit; empty: none.
	Doubt string
}

// Run is one run or archive.
type Run struct {
	Name        string
	Environment map[string]string // what figures depend on besides the plan; empty: unknown
	Samples     []Sample
	LeftOut     string // what of the run is not among the samples, and why; empty: nothing
}

// Config says how to compare. Zero fields take the defaults given.
type Config struct {
	Level  float64 // of the family of comparisons; default 0.05
	Rounds int     // of the bootstrap; default 2000
	Force  bool    // compare unlike environments
	FailOn []Condition
}

// Validate joins all faults and changes nothing.
func (c Config) Validate() error {
	var faults []error
	if c.Level != 0 && !(c.Level > 0 && c.Level < 0.5) {
		faults = append(faults, fmt.Errorf("level = %v: allowed is 0 for the default, or above 0 and below 0.5", c.Level))
	}
	if c.Rounds < 0 || c.Rounds > 1_000_000 {
		faults = append(faults, fmt.Errorf("rounds = %v: allowed is 0 for the default, to 1000000", c.Rounds))
	}
	return errors.Join(faults...)
}

const (
	defaultLevel  = 0.05
	defaultRounds = 2000
	// enough repeats a side for a rank test to reach 5 %: its smallest p is 0.029 for 4 and 4.
	enough = 4
)

// UnlikeError refuses runs whose environments differ.
type UnlikeError struct {
	A, B        string
	Differences []string // key: value of A against value of B
}

// Error lists the differences.
func (e *UnlikeError) Error() string {
	return fmt.Sprintf("%s and %s come from unlike environments (%s); compare runs of one machine, or force it", e.A, e.B, strings.Join(e.Differences, "; "))
}

// Verdict is what a comparison says. The zero value is NoEvidence.
type Verdict uint8

// The verdicts.
const (
	NoEvidence Verdict = iota // the values differ and too few repeats tell noise from change
	WithinNoise
	Better
	Worse
)

var verdictNames = [...]string{"no evidence", "within noise", "better", "worse"}

// String is the name used in results.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// MarshalText gives the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Side is one run's value of a metric in a cell.
type Side struct {
	Median float64  `json:"median"`
	Low    *float64 `json:"low"`  // 95 % interval of the median over repeats, or of the value within a single run; nil: unknown
	High   *float64 `json:"high"` // likewise
	N      int      `json:"n"`    // repeats
}

// Comparison is one metric of one cell.
type Comparison struct {
	Metric Metric `json:"metric"`
	A      Side   `json:"a"`
	B      Side   `json:"b"`
	// Change is B over A, less 1; for rejected_ratio B less A. nil where A is 0.
	Change     *float64 `json:"change"`
	ChangeLow  *float64 `json:"change_low"` // 95 % interval; nil: unknown
	ChangeHigh *float64 `json:"change_high"`
	P          *float64 `json:"p"`          // Mann–Whitney, two-sided; nil below two repeats
	PAdjusted  *float64 `json:"p_adjusted"` // by Holm, over all comparisons of the two runs
	Verdict    Verdict  `json:"verdict"`
	Text       string   `json:"text"`
	unrepeated bool
	doubt      string
}

// CellComparison is one cell that both runs have.
type CellComparison struct {
	Setting string       `json:"setting"`
	Load    string       `json:"load"`
	Metrics []Comparison `json:"metrics"`
}

// Pair is the baseline against one other run.
type Pair struct {
	A         string            `json:"a"`
	B         string            `json:"b"`
	Cells     []CellComparison  `json:"cells"`
	Unmatched []string          `json:"unmatched"` // cells that only one of them has
	FailOn    []ConditionResult `json:"fail_on"`
	Caveats   []string          `json:"caveats"`
}

// Schema names the form of Result.
const Schema = "loadline.compare/1"

// Result is the first run against each of the others.
type Result struct {
	Schema string `json:"schema"`
	Pairs  []Pair `json:"pairs"`
}

// Compare sets the first run, the baseline, against each of the others. It refuses fewer than two runs, and unlike environments
// (*UnlikeError) unless forced. The stream feeds the bootstrap; the same seed gives the same result.
func Compare(runs []Run, cfg Config, rng *rand.Rand) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	if len(runs) < 2 {
		return Result{}, fmt.Errorf("%d runs: allowed are 2 or more", len(runs))
	}
	if cfg.Level == 0 {
		cfg.Level = defaultLevel
	}
	if cfg.Rounds == 0 {
		cfg.Rounds = defaultRounds
	}
	out := Result{Schema: Schema}
	for _, b := range runs[1:] {
		p, err := pair(runs[0], b, cfg, rng)
		if err != nil {
			return Result{}, err
		}
		out.Pairs = append(out.Pairs, p)
	}
	return out, nil
}

func pair(a, b Run, cfg Config, rng *rand.Rand) (Pair, error) {
	out := Pair{A: a.Name, B: b.Name, Cells: []CellComparison{}, Unmatched: []string{}, FailOn: []ConditionResult{}, Caveats: []string{}}
	if diff := unlike(a.Environment, b.Environment); len(diff) > 0 {
		if !cfg.Force {
			return Pair{}, &UnlikeError{A: a.Name, B: b.Name, Differences: diff}
		}
		out.Caveats = append(out.Caveats, "the environments differ: "+strings.Join(diff, "; "))
	}
	if len(a.Environment) == 0 && len(b.Environment) == 0 {
		out.Caveats = append(out.Caveats, "nothing is known of the machines on which the runs took place")
	}
	for _, r := range []Run{a, b} {
		if r.LeftOut != "" {
			out.Caveats = append(out.Caveats, r.Name+": "+r.LeftOut)
		}
	}
	b.Samples = nearRates(a.Samples, b.Samples)
	ga, gb := group(a.Samples), group(b.Samples)
	for _, k := range keys(a.Samples, b.Samples) {
		if len(ga[k]) == 0 || len(gb[k]) == 0 {
			only := a.Name
			if len(ga[k]) == 0 {
				only = b.Name
			}
			out.Unmatched = append(out.Unmatched, fmt.Sprintf("%s at %s: only in %s", k.setting, k.load, only))
			continue
		}
		out.Cells = append(out.Cells, compareCell(k, ga[k], gb[k], cfg, rng))
	}
	adjust(out.Cells)
	least := judgeAll(out.Cells, cfg.Level)
	out.Caveats = append(out.Caveats, least...)
	for _, c := range cfg.FailOn {
		out.FailOn = append(out.FailOn, c.evaluate(out.Cells))
	}
	return out, nil
}

// unlike lists the keys whose values differ, in order.
func unlike(a, b map[string]string) []string {
	var out []string
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			out = append(out, fmt.Sprintf("%s: %s against %s", k, orUnknown(v), orUnknown(w)))
		}
	}
	for k, w := range b {
		if _, ok := a[k]; !ok {
			out = append(out, fmt.Sprintf("%s: unknown against %s", k, orUnknown(w)))
		}
	}
	sort.Strings(out)
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// key is what cells match by.
type key struct{ setting, load string }

func group(samples []Sample) map[key][]Sample {
	out := map[key][]Sample{}
	for _, s := range samples {
		k := key{s.Setting, s.Load}
		out[k] = append(out[k], s)
	}
	return out
}

// nearby is how far two rates may lie apart to be the same load.
const nearby = 0.05

// nearRates gives samples of b whose load a does not have the load of a's nearest rate at the same setting, if it is near and b has none of it.
func nearRates(a, b []Sample) []Sample {
	inA, inB := group(a), group(b)
	out := append([]Sample{}, b...)
	for i, s := range out {
		if s.RatePerSec <= 0 || len(inA[key{s.Setting, s.Load}]) > 0 {
			continue
		}
		best := nearby
		for _, other := range a {
			off := math.Abs(other.RatePerSec/s.RatePerSec - 1)
			if other.Setting == s.Setting && other.RatePerSec > 0 && off <= best && len(inB[key{other.Setting, other.Load}]) == 0 {
				best, out[i].Load = off, other.Load
			}
		}
	}
	return out
}

// keys keeps the order in which cells first appear.
func keys(lists ...[]Sample) []key {
	var out []key
	seen := map[key]bool{}
	for _, samples := range lists {
		for _, s := range samples {
			k := key{s.Setting, s.Load}
			if !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return out
}

func compareCell(k key, a, b []Sample, cfg Config, rng *rand.Rand) CellComparison {
	out := CellComparison{Setting: k.setting, Load: k.load, Metrics: []Comparison{}}
	for _, m := range Metrics() {
		va, vb := values(a, m), values(b, m)
		if len(va) == 0 || len(vb) == 0 {
			continue
		}
		c := Comparison{Metric: m, A: side(a, va, m), B: side(b, vb, m)}
		c.Change = change(m, c.A.Median, c.B.Median)
		c.doubt = doubt(a, b)
		c.interval(va, vb, cfg, rng)
		if len(va) > 1 && len(vb) > 1 {
			if p := stat.MannWhitneyU(va, vb).P; !math.IsNaN(p) {
				c.P = &p
			} else { // all values are equal
				one := 1.0
				c.P = &one
			}
		}
		out.Metrics = append(out.Metrics, c)
	}
	return out
}

// doubt is the first reason against a verdict, with its side.
func doubt(a, b []Sample) string {
	for _, side := range []struct {
		of      string
		samples []Sample
	}{{"A", a}, {"B", b}} {
		for _, s := range side.samples {
			if s.Doubt != "" {
				return fmt.Sprintf("%s in %s", s.Doubt, side.of)
			}
		}
	}
	return ""
}

// values are the known ones of a metric.
func values(samples []Sample, m Metric) []float64 {
	var out []float64
	for _, s := range samples {
		if v, ok := s.Values[m]; ok && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

func side(samples []Sample, v []float64, m Metric) Side {
	out := Side{Median: stat.Median(v), N: len(v)}
	i := stat.MedianInterval(v, 0.95)
	if len(v) == 1 {
		for _, s := range samples {
			if w, ok := s.Within[m]; ok {
				i = w
			}
		}
		if i.Level == 0 {
			i = stat.Interval{Low: math.NaN(), High: math.NaN()}
		}
	}
	out.Low, out.High = known(i.Low), known(i.High)
	return out
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// change is B over A less 1, or their difference for ratios.
func change(m Metric, a, b float64) *float64 {
	if m.inPoints() {
		return known(b - a)
	}
	if a == 0 && b == 0 {
		return known(0)
	}
	return known(b/a - 1)
}

// interval is the bootstrap's over runs where there are enough, and follows from the two runs' own intervals where each ran once.
func (c *Comparison) interval(a, b []float64, cfg Config, rng *rand.Rand) {
	switch {
	case len(a) >= enough && len(b) >= enough:
		i := stat.Bootstrap(a, b, func(x, y []float64) float64 {
			if v := change(c.Metric, stat.Median(x), stat.Median(y)); v != nil {
				return *v
			}
			return math.NaN()
		}, 0.95, cfg.Rounds, rng)
		c.ChangeLow, c.ChangeHigh = known(i.Low), known(i.High)
	case len(a) == 1 && len(b) == 1:
		c.unrepeated = true
		if c.A.High != nil && c.B.Low != nil {
			c.ChangeLow = change(c.Metric, *c.A.High, *c.B.Low)
		}
		if c.A.Low != nil && c.B.High != nil {
			c.ChangeHigh = change(c.Metric, *c.A.Low, *c.B.High)
		}
	}
}

// adjust corrects all p values of a pair together.
func adjust(cells []CellComparison) {
	var at []*Comparison
	var p []float64
	for i := range cells {
		for j := range cells[i].Metrics {
			if c := &cells[i].Metrics[j]; c.P != nil {
				at, p = append(at, c), append(p, *c.P)
			}
		}
	}
	for i, v := range stat.Holm(p) {
		at[i].PAdjusted = &v
	}
}

// judgeAll gives each comparison its verdict, and says what more repeats would be needed for.
func judgeAll(cells []CellComparison, level float64) []string {
	tests, fewest, unrepeated := 0, math.MaxInt, false
	var all []*Comparison
	for i := range cells {
		for j := range cells[i].Metrics {
			c := &cells[i].Metrics[j]
			all = append(all, c)
			unrepeated = unrepeated || c.unrepeated
			if c.P != nil {
				tests++
				fewest = min(fewest, c.A.N, c.B.N)
			}
		}
	}
	for _, c := range all {
		c.judge(level, tests)
	}
	var out []string
	if unrepeated {
		out = append(out, fmt.Sprintf("cells that ran once on each side know the spread within the run only: repeat them %d times or more to tell noise from change", enough))
	}
	if tests > 0 && stat.SmallestP(fewest, fewest)*float64(tests) > level {
		out = append(out, fmt.Sprintf("with %d repeats and %d comparisons no single difference can be significant at %g: repeat %d times, or compare fewer cells",
			fewest, tests, level, repeatsFor(tests, level)))
	}
	return out
}

// repeatsFor is the fewest repeats a side with which one of so many comparisons can be significant.
func repeatsFor(tests int, level float64) int {
	n := enough
	for stat.SmallestP(n, n)*float64(tests) > level && n < 100 {
		n++
	}
	return n
}

func (c *Comparison) judge(level float64, tests int) {
	equal := c.A.Median == c.B.Median
	switch {
	case c.doubt != "":
	case c.A.N >= enough && c.B.N >= enough:
		c.Verdict = c.judgeRepeated(level, tests)
	case c.unrepeated && (equal || (c.ChangeLow != nil && c.ChangeHigh != nil && c.includesNoChange())):
		c.Verdict = WithinNoise
	case c.unrepeated && ((c.ChangeLow != nil && *c.ChangeLow > 0) || (c.ChangeHigh != nil && *c.ChangeHigh < 0)):
		c.Verdict = c.direction()
	case equal:
		c.Verdict = WithinNoise
	}
	c.Text = c.describe()
}

// judgeRepeated leaves open what so many comparisons of so few repeats could never show, however clear it looks.
func (c *Comparison) judgeRepeated(level float64, tests int) Verdict {
	switch {
	case c.includesNoChange():
		return WithinNoise
	case *c.PAdjusted <= level:
		return c.direction()
	case stat.SmallestP(c.A.N, c.B.N)*float64(tests) > level:
		return NoEvidence
	default:
		return WithinNoise
	}
}

// includesNoChange tells whether the interval of the change holds 0; a missing bound excludes nothing.
func (c *Comparison) includesNoChange() bool {
	return !(c.ChangeLow != nil && *c.ChangeLow > 0) && !(c.ChangeHigh != nil && *c.ChangeHigh < 0)
}

func (c *Comparison) direction() Verdict {
	if (c.B.Median > c.A.Median) == c.Metric.moreIsBetter() {
		return Better
	}
	return Worse
}

func (c *Comparison) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %.4g → %.4g", c.Metric, c.A.Median, c.B.Median)
	if c.Change != nil {
		unit := " %"
		if c.Metric.inPoints() {
			unit = " points"
		}
		fmt.Fprintf(&b, " (%+.1f%s", *c.Change*100, unit)
		if c.ChangeLow != nil && c.ChangeHigh != nil {
			fmt.Fprintf(&b, ", %+.1f to %+.1f", *c.ChangeLow*100, *c.ChangeHigh*100)
		}
		b.WriteString(")")
	}
	if c.PAdjusted != nil {
		fmt.Fprintf(&b, ", p %.3g of %d and %d runs", *c.PAdjusted, c.A.N, c.B.N)
	}
	b.WriteString(": " + c.Verdict.String())
	if c.unrepeated && c.Verdict != WithinNoise {
		b.WriteString(", unrepeated")
	}
	if c.doubt != "" {
		b.WriteString(", " + c.doubt)
	}
	return b.String()
}
