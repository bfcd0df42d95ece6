package interchange

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// maxSummary bounds an aggregate file; the largest real ones are a few hundred kB.
const maxSummary = 64 << 20

// slurp reads a file of aggregates.
func slurp(in *bufio.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxSummary+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSummary {
		return nil, faultAt(0, "check the format's name: a file of this size holds samples", "more than %d MiB of aggregates", maxSummary>>20)
	}
	return data, nil
}

func figure(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// length turns a number of a unit into a duration; nil where it is no time.
func length(v float64, unit time.Duration) *time.Duration {
	ns := v * float64(unit)
	if math.IsNaN(ns) || ns < 0 || ns > math.MaxInt64/2 {
		return nil
	}
	d := time.Duration(math.Round(ns))
	return &d
}

// percentiles collects quantiles, leaves out what is no time, and sorts.
type percentiles []record.Percentile

func (p *percentiles) add(percent, value float64, unit time.Duration) {
	d := length(value, unit)
	if d == nil || percent < 0 || percent > 100 {
		return
	}
	*p = append(*p, record.Percentile{Q: percent / 100, Value: *d})
}

func (p percentiles) sorted() []record.Percentile {
	slices.SortStableFunc(p, func(a, b record.Percentile) int {
		switch {
		case a.Q < b.Q:
			return -1
		case a.Q > b.Q:
			return 1
		default:
			return 0
		}
	})
	return p
}

// monotonic tells whether no percentile lies below one before it.
func monotonic(p []record.Percentile) bool {
	for i := 1; i < len(p); i++ {
		if p[i].Value < p[i-1].Value {
			return false
		}
	}
	return true
}

// summaryCell makes the one cell of an aggregate file.
func summaryCell(about record.Imported, s record.Summary, load record.Load) ([]record.Cell, error) {
	if s.Requests == nil && len(s.Percentiles) == 0 && s.RatePerSec == nil && s.Buckets == nil {
		return nil, faultAt(0, "check that the tool ended its run and printed its summary", "no statistics")
	}
	if !monotonic(s.Percentiles) {
		return nil, faultAt(0, "run the tool again with more requests", "a percentile lies below a smaller one: the figures are broken")
	}
	about.Caveats = append(about.Caveats, caveat("aggregates-only", "the file holds aggregates: percentiles are the tool's, without interval, and cannot be merged"))
	about.Summary = &s
	c := record.Cell{Repeat: 1, Load: load, Imported: &about}
	if s.Seconds != nil && *s.Seconds > 0 && *s.Seconds < 1e9 {
		c.Window = time.Duration(*s.Seconds * float64(time.Second))
	}
	return []record.Cell{c}, nil
}

// countCodes sums status codes into the classes of a summary.
func countCodes(s *record.Summary, codes map[string]float64) {
	s.Codes = map[string]int64{}
	var failed, rejected, timedOut, connection float64
	for text, n := range codes {
		s.Codes[text] = int64(n)
		status, err := strconv.Atoi(text)
		switch {
		case err != nil || status <= 0:
			connection += n
		case record.OutcomeOfStatus(status) == record.Rejected:
			rejected += n
		case record.OutcomeOfStatus(status) == record.Timeout:
			timedOut += n
		case record.OutcomeOfStatus(status) == record.Failure:
			failed += n
		}
	}
	s.Failed, s.Rejected, s.TimedOut, s.Connection = &failed, &rejected, &timedOut, &connection
}

// object decodes a JSON file of aggregates.
func object(in *bufio.Reader, into any, what string) error {
	data, err := slurp(in)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		line := 0
		if syntax, ok := err.(*json.SyntaxError); ok {
			line = 1 + strings.Count(string(data[:min(int(syntax.Offset), len(data))]), "\n")
		}
		return faultAt(line, "check that the file is whole", "not %s: %v", what, err)
	}
	return nil
}

