// Package floors holds the house plan as data: on which floor each package lives. Its test reads the module's imports and fails
// where one points upwards or sideways without being listed, where a package is not in the table, and where a pure floor reads a
// clock, starts a goroutine or does I/O. docs/architecture.md describes the floors in words.
//
// A failing test is mended by moving code, not by editing this table to fit.
package floors

// Floor is a level of the house; imports go down only.
type Floor int

// The floors.
const (
	Rules     Floor = iota // types, parsing, formulas, decision machines: pure
	Questions              // analysis: pure
	Library                // the public isolation library: clock and goroutines
	Edges                  // I/O: load, observation, processes, storage, rendering
	Works                  // wire the rest, own life cycles
	Door                   // the command line
)

// Package is a line of the plan. Path is relative to the module; a trailing /... covers what lies below.
type Package struct {
	Path     string
	Floor    Floor
	Sideways []string // packages on the same floor that it may import
}

// Plan is the table.
func Plan() []Package {
	return append(append(append(rules(), questions()...), library()...), upper()...)
}

func rules() []Package {
	return []Package{
		{Path: "internal/policy", Floor: Rules},
		{Path: "internal/buckets", Floor: Rules},
		{Path: "internal/hist", Floor: Rules, Sideways: []string{"internal/buckets"}},
		{Path: "internal/record", Floor: Rules, Sideways: []string{"internal/hist"}},
		{Path: "internal/plan", Floor: Rules, Sideways: []string{"internal/record", "internal/schedule"}},
		{Path: "internal/schedule", Floor: Rules},
		{Path: "internal/stat", Floor: Rules},
		{Path: "internal/queueing", Floor: Rules},
		{Path: "internal/parse/...", Floor: Rules, Sideways: []string{"internal/record", "internal/hist", "internal/parse/..."}},
		{Path: "internal/floors", Floor: Rules},
	}
}

func questions() []Package {
	return []Package{
		{Path: "internal/analysis", Floor: Questions, Sideways: []string{"internal/analysis/..."}},
		{Path: "internal/analysis/...", Floor: Questions, Sideways: []string{"internal/analysis/..."}},
	}
}

func library() []Package {
	return []Package{
		{Path: "internal/coarse", Floor: Library},
		{Path: "pool", Floor: Library, Sideways: []string{"internal/coarse"}},
		{Path: "bulkhead", Floor: Library, Sideways: []string{"internal/coarse"}},
		{Path: "breaker", Floor: Library, Sideways: []string{"internal/coarse"}},
		{Path: "command", Floor: Library, Sideways: []string{"internal/coarse", "pool", "bulkhead", "breaker"}},
		{Path: "registry", Floor: Library, Sideways: []string{"internal/coarse", "pool", "bulkhead", "breaker", "command"}},
		{Path: "registry/file", Floor: Library, Sideways: []string{"registry"}},
		{Path: "metrics/prometheus", Floor: Library, Sideways: []string{"registry", "pool", "bulkhead", "breaker", "command"}},
	}
}

func upper() []Package {
	return []Package{
		{Path: "internal/load/...", Floor: Edges, Sideways: []string{"internal/load/..."}},
		{Path: "internal/observe/...", Floor: Edges, Sideways: []string{"internal/observe/..."}},
		{Path: "internal/launch", Floor: Edges},
		{Path: "internal/archive", Floor: Edges},
		{Path: "internal/report", Floor: Edges},
		{Path: "internal/interchange/...", Floor: Edges, Sideways: []string{"internal/interchange/..."}},
		{Path: "internal/lab/...", Floor: Edges, Sideways: []string{"internal/lab/..."}},
		{Path: "internal/experiment", Floor: Works},
		{Path: "internal/cli/...", Floor: Door, Sideways: []string{"internal/cli/..."}},
		{Path: "cmd/loadline", Floor: Door, Sideways: []string{"internal/cli"}},
	}
}
