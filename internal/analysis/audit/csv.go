package audit

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Table is what ParseCSV found in a file.
type Table struct {
	Rows    []Row
	Ignored []string // columns that are not known, in the file's order
}

// ParseError is a fault in a CSV file. Line and Column count from 1; Column is the number of the field, 0 where the whole line is meant.
type ParseError struct {
	Line, Column int
	Name         string // of the column, where it is known
	Problem      string // what was found, what is allowed and what to do
}

// Error names line, column and problem.
func (e *ParseError) Error() string {
	at := fmt.Sprintf("line %d", e.Line)
	if e.Column > 0 {
		at += fmt.Sprintf(", column %d", e.Column)
	}
	if e.Name != "" {
		at += fmt.Sprintf(" (%q)", e.Name)
	}
	return at + ": " + e.Problem
}

// setter puts one cell's text into a row; the error says what was found and what is allowed.
type setter func(row *Row, text string) error

// column is one known column: its full name, the name without unit, and where its figures go.
type column struct {
	base string // without the unit
	unit string // suffix, empty for counts
	set  setter
}

func (c column) name() string {
	if c.unit == "" {
		return c.base
	}
	return c.base + "_" + c.unit
}

// columns are the names that ParseCSV knows, percentiles apart.
var columns = []column{
	{"scenario", "", func(r *Row, s string) error { r.Scenario = s; return nil }},
	{"policy", "", func(r *Row, s string) error { r.Policy = s; return nil }},
	{"queue", "", setQueue},
	figure("concurrency", "", func(r *Row) *Figure { return &r.Concurrency }),
	figure("slots", "", func(r *Row) *Figure { return &r.Slots }),
	figure("core", "", func(r *Row) *Figure { return &r.Core }),
	figure("max", "", func(r *Row) *Figure { return &r.Max }),
	figure("think", "ms", func(r *Row) *Figure { return &r.ThinkMS }),
	figure("service_time", "ms", func(r *Row) *Figure { return &r.ServiceTimeMS }),
	figure("requests", "", func(r *Row) *Figure { return &r.Requests }),
	figure("failed", "", func(r *Row) *Figure { return &r.Failed }),
	figure("seconds", "", func(r *Row) *Figure { return &r.Seconds }),
	figure("rps", "", func(r *Row) *Figure { return &r.RPS }),
	figure("tps", "", func(r *Row) *Figure { return &r.TPS }),
	figure("rps_completed", "", func(r *Row) *Figure { return &r.RPSCompleted }),
	figure("rejected", "pct", func(r *Row) *Figure { return &r.RejectedPct }),
	figure("mean", "ms", func(r *Row) *Figure { return &r.MeanMS }),
	figure("cpu", "pct", func(r *Row) *Figure { return &r.CPUPct }),
	figure("context_switches", "per_s", func(r *Row) *Figure { return &r.ContextSwitchesPerSec }),
}

// unitSuffixes are endings that tell a unit. A known name with one of these in place of its own is refused, since a figure in the wrong
// unit would be judged without a word.
var unitSuffixes = []string{"ns", "us", "µs", "micros", "ms", "msec", "millis", "s", "sec", "secs", "seconds", "min", "mins", "minutes", "h", "hours",
	"pct", "percent", "ratio", "share", "fraction", "ppm", "per_s", "per_sec", "per_second", "per_ms", "per_min", "per_minute", "per_h", "per_hour"}

// otherMeanings are names that look like a known count with a unit and mean something else: the longest response, the wait in a queue.
// They are ignored and listed.
var otherMeanings = map[string]bool{"max": true, "queue": true, "core": true}

func figure(base, unit string, at func(*Row) *Figure) column {
	return column{base, unit, func(r *Row, s string) error {
		v, err := parseNumber(s)
		if err != nil {
			return err
		}
		*at(r) = Known(v)
		return nil
	}}
}

func setQueue(r *Row, s string) error {
	if strings.EqualFold(s, "unbounded") {
		r.Queue = Known(math.Inf(1))
		return nil
	}
	v, err := parseNumber(s)
	if err != nil {
		return fmt.Errorf("%w, or \"unbounded\"", err)
	}
	r.Queue = Known(v)
	return nil
}

func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("found %q, allowed: a plain number such as 4200 or 47.6, or a blank for unknown", s)
	}
	return v, nil
}

