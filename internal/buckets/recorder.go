package buckets

import (
	"sync/atomic"
	"time"
	"unsafe"
)

const shards = 4

// Recorder counts durations for many goroutines at once: a record is two atomic additions, most often on memory that no other processor
// writes. The zero value is ready. It must not be copied.
type Recorder struct {
	shards [shards]shard
}

type shard struct {
	sum    atomic.Int64
	max    atomic.Int64
	_      [112]byte // keeps the sums of two shards off one cache line, with the neighbour that is fetched along
	counts [Count]atomic.Uint64
}

// Record adds d; below 0 it counts as 0.
func (r *Recorder) Record(d time.Duration) {
	// Goroutines have stacks of their own, so a stack address spreads them over the shards for less than a random number costs.
	var here byte
	s := &r.shards[uint32(uintptr(unsafe.Pointer(&here))>>11)*0x9E3779B1>>30]
	d = max(0, d)
	s.counts[Index(d)].Add(1)
	s.sum.Add(int64(d))
	for {
		longest := s.max.Load()
		if int64(d) <= longest || s.max.CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// Snapshot is what was recorded so far. Records made meanwhile may be missing in part: N is the sum of the buckets, and the sum may be
// of a few more or fewer.
func (r *Recorder) Snapshot() Snapshot {
	s := Snapshot{counts: make([]uint64, Count)}
	for i := range r.shards {
		sh := &r.shards[i]
		for j := range sh.counts {
			c := sh.counts[j].Load()
			s.counts[j] += c
			s.n += c
		}
		s.sum += time.Duration(sh.sum.Load())
		s.max = max(s.max, time.Duration(sh.max.Load()))
	}
	return s
}

// Plain counts durations under its owner's lock. The zero value is ready.
type Plain struct {
	sum    time.Duration
	max    time.Duration
	counts [Count]uint64
}

// Record adds d; below 0 it counts as 0.
func (p *Plain) Record(d time.Duration) {
	d = max(0, d)
	p.counts[Index(d)]++
	p.sum += d
	if d > p.max {
		p.max = d
	}
}

// Snapshot is what was recorded so far.
func (p *Plain) Snapshot() Snapshot {
	s := Snapshot{counts: append([]uint64(nil), p.counts[:]...), sum: p.sum, max: p.max}
	for _, c := range p.counts {
		s.n += c
	}
	return s
}
