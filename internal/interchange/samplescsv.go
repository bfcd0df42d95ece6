package interchange

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// table is a CSV in which every record is one sample.
type table struct {
	rows    rows
	columns map[string]int // by header; empty where the form has none
	width   int
}

// openTable reads the header and demands some of its columns.
func openTable(in *bufio.Reader, delim byte, needed ...string) (*table, error) {
	t := &table{rows: rows{in: in, delim: delim}, columns: map[string]int{}}
	fields, err := t.rows.next()
	if err == io.EOF {
		return nil, faultAt(0, "check that the tool ended its run", "the file is empty")
	}
	if err != nil {
		return nil, faultAt(1, "check that the file is whole", "%v", err)
	}
	for i, f := range fields {
		t.columns[string(f)] = i
	}
	t.width = len(fields)
	for _, name := range needed {
		if _, ok := t.columns[name]; !ok {
			return nil, faultAt(1, "check the tool and its version", "no column %q", name)
		}
	}
	return t, nil
}

// each calls visit for every record. A last record that is cut off is left out and told by its return.
func (t *table) each(visit func(fields [][]byte) error) (cut bool, err error) {
	for {
		fields, err := t.rows.next()
		switch {
		case err == io.EOF:
			return false, nil
		case err == errOpenQuote || (err == nil && len(fields) < t.width && !t.rows.ended):
			return true, nil
		case err != nil:
			return false, faultAt(t.rows.line, "check that the file is whole", "%v", err)
		case len(fields) == 1 && len(fields[0]) == 0:
			continue
		case len(fields) < t.width:
			return false, faultAt(t.rows.line, "check that the file is whole", "%d fields, want %d", len(fields), t.width)
		}
		if err := visit(fields); err != nil {
			return false, err
		}
	}
}

// seconds reads a decimal number of seconds.
func (t *table) seconds(name string, text []byte) (time.Duration, error) {
	return t.number(name, text, float64(time.Second))
}

// number reads a non-negative decimal number and scales it to ns.
func (t *table) number(name string, text []byte, unit float64) (time.Duration, error) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v >= 0) || v*unit > math.MaxInt64/2 {
		return 0, faultAt(t.rows.line, "check the file", "%s: found %q, want a number of at least 0", name, clip(string(text)))
	}
	return time.Duration(math.Round(v * unit)), nil
}

// finish turns a fold into cells, or says that nothing was found.
func finish(f *fold, about record.Imported, cut bool) ([]record.Cell, error) {
	if f.count == 0 {
		return nil, faultAt(0, "check that the tool ended its run", "no samples")
	}
	if cut {
		about.Caveats = append(about.Caveats, record.ImportCaveat{Code: "truncated", Text: "the last record is cut off, and left out"})
	}
	return f.cells(about), nil
}

func caveat(code, text string) record.ImportCaveat {
	return record.ImportCaveat{Code: code, Text: text}
}

const heyHeader = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset"

// heyMost is the number of samples after which hey keeps none.
const heyMost = 1_000_000

func readHeyCSV(in *bufio.Reader) ([]record.Cell, error) {
	t, err := openTable(in, ',', "response-time", "status-code", "offset")
	if err != nil {
		return nil, err
	}
	f := newFold()
	cut, err := t.each(func(fields [][]byte) error {
		latency, err := t.seconds("response-time", fields[t.columns["response-time"]])
		if err != nil {
			return err
		}
		start, err := t.seconds("offset", fields[t.columns["offset"]])
		if err != nil {
			return err
		}
		status, _ := integer(fields[t.columns["status-code"]])
		return atLine(f.add(sample{start: int64(start), latency: latency, outcome: record.OutcomeOfStatus(int(status)), code: statusCode(int(status))}), t.rows.line)
	})
	if err != nil {
		return nil, err
	}
	about := record.Imported{Tool: "hey", Variant: "CSV", Latency: record.LatencyMeaning{From: "connect", Connect: true},
		Caveats: []record.ImportCaveat{
			caveat("errors-missing", "hey writes no row for transport errors: their share is unknown"),
			caveat("resolution", "times have four decimals of a second: 0.1 ms"),
		}}
	if f.count >= heyMost {
		about.Caveats = append(about.Caveats, caveat("samples-capped", "hey keeps its first 1 000 000 samples only: the rest of the run is missing"))
	}
	return finish(f, about, cut)
}

const ohaHeader = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status"

func readOhaCSV(in *bufio.Reader) ([]record.Cell, error) {
	t, err := openTable(in, ',', "request-start", "request-duration", "status")
	if err != nil {
		return nil, err
	}
	f := newFold()
	cut, err := t.each(func(fields [][]byte) error {
		start, err := t.seconds("request-start", fields[t.columns["request-start"]])
		if err != nil {
			return err
		}
		latency, err := t.seconds("request-duration", fields[t.columns["request-duration"]])
		if err != nil {
			return err
		}
		status, _ := integer(fields[t.columns["status"]])
		return atLine(f.add(sample{start: int64(start), latency: latency, outcome: record.OutcomeOfStatus(int(status)), code: statusCode(int(status))}), t.rows.line)
	})
	if err != nil {
		return nil, err
	}
	return finish(f, record.Imported{Tool: "oha", Variant: "CSV", Latency: record.LatencyMeaning{From: "connect", Connect: true},
		Caveats: []record.ImportCaveat{caveat("errors-missing", "oha writes rows of answered requests only: the share of errors is unknown")}}, cut)
}

