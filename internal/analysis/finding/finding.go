// Package finding holds the words in which Loadline says what it found: findings (a diagnosed condition with its evidence) and caveats
// (a reason to doubt a figure), each with a stable code and a meaning. It knows no rule; the packages that diagnose do.
package finding

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	Info     Severity = "info"     // good to know
	Warning  Severity = "warning"  // costs throughput or latency
	Critical Severity = "critical" // the service does not do its work
)

// Finding is a diagnosed condition.
type Finding struct {
	Code     Code           `json:"code"`
	Severity Severity       `json:"severity"`
	Text     string         `json:"text"`                 // a sentence with the figures
	Evidence map[string]any `json:"evidence"`             // the figures by name, the unit last in the name; never nil in a result
	Next     string         `json:"next,omitempty"`       // what to do or to look at
	Refute   string         `json:"refuted_by,omitempty"` // what one would see if it were not so
}

// Caveat is a reason to doubt a figure of a cell.
type Caveat struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// Code is a stable name: lower-case words with hyphens.
type Code string
