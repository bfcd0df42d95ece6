// Package buckets counts durations in fixed buckets, without allocation, for the hot paths of the isolation library.
//
// The buckets are log-linear: one a nanosecond up to 64 ns, then 32 to every doubling, up to Highest. A bucket above 64 ns is at most
// 1/32 of its values wide, so its middle is off by at most 1.6 %. An HDR histogram can be made from a Snapshot by its Each. The sum is exact,
// and so is the mean.
//
// Two recorders fill them: Recorder is for many goroutines at once, Plain for the owner of a lock that is held anyway. Both start at
// their zero value. Snapshots merge.
package buckets

import (
	"math/bits"
	"time"
)

const (
	subBits = 5
	sub     = 1 << subBits // buckets to a doubling

	// Highest is the longest duration told apart, 2^42-1 ns or 73 minutes; a longer one is counted in the last bucket. A duration below 0
	// counts as 0.
	Highest = time.Duration(1<<42 - 1)
	// Count is the number of buckets.
	Count = (42 - subBits + 1) * sub
)

// Index is the bucket of d.
func Index(d time.Duration) int {
	if d < sub {
		return max(0, int(d))
	}
	v := min(uint64(d), uint64(Highest))
	shift := bits.Len64(v) - subBits - 1
	return shift<<subBits + int(v>>shift)
}

// Bounds are the least and the greatest duration of bucket i, which must be 0 to Count-1.
func Bounds(i int) (low, high time.Duration) {
	if i < 2*sub {
		return time.Duration(i), time.Duration(i)
	}
	shift := i>>subBits - 1
	low = time.Duration(i-shift<<subBits) << shift
	return low, low + 1<<shift - 1
}

// Middle is the duration that stands for bucket i.
func Middle(i int) time.Duration {
	low, high := Bounds(i)
	return low + (high-low)/2
}
