package audit

import (
	"fmt"
	"math"
)

// Verdict is what a check, or the worst check of a row, says. The zero value is Consistent.
type Verdict uint8

// The verdicts, from best to worst.
const (
	Consistent Verdict = iota // nothing contradicts anything
	Suspicious                // true only under an unusual reading, which the text names
	Impossible                // no reading saves it
)

var verdictNames = [...]string{"consistent", "suspicious", "impossible"}

// String is the name used in results.
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

// The laws, as they stand in results.
const (
	LawLittle          = "little"           // concurrency = rate × (response + pause)
	LawSlotCeiling     = "slot-ceiling"     // successes/s <= slots / service time
	LawPercentileMean  = "percentile-mean"  // what a mean and a percentile say of each other
	LawPercentileOrder = "percentile-order" // a higher percentile is not smaller
	LawQueueBound      = "queue-bound"      // pool and bounded queue explain only so long a wait
	LawSum             = "sum"              // parts add up to the whole
	LawRate            = "rate"             // requests / seconds = rate
	LawRange           = "range"            // ratios in 0…1, nothing below zero
	LawUtilisation     = "utilisation"      // no resource is busy more than all the time
)

// Check is one law applied to one row.
type Check struct {
	Law      string   `json:"law"`
	Verdict  Verdict  `json:"verdict"`
	Expected *float64 `json:"expected"` // what the law gives or allows, in Unit; nil where the law gives no single number
	Found    *float64 `json:"found"`    // what was reported, in Unit
	Unit     string   `json:"unit"`
	Text     string   `json:"text"` // the arithmetic
}

// RowVerdict is the verdict on one row: that of its worst check.
type RowVerdict struct {
	Row      int     `json:"row"`
	Scenario string  `json:"scenario"`
	Verdict  Verdict `json:"verdict"`
	Checks   []Check `json:"checks"` // every law that could be applied, kept or broken; empty where the row holds nothing to contradict
}

// Schema names the form of Report.
const Schema = "loadline.audit/1"

// Report is the result of `loadline audit`.
type Report struct {
	Schema         string       `json:"schema"`
	Rows           []RowVerdict `json:"rows"`
	IgnoredColumns []string     `json:"ignored_columns"`
}

// NewReport checks a table and gives the result file's content.
func NewReport(t Table, tolerance float64) Report {
	ignored := t.Ignored
	if ignored == nil {
		ignored = []string{}
	}
	return Report{Schema: Schema, Rows: CheckRows(t.Rows, tolerance), IgnoredColumns: ignored}
}

// check builds a Check with both numbers. What absurd input drives out of the range of a float is left unknown, since JSON has no word
// for it.
func check(law string, v Verdict, expected, found float64, unit, text string) Check {
	return Check{Law: law, Verdict: v, Expected: finite(expected), Found: finite(found), Unit: unit, Text: text}
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// verdictOf sums up the checks of a row.
func verdictOf(row int, scenario string, checks []Check) RowVerdict {
	out := RowVerdict{Row: row, Scenario: scenario, Checks: checks}
	if out.Checks == nil {
		out.Checks = []Check{}
	}
	for _, c := range checks {
		out.Verdict = max(out.Verdict, c.Verdict)
	}
	return out
}