// readAbTSV reads what ab -g wrote: sorted by total time, whole milliseconds, stamps in whole seconds.
func readAbTSV(in *bufio.Reader) ([]record.Cell, error) {
	t, err := openTable(in, '\t', "seconds", "ttime")
	if err != nil {
		return nil, err
	}
	f := newFold()
	cut, err := t.each(func(fields [][]byte) error {
		start, ok := integer(fields[t.columns["seconds"]])
		latency, ok2 := integer(fields[t.columns["ttime"]])
		if !ok || !ok2 {
			return faultAt(t.rows.line, "check the file", "seconds and ttime: found %q and %q, want whole numbers",
				clip(string(fields[t.columns["seconds"]])), clip(string(fields[t.columns["ttime"]])))
		}
		if start > farthest/int64(time.Second) {
			return atLine(errTime, t.rows.line)
		}
		return atLine(f.add(sample{start: start * int64(time.Second), latency: time.Duration(milliseconds(latency)), outcome: record.Success}), t.rows.line)
	})
	if err != nil {
		return nil, err
	}
	return finish(f, record.Imported{Tool: "ab", Variant: "-g", Latency: record.LatencyMeaning{From: "connect", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{
			caveat("errors-included", "ab -g does not tell failures from successes: all rows count as successes"),
			caveat("resolution", "times are whole milliseconds, stamps whole seconds: the window may be off by a second"),
		}}, cut)
}

// vegetaFields is the number of columns that vegeta encode -to csv writes, without header.
const vegetaFields = 12

func readVegetaCSV(in *bufio.Reader) ([]record.Cell, error) {
	t := &table{rows: rows{in: in, delim: ','}, width: vegetaFields}
	v := newVegeta()
	cut, err := t.each(func(fields [][]byte) error {
		start, ok := integer(fields[0])
		code, ok2 := integer(fields[1])
		latency, ok3 := integer(fields[2])
		if !ok || !ok2 || !ok3 {
			return faultAt(t.rows.line, "check that this is vegeta encode's CSV", "found %q, want time, status and latency as whole numbers",
				clip(string(bytes.Join(fields[:3], []byte{','}))))
		}
		return atLine(v.add(start, latency, int(code), fields[5], fields[7]), t.rows.line)
	})
	if err != nil {
		return nil, err
	}
	return v.finish("CSV", cut)
}

// vegeta keeps the attacks of a file apart: their gap is no time of load.
type vegeta struct {
	folds map[string]*fold
	order []string
}

func newVegeta() *vegeta { return &vegeta{folds: map[string]*fold{}} }

func (v *vegeta) add(start, latency int64, code int, text, attack []byte) error {
	f := v.folds[string(attack)]
	if f == nil {
		f = newFold()
		v.folds[string(attack)] = f
		v.order = append(v.order, string(attack))
	}
	s := sample{start: start, latency: time.Duration(latency), outcome: record.OutcomeOfStatus(code), code: statusCode(code)}
	if code == 0 {
		s.outcome, s.code = errorOutcome(text), text
	}
	return f.add(s)
}

func (v *vegeta) finish(variant string, cut bool) ([]record.Cell, error) {
	var out []record.Cell
	for _, name := range v.order {
		about := record.Imported{Tool: "vegeta", Variant: variant, Latency: record.LatencyMeaning{From: "connect", Connect: true}}
		if len(v.order) > 1 {
			about.Caveats = append(about.Caveats, caveat("several-attacks", fmt.Sprintf("attack %q of %d in the file, kept apart", name, len(v.order))))
		}
		cells, err := finish(v.folds[name], about, cut)
		if err != nil {
			return nil, err
		}
		for _, c := range cells {
			c.Index = len(out)
			if len(v.order) > 1 {
				c.Setting = record.Setting{{Name: "attack", Value: name}}
			}
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, faultAt(0, "check that the attack ran", "no samples")
	}
	return out, nil
}

// k6Factor gives the ns of one unit of a k6 stamp by its number of digits: seconds unless there are more.
func k6Factor(digits int) int64 {
	switch {
	case digits >= 19:
		return 1
	case digits >= 16:
		return int64(time.Microsecond)
	case digits >= 13:
		return int64(time.Millisecond)
	default:
		return int64(time.Second)
	}
}

func readK6CSV(in *bufio.Reader) ([]record.Cell, error) {
	t, err := openTable(in, ',', "metric_name", "timestamp", "metric_value")
	if err != nil {
		return nil, err
	}
	k := &k6{fold: newFold()}
	field := func(fields [][]byte, name string) []byte {
		if i, ok := t.columns[name]; ok {
			return fields[i]
		}
		return nil
	}
	cut, err := t.each(func(fields [][]byte) error {
		name := string(field(fields, "metric_name"))
		if !slices.Contains(k6Metrics, name) {
			return nil
		}
		value, err := strconv.ParseFloat(string(field(fields, "metric_value")), 64)
		if err != nil {
			return faultAt(t.rows.line, "check the file", "metric_value: found %q, want a number", clip(string(field(fields, "metric_value"))))
		}
		stamp, err := k6Stamp(field(fields, "timestamp"))
		if err != nil {
			return faultAt(t.rows.line, "write with K6_CSV_TIME_FORMAT=unix_milli", "%v", err)
		}
		code, _ := integer(field(fields, "error_code"))
		status, _ := integer(field(fields, "status"))
		return atLine(k.point(k6Point{metric: name, value: value, end: stamp, status: int(status), code: int(code), text: field(fields, "error")}), t.rows.line)
	})
	if err != nil {
		return nil, err
	}
	return k.finish("CSV", cut)
}

func k6Stamp(text []byte) (int64, error) {
	if n, ok := integer(text); ok && len(text) >= 10 {
		if factor := k6Factor(len(text)); n <= farthest/factor {
			return n * factor, nil
		}
		return 0, errTime
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return 0, fmt.Errorf("timestamp: found %q, want a Unix time or RFC 3339", clip(string(text)))
	}
	return t.UnixNano(), nil
}
