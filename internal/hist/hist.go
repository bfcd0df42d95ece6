// Package hist holds latency distributions: HDR histograms with three significant digits over 1 ns to one hour, the only form in
// which Loadline keeps, merges and stores latencies.
//
// Percentiles are taken from merged histograms and never averaged. A value below 1 ns is recorded as 1 ns, a value above one hour as
// one hour; Clamped tells how many were. A Histogram is for one goroutine at a time.
//
// Source: Gil Tene, HdrHistogram (https://hdrhistogram.github.io/HdrHistogram/); the stored form is its compressed V2 encoding.
package hist

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// Lowest is the smallest distinguishable latency.
	Lowest = time.Nanosecond
	// Highest is the largest latency kept; longer ones are clamped to it.
	Highest = time.Hour
	// Digits is the number of significant decimal digits kept.
	Digits = 3
)

// Histogram is a latency distribution. Make one with New; the zero value is not usable.
type Histogram struct {
	hdr     *hdrhistogram.Histogram
	sum     time.Duration // exact sum of the recorded values, so that the mean carries no bucket error
	clamped int64
}

// New returns an empty histogram.
func New() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(int64(Lowest), int64(Highest), Digits)}
}

// Record adds one latency.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN adds the same latency n times; n < 1 adds nothing.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	if n < 1 {
		return
	}
	if d < Lowest || d > Highest {
		d = min(max(d, Lowest), Highest)
		h.clamped += n
	}
	if err := h.hdr.RecordValues(int64(d), n); err != nil {
		// The range was enforced above: only a programmer's error can reach this.
		panic(fmt.Sprintf("hist: record %v: %v", d, err))
	}
	h.sum += d * time.Duration(n)
}

// Merge adds the values of other; a nil other adds nothing.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil {
		return
	}
	h.hdr.Merge(other.hdr)
	h.sum += other.sum
	h.clamped += other.clamped
}

// Count is the number of values recorded.
func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	return h.hdr.TotalCount()
}

// Sum is the exact sum of the values recorded.
func (h *Histogram) Sum() time.Duration {
	if h == nil {
		return 0
	}
	return h.sum
}

// Clamped is the number of values outside the range of the histogram, recorded as its nearest end.
func (h *Histogram) Clamped() int64 { return h.clamped }

// Mean is the exact mean, 0 when empty.
func (h *Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return time.Duration(float64(h.sum) / float64(n))
}

// Min is the smallest value to three digits, 0 when empty.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.hdr.Min())
}

// Max is the largest value to three digits, 0 when empty.
func (h *Histogram) Max() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.hdr.Max())
}

// Quantile is the latency at or below which the share q (0…1) of the values lies, 0 when empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.hdr.ValueAtPercentile(q * 100))
}

// AtRank is the value of the k-th smallest sample (1…Count), to three digits; a rank outside is moved to the nearest end.
// Order-statistic intervals are read with it.
func (h *Histogram) AtRank(k int64) time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	k = min(max(k, 1), n)
	var seen int64
	for _, b := range h.hdr.Distribution() {
		seen += b.Count
		if seen >= k {
			return time.Duration(b.To)
		}
	}
	return h.Max()
}

// CountAtOrBelow is how many values are at or below d, to three digits.
func (h *Histogram) CountAtOrBelow(d time.Duration) int64 {
	if h.Count() == 0 {
		return 0
	}
	var seen int64
	for _, b := range h.hdr.Distribution() {
		if b.From > int64(d) {
			break
		}
		seen += b.Count
	}
	return seen
}

// Bucket is one non-empty cell of a histogram: Count values from From to To, both included.
type Bucket struct {
	From, To time.Duration
	Count    int64
}

// Buckets lists the non-empty cells in rising order.
func (h *Histogram) Buckets() []Bucket {
	if h.Count() == 0 {
		return nil
	}
	var out []Bucket
	for _, b := range h.hdr.Distribution() {
		if b.Count > 0 {
			out = append(out, Bucket{From: time.Duration(b.From), To: time.Duration(b.To), Count: b.Count})
		}
	}
	return out
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	h.hdr.Reset()
	h.sum, h.clamped = 0, 0
}

// Encode gives HDR's compressed V2 form (base 64), as HdrHistogram's log files carry it.
func (h *Histogram) Encode() ([]byte, error) {
	out, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("encode histogram: %w", err)
	}
	return out, nil
}

// Decode reads what Encode wrote, or another tool's V2 form. The exact sum is not part of that form: pass it where it is known,
// else a negative sum has the mean computed from the cells.
func Decode(data []byte, sum time.Duration) (*Histogram, error) {
	hdr, err := hdrhistogram.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	if sum < 0 {
		sum = time.Duration(hdr.Mean() * float64(hdr.TotalCount()))
	}
	return &Histogram{hdr: hdr, sum: sum}, nil
}
