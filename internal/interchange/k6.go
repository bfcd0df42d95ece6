package interchange

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// k6Metrics are the metrics that an import looks at; k6 writes up to nine a request.
var k6Metrics = []string{"http_req_duration", "dropped_iterations", "vus"}

// k6Point is one value of a metric.
type k6Point struct {
	metric       string
	value        float64
	end          int64 // ns
	status, code int
	text         []byte
}

// k6 gathers points of the CSV and of the JSON form.
type k6 struct {
	fold    *fold
	dropped float64
	users   int
}

func (k *k6) point(p k6Point) error {
	switch p.metric {
	case "vus":
		k.users = int(min(max(p.value, 0), math.MaxInt32))
	case "dropped_iterations":
		k.dropped += min(max(p.value, 0), math.MaxInt32)
	case "http_req_duration":
		return k.request(p)
	}
	return nil
}

func (k *k6) request(p k6Point) error {
	latency := time.Duration(0)
	if p.value > 0 && p.value < float64(math.MaxInt64/int64(time.Millisecond)) {
		latency = time.Duration(p.value * float64(time.Millisecond))
	}
	s := sample{start: p.end - int64(latency), latency: latency, outcome: record.OutcomeOfStatus(p.status), code: statusCode(p.status), users: k.users}
	if p.status == 0 {
		s.outcome, s.code = k6Outcome(p.code), p.text
		if len(s.code) == 0 {
			s.code = fmt.Appendf(nil, "error code %d", p.code)
		}
	}
	return k.fold.add(s)
}

// k6Outcome maps k6's numeric error codes: 1050 timeout, 11xx DNS, 12xx TCP, 13xx TLS.
func k6Outcome(code int) record.Outcome {
	switch {
	case code == 1050, code == 1211:
		return record.Timeout
	case code == 1212:
		return record.Refused
	case code >= 1100 && code < 1200:
		return record.DNS
	case code >= 1200 && code < 1300:
		return record.Reset
	case code >= 1300 && code < 1400:
		return record.TLS
	default:
		return record.Failure
	}
}

func (k *k6) finish(variant string, cut bool) ([]record.Cell, error) {
	about := record.Imported{Tool: "k6", Variant: variant, Latency: record.LatencyMeaning{From: "sent"},
		Caveats: []record.ImportCaveat{caveat("connect-excluded", "k6's http_req_duration leaves out waiting for a connection, connecting and TLS")}}
	if k.dropped > 0 {
		about.Caveats = append(about.Caveats, caveat("dropped-iterations",
			fmt.Sprintf("%.0f iterations were dropped: the load was below what was planned", k.dropped)))
	}
	cells, err := finish(k.fold, about, cut)
	if err != nil || k.dropped == 0 {
		return cells, err
	}
	last := &cells[len(cells)-1]
	at := &last.Intervals[len(last.Intervals)-1]
	at.Planned += int64(k.dropped)
	at.Classes = append(at.Classes, record.Class{Outcome: record.Dropped, Inside: true, Count: int64(k.dropped)})
	return cells, nil
}
