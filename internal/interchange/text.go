package interchange

import (
	"bufio"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// colours are the escapes that a terminal form carries.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

// plainText reads a text summary without colours.
func plainText(in *bufio.Reader) (string, error) {
	data, err := slurp(in)
	if err != nil {
		return "", err
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return "", faultAt(0, "check that the tool ended its run", "the file is empty")
	}
	return strings.ReplaceAll(colours.ReplaceAllString(string(data), ""), "\r\n", "\n"), nil
}

// after finds the number that follows a label at the start of a line.
func after(text, label string) *float64 {
	_, rest, ok := strings.Cut("\n"+text, "\n"+label)
	if !ok {
		return nil
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return nil
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(fields[0], "%"), 64)
	if err != nil {
		return nil
	}
	return figure(v)
}

// scaled reads «1.23ms» or «45.60k»: a number with one of the suffixes, longest first.
func scaled(text string, suffixes []suffix) (float64, bool) {
	for _, s := range suffixes {
		number, ok := strings.CutSuffix(text, s.text)
		if !ok {
			continue
		}
		if v, err := strconv.ParseFloat(number, 64); err == nil && figure(v) != nil {
			return v * s.factor, true
		}
	}
	return 0, false
}

type suffix struct {
	text   string
	factor float64
}

// wrk writes times to two decimals in us, ms, s, m or h, counts to base 1000 and bytes to base 1024.
var (
	wrkTimes = []suffix{{"us", 1e3}, {"ms", 1e6}, {"ns", 1}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}
	byteSize = []suffix{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}, {"B", 1}}
)

var (
	wrkTotal   = regexp.MustCompile(`(?m)^\s*(\d+) requests in (\S+), (\S+) read`)
	wrkLoad    = regexp.MustCompile(`(?m)^\s*\d+ threads? and (\d+) connections?`)
	wrkErrors  = regexp.MustCompile(`(?m)^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
	wrkBad     = regexp.MustCompile(`(?m)^\s*Non-2xx or 3xx responses: (\d+)`)
	wrkStats   = regexp.MustCompile(`(?m)^\s*Latency\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)%\s*$`)
	wrkPercent = regexp.MustCompile(`(?m)^\s*(\d+(?:\.\d+)?)%\s+(\d\S*[a-z])\s*$`)
	wrkMean    = regexp.MustCompile(`(?m)^#\[Mean\s*=\s*([0-9.]+)`)
)

// readWrk reads the text of wrk and wrk2. What a Lua script appended is passed over.
func readWrk(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	text, err := plainText(in)
	if err != nil {
		return nil, err
	}
	total := wrkTotal.FindStringSubmatch(text)
	if total == nil {
		return nil, faultAt(0, "check that the run ended: the line «N requests in T» is missing", "no statistics of wrk")
	}
	two := strings.Contains(text, "HdrHistogram - Recorded Latency") || strings.Contains(text, "Thread calibration:")
	s := record.Summary{RatePerSec: after(text, "Requests/sec:")}
	s.Requests = number(total[1])
	if ns, ok := scaled(total[2], wrkTimes); ok {
		s.Seconds = figure(ns / 1e9)
	}
	if b, ok := scaled(total[3], byteSize); ok {
		s.BytesRead = figure(b)
	}
	wrkLatency(text, &s, two)
	wrkFaults(text, &s)
	about := record.Imported{Tool: "wrk", Variant: "text", Latency: record.LatencyMeaning{From: "sent", ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("corrected", "wrk alters its percentiles afterwards by a guess at what a stall hid; it cannot be switched off"),
			caveat("errors-included", "the latencies of answers that are not 2xx or 3xx are part of the distribution")}}
	load := record.Load{Model: record.Closed}
	if m := wrkLoad.FindStringSubmatch(text); m != nil {
		load.Concurrency, _ = strconv.Atoi(m[1])
	}
	if two {
		about.Tool = "wrk2"
		about.Latency.From = "planned"
		about.Caveats = []record.ImportCaveat{caveat("calibration", "the first 10 s are missing from the latencies, but not from the count of requests"),
			caveat("rate-unknown", "wrk2 does not print the rate that was asked for; the one achieved is shown")}
		load = record.Load{Model: record.Open}
		if s.RatePerSec != nil {
			load.RatePerSec = *s.RatePerSec
		}
	}
	return summaryCell(about, s, load)
}

func number(text string) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return figure(v)
}

