package compare

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// aliases are the short names that conditions use.
var aliases = map[string]Metric{
	"throughput": Throughput, "completed": Throughput, "success": Success, "goodput": Goodput, "p50": P50, "p99": P99, "rejected": Rejected,
	"cpu": CPUPerRequest, "switches": SwitchesPerRequest,
}

// Condition is one change that fails a comparison, such as p99>+10%.
type Condition struct {
	Metric Metric
	// Above and Threshold: fail where the change is above (below) the threshold, a ratio; for rejected it is in points.
	Above     bool
	Threshold float64
	text      string
}

// String is the condition as it was written.
func (c Condition) String() string { return c.text }

// ParseFailOn reads conditions separated by commas: a metric, > or <, a signed percentage. Faults of all are joined.
func ParseFailOn(text string) ([]Condition, error) {
	var out []Condition
	var faults []error
	for i, part := range strings.Split(text, ",") {
		c, err := parseCondition(strings.TrimSpace(part))
		if err != nil {
			faults = append(faults, fmt.Errorf("condition %d: %w", i+1, err))
			continue
		}
		out = append(out, c)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return out, nil
}

func parseCondition(text string) (Condition, error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return Condition{}, fmt.Errorf("%q has no < or >; allowed: p99>+10%% or throughput<-5%%", text)
	}
	name := strings.ToLower(strings.TrimSpace(text[:at]))
	m, ok := aliases[name]
	if !ok {
		m, ok = exactMetric(name)
	}
	if !ok {
		return Condition{}, fmt.Errorf("unknown metric %q; allowed: %s", name, strings.Join(aliasNames(), ", "))
	}
	value, cut := strings.CutSuffix(strings.TrimSpace(text[at+1:]), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !cut || math.IsNaN(v) || math.IsInf(v, 0) {
		return Condition{}, fmt.Errorf("%q: found %q, allowed: a signed percentage such as +10%%", text, text[at+1:])
	}
	c := Condition{Metric: m, Above: text[at] == '>', Threshold: v / 100, text: text}
	if (c.Above && v < 0) || (!c.Above && v > 0) {
		return Condition{}, fmt.Errorf("%q would fail without any change; write > with a rise or < with a fall", text)
	}
	return c, nil
}

func exactMetric(name string) (Metric, bool) {
	for _, m := range Metrics() {
		if string(m) == name {
			return m, true
		}
	}
	return "", false
}

func aliasNames() []string {
	out := make([]string, 0, len(aliases))
	for n := range aliases {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// ConditionResult is a condition held against all cells.
type ConditionResult struct {
	Condition string   `json:"condition"`
	Failed    bool     `json:"failed"`
	Evaluated int      `json:"evaluated"` // cells in which the metric is known on both sides and nothing stands against judging; 0: no evidence
	Cells     []string `json:"cells"`     // that failed it, each with its figures
}

// evaluate fails a condition where the change passes the threshold and is not within noise. Where noise is unknown the change alone
// decides, since asking for a threshold asks for a decision; the text says that it is unrepeated.
func (c Condition) evaluate(cells []CellComparison) ConditionResult {
	out := ConditionResult{Condition: c.text, Cells: []string{}}
	for _, cell := range cells {
		for _, m := range cell.Metrics {
			if m.Metric != c.Metric || m.doubt != "" {
				continue
			}
			out.Evaluated++
			if c.passes(m) && m.Verdict != WithinNoise {
				out.Failed = true
				out.Cells = append(out.Cells, fmt.Sprintf("%s at %s: %s", cell.Setting, cell.Load, m.Text))
			}
		}
	}
	return out
}

// passes tells whether the change is beyond the threshold; from 0 any rise is.
func (c Condition) passes(m Comparison) bool {
	if m.Change == nil {
		return c.Above && m.B.Median > m.A.Median
	}
	if c.Above {
		return *m.Change > c.Threshold
	}
	return *m.Change < c.Threshold
}
