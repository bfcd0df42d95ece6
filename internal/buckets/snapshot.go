package buckets

import (
	"math"
	"time"
)

// Snapshot is a distribution at an instant. The zero value is empty. It is for one goroutine at a time.
type Snapshot struct {
	counts []uint64 // nil or Count long
	n      uint64
	sum    time.Duration
	max    time.Duration
}

// N is how many durations were recorded.
func (s *Snapshot) N() uint64 { return s.n }

// Sum is the exact sum of what was recorded. It is right for 292 years in all.
func (s *Snapshot) Sum() time.Duration { return s.sum }

// Max is the longest duration recorded, exactly; 0 when nothing was. Of a difference (see Since) it is the bound of the longest's bucket.
func (s *Snapshot) Max() time.Duration { return s.max }

// Mean is the exact mean; false when nothing was recorded.
func (s *Snapshot) Mean() (time.Duration, bool) {
	if s.n == 0 {
		return 0, false
	}
	return s.sum / time.Duration(s.n), true
}

// Quantile is the middle of the bucket that holds the q-quantile, that is the ceil(q·n)-th shortest duration, and no longer than Max;
// false when nothing was recorded or q is not in 0…1.
func (s *Snapshot) Quantile(q float64) (time.Duration, bool) {
	if s.n == 0 || !(q >= 0 && q <= 1) {
		return 0, false
	}
	rank := max(1, uint64(math.Ceil(q*float64(s.n))))
	var seen uint64
	for i, c := range s.counts {
		if seen += c; seen >= rank {
			return min(Middle(i), s.max), true
		}
	}
	return s.max, true
}

// Each calls visit for every bucket that is not empty, shortest durations first.
func (s *Snapshot) Each(visit func(low, high time.Duration, n uint64)) {
	for i, c := range s.counts {
		if c > 0 {
			low, high := Bounds(i)
			visit(low, high, c)
		}
	}
}

// Merge adds what other holds.
func (s *Snapshot) Merge(other Snapshot) {
	if other.counts == nil {
		return
	}
	if s.counts == nil {
		s.counts = make([]uint64, Count)
	}
	for i, c := range other.counts {
		s.counts[i] += c
	}
	s.n += other.n
	s.sum += other.sum
	s.max = max(s.max, other.max)
}

// Since is what was recorded between earlier, a snapshot of the same recorder, and s.
func (s *Snapshot) Since(earlier Snapshot) Snapshot {
	d := Snapshot{n: s.n - earlier.n, sum: s.sum - earlier.sum}
	if d.n == 0 {
		return Snapshot{}
	}
	d.counts = append([]uint64(nil), s.counts...)
	for i, c := range earlier.counts {
		d.counts[i] -= c
	}
	for i := Count - 1; i >= 0; i-- {
		if d.counts[i] > 0 {
			_, high := Bounds(i)
			d.max = min(high, s.max)
			break
		}
	}
	return d
}
