package buckets

import "time"

// RecordN adds n times d to what was recorded; below 0 it counts as 0.
func (s *Snapshot) RecordN(d time.Duration, n uint64) {
	if n == 0 {
		return
	}
	if s.counts == nil {
		s.counts = make([]uint64, Count)
	}
	d = max(0, d)
	s.counts[Index(d)] += n
	s.n += n
	s.sum += d * time.Duration(n)
	s.max = max(s.max, d)
}