func readVegetaReport(in *bufio.Reader) ([]record.Cell, error) {
	var r struct {
		Latencies map[string]float64 `json:"latencies"`
		Buckets   map[string]int64   `json:"buckets"`
		Duration  float64            `json:"duration"`
		Wait      float64            `json:"wait"`
		Requests  float64            `json:"requests"`
		Rate      float64            `json:"rate"`
		Codes     map[string]float64 `json:"status_codes"`
	}
	if err := object(in, &r, "vegeta's JSON report"); err != nil {
		return nil, err
	}
	seconds := (r.Duration + r.Wait) / 1e9
	s := record.Summary{Requests: &r.Requests, Seconds: figure(seconds), Mean: length(r.Latencies["mean"], 1), Max: length(r.Latencies["max"], 1),
		Min: length(r.Latencies["min"], 1)}
	if seconds > 0 {
		s.RatePerSec = figure(r.Requests / seconds)
	}
	var p percentiles
	for name, v := range r.Latencies {
		if n, err := strconv.ParseFloat(strings.TrimSuffix(name, "th"), 64); err == nil {
			p.add(n, v, 1)
		}
	}
	s.Percentiles = p.sorted()
	countCodes(&s, r.Codes)
	return summaryCell(record.Imported{Tool: "vegeta", Variant: "JSON report", Latency: record.LatencyMeaning{From: "connect", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("errors-included", "vegeta's percentiles are over all requests, errors and timeouts too")}},
		s, record.Load{Model: record.Open, RatePerSec: r.Rate})
}

func readFortio(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	var r struct {
		RequestedQPS      string
		ActualQPS         float64
		ActualDuration    float64
		NumThreads        int
		DurationHistogram *struct {
			Count, Min, Max, Avg, StdDev float64
			Data                         []struct {
				Start, End float64
				Count      int64
			}
			Percentiles []struct{ Percentile, Value float64 }
		}
		RetCodes map[string]float64
	}
	if err := object(in, &r, "fortio's JSON result"); err != nil {
		return nil, err
	}
	h := r.DurationHistogram
	if h == nil || h.Count == 0 {
		return nil, faultAt(0, "check that this is fortio's JSON and that the run ended", "no DurationHistogram with samples")
	}
	s := record.Summary{Requests: &h.Count, Seconds: figure(r.ActualDuration / 1e9), RatePerSec: figure(r.ActualQPS), Mean: length(h.Avg, time.Second),
		Stdev: length(h.StdDev, time.Second), Min: length(h.Min, time.Second), Max: length(h.Max, time.Second)}
	var p percentiles
	for _, q := range h.Percentiles {
		p.add(q.Percentile, q.Value, time.Second)
	}
	s.Percentiles = p.sorted()
	b := record.Buckets{}
	for _, d := range h.Data {
		if upper := length(d.End, time.Second); upper != nil {
			b.Upper, b.Counts = append(b.Upper, *upper), append(b.Counts, d.Count)
		}
	}
	s.Buckets = &b
	countCodes(&s, r.RetCodes)
	return summaryCell(fortioAbout("JSON", len(h.Data)), s, qpsLoad(r.RequestedQPS, r.NumThreads))
}

// qpsLoad tells fortio's paced runs from its closed ones («max»).
func qpsLoad(requested string, threads int) record.Load {
	if rate, err := strconv.ParseFloat(requested, 64); err == nil && rate > 0 {
		return record.Load{Model: record.Open, RatePerSec: rate}
	}
	return record.Load{Model: record.Closed, Concurrency: threads}
}

func readBombardier(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	var r struct {
		Spec struct {
			Connections int     `json:"numberOfConnections"`
			Rate        float64 `json:"rate"`
		} `json:"spec"`
		Result *struct {
			Seconds float64 `json:"timeTakenSeconds"`
			Req1    float64 `json:"req1xx"`
			Req2    float64 `json:"req2xx"`
			Req3    float64 `json:"req3xx"`
			Req4    float64 `json:"req4xx"`
			Req5    float64 `json:"req5xx"`
			Others  float64 `json:"others"`
			Bytes   float64 `json:"bytesRead"`
			Latency struct {
				Mean, Stddev, Max float64
				Percentiles       map[string]float64
			} `json:"latency"`
			RPS struct{ Mean float64 } `json:"rps"`
		} `json:"result"`
	}
	if err := object(in, &r, "bombardier's JSON result"); err != nil {
		return nil, err
	}
	if r.Result == nil {
		return nil, faultAt(0, "run bombardier with --format json and --print result", "no \"result\"")
	}
	q := r.Result
	answered := q.Req1 + q.Req2 + q.Req3 + q.Req4 + q.Req5
	s := record.Summary{Requests: figure(answered + q.Others), Failed: figure(q.Req4 + q.Req5), Connection: &q.Others, Seconds: &q.Seconds, BytesRead: &q.Bytes,
		Mean: length(q.Latency.Mean, time.Microsecond), Stdev: length(q.Latency.Stddev, time.Microsecond), Max: length(q.Latency.Max, time.Microsecond),
		Codes: map[string]int64{"4xx": int64(q.Req4), "5xx": int64(q.Req5), "others": int64(q.Others)}}
	if q.Seconds > 0 {
		s.RatePerSec = figure(answered / q.Seconds)
	}
	var p percentiles
	for name, v := range q.Latency.Percentiles {
		if n, err := strconv.ParseFloat(name, 64); err == nil {
			p.add(n, v, time.Microsecond)
		}
	}
	s.Percentiles = p.sorted()
	load := record.Load{Model: record.Closed, Concurrency: r.Spec.Connections}
	about := record.Imported{Tool: "bombardier", Variant: "JSON", Latency: record.LatencyMeaning{From: "sent", Connect: true},
		Caveats: []record.ImportCaveat{caveat("rejected-unknown", "bombardier counts 4xx and 5xx only as wholes: refusals for capacity cannot be told apart")}}
	return summaryCell(about, s, load)
}