func wrkLatency(text string, s *record.Summary, two bool) {
	if m := wrkStats.FindStringSubmatch(text); m != nil {
		if v, ok := scaled(m[1], wrkTimes); ok {
			s.Mean = length(v, 1)
		}
		if v, ok := scaled(m[2], wrkTimes); ok {
			s.Stdev = length(v, 1)
		}
		if v, ok := scaled(m[3], wrkTimes); ok {
			s.Max = length(v, 1)
		}
	}
	// wrk2 may print a second, uncorrected distribution: the first is the one from the planned instant.
	first, _, _ := strings.Cut(text, "Uncorrected Latency")
	_, distribution, ok := strings.Cut(first, "Latency Distribution")
	if !ok {
		return
	}
	distribution, _, _ = strings.Cut(distribution, "Detailed Percentile spectrum")
	var p percentiles
	for _, m := range wrkPercent.FindAllStringSubmatch(distribution, -1) {
		q, err := strconv.ParseFloat(m[1], 64)
		v, ok := scaled(m[2], wrkTimes)
		if err == nil && ok {
			p.add(q, v, 1)
		}
	}
	s.Percentiles = p.sorted()
	if m := wrkMean.FindStringSubmatch(first); two && m != nil {
		if v := number(m[1]); v != nil {
			s.Mean = length(*v, time.Millisecond)
		}
	}
}

func wrkFaults(text string, s *record.Summary) {
	zero := 0.0
	s.Failed, s.Connection, s.TimedOut = &zero, &zero, &zero
	if m := wrkBad.FindStringSubmatch(text); m != nil {
		s.Failed = number(m[1])
	}
	if m := wrkErrors.FindStringSubmatch(text); m != nil {
		var sum float64
		for _, n := range m[1:4] {
			if v := number(n); v != nil {
				sum += *v
			}
		}
		s.Connection, s.TimedOut = &sum, number(m[4])
	}
}

var (
	abPercent = regexp.MustCompile(`(?m)^\s*(\d+)%\s+(\d+)`)
	abTimes   = regexp.MustCompile(`(?m)^Total:\s+(\d+)\s+(\d+)\s+([0-9.]+)\s+(\d+)\s+(\d+)`)
	abFailed  = regexp.MustCompile(`\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)`)
)

// readAbText reads ab's report.
func readAbText(text string) ([]record.Cell, error) {
	s := record.Summary{Requests: after(text, "Complete requests:"), Failed: after(text, "Failed requests:"), Seconds: after(text, "Time taken for tests:"),
		RatePerSec: after(text, "Requests per second:"), BytesRead: after(text, "Total transferred:")}
	if s.Requests == nil || s.Seconds == nil {
		return nil, faultAt(0, "run ab again: with -k against a server without keep-alive it hangs and prints nothing", "incomplete: no summary of ab")
	}
	about := record.Imported{Tool: "ab", Variant: "text", Latency: record.LatencyMeaning{From: "connect", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("errors-included", "ab's times are over all requests, failures too"),
			caveat("resolution", "times are whole milliseconds")}}
	abFailures(text, &s, &about)
	if m := abTimes.FindStringSubmatch(text); m != nil {
		s.Min, s.Stdev, s.Max = abTime(m[1]), abTime(m[3]), abTime(m[5])
	}
	if v := after(text, "Time per request:"); v != nil {
		s.Mean = length(*v, time.Millisecond)
	}
	_, table, _ := strings.Cut(text, "Percentage of the requests served")
	var p percentiles
	for _, m := range abPercent.FindAllStringSubmatch(table, -1) {
		q, _ := strconv.ParseFloat(m[1], 64)
		v, _ := strconv.ParseFloat(m[2], 64)
		p.add(q, v, time.Millisecond)
	}
	s.Percentiles = p.sorted()
	load := record.Load{Model: record.Closed}
	if v := after(text, "Concurrency Level:"); v != nil {
		load.Concurrency = int(*v)
	}
	return summaryCell(about, s, load)
}

func abTime(text string) *time.Duration {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return length(v, time.Millisecond)
}

// abFailures tells what ab calls failed: an answer of another length than the first is one, too. Where lengths alone differ, the answers
// may be right, and those that are not 2xx are what failed.
func abFailures(text string, s *record.Summary, about *record.Imported) {
	bad := after(text, "Non-2xx responses:")
	if m := abFailed.FindStringSubmatch(text); m != nil {
		connect, receive, exceptions := *number(m[1]), *number(m[2]), *number(m[4])
		s.Connection = figure(connect + receive + exceptions)
		if m[3] != "0" {
			about.Caveats = append(about.Caveats, caveat("length-failures", m[3]+" answers were of another length than the first, which ab calls failed; they may be right"))
		}
	}
	if bad != nil {
		about.Caveats = append(about.Caveats, caveat("rejected-unknown", "ab does not tell refusals for capacity from other answers that are not 2xx"))
		if s.Failed == nil || *bad > *s.Failed {
			s.Failed = bad
		}
	}
}

