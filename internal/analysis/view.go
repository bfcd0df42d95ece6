// Package analysis turns the facts of a run into figures, findings and caveats: the view model that every report renders and that
// loadline.run/1 writes as JSON. It reads no archive, no clock and no file; the same record gives the same Result.
//
// A nil figure is unknown or rests on too few samples; it is written as null and never as 0. Durations are milliseconds, ratios 0…1,
// rates per second. A Result is plain data: reading it from several goroutines is safe, changing it is not.
package analysis

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/audit"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/knee"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/record"
)

// Schema is the name of the result format (docs/formats/run.md).
const Schema = "loadline.run/1"

// Finding is a diagnosed condition with its evidence.
type Finding = finding.Finding

// Caveat is a reason to doubt a figure.
type Caveat = finding.Caveat

// Verdict is a cell's verdict on the SLO asked: pass, fail or no evidence, with its terms and what speaks against judging.
type Verdict = slo.Result

// Check is one law of the physical audit applied to one cell, with its arithmetic.
type Check = audit.Check

// Result is one run as it is shown and written.
type Result struct {
	Schema      string             `json:"schema"`
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	Started     time.Time          `json:"started"`
	Ended       *time.Time         `json:"ended"` // null while it goes on, or where it was killed
	Partial     bool               `json:"partial"`
	Interrupted string             `json:"interrupted,omitempty"`
	SLO         *string            `json:"slo"` // null: none asked
	Environment record.Environment `json:"environment"`
	Plan        json.RawMessage    `json:"plan"` // the plan as an object
	Cells       []CellResult       `json:"cells"`
	Settings    []SettingResult    `json:"settings"`
	Knee        *Knee              `json:"knee"`             // of the only setting, or of the best one
	LoadLine    *LoadLine          `json:"load_line"`        // likewise
	Search      []Searched         `json:"search,omitempty"` // of a search for the load line: its effort and doubts, setting by setting
}

// CellResult is one setting at one step, once.
type CellResult struct {
	Index         int                      `json:"index"`
	Setting       record.Setting           `json:"setting"`
	Repeat        int                      `json:"repeat"`
	Load          Load                     `json:"load"`
	Window        Window                   `json:"window"`
	Partial       bool                     `json:"partial"`
	Failure       string                   `json:"failure,omitempty"`
	Planned       int64                    `json:"planned"` // in the window; the sum of Outcomes
	Outcomes      Outcomes                 `json:"outcomes"`
	Codes         map[string]int64         `json:"codes,omitempty"` // sub-codes of what was not a success, inside the window
	Rates         Rates                    `json:"rates"`
	Latency       Latency                  `json:"latency_ms"`            // of successes
	LatencyAll    Latency                  `json:"latency_all_ms"`        // of every answered request
	LatencyBy     map[string]Latency       `json:"latency_by_outcome_ms"` // of each class that occurred
	RejectedRatio *float64                 `json:"rejected_ratio"`
	Generator     Generator                `json:"generator"`
	HostCPURatio  *float64                 `json:"host_cpu_ratio"` // of the whole machine, 1.0 = every core busy
	Services      map[string]ServiceResult `json:"services"`
	Steady        *Steady                  `json:"steady"` // null where it could not be judged
	SLO           *Verdict                 `json:"slo"`    // null where none was asked
	Checks        []Check                  `json:"checks"` // the physical audit
	Caveats       []Caveat                 `json:"caveats"`
	Findings      []Finding                `json:"findings"`
}

// Load is the load of a cell. Exactly one of Concurrency and RatePerSec is known.
type Load struct {
	Model       record.Model `json:"model"`
	Concurrency *int         `json:"concurrency"`
	RatePerSec  *float64     `json:"rate_per_s"`
	ThinkMS     *float64     `json:"think_ms"` // null in the open model
}

// String is the load in words, such as «200 users» or «1500/s».
func (l Load) String() string {
	switch {
	case l.Concurrency != nil:
		return strconv.Itoa(*l.Concurrency) + " users"
	case l.RatePerSec != nil:
		return strconv.FormatFloat(*l.RatePerSec, 'g', 6, 64) + "/s"
	default:
		return "unknown load"
	}
}

