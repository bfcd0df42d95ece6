package interchange

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// readOha tells oha's forms apart: text, CSV (one row a request) and JSON.
func readOha(in *bufio.Reader, _ Options) ([]record.Cell, error) {
	head, _ := in.Peek(len(ohaHeader))
	switch {
	case string(head) == ohaHeader:
		return readOhaCSV(in)
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")):
		return readOhaJSON(in)
	default:
		return readHeyText(in, "oha")
	}
}

// readOhaJSON reads oha's JSON: seconds everywhere, percentiles null where nothing was answered. Its success rate counts every answer, a 503 among
// them, so that the status codes are taken instead.
func readOhaJSON(in *bufio.Reader) ([]record.Cell, error) {
	var r struct {
		Summary *struct {
			Total, Slowest, Fastest, Average *float64
			RequestsPerSec                   *float64
			TotalData                        *float64
		}
		LatencyPercentiles     map[string]*float64
		StatusCodeDistribution map[string]float64
		ErrorDistribution      map[string]float64
	}
	if err := object(in, &r, "oha's JSON"); err != nil {
		return nil, err
	}
	if r.Summary == nil || len(r.StatusCodeDistribution)+len(r.ErrorDistribution) == 0 {
		return nil, faultAt(0, "check that this is oha's JSON and that the run ended", "no summary with a distribution of status codes or errors")
	}
	seconds := func(v *float64) *time.Duration {
		if v == nil {
			return nil
		}
		return length(*v, time.Second)
	}
	s := record.Summary{Seconds: r.Summary.Total, Mean: seconds(r.Summary.Average), Min: seconds(r.Summary.Fastest), Max: seconds(r.Summary.Slowest),
		RatePerSec: r.Summary.RequestsPerSec, BytesRead: r.Summary.TotalData}
	codes := map[string]float64{}
	var requests float64
	for _, distribution := range []map[string]float64{r.StatusCodeDistribution, r.ErrorDistribution} {
		for code, n := range distribution {
			codes[clip(code)] += n
			requests += n
		}
	}
	countCodes(&s, codes)
	s.Requests = &requests
	s.Percentiles = ohaPercentiles(r.LatencyPercentiles)
	about := record.Imported{Tool: "oha", Variant: "JSON", Latency: record.LatencyMeaning{From: "connect", Connect: true, ErrorsIncluded: true},
		Caveats: []record.ImportCaveat{caveat("errors-included", "the percentiles are over every answered request, whatever its status")}}
	if len(r.ErrorDistribution) > 0 {
		about.Caveats = append(about.Caveats, caveat("rate-with-errors", "requestsPerSec counts calls that got no answer, too"))
	}
	return summaryCell(about, s, record.Load{Model: record.Closed})
}

// ohaPercentiles reads names such as p50 and p99.99.
func ohaPercentiles(named map[string]*float64) []record.Percentile {
	var p percentiles
	for name, v := range named {
		q, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
		if err == nil && v != nil {
			p.add(q, *v, time.Second)
		}
	}
	return p.sorted()
}