// readAb tells ab's three forms apart by their first line.
func readAb(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	head, _ := in.Peek(64)
	switch {
	case strings.HasPrefix(string(head), "starttime\t"):
		return readAbTSV(in)
	case strings.HasPrefix(string(head), "Percentage served,"):
		return readAbPercentages(in)
	}
	text, err := plainText(in)
	if err != nil {
		return nil, err
	}
	return readAbText(text)
}

// readAbPercentages reads ab -e. For few requests ab reads past its data in the last rows, which shows as a fall.
func readAbPercentages(in *bufio.Reader) ([]record.Cell, error) {
	t, err := openTable(in, ',', "Percentage served", "Time in ms")
	if err != nil {
		return nil, err
	}
	var p percentiles
	var broken bool
	_, err = t.each(func(fields [][]byte) error {
		q, err1 := strconv.ParseFloat(string(fields[0]), 64)
		v, err2 := strconv.ParseFloat(string(fields[1]), 64)
		if err1 != nil || err2 != nil {
			return faultAt(t.rows.line, "check the file", "found %q and %q, want numbers", clip(string(fields[0])), clip(string(fields[1])))
		}
		if n := len(p); n > 0 && length(v, time.Millisecond) != nil && *length(v, time.Millisecond) < p[n-1].Value {
			broken = true
			return nil
		}
		p.add(q, v, time.Millisecond)
		return nil
	})
	if err != nil {
		return nil, err
	}
	about := record.Imported{Tool: "ab", Variant: "-e", Latency: record.LatencyMeaning{From: "connect", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("errors-included", "ab's times are over all requests, failures too")}}
	if broken {
		about.Caveats = append(about.Caveats, caveat("broken-tail", "rows that fall below the one before are ab reading past its data: left out"))
	}
	return summaryCell(about, record.Summary{Percentiles: p.sorted()}, record.Load{Model: record.Closed})
}

var (
	heyPercent = regexp.MustCompile(`(?m)^\s*(\d+(?:\.\d+)?)%%? in (\S+)(?: (\S+))?`)
	heyStatus  = regexp.MustCompile(`(?m)^\s*\[(\d+)\]\s+(\d+) responses`)
	heyError   = regexp.MustCompile(`(?m)^\s*\[(\d+)\]\s+(\D.*)$`)
	ohaTime    = regexp.MustCompile(`^([0-9.]+)\s*(ns|us|µs|ms|sec|min|hr)`)
)

var ohaUnits = map[string]time.Duration{"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond,
	"sec": time.Second, "secs": time.Second, "min": time.Minute, "hr": time.Hour}

// labelled finds a time that follows a label: «Slowest:	0.0570 secs».
func labelled(text, label string) *time.Duration {
	_, rest, ok := strings.Cut(text, label)
	if !ok {
		return nil
	}
	m := ohaTime.FindStringSubmatch(strings.TrimSpace(rest))
	if m == nil {
		return nil
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return nil
	}
	return length(v, ohaUnits[m[2]])
}

// readHey reads hey's text and CSV.
func readHey(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	if head, _ := in.Peek(len(heyHeader)); string(head) == heyHeader {
		return readHeyCSV(in)
	}
	return readHeyText(in, "hey")
}

// readHeyText reads the summary that hey prints, and oha after its model.
func readHeyText(in *bufio.Reader, tool string) ([]record.Cell, error) {
	text, err := plainText(in)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(text, "Summary:") {
		return nil, faultAt(0, "check that the run ended", "no «Summary:» of %s", tool)
	}
	s := record.Summary{Mean: labelled(text, "Average:"), Min: labelled(text, "Fastest:"), Max: labelled(text, "Slowest:"),
		RatePerSec: after(squeeze(text), "Requests/sec:")}
	if d := labelled(text, "Total:"); d != nil {
		s.Seconds = figure(d.Seconds())
	}
	codes := map[string]float64{}
	var answered float64
	for _, m := range heyStatus.FindAllStringSubmatch(text, -1) {
		n := *number(m[2])
		codes[m[1]] += n
		answered += n
	}
	errors := heyErrors(text, codes)
	countCodes(&s, codes)
	s.Requests = figure(answered + errors)
	s.Percentiles = heyPercentiles(text)
	about := record.Imported{Tool: tool, Variant: "text", Latency: record.LatencyMeaning{From: "connect", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("errors-included", "the percentiles are over every answered request, whatever its status")}}
	if errors > 0 {
		about.Caveats = append(about.Caveats, caveat("rate-with-errors", "Requests/sec counts calls that got no answer, too"))
	}
	if answered == 0 && errors == 0 {
		return nil, faultAt(0, "check that the run ended", "no statistics of %s", tool)
	}
	return summaryCell(about, s, record.Load{Model: record.Closed})
}

// squeeze takes the indentation away.
func squeeze(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}