// percentileColumn knows p50 … p99, p999, p9999 and so on: two digits are a percentage, three and more, beginning with a nine, a
// decimal fraction.
func percentileColumn(base string) (setter, bool) {
	digits := strings.TrimPrefix(base, "p")
	if digits == base || len(digits) < 2 || len(digits) > 6 || (len(digits) > 2 && digits[0] != '9') {
		return nil, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 {
		return nil, false
	}
	q := float64(n) / math.Pow10(len(digits))
	return func(r *Row, s string) error {
		v, err := parseNumber(s)
		if err != nil {
			return err
		}
		r.Percentiles = append(r.Percentiles, Percentile{Name: base, Q: q, MS: v})
		return nil
	}, true
}

// lookup finds a column by its name in the file. known is false for columns to be ignored; the error refuses a known name in another unit.
func lookup(name string) (set setter, known bool, err error) {
	if strings.HasSuffix(name, "_ms") {
		if set, ok := percentileColumn(strings.TrimSuffix(name, "_ms")); ok {
			return set, true, nil
		}
	}
	for _, c := range columns {
		if name == c.name() {
			return c.set, true, nil
		}
	}
	base, unit, ok := cutUnit(name)
	if !ok || otherMeanings[base] {
		return nil, false, nil
	}
	if _, isPercentile := percentileColumn(base); isPercentile {
		return nil, false, wrongUnit(base, unit, base+"_ms")
	}
	for _, c := range columns {
		if base == c.base && c.base != "scenario" && c.base != "policy" {
			return nil, false, wrongUnit(base, unit, c.name())
		}
	}
	return nil, false, nil
}

func wrongUnit(base, unit, want string) error {
	return fmt.Errorf("found %s in the unit %q, allowed: %s; convert the figures and rename the column", base, unit, want)
}

// cutUnit splits the longest unit suffix off a name.
func cutUnit(name string) (base, unit string, ok bool) {
	for _, u := range unitSuffixes {
		if b, cut := strings.CutSuffix(name, "_"+u); cut && len(u) > len(unit) {
			base, unit, ok = b, u, true
		}
	}
	return base, unit, ok
}

// ParseCSV reads a table with a header line. Known names are those of docs/formats/audit.md; a known name with another unit suffix is
// refused, other columns are ignored and listed, a blank is unknown. Names may be in any case, and spaces around cells do not count.
// Errors in the file are *ParseError.
func ParseCSV(r io.Reader) (Table, error) {
	in := bufio.NewReader(r)
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3) // cannot fail: the bytes were peeked
	}
	cr := csv.NewReader(in)
	cr.TrimLeadingSpace = true
	header, err := cr.Read()
	if errors.Is(err, io.EOF) {
		return Table{}, &ParseError{Line: 1, Problem: "the file is empty; the first line must name the columns, such as scenario,concurrency,tps,p99_ms"}
	}
	if err != nil {
		return Table{}, csvFault(err)
	}
	head, err := parseHeader(header, lineOf(cr))
	if err != nil {
		return Table{}, err
	}
	return head.readRows(cr)
}

// header is the meaning of each field; nil for an ignored column.
type header struct {
	names          []string
	setters        []setter
	ignored        []string
	refusalsBeside bool
}

func parseHeader(fields []string, line int) (header, error) {
	h := header{names: make([]string, len(fields)), setters: make([]setter, len(fields))}
	seen := map[string]int{}
	figures := 0
	for i, field := range fields {
		name := strings.ToLower(strings.TrimSpace(field))
		h.names[i] = name
		set, known, err := lookup(name)
		if err != nil {
			return header{}, &ParseError{Line: line, Column: i + 1, Name: name, Problem: err.Error()}
		}
		if !known {
			h.ignored = append(h.ignored, strings.TrimSpace(field))
			continue
		}
		if first, twice := seen[name]; twice {
			return header{}, &ParseError{Line: line, Column: i + 1, Name: name, Problem: fmt.Sprintf("the name stands in column %d already; each may stand once", first)}
		}
		seen[name] = i + 1
		h.setters[i] = set
		if name != "scenario" && name != "policy" {
			figures++
		}
	}
	if figures == 0 {
		return header{}, &ParseError{Line: line, Problem: fmt.Sprintf("none of the columns %q is a known figure; known, separated by commas: %s",
			fields, strings.Join(KnownColumns(), ", "))}
	}
	_, failed := seen["failed"]
	_, rejected := seen["rejected_pct"]
	h.refusalsBeside = failed || rejected
	return h, nil
}

func (h header) readRows(cr *csv.Reader) (Table, error) {
	t := Table{Ignored: h.ignored}
	for {
		fields, err := cr.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return Table{}, csvFault(err)
		}
		row := Row{Row: len(t.Rows) + 1, Line: lineOf(cr), RefusalsBeside: h.refusalsBeside}
		for i, text := range fields {
			text = strings.TrimSpace(text)
			if h.setters[i] == nil || text == "" {
				continue
			}
			if err := h.setters[i](&row, text); err != nil {
				return Table{}, &ParseError{Line: row.Line, Column: i + 1, Name: h.names[i], Problem: err.Error()}
			}
		}
		t.Rows = append(t.Rows, row)
	}
}

// KnownColumns lists the names that ParseCSV understands; percentiles stand as p50_ms … p999_ms.
func KnownColumns() []string {
	out := make([]string, 0, len(columns)+1)
	for _, c := range columns {
		out = append(out, c.name())
	}
	sort.Strings(out)
	return append(out, "p50_ms … p999_ms")
}

func lineOf(cr *csv.Reader) int {
	line, _ := cr.FieldPos(0)
	return line
}

// csvFault turns the reader's error into ours; other errors (of the source) pass with context.
func csvFault(err error) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return fmt.Errorf("read table: %w", err)
	}
	problem := pe.Err.Error()
	if errors.Is(pe.Err, csv.ErrFieldCount) {
		problem = "the line has another number of fields than the header; blanks still need their commas"
	}
	return &ParseError{Line: pe.Line, Problem: problem}
}
