package interchange

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// readHdr tells a percentile spectrum (.hgrm) from an interval log (.hlog).
func readHdr(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	head, _ := in.Peek(4096)
	text := strings.TrimSpace(string(head))
	switch {
	case text == "":
		return nil, faultAt(0, "check that the run ended", "the file is empty")
	case strings.HasPrefix(text, "#[Histogram log format") || strings.Contains(text, "\"StartTimestamp\"") || strings.Contains(text, ",HISTFAAAA"):
		return readHlog(in)
	default:
		return readHgrm(in)
	}
}

// readHgrm reads a percentile spectrum: value in ms, fraction, cumulative count, 1/(1-fraction). Cumulative counts make it a histogram.
func readHgrm(in *bufio.Reader) ([]record.Cell, error) {
	s := record.Summary{}
	var p percentiles
	var count, seen int64
	err := eachLine(in, func(line int, text []byte, _ bool) error {
		row := strings.TrimSpace(string(text))
		if strings.HasPrefix(row, "#") || strings.HasPrefix(row, "-") || strings.HasPrefix(row, "Value") {
			hgrmFooter(row, &s)
			return nil
		}
		fields := strings.Fields(row)
		if len(fields) < 3 {
			return faultAt(line, "check that this is a percentile spectrum", "found %q, want Value Percentile TotalCount 1/(1-Percentile)", clip(row))
		}
		value, err1 := strconv.ParseFloat(fields[0], 64)
		q, err2 := strconv.ParseFloat(fields[1], 64)
		n, err3 := strconv.ParseInt(fields[2], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil || n < seen || q < 0 || q > 1 {
			return faultAt(line, "check that this is a percentile spectrum", "found %q, want rising values, fractions of 0 to 1 and rising counts", clip(row))
		}
		seen, count = n, n
		if q > 0 {
			p.add(q*100, value, time.Millisecond)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.Percentiles = p.sorted()
	s.Requests = figure(float64(count))
	if n := len(s.Percentiles); n > 0 && s.Max == nil {
		s.Max = &s.Percentiles[n-1].Value
	}
	if count == 0 {
		return nil, faultAt(0, "check that the run ended", "no samples")
	}
	return summaryCell(record.Imported{Tool: "hdr", Variant: "percentile spectrum", Latency: record.LatencyMeaning{From: "unknown", ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("meaning-unknown", "a spectrum does not say what its latencies cover, nor how long it was recorded; milliseconds are assumed")}},
		s, record.Load{Model: record.Closed})
}

// hgrmFooter reads «#[Mean = 1.2, StdDeviation = 0.3]» and «#[Max = 4.5, Total count = 100]».
func hgrmFooter(row string, s *record.Summary) {
	for part := range strings.SplitSeq(strings.Trim(row, "#[] "), ",") {
		name, value, ok := strings.Cut(part, "=")
		v := number(strings.TrimSpace(value))
		if !ok || v == nil {
			continue
		}
		switch strings.TrimSpace(name) {
		case "Mean":
			s.Mean = length(*v, time.Millisecond)
		case "StdDeviation":
			s.Stdev = length(*v, time.Millisecond)
		case "Max":
			s.Max = length(*v, time.Millisecond)
		}
	}
}

// hlogScale turns a stamp or interval length in seconds into ns.
const hlogScale = float64(time.Second)

// readHlog reads an interval log: start, length, max, and a compressed histogram a line. Values are taken as ns unless the log's own
// maximum, which is printed in ms, says otherwise.
func readHlog(in *bufio.Reader) ([]record.Cell, error) {
	c := record.Cell{Repeat: 1, Load: record.Load{Model: record.Closed}, Imported: &record.Imported{Tool: "hdr", Variant: "interval log",
		Latency: record.LatencyMeaning{From: "unknown", ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("meaning-unknown", "an interval log does not say what its latencies cover; all count as successes")}}}
	var first float64
	err := eachLine(in, func(line int, text []byte, whole bool) error {
		row := string(text)
		if strings.HasPrefix(row, "#") || strings.HasPrefix(row, "\"") {
			return nil
		}
		row = hlogTag(row)
		iv, start, err := hlogRow(row)
		if err != nil {
			if !whole {
				c.Imported.Caveats = append(c.Imported.Caveats, caveat("truncated", "the last record is cut off, and left out"))
				return nil
			}
			return faultAt(line, "check that this is an HdrHistogram log", "%v", err)
		}
		if len(c.Intervals) == 0 {
			first = start
		}
		shift := time.Duration((start - first) * hlogScale)
		iv.Start += shift
		iv.End += shift
		c.Window = max(c.Window, iv.End)
		c.Intervals = append(c.Intervals, iv)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(c.Intervals) == 0 {
		return nil, faultAt(0, "check that the run ended", "no intervals")
	}
	return []record.Cell{c}, nil
}

// hlogTag drops an optional «Tag=NAME,».
func hlogTag(row string) string {
	if strings.HasPrefix(row, "Tag=") {
		_, row, _ = strings.Cut(row, ",")
	}
	return row
}

func hlogRow(row string) (record.Interval, float64, error) {
	fields := strings.SplitN(row, ",", 4)
	if len(fields) != 4 {
		return record.Interval{}, 0, fmt.Errorf("found %q, want start,length,max,histogram", clip(row))
	}
	start, err1 := strconv.ParseFloat(fields[0], 64)
	seconds, err2 := strconv.ParseFloat(fields[1], 64)
	most, err3 := strconv.ParseFloat(fields[2], 64)
	if err1 != nil || err2 != nil || err3 != nil || !(seconds > 0) || seconds > 1e9 || !(math.Abs(start) < 1e10) {
		return record.Interval{}, 0, fmt.Errorf("found %q, want start, length and max as numbers", clip(row))
	}
	raw, err := hist.Decode([]byte(fields[3]), -1)
	if err != nil {
		return record.Interval{}, 0, err
	}
	h := rescale(raw, most)
	return record.Interval{Phase: record.Window, End: time.Duration(seconds * hlogScale), Planned: h.Count(),
		Classes: []record.Class{{Outcome: record.Success, Inside: true, Answered: true, Count: h.Count(), Latency: h, Held: h.Sum()}}}, start, nil
}

// rescale finds the unit of the values: the log prints the maximum divided by a ratio, by default ns shown as ms. Where the printed
// maximum is the recorded one divided by 1000, values are µs.
func rescale(h *hist.Histogram, most float64) *hist.Histogram {
	if most <= 0 || h.Count() == 0 {
		return h
	}
	if ratio := float64(h.Max()) / most; ratio < 500 || ratio > 5000 {
		return h
	}
	out := hist.New()
	for b := range h.All() {
		out.RecordN((b.From+(b.To-b.From)/2)*time.Microsecond, b.Count)
	}
	return out
}