func heyErrors(text string, codes map[string]float64) float64 {
	_, section, ok := strings.Cut(text, "Error distribution:")
	if !ok {
		return 0
	}
	var sum float64
	for _, m := range heyError.FindAllStringSubmatch(section, -1) {
		n := *number(m[1])
		codes[clip(m[2])] += n
		sum += n
	}
	return sum
}

// heyPercentiles leaves out «0% in 0.0000 secs», which hey prints for what it could not compute, and NaN.
func heyPercentiles(text string) []record.Percentile {
	var p percentiles
	for _, m := range heyPercent.FindAllStringSubmatch(text, -1) {
		q, err1 := strconv.ParseFloat(m[1], 64)
		v, err2 := strconv.ParseFloat(m[2], 64)
		unit, ok := ohaUnits[m[3]]
		if err1 != nil || err2 != nil || !ok || q == 0 {
			continue
		}
		p.add(q, v, unit)
	}
	return p.sorted()
}

// readVegeta tells vegeta's forms apart.
func readVegeta(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	head, _ := in.Peek(4096)
	text := string(head)
	switch {
	case len(head) == 0:
		return nil, faultAt(0, "check that the attack ran", "the file is empty")
	case strings.HasPrefix(text, "Requests "):
		return readVegetaText(in)
	case strings.HasPrefix(text, "Bucket "):
		return readVegetaHist(in)
	case strings.HasPrefix(text, "{") && strings.Contains(text, `"latencies"`):
		return readVegetaReport(in)
	case strings.HasPrefix(text, "{"):
		return readVegetaJSON(in)
	case strings.HasPrefix(text, "Value(ms)"), strings.HasPrefix(strings.TrimSpace(text), "Value"):
		return readHgrm(in)
	case text[0] >= '0' && text[0] <= '9':
		return readVegetaCSV(in)
	default:
		return nil, faultAt(0, "convert it with: vegeta encode -to json FILE", "vegeta's binary (gob) results, which only its own program reads")
	}
}

// bracketed reads «Name [a, b, c] 1, 2, 3» into a map by legend.
func bracketed(text, name string) map[string]string {
	for line := range strings.SplitSeq(text, "\n") {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		legend, values, ok := strings.Cut(rest, "]")
		if !ok {
			continue
		}
		out := map[string]string{}
		keys := strings.Split(strings.TrimLeft(legend, " ["), ", ")
		for i, v := range strings.Split(strings.TrimSpace(values), ", ") {
			if i < len(keys) {
				out[keys[i]] = v
			}
		}
		return out
	}
	return nil
}

func readVegetaText(in *bufio.Reader) ([]record.Cell, error) {
	text, err := plainText(in)
	if err != nil {
		return nil, err
	}
	requests, duration, latencies := bracketed(text, "Requests"), bracketed(text, "Duration"), bracketed(text, "Latencies")
	s := record.Summary{Requests: number(requests["total"])}
	if d, err := time.ParseDuration(duration["total"]); err == nil && d > 0 {
		s.Seconds = figure(d.Seconds())
		if s.Requests != nil {
			s.RatePerSec = figure(*s.Requests / d.Seconds())
		}
	}
	var p percentiles
	for name, v := range latencies {
		d, err := time.ParseDuration(v)
		if err != nil {
			continue
		}
		switch name {
		case "mean":
			s.Mean = &d
		case "min":
			s.Min = &d
		case "max":
			s.Max = &d
		default:
			if q, err := strconv.ParseFloat(name, 64); err == nil {
				p.add(q, float64(d), 1)
			}
		}
	}
	s.Percentiles = p.sorted()
	codes := map[string]float64{}
	_, after, _ := strings.Cut(text, "Status Codes")
	after, _, _ = strings.Cut(after, "\n")
	for pair := range strings.FieldsSeq(after) {
		if code, n, ok := strings.Cut(pair, ":"); ok && number(n) != nil {
			codes[code] = *number(n)
		}
	}
	countCodes(&s, codes)
	load := record.Load{Model: record.Open}
	if v := number(requests["rate"]); v != nil {
		load.RatePerSec = *v
	}
	return summaryCell(record.Imported{Tool: "vegeta", Variant: "text report", Latency: record.LatencyMeaning{From: "connect", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("errors-included", "vegeta's percentiles are over all requests, errors and timeouts too")}}, s, load)
}

// readK6 tells k6's forms apart. A gzip'd file is unpacked by Import.
func readK6(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	first, err := firstByte(in)
	if err != nil {
		return nil, faultAt(0, "check that the run ended", "the file is empty")
	}
	if first != '{' {
		return readK6CSV(in)
	}
	head, _ := in.Peek(in.Size())
	text := string(head)
	if strings.Contains(text, `"type":"Point"`) || strings.Contains(text, `"type":"Metric"`) {
		return readK6JSON(in)
	}
	return readK6Summary(in)
}
