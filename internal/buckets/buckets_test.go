package buckets_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/buckets"
	"pgregory.net/rapid"
)

func TestEveryDurationLiesInItsBucketAndBucketsTouch(t *testing.T) {
	end := time.Duration(-1)
	for i := range buckets.Count {
		low, high := buckets.Bounds(i)
		if low != end+1 || high < low || buckets.Index(low) != i || buckets.Index(high) != i {
			t.Fatalf("bucket %d: %d to %d after %d, Index says %d and %d", i, low, high, end, buckets.Index(low), buckets.Index(high))
		}
		if low >= 64 && float64(high-low+1) > float64(low)/32 {
			t.Fatalf("bucket %d: %d to %d is wider than 1/32", i, low, high)
		}
		end = high
	}
	if end != buckets.Highest {
		t.Errorf("the last bucket ends at %d, Highest is %d", end, buckets.Highest)
	}
	if buckets.Index(-5) != 0 || buckets.Index(1<<62) != buckets.Count-1 {
		t.Error("a duration out of range is not in the nearest bucket")
	}
}

func TestQuantilesMeanAndMaxAreThoseOfTheSortedDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 200).Draw(t, "ns")
		var r buckets.Recorder
		var p buckets.Plain
		var sum int64
		for _, v := range values {
			r.Record(time.Duration(v))
			p.Record(time.Duration(v))
			sum += v
		}
		slices.Sort(values)
		for _, s := range []buckets.Snapshot{r.Snapshot(), p.Snapshot()} {
			mean, _ := s.Mean()
			if s.N() != uint64(len(values)) || int64(s.Sum()) != sum || int64(s.Max()) != values[len(values)-1] || int64(mean) != sum/int64(len(values)) {
				t.Fatalf("n %d sum %d max %d mean %d of %v", s.N(), s.Sum(), s.Max(), mean, values)
			}
			q := rapid.Float64Range(0, 1).Draw(t, "q")
			got, ok := s.Quantile(q)
			rank := max(1, int(ceil(q*float64(len(values)))))
			want := float64(values[rank-1])
			if !ok || float64(got) < want*(1-1.0/63) || float64(got) > want*(1+1.0/63) {
				t.Fatalf("quantile %v = %d, want %v", q, got, want)
			}
		}
	})
}

func ceil(f float64) float64 {
	if n := float64(int64(f)); n < f {
		return n + 1
	}
	return f
}

func TestMergingIsRecordingTogetherAndSinceUndoesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SliceOf(rapid.Int64Range(0, 1<<45)).Draw(t, "first")
		second := rapid.SliceOf(rapid.Int64Range(0, 1<<45)).Draw(t, "second")
		var a, b, both buckets.Plain
		record := func(values []int64, into ...*buckets.Plain) {
			for _, v := range values {
				for _, p := range into {
					p.Record(time.Duration(v))
				}
			}
		}
		record(first, &a, &both)
		before := both.Snapshot()
		record(second, &b, &both)
		merged, after := a.Snapshot(), both.Snapshot()
		merged.Merge(b.Snapshot())
		same(t, merged, after)
		if merged.Max() != after.Max() {
			t.Fatalf("max %d, want %d", merged.Max(), after.Max())
		}
		same(t, after.Since(before), b.Snapshot())
		var empty buckets.Snapshot
		empty.Merge(after)
		same(t, empty, after)
	})
}

func same(t *rapid.T, a, b buckets.Snapshot) {
	t.Helper()
	list := func(s buckets.Snapshot) (all []uint64) {
		s.Each(func(low, high time.Duration, n uint64) { all = append(all, uint64(low), uint64(high), n) })
		return all
	}
	if a.N() != b.N() || a.Sum() != b.Sum() || !slices.Equal(list(a), list(b)) {
		t.Fatalf("n %d sum %d %v, want n %d sum %d %v", a.N(), a.Sum(), list(a), b.N(), b.Sum(), list(b))
	}
}

func TestAnEmptySnapshotSaysThatItKnowsNothing(t *testing.T) {
	var r buckets.Recorder
	s := r.Snapshot()
	if _, ok := s.Mean(); ok {
		t.Error("a mean of nothing")
	}
	if _, ok := s.Quantile(0.5); ok {
		t.Error("a quantile of nothing")
	}
	r.Record(time.Second)
	s = r.Snapshot()
	for _, q := range []float64{-0.1, 1.1} {
		if _, ok := s.Quantile(q); ok {
			t.Errorf("quantile %v", q)
		}
	}
}

func TestManyGoroutinesLoseNoRecord(t *testing.T) {
	var r buckets.Recorder
	var all sync.WaitGroup
	var sums [8]time.Duration
	for i := range sums {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 10_000 {
				d := time.Duration(random.Int64N(1 << 30))
				r.Record(d)
				sums[i] += d
			}
		})
	}
	all.Wait()
	var want time.Duration
	for _, s := range sums {
		want += s
	}
	if s := r.Snapshot(); s.N() != 80_000 || s.Sum() != want {
		t.Errorf("n %d sum %d, want 80000 and %d", s.N(), s.Sum(), want)
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	var r buckets.Recorder
	var p buckets.Plain
	if n := testing.AllocsPerRun(100, func() { r.Record(12345); p.Record(54321) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
