// Package hist holds latency distributions: HDR histograms with three significant digits over 1 ns to one hour, the only form in
// which Loadline keeps, merges and stores latencies.
//
// Percentiles are taken from merged histograms and never averaged. A value below 1 ns is recorded as 1 ns, a value above one hour as
// one hour; Clamped tells how many were. The cells are those of HdrHistogram with the same range and digits, so that other HDR tools
// read what Encode writes; but only the cells in use take memory, because a run keeps one histogram for every outcome and second.
// A Histogram is for one goroutine at a time.
//
// Source of the cells: Gil Tene, HdrHistogram, https://hdrhistogram.github.io/HdrHistogram/.
package hist

import (
	"math/bits"
	"time"
)

const (
	// Lowest is the smallest distinguishable latency.
	Lowest = time.Nanosecond
	// Highest is the largest latency kept; longer ones are clamped to it.
	Highest = time.Hour
	// Digits is the number of significant decimal digits kept.
	Digits = 3
)

// The geometry that HdrHistogram derives from the range and digits above: 2048 linear cells, then 1024 for every further octave.
const (
	subCells  = 2048
	halfCells = subCells / 2
	subBits   = 11
	// octaves covers Highest: 2^11 << 31 > 3.6e12.
	octaves    = 33
	cellCount  = octaves * halfCells
	blockCells = 64
	blocks     = halfCells / blockCells
)

type (
	block  [blockCells]int64
	octave [blocks]*block
)

// Histogram is a latency distribution. The zero value is empty and ready to use.
type Histogram struct {
	octaves  [octaves]*octave
	count    int64
	sum      time.Duration // exact, so that the mean carries no cell's error
	clamped  int64
	min, max time.Duration // exact; meaningless when empty
}

// New returns an empty histogram.
func New() *Histogram { return &Histogram{} }

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
	h.widen(d, d)
	*h.cell(cellOf(int64(d))) += n
	h.count += n
	h.sum += d * time.Duration(n)
}

// widen extends the extremes; it is called before count changes.
func (h *Histogram) widen(low, high time.Duration) {
	if h.count == 0 {
		h.min, h.max = low, high
		return
	}
	h.min, h.max = min(h.min, low), max(h.max, high)
}

// cell finds the counter of a cell, making room for it.
func (h *Histogram) cell(i int) *int64 {
	o := h.octaves[i/halfCells]
	if o == nil {
		o = new(octave)
		h.octaves[i/halfCells] = o
	}
	b := o[i%halfCells/blockCells]
	if b == nil {
		b = new(block)
		o[i%halfCells/blockCells] = b
	}
	return &b[i%blockCells]
}

// cellOf is the index of the cell that holds v.
func cellOf(v int64) int {
	shift := bits.Len64(uint64(v)|(subCells-1)) - subBits
	return shift*halfCells + int(v>>shift)
}

// rangeOf gives the smallest and the largest value of a cell.
func rangeOf(i int) (low, high int64) {
	shift := max(i/halfCells-1, 0)
	sub := int64(i - shift*halfCells)
	return sub << shift, (sub+1)<<shift - 1
}

// Merge adds the values of other; a nil other adds nothing.
func (h *Histogram) Merge(other *Histogram) {
	if other.Count() == 0 {
		return
	}
	h.widen(other.min, other.max)
	for i, from := range other.octaves {
		if from == nil {
			continue
		}
		if h.octaves[i] == nil {
			h.octaves[i] = new(octave)
		}
		h.octaves[i].merge(from)
	}
	h.count += other.count
	h.sum += other.sum
	h.clamped += other.clamped
}

func (o *octave) merge(from *octave) {
	for i, b := range from {
		switch {
		case b == nil:
		case o[i] == nil:
			copied := *b
			o[i] = &copied
		default:
			into := o[i]
			for j, n := range b {
				into[j] += n
			}
		}
	}
}

// Count is the number of values recorded; 0 for a nil histogram.
func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	return h.count
}

// Sum is the exact sum of the values recorded; 0 for a nil histogram.
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
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(float64(h.sum) / float64(h.count))
}

// Min is the smallest value, 0 when empty. It is exact for recorded values and to three digits for decoded ones.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return h.min
}

// Max is the largest value, 0 when empty. It is exact for recorded values and to three digits for decoded ones.
func (h *Histogram) Max() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return h.max
}

// Quantile is the latency at or below which the share q (0…1) of the values lies: the value of rank ⌈q·n⌉, to three digits and
// never above Max. It is 0 when empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	// Rounding the product to a part in 10^12 keeps 0.99 × 100 from becoming 99.00000000000001 and so rank 100.
	exact := q * float64(h.count)
	rank := int64(exact)
	if exact-float64(rank) > 1e-12*float64(h.count) {
		rank++
	}
	return h.AtRank(rank)
}

// AtRank is the value of the k-th smallest sample (1…Count), to three digits and never above Max; a rank outside is moved to the
// nearest end, and an empty histogram gives 0. Order-statistic intervals are read with it.
func (h *Histogram) AtRank(k int64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	k = min(max(k, 1), h.count)
	var seen int64
	for b := range h.All() {
		seen += b.Count
		if seen >= k {
			return min(b.To, h.max)
		}
	}
	return h.max
}

// CountAtOrBelow is how many values are at or below d; the values of the cell in which d lies count as below.
func (h *Histogram) CountAtOrBelow(d time.Duration) int64 {
	switch {
	case h.Count() == 0 || d < 0:
		return 0
	case d >= h.max:
		return h.count
	}
	last := cellOf(int64(d))
	var seen int64
	for _, o := range h.octaves[:last/halfCells] {
		if o != nil {
			seen += o.sum(blocks)
		}
	}
	o := h.octaves[last/halfCells]
	if o == nil {
		return seen
	}
	full := last % halfCells / blockCells
	seen += o.sum(full)
	if b := o[full]; b != nil {
		for _, n := range b[:last%blockCells+1] {
			seen += n
		}
	}
	return seen
}

// sum counts the values of the first blocks.
func (o *octave) sum(first int) (n int64) {
	for _, b := range o[:first] {
		if b == nil {
			continue
		}
		for _, c := range b {
			n += c
		}
	}
	return n
}

// Bucket is one non-empty cell of a histogram: Count values from From to To, both included.
type Bucket struct {
	From, To time.Duration
	Count    int64
}

// All yields the non-empty cells in rising order.
func (h *Histogram) All() func(yield func(Bucket) bool) {
	return func(yield func(Bucket) bool) {
		if h == nil {
			return
		}
		for i, o := range h.octaves {
			if o != nil && !o.each(i*halfCells, yield) {
				return
			}
		}
	}
}

func (o *octave) each(first int, yield func(Bucket) bool) bool {
	for i, b := range o {
		if b == nil {
			continue
		}
		for j, n := range b {
			if n == 0 {
				continue
			}
			low, high := rangeOf(first + i*blockCells + j)
			if !yield(Bucket{From: time.Duration(low), To: time.Duration(high), Count: n}) {
				return false
			}
		}
	}
	return true
}

// Buckets lists the non-empty cells in rising order.
func (h *Histogram) Buckets() []Bucket {
	var out []Bucket
	for b := range h.All() {
		out = append(out, b)
	}
	return out
}

// Reset empties the histogram and gives its memory back.
func (h *Histogram) Reset() { *h = Histogram{} }
