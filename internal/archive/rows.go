package archive

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

const (
	insertInterval = `INSERT INTO interval (run, cell, seq, phase, start_ns, end_ns, planned, in_flight, lag, lag_sum_ns, connect, connect_sum_ns, tls,
		tls_sum_ns, addresses, bytes_sent, bytes_read, codes, cpu_ns, loop_cpu_ns, cpu_wait_ns, gc_pause_ns, descriptors_free, ports_free)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertClass = `INSERT INTO class (run, cell, seq, place, outcome, inside, answered, count, latency, latency_sum_ns, response, response_sum_ns, held_ns)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertProcess = `INSERT INTO process_sample (run, cell, service, at_ns, cpu_user_ns, cpu_system_ns, voluntary, involuntary, run_queue_wait_ns, threads,
		rss_bytes, descriptors, minor_faults, major_faults) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertPool = `INSERT INTO pool_sample (run, cell, service, pool, kind, at_ns, core, size, max, capacity, active, queue, active_max, queue_max, completed,
		rejected, timed_out, waiting, queue_wait_count, queue_wait_seconds, queue_wait_buckets, execution_count, execution_seconds, execution_buckets)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

func intervalArgs(run int64, cell, seq int, iv record.Interval) ([]any, error) {
	args := []any{run, cell, seq, iv.Phase.String(), int64(iv.Start), int64(iv.End), iv.Planned, iv.InFlight}
	for _, h := range []*hist.Histogram{iv.Lag, iv.Connect, iv.TLS} {
		data, sum, err := encodeHist(h)
		if err != nil {
			return nil, err
		}
		args = append(args, data, sum)
	}
	addresses, err := jsonText(iv.Addresses, len(iv.Addresses))
	if err != nil {
		return nil, err
	}
	codes, err := jsonText(iv.Codes, len(iv.Codes))
	if err != nil {
		return nil, err
	}
	g := iv.Generator
	loops, err := jsonText(g.LoopCPU, len(g.LoopCPU))
	if err != nil {
		return nil, err
	}
	return append(args, addresses, iv.BytesSent, iv.BytesRead, codes, int64(g.CPU), loops, int64(g.RunQueueWait), int64(g.GCPause),
		g.DescriptorsFree, g.PortsFree), nil
}

func classArgs(run int64, cell, seq, place int, c record.Class) ([]any, error) {
	latency, latencySum, err := encodeHist(c.Latency)
	if err != nil {
		return nil, err
	}
	response, responseSum, err := encodeHist(c.Response)
	if err != nil {
		return nil, err
	}
	return []any{run, cell, seq, place, c.Outcome.String(), c.Inside, c.Answered, c.Count, latency, latencySum, response, responseSum, int64(c.Held)}, nil
}

func poolArgs(run int64, cell int, s record.PoolSample) ([]any, error) {
	args := []any{run, cell, s.Service, s.Pool, string(s.Kind), int64(s.At)}
	for _, f := range poolFigures(&s) {
		args = append(args, *f)
	}
	for _, d := range []*record.Dist{s.QueueWait, s.Execution} {
		if d == nil {
			args = append(args, nil, nil, nil)
			continue
		}
		buckets, err := encodeBuckets(d.Buckets)
		if err != nil {
			return nil, err
		}
		args = append(args, d.Count, d.Seconds, buckets)
	}
	return args, nil
}

// poolFigures lists a sample's figures in the order of the table's columns.
func poolFigures(s *record.PoolSample) []**float64 {
	return []**float64{&s.Core, &s.Size, &s.Max, &s.Capacity, &s.Active, &s.Queue, &s.ActiveMax, &s.QueueMax, &s.Completed, &s.Rejected,
		&s.TimedOut, &s.Waiting}
}

// encodeHist gives a histogram and its exact sum, both nil for none.
func encodeHist(h *hist.Histogram) (data, sum any, err error) {
	if h == nil {
		return nil, nil, nil
	}
	encoded, err := h.Encode()
	if err != nil {
		return nil, nil, err
	}
	return encoded, int64(h.Sum()), nil
}

func decodeHist(data []byte, sum *int64) (*hist.Histogram, error) {
	if data == nil {
		return nil, nil
	}
	exact := time.Duration(-1)
	if sum != nil {
		exact = time.Duration(*sum)
	}
	return hist.Decode(data, exact)
}

// jsonText is a value's JSON, nil where it holds nothing.
func jsonText(v any, size int) (any, error) {
	if size == 0 {
		return nil, nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return string(out), nil
}

// encodeBuckets writes pairs of upper bound and count; the bound of the open bucket is null, as JSON has no infinity.
func encodeBuckets(buckets []record.DistBucket) (any, error) {
	if len(buckets) == 0 {
		return nil, nil
	}
	pairs := make([][2]*float64, len(buckets))
	for i, b := range buckets {
		pairs[i][1] = &b.Count
		if !math.IsInf(b.UpperSeconds, 1) {
			pairs[i][0] = &b.UpperSeconds
		}
	}
	return jsonText(pairs, len(pairs))
}

func decodeBuckets(text *string) ([]record.DistBucket, error) {
	if text == nil {
		return nil, nil
	}
	var pairs [][2]*float64
	if err := json.Unmarshal([]byte(*text), &pairs); err != nil {
		return nil, fmt.Errorf("decode buckets: %w", err)
	}
	out := make([]record.DistBucket, len(pairs))
	for i, p := range pairs {
		if p[1] == nil {
			return nil, fmt.Errorf("decode buckets: bucket %d has no count", i)
		}
		out[i] = record.DistBucket{UpperSeconds: math.Inf(1), Count: *p[1]}
		if p[0] != nil {
			out[i].UpperSeconds = *p[0]
		}
	}
	return out, nil
}

// importedText is what another tool's figures mean, nil for a cell measured here.
func importedText(i *record.Imported) (any, error) {
	if i == nil {
		return nil, nil
	}
	return jsonText(i, 1)
}