// Window is the measured time of a cell.
type Window struct {
	Seconds          float64 `json:"seconds"` // measured, without what was discarded
	DiscardedSeconds float64 `json:"discarded_seconds"`
	WarmupSeconds    float64 `json:"warmup_seconds"`
}

// Outcomes counts the requests planned inside the window by the class in which they ended. Every class is written, in the order of
// record.Outcomes.
type Outcomes [record.NumOutcomes]int64

// Rates are events inside the window divided by its length.
type Rates struct {
	Offered   *float64 `json:"offered_per_s"`   // requests planned
	Completed *float64 `json:"completed_per_s"` // answers received
	Success   *float64 `json:"success_per_s"`
	Goodput   *float64 `json:"goodput_per_s"` // successes within the SLO's latency bound; null where no SLO was asked
	Rejected  *float64 `json:"rejected_per_s"`
}

// Latency is a distribution. P99Low and P99High bound the true p99 with 95 % confidence (order statistics).
type Latency struct {
	N       int64    `json:"n"`
	Mean    *float64 `json:"mean"`
	P50     *float64 `json:"p50"`
	P90     *float64 `json:"p90"`
	P95     *float64 `json:"p95"`
	P99     *float64 `json:"p99"`
	P99Low  *float64 `json:"p99_low"`
	P99High *float64 `json:"p99_high"`
	P999    *float64 `json:"p999"`
	Max     *float64 `json:"max"`
}

// Generator is what the load generator used, and whether its figures can be believed.
type Generator struct {
	CPURatio     *float64 `json:"cpu_ratio"`      // 1.0 = one core
	LoopCPURatio *float64 `json:"loop_cpu_ratio"` // of its busiest sending thread
	CPUWaitRatio *float64 `json:"cpu_wait_ratio"` // share of the window for which a sending thread waited for a CPU
	LagP50MS     *float64 `json:"lag_p50_ms"`     // null in the closed model
	LagP99MS     *float64 `json:"lag_p99_ms"`
	Valid        bool     `json:"valid"`
	Why          []string `json:"why,omitempty"` // of an invalid cell
}

// What services used inside the window is computed by package observed.
type (
	ServiceResult = observed.Service
	Switches      = observed.Switches
	PoolResult    = observed.Pool
	Timing        = observed.Timing
)

// Steady tells whether the cell's figures had settled.
type Steady struct {
	Reached bool     `json:"reached"`
	Verdict string   `json:"verdict"` // steady, unsteady, too short
	Reasons []string `json:"reasons"` // what speaks against it
}

// SettingResult is what the steps of one setting say together.
type SettingResult struct {
	Setting  record.Setting `json:"setting"`
	Knee     *Knee          `json:"knee"`
	LoadLine *LoadLine      `json:"load_line"`
	Findings []Finding      `json:"findings"`
}

// Knee is where added load stops adding throughput in proportion.
type Knee struct {
	Load        float64         `json:"load"`        // in the unit of the steps
	Concurrency *float64        `json:"concurrency"` // the same in the closed model, null in the open one
	RatePerSec  *float64        `json:"rate_per_s"`  // successes per second there
	Low         *float64        `json:"low"`         // 95 % interval of the load
	High        *float64        `json:"high"`
	Method      string          `json:"method"`
	Text        string          `json:"text"`
	Estimates   []knee.Estimate `json:"estimates"` // what other definitions say
	Differ      string          `json:"differ"`    // and why they differ
	Caveats     []string        `json:"caveats"`
}

// LoadLine is the largest load whose SLO holds with the stated confidence.
type LoadLine struct {
	SLO          string     `json:"slo"`
	Concurrency  *int       `json:"concurrency"` // null in the open model
	RatePerSec   *float64   `json:"rate_per_s"`  // successes per second there
	Low          *float64   `json:"low"`         // the largest step that held, in the unit of the steps
	High         *float64   `json:"high"`        // the smallest step that did not; null where none failed
	BindingLimit *string    `json:"binding_limit"`
	Evidence     []Evidence `json:"evidence"`
}

// Evidence is one figure on which a statement rests.
type Evidence struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
	Text  string   `json:"text"`
}