func readGhz(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	first, err := firstByte(in)
	if err == io.EOF {
		return nil, faultAt(0, "check that the run ended", "the file is empty")
	}
	if err != nil {
		return nil, err
	}
	if first != '{' {
		return readGhzCSV(in)
	}
	var r struct {
		Count, Total, Average, Fastest, Slowest, RPS float64
		Codes                                        map[string]float64                      `json:"statusCodeDistribution"`
		LatencyDistribution                          []struct{ Percentage, Latency float64 } `json:"latencyDistribution"`
		Options                                      struct{ Concurrency int }
	}
	if err := object(in, &r, "ghz's JSON result"); err != nil {
		return nil, err
	}
	if r.Count == 0 {
		return nil, faultAt(0, "check that this is ghz's JSON and that the run ended", "no calls were counted")
	}
	var failed float64
	codes := map[string]int64{}
	for code, n := range r.Codes {
		codes[code] = int64(n)
		if code != "OK" {
			failed += n
		}
	}
	s := record.Summary{Requests: &r.Count, Failed: &failed, Seconds: figure(r.Total / 1e9), RatePerSec: figure(r.RPS), Mean: length(r.Average, 1),
		Min: length(r.Fastest, 1), Max: length(r.Slowest, 1), Codes: codes}
	var p percentiles
	for _, q := range r.LatencyDistribution {
		p.add(q.Percentage, q.Latency, 1)
	}
	s.Percentiles = p.sorted()
	return summaryCell(record.Imported{Tool: "ghz", Variant: "JSON", Latency: record.LatencyMeaning{From: "sent"}}, s,
		record.Load{Model: record.Closed, Concurrency: r.Options.Concurrency})
}

// readGhzCSV reads «duration (ms),status,error»; the error may hold commas without quotes.
func readGhzCSV(in *bufio.Reader) ([]record.Cell, error) {
	f := newFold()
	var at int64
	err := eachLine(in, func(line int, text []byte, _ bool) error {
		if line == 1 && strings.HasPrefix(string(text), "duration") {
			return nil
		}
		fields := strings.SplitN(string(text), ",", 3)
		ms, err := strconv.ParseFloat(fields[0], 64)
		if err != nil || len(fields) < 2 || !(ms >= 0) || ms > 1e12 || !grpcWord(fields[1]) {
			return faultAt(line, "check that this is ghz's CSV", "found %q, want duration (ms),status,error", clip(string(text)))
		}
		s := sample{start: at, latency: time.Duration(ms * float64(time.Millisecond))}
		if fields[1] != "OK" {
			s.outcome, s.code = grpcOutcome(fields[1]), []byte("grpc "+fields[1])
		}
		at++
		return atLine(f.add(s), line)
	})
	if err != nil {
		return nil, err
	}
	cells, err := finish(f, record.Imported{Tool: "ghz", Variant: "CSV", Latency: record.LatencyMeaning{From: "sent"},
		Caveats: []record.ImportCaveat{caveat("no-stamps", "the file has no time of day: rates are unknown")}}, false)
	if err != nil {
		return nil, err
	}
	cells[0].Window, cells[0].Load.RatePerSec = 0, 0
	return cells, nil
}

