package interchange

import (
	"bufio"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

var vegetaBucket = regexp.MustCompile(`(?m)^\[\S+,\s+(\S+)\]\s+(\d+)\s`)

// readVegetaHist reads the report of type hist: counts of all requests in buckets that the user chose.
func readVegetaHist(in *bufio.Reader) ([]record.Cell, error) {
	text, err := plainText(in)
	if err != nil {
		return nil, err
	}
	b, total := record.Buckets{}, 0.0
	for _, m := range vegetaBucket.FindAllStringSubmatch(text, -1) {
		upper, n := time.Duration(math.MaxInt64), int64(0)
		if n, err = strconv.ParseInt(m[2], 10, 64); err != nil {
			return nil, faultAt(0, "check the file", "a bucket counts %q", clip(m[2]))
		}
		if m[1] != "+Inf" {
			if upper, err = time.ParseDuration(m[1]); err != nil {
				return nil, faultAt(0, "check the file", "a bucket ends at %q, want a duration", clip(m[1]))
			}
		}
		b.Upper, b.Counts = append(b.Upper, upper), append(b.Counts, n)
		total += float64(n)
	}
	if total == 0 {
		return nil, faultAt(0, "check that the attack ran", "no requests in vegeta's histogram")
	}
	about := record.Imported{Tool: "vegeta", Variant: "histogram", Latency: record.LatencyMeaning{From: "connect", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("errors-included", "vegeta's histogram is over all requests, errors and timeouts too: none is told apart"),
			caveat("interpolated", "percentiles are interpolated within the buckets that were asked for"), caveat("no-stamps", "the report has no time of day: rates are unknown")}}
	return summaryCell(about, record.Summary{Requests: &total, Buckets: &b}, record.Load{Model: record.Open})
}
