package interchange

import (
	"bytes"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// near checks a figure that a person read off the file.
func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s: unknown, want %v", what, want)
		return
	}
	if math.Abs(*got-want) > 1e-6*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, *got, want)
	}
}

func nearTime(t *testing.T, what string, got *time.Duration, want time.Duration) {
	t.Helper()
	if got == nil || *got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func quantile(t *testing.T, s *record.Summary, q float64) time.Duration {
	t.Helper()
	for _, p := range s.Percentiles {
		if math.Abs(p.Q-q) < 1e-9 {
			return p.Value
		}
	}
	t.Errorf("no p%v among %v", 100*q, s.Percentiles)
	return 0
}

func summaryOf(t *testing.T, format Format, name string) (*record.Summary, record.Cell) {
	t.Helper()
	c := importFile(t, format, name).Cells[0]
	if c.Imported == nil || c.Imported.Summary == nil {
		t.Fatalf("%s: no summary", name)
	}
	return c.Imported.Summary, c
}

func TestAbTextIsReadWithItsDefinitions(t *testing.T) {
	s, c := summaryOf(t, "ab", "captured_ab_text.txt")
	near(t, "requests", s.Requests, 20)
	near(t, "seconds", s.Seconds, 0.124)
	near(t, "rate", s.RatePerSec, 161.39)
	near(t, "failed", s.Failed, 2)
	nearTime(t, "mean", s.Mean, 12392*time.Microsecond)
	nearTime(t, "max", s.Max, 12*time.Millisecond)
	if c.Load.Concurrency != 2 || quantile(t, s, 0.8) != 12*time.Millisecond || !hasCaveat(c, "length-failures") {
		t.Errorf("concurrency %d, caveats %v", c.Load.Concurrency, c.Imported.Caveats)
	}
}

func TestAbPercentagesLeaveOutTheRowsBeyondTheData(t *testing.T) {
	s, c := summaryOf(t, "ab", "captured_ab_e.csv")
	if !hasCaveat(c, "broken-tail") || quantile(t, s, 0.97) != 11716*time.Microsecond || quantile(t, s, 1) != 11716*time.Microsecond {
		t.Errorf("caveats %v, last %v", c.Imported.Caveats, s.Percentiles[len(s.Percentiles)-1])
	}
	for _, p := range s.Percentiles {
		if p.Q == 0.98 || p.Q == 0.99 {
			t.Errorf("p%v = %v is ab's reading past its data", 100*p.Q, p.Value)
		}
	}
}

func TestAbSamplesAreRead(t *testing.T) {
	c := importFile(t, "ab", "captured_ab_g.tsv").Cells[0]
	wantOutcomes(t, c, map[record.Outcome]int64{record.Success: 20})
}

func TestAbWithoutStatisticsIsRefused(t *testing.T) {
	f, err := os.Open(filepath.Join("testdata", "captured_ab_err.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Import("ab", "captured_ab_err.txt", f, Options{}); err == nil || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("got %v, want it refused as incomplete", err)
	}
}

func TestWrkTextIsRead(t *testing.T) {
	s, c := summaryOf(t, "wrk", "captured_wrk_text.txt")
	near(t, "requests", s.Requests, 32)
	near(t, "seconds", s.Seconds, 1)
	near(t, "rate", s.RatePerSec, 31.89)
	near(t, "not 2xx or 3xx", s.Failed, 4)
	near(t, "timeouts", s.TimedOut, 0)
	nearTime(t, "mean", s.Mean, 10770*time.Microsecond)
	nearTime(t, "max", s.Max, 11770*time.Microsecond)
	if c.Load.Concurrency != 2 || quantile(t, s, 0.99) != 11770*time.Microsecond {
		t.Errorf("concurrency %d, p99 %v", c.Load.Concurrency, quantile(t, s, 0.99))
	}
}

func TestWrkUnitsAndFaultsAreRead(t *testing.T) {
	const text = `Running 30s test @ http://127.0.0.1:8080/
  12 threads and 400 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms   1.20m    93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.54%
  Latency Distribution
     50%  250.00us
     99%    1.50s
  22464657 requests in 30.00s, 17.76GB read
  Socket errors: connect 1, read 2, write 3, timeout 4
Requests/sec: 748868.53
Transfer/sec:    606.33MB
a line of a script: 99%  1.00ms later
`
	run, err := importText(t, "wrk", text)
	if err != nil {
		t.Fatal(err)
	}
	s := run.Cells[0].Imported.Summary
	near(t, "rate", s.RatePerSec, 748868.53)
	near(t, "connection", s.Connection, 6)
	near(t, "timeouts", s.TimedOut, 4)
	nearTime(t, "mean", s.Mean, 635910*time.Nanosecond)
	nearTime(t, "stdev", s.Stdev, 890*time.Microsecond)
	nearTime(t, "max", s.Max, 72*time.Second)
	if quantile(t, s, 0.99) != 1500*time.Millisecond {
		t.Errorf("p99: got %v", quantile(t, s, 0.99))
	}
}

func TestWrk2TakesThePlannedInstantAndNotTheUncorrectedView(t *testing.T) {
	const text = `Running 10s test @ http://127.0.0.1:8080/
  1 threads and 10 connections
  Thread calibration: mean lat.: 1.335ms, rate sampling interval: 10ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.33ms  500.00us   9.00ms   70.00%
    Req/Sec     2.10k   200.00     3.00k    70.00%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.30ms
 99.000%    8.00ms
100.000%    9.00ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       1.300     0.500000          100         2.00
       9.000     1.000000          200          inf
#[Mean    =        1.335, StdDeviation   =        0.500]
#[Max     =        9.000, Total count    =          200]
  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))
 50.000%    1.00ms
 99.000%    2.00ms
----------------------------------------------------------
  20000 requests in 10.00s, 3.00MB read
Requests/sec:   2000.00
Transfer/sec:    300.00KB
`
	run, err := importText(t, "wrk2", text)
	if err != nil {
		t.Fatal(err)
	}
	c := run.Cells[0]
	if c.Imported.Tool != "wrk2" || c.Imported.Latency.From != "planned" || c.Load.Model != record.Open || c.Load.RatePerSec != 2000 {
		t.Errorf("got %+v with load %+v", c.Imported, c.Load)
	}
	if got := quantile(t, c.Imported.Summary, 0.99); got != 8*time.Millisecond {
		t.Errorf("p99: got %v, want the corrected 8 ms", got)
	}
	nearTime(t, "mean", c.Imported.Summary.Mean, 1335*time.Microsecond)
}

func TestWrkWithoutAResultIsRefused(t *testing.T) {
	for _, text := range []string{"Running 10s test @ http://127.0.0.1/\n", "\n\n"} {
		if _, err := importText(t, "wrk", text); err == nil {
			t.Errorf("%q: read", text)
		}
	}
	run, err := importText(t, "wrk", "  1 threads and 1 connections\n    Latency  0.00us  0.00us  0.00us  -nan%\n  0 requests in 1.00s, 0.00B read\nRequests/sec:      0.00\n")
	if err != nil {
		t.Fatal(err)
	}
	near(t, "requests", run.Cells[0].Imported.Summary.Requests, 0)
}

func TestHeyTextIsRead(t *testing.T) {
	s, _ := summaryOf(t, "hey", "captured_hey_text.txt")
	near(t, "requests", s.Requests, 20)
	near(t, "rejected", s.Rejected, 4)
	near(t, "failed", s.Failed, 0)
	near(t, "seconds", s.Seconds, 0.5911)
	near(t, "rate", s.RatePerSec, 33.8335)
	nearTime(t, "mean", s.Mean, 48500*time.Microsecond)
	nearTime(t, "max", s.Max, 57*time.Millisecond)
	if quantile(t, s, 0.95) != 57*time.Millisecond || len(s.Percentiles) != 6 {
		t.Errorf("percentiles: %v", s.Percentiles)
	}
}

func TestHeySamplesAreRead(t *testing.T) {
	c := importFile(t, "hey", "captured_hey.csv").Cells[0]
	got := outcomes(c)
	if got[record.Success]+got[record.Rejected] != 12 || !hasCaveat(c, "errors-missing") {
		t.Errorf("outcomes %v, caveats %v", got, c.Imported.Caveats)
	}
}

func TestHeyThatGotNoAnswerKeepsItsErrors(t *testing.T) {
	const text = "\nSummary:\n  Total:\t0.0885 secs\n  Slowest:\t0.0000 secs\n  Fastest:\t0.0000 secs\n  Average:\tNaN secs\n  Requests/sec:\t2259.8000\n\n" +
		"Error distribution:\n  [200]\tGet \"http://127.0.0.1:1/\": dial tcp 127.0.0.1:1: connect: connection refused\n"
	run, err := importText(t, "hey", text)
	if err != nil {
		t.Fatal(err)
	}
	s := run.Cells[0].Imported.Summary
	near(t, "requests", s.Requests, 200)
	near(t, "connection", s.Connection, 200)
	if s.Mean != nil || !hasCaveat(run.Cells[0], "rate-with-errors") {
		t.Errorf("mean %v, caveats %v", s.Mean, run.Cells[0].Imported.Caveats)
	}
}

func TestOhaIsReadInBothForms(t *testing.T) {
	c := importFile(t, "oha", "synthetic_oha.csv").Cells[0]
	wantOutcomes(t, c, map[record.Outcome]int64{record.Success: 1, record.Rejected: 1})
	const text = "Summary:\n  Success rate:\t\x1b[32m100.00%\x1b[0m\n  Total:\t1.0012 sec\n  Slowest:\t12.5000 ms\n  Fastest:\t800.0000 us\n  Average:\t2.0000 ms\n  Requests/sec:\t99.9\n\n" +
		"Response time distribution:\n  50.00% in 1.5000 ms\n  99.00% in 12.0000 ms\n\nStatus code distribution:\n  [200] 100 responses\n"
	run, err := importText(t, "oha", text)
	if err != nil {
		t.Fatal(err)
	}
	s := run.Cells[0].Imported.Summary
	near(t, "requests", s.Requests, 100)
	nearTime(t, "max", s.Max, 12500*time.Microsecond)
	nearTime(t, "min", s.Min, 800*time.Microsecond)
	if quantile(t, s, 0.99) != 12*time.Millisecond {
		t.Errorf("percentiles: %v", s.Percentiles)
	}
}

func TestOhasJSONIsReadByItsCodesAndNotByItsSuccessRate(t *testing.T) {
	const text = `{"summary":{"successRate":1.0,"total":2.5,"slowest":0.0125,"fastest":0.0008,"average":0.002,"requestsPerSec":40,"totalData":1000,"sizePerRequest":10,"sizePerSec":400},
"responseTimeHistogram":{"0.0008":90,"0.0125":10},"latencyPercentiles":{"p10":0.001,"p50":0.0015,"p99":0.012,"p99.9":null},
"rps":{"mean":40,"stddev":1,"max":41,"min":39,"percentiles":{"p50":40}},"details":{"DNSDialup":{"average":0.001}},
"statusCodeDistribution":{"200":90,"503":8},"errorDistribution":{"connection closed before message completed":2}}`
	run, err := importText(t, "oha", text)
	if err != nil {
		t.Fatal(err)
	}
	c := run.Cells[0]
	s := c.Imported.Summary
	near(t, "requests", s.Requests, 100)
	near(t, "rejected", s.Rejected, 8)
	near(t, "connection", s.Connection, 2)
	near(t, "seconds", s.Seconds, 2.5)
	nearTime(t, "mean", s.Mean, 2*time.Millisecond)
	nearTime(t, "max", s.Max, 12500*time.Microsecond)
	if quantile(t, s, 0.5) != 1500*time.Microsecond || quantile(t, s, 0.99) != 12*time.Millisecond || len(s.Percentiles) != 3 {
		t.Errorf("percentiles %v", s.Percentiles)
	}
	if !hasCaveat(c, "errors-included") || !hasCaveat(c, "rate-with-errors") {
		t.Errorf("caveats %v", c.Imported.Caveats)
	}
	for _, broken := range []string{`{"summary":{}}`, `{"summary":{"total":1},"statusCodeDistribution":{}}`, `{"summary":`} {
		if _, err := importText(t, "oha", broken); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
}

func TestVegetaIsReadInAllForms(t *testing.T) {
	for _, name := range []string{"captured_v.json", "captured_v.csv"} {
		c := importFile(t, "vegeta", name).Cells[0]
		wantOutcomes(t, c, map[record.Outcome]int64{record.Success: 17, record.Rejected: 3})
		// First start 16.545892557, last end 17.506895388 (the report's earliest and end).
		if want := 961002831 * time.Nanosecond; (c.Window - want).Abs() > time.Microsecond {
			t.Errorf("%s: window %v, want %v", name, c.Window, want)
		}
	}
	for _, name := range []string{"captured_v_report.json", "captured_v_text.txt"} {
		s, c := summaryOf(t, "vegeta", name)
		near(t, name+": requests", s.Requests, 20)
		near(t, name+": rejected", s.Rejected, 3)
		if got := quantile(t, s, 0.99).Round(time.Microsecond); got != 55767*time.Microsecond || math.Abs(c.Load.RatePerSec-21.05) > 0.01 {
			t.Errorf("%s: p99 %v, rate %v", name, got, c.Load.RatePerSec)
		}
	}
	s, _ := summaryOf(t, "vegeta", "captured_v_hdr.txt")
	near(t, "spectrum: requests", s.Requests, 20)
}

func TestVegetasBinaryFormIsRefusedWithTheCommandToConvertIt(t *testing.T) {
	_, err := importText(t, "vegeta", "\x47\xff\x81\x03\x01\x01\x06Result")
	if err == nil || !strings.Contains(err.(*InputError).Hint(), "vegeta encode") {
		t.Errorf("got %v", err)
	}
}

func TestVegetasAttacksAreKeptApart(t *testing.T) {
	text := `{"attack":"a","seq":0,"code":200,"timestamp":"2026-11-30T22:43:16Z","latency":1000000,"error":"","headers":null}` + "\n" +
		`{"attack":"b","seq":0,"code":0,"timestamp":"2026-11-30T23:43:16Z","latency":1000000,"error":"dial tcp: connection refused","headers":null}` + "\n"
	run, err := importText(t, "vegeta", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Cells) != 2 {
		t.Fatalf("%d cells, want one an attack", len(run.Cells))
	}
	wantOutcomes(t, run.Cells[1], map[record.Outcome]int64{record.Refused: 1})
}

func TestK6SamplesAreRequestsAndDropsAreCounted(t *testing.T) {
	c := importFile(t, "k6", "synthetic_k6.csv").Cells[0]
	wantOutcomes(t, c, map[record.Outcome]int64{record.Success: 1, record.Refused: 1, record.Dropped: 1})
	if !hasCaveat(c, "dropped-iterations") {
		t.Error("no word of the drops")
	}
}

func TestK6JSONAndPackedFilesAreRead(t *testing.T) {
	const text = `{"type":"Metric","data":{"name":"http_req_duration","type":"trend"},"metric":"http_req_duration"}
{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-30T22:43:16.5Z","value":11.5,"tags":{"status":"200"}}}
{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-30T22:43:17.5Z","value":60000,"tags":{"status":"0","error_code":"1050","error":"request timeout"}}}
`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{text, packed.String()} {
		run, err := importText(t, "k6", data)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcomes(t, run.Cells[0], map[record.Outcome]int64{record.Success: 1, record.Timeout: 1})
	}
}

func TestK6SummaryIsRead(t *testing.T) {
	const text = `{"metrics":{"http_reqs":{"type":"counter","contains":"default","values":{"count":1000,"rate":100}},
"http_req_failed":{"values":{"rate":0.01,"passes":10,"fails":990}},"vus_max":{"values":{"value":5,"min":5,"max":5}},
"http_req_duration":{"values":{"avg":5.5,"min":1,"med":5,"max":50,"p(90)":9,"p(95)":10}}},"state":{"testRunDurationMs":10000}}`
	run, err := importText(t, "k6", text)
	if err != nil {
		t.Fatal(err)
	}
	s := run.Cells[0].Imported.Summary
	near(t, "requests", s.Requests, 1000)
	near(t, "failed", s.Failed, 10)
	near(t, "seconds", s.Seconds, 10)
	if quantile(t, s, 0.5) != 5*time.Millisecond || quantile(t, s, 0.95) != 10*time.Millisecond || run.Cells[0].Load.Concurrency != 5 {
		t.Errorf("percentiles %v", s.Percentiles)
	}
}

func TestFortiosHistogramAndCodesAreRead(t *testing.T) {
	const text = `{"RunType":"HTTP","RequestedQPS":"20","ActualQPS":19.7733,"ActualDuration":1011463958,"NumThreads":2,
"DurationHistogram":{"Count":20,"Min":0.010727737,"Max":0.013565323,"Avg":0.011321722,"StdDev":0.0007653,
"Data":[{"Start":0.0107,"End":0.011,"Percent":50,"Count":10},{"Start":0.011,"End":0.0136,"Percent":100,"Count":10}],
"Percentiles":[{"Percentile":50,"Value":0.011},{"Percentile":99,"Value":0.013461}]},"RetCodes":{"200":15,"503":4,"-1":1}}`
	run, err := importText(t, "fortio", text)
	if err != nil {
		t.Fatal(err)
	}
	c := run.Cells[0]
	s := c.Imported.Summary
	near(t, "requests", s.Requests, 20)
	near(t, "rejected", s.Rejected, 4)
	near(t, "connection", s.Connection, 1)
	nearTime(t, "max", s.Max, 13565323*time.Nanosecond)
	if c.Load.RatePerSec != 20 || quantile(t, s, 0.99) != 13461*time.Microsecond {
		t.Errorf("load %+v, percentiles %v", c.Load, s.Percentiles)
	}
}

func TestFortiosTextIsReadBetweenItsLogLines(t *testing.T) {
	s, c := summaryOf(t, "fortio", "captured_fortio_text.txt")
	near(t, "requests", s.Requests, 20)
	near(t, "rejected", s.Rejected, 4)
	near(t, "rate", s.RatePerSec, 19.773)
	near(t, "seconds", s.Seconds, 1.011463958)
	nearTime(t, "mean", s.Mean, 11321722*time.Nanosecond)
	nearTime(t, "max", s.Max, 13565323*time.Nanosecond)
	if len(s.Percentiles) != 5 || quantile(t, s, 0.99) != 13461*time.Microsecond || c.Load.RatePerSec != 20 {
		t.Errorf("percentiles %v, load %+v, want those of all calls and not of the errors", s.Percentiles, c.Load)
	}
	if want := []int64{10, 7, 3}; !slices.Equal(s.Buckets.Counts, want) {
		t.Errorf("buckets %v, want %v", s.Buckets.Counts, want)
	}
}

func TestVegetasHistogramKeepsItsOpenBucketOpen(t *testing.T) {
	s, _ := summaryOf(t, "vegeta", "captured_v_hist.txt")
	near(t, "requests", s.Requests, 20)
	if !slices.Equal(s.Buckets.Counts, []int64{0, 0, 16, 4}) || s.Buckets.Upper[2] != 20*time.Millisecond || s.Buckets.Upper[3] != math.MaxInt64 {
		t.Errorf("%+v", s.Buckets)
	}
	if len(s.Percentiles) != 0 || s.RatePerSec != nil {
		t.Errorf("%+v: the report has neither percentiles nor a rate", s)
	}
}

func TestGatlingsTextIsReadAndItsBinaryFormRefused(t *testing.T) {
	c := importFile(t, "gatling", "synthetic_gatling_text_le_3.12.log").Cells[0]
	wantOutcomes(t, c, map[record.Outcome]int64{record.Success: 1, record.Timeout: 1})
	if want := 10032 * time.Millisecond; c.Window != want {
		t.Errorf("window %v, want %v", c.Window, want)
	}
	if _, err := importText(t, "gatling", "\x00\x00\x00\x063.13.1"); err == nil || !strings.Contains(err.Error(), "3.13") {
		t.Errorf("got %v", err)
	}
}

func TestLocustBombardierAndGhzAreReadAsSummaries(t *testing.T) {
	run, err := importText(t, "locust", "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,95%,99%,100%\n"+
		"GET,/x,10,1,5,6,1,20,100,1,0.1,5,15,19,20\n,Aggregated,10,1,5,6.5,1,20,100,2.5,0.1,5,15,19,20\n")
	if err != nil {
		t.Fatal(err)
	}
	s := run.Cells[0].Imported.Summary
	near(t, "locust requests", s.Requests, 10)
	near(t, "locust seconds", s.Seconds, 4)
	nearTime(t, "locust mean", s.Mean, 6500*time.Microsecond)
	run, err = importText(t, "bombardier", `{"spec":{"numberOfConnections":125},"result":{"bytesRead":1000,"timeTakenSeconds":2,"req2xx":198,"req5xx":2,"others":4,"latency":{"mean":1500,"stddev":10,"max":9000,"percentiles":{"50":1400,"99":8000}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	s = run.Cells[0].Imported.Summary
	near(t, "bombardier rate", s.RatePerSec, 100)
	near(t, "bombardier connection", s.Connection, 4)
	nearTime(t, "bombardier max", s.Max, 9*time.Millisecond)
	run, err = importText(t, "ghz", `{"count":100,"total":2000000000,"average":5000000,"fastest":1000000,"slowest":9000000,"rps":50,"statusCodeDistribution":{"OK":98,"Unavailable":2},"latencyDistribution":[{"percentage":99,"latency":8000000}],"options":{"concurrency":7}}`)
	if err != nil {
		t.Fatal(err)
	}
	s = run.Cells[0].Imported.Summary
	near(t, "ghz failed", s.Failed, 2)
	if quantile(t, s, 0.99) != 8*time.Millisecond || run.Cells[0].Load.Concurrency != 7 {
		t.Errorf("ghz: %v", s.Percentiles)
	}
	run, err = importText(t, "ghz", "duration (ms),status,error\n1.5,OK,\n2.5,ResourceExhausted,too many, really\n")
	if err != nil {
		t.Fatal(err)
	}
	wantOutcomes(t, run.Cells[0], map[record.Outcome]int64{record.Success: 1, record.Rejected: 1})
}

func TestFilesWithoutStatisticsAreRefusedInEveryFormat(t *testing.T) {
	for _, format := range Formats() {
		for _, text := range []string{"", "\n", "hello\n", "{}", "[]", "<x/>", "1,2,3\n"} {
			if run, err := importText(t, format, text); err == nil {
				t.Errorf("%s: %q was read as %+v", format, text, run.Cells)
			}
		}
	}
}

func FuzzImport(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*_*"))
	if err != nil || len(files) == 0 {
		f.Fatal("no samples", err)
	}
	formats := Formats()
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i, format := range formats {
			if strings.Contains(name, string(format)) || strings.Contains(name, "_v") && format == "vegeta" {
				f.Add(i, data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		format := formats[uint(which)%uint(len(formats))]
		run, err := Import(format, "input", bytes.NewReader(data), Options{})
		if err != nil {
			return
		}
		for _, c := range run.Cells {
			if c.Imported == nil || c.Window < 0 {
				t.Fatalf("%s: cell %+v", format, c)
			}
			if s := c.Imported.Summary; s != nil && !monotonic(s.Percentiles) {
				t.Fatalf("%s: percentiles fall: %v", format, s.Percentiles)
			}
		}
	})
}