// grpcWord tells whether a status looks like gRPC's names: OK, Unavailable, …
func grpcWord(status string) bool {
	return status != "" && strings.Trim(status, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

func grpcOutcome(status string) record.Outcome {
	switch status {
	case "ResourceExhausted":
		return record.Rejected
	case "DeadlineExceeded":
		return record.Timeout
	case "Unavailable":
		return record.Refused
	default:
		return record.Failure
	}
}

func readLocust(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	t, err := openTable(in, ',', "Name", "Request Count", "Failure Count", "Average Response Time")
	if err != nil {
		return nil, err
	}
	var total []string
	names := make([]string, t.width)
	for name, i := range t.columns {
		names[i] = name
	}
	_, err = t.each(func(fields [][]byte) error {
		if string(fields[t.columns["Name"]]) == "Aggregated" {
			for _, f := range fields {
				total = append(total, string(f))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if total == nil {
		return nil, faultAt(0, "import NAME_stats.csv as Locust wrote it", "no row «Aggregated»")
	}
	return locustCell(names, total)
}

func locustCell(names, total []string) ([]record.Cell, error) {
	var s record.Summary
	var p percentiles
	for i, name := range names {
		v, err := strconv.ParseFloat(total[i], 64)
		if err != nil {
			continue // N/A
		}
		switch name {
		case "Request Count":
			s.Requests = figure(v)
		case "Failure Count":
			s.Failed = figure(v)
		case "Requests/s":
			s.RatePerSec = figure(v)
		case "Average Response Time":
			s.Mean = length(v, time.Millisecond)
		case "Min Response Time":
			s.Min = length(v, time.Millisecond)
		case "Max Response Time":
			s.Max = length(v, time.Millisecond)
		}
		if percent, ok := strings.CutSuffix(name, "%"); ok {
			if q, err := strconv.ParseFloat(percent, 64); err == nil {
				p.add(q, v, time.Millisecond)
			}
		}
	}
	s.Percentiles = p.sorted()
	if s.Requests != nil && s.RatePerSec != nil && *s.RatePerSec > 0 {
		s.Seconds = figure(*s.Requests / *s.RatePerSec)
	}
	return summaryCell(record.Imported{Tool: "locust", Variant: "stats CSV", Latency: record.LatencyMeaning{From: "sent", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("rounded", "Locust keeps about two digits: percentiles are up to 5 % off, and may lie above the maximum"),
			caveat("errors-included", "Locust's percentiles are over all requests, failures too")}}, s, record.Load{Model: record.Closed})
}

func readK6Summary(in *bufio.Reader) ([]record.Cell, error) {
	var r struct {
		Metrics map[string]struct {
			Values map[string]float64 `json:"values"`
		} `json:"metrics"`
		State struct {
			MS float64 `json:"testRunDurationMs"`
		} `json:"state"`
		Results *struct{} `json:"results"`
	}
	if err := object(in, &r, "k6's summary"); err != nil {
		return nil, err
	}
	if r.Results != nil && r.Metrics == nil {
		return nil, faultAt(0, "export with --summary-export or handleSummary's data.metrics", "k6's new summary form, which this version does not read")
	}
	value := func(metric, name string) *float64 {
		if v, ok := r.Metrics[metric].Values[name]; ok {
			return figure(v)
		}
		return nil
	}
	s := record.Summary{Requests: value("http_reqs", "count"), RatePerSec: value("http_reqs", "rate")}
	if r.State.MS > 0 {
		s.Seconds = figure(r.State.MS / 1000)
	}
	// http_req_failed is a rate whose «passes» are the failures.
	s.Failed = value("http_req_failed", "passes")
	var p percentiles
	for name, v := range r.Metrics["http_req_duration"].Values {
		switch name {
		case "avg":
			s.Mean = length(v, time.Millisecond)
		case "min":
			s.Min = length(v, time.Millisecond)
		case "max":
			s.Max = length(v, time.Millisecond)
		case "med":
			p.add(50, v, time.Millisecond)
		default:
			if q, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimPrefix(name, "p("), ")"), 64); err == nil {
				p.add(q, v, time.Millisecond)
			}
		}
	}
	s.Percentiles = p.sorted()
	about := record.Imported{Tool: "k6", Variant: "summary", Latency: record.LatencyMeaning{From: "sent", ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("connect-excluded", "k6's http_req_duration leaves out waiting for a connection, connecting and TLS"),
			caveat("errors-included", "percentiles are over all requests, failures too, refused ones as 0")}}
	if v := value("dropped_iterations", "count"); v != nil && *v > 0 {
		about.Caveats = append(about.Caveats, caveat("dropped-iterations", fmt.Sprintf("%.0f iterations were dropped: the load was below what was planned", *v)))
	}
	load := record.Load{Model: record.Closed}
	if v := value("vus_max", "max"); v != nil {
		load.Concurrency = int(*v)
	}
	return summaryCell(about, s, load)
}
