package hist_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/hist"
)

// reference is the library whose cells ours must equal.
func reference(values []int64) *hdrhistogram.Histogram {
	h := hdrhistogram.New(int64(hist.Lowest), int64(hist.Highest), hist.Digits)
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			panic(err)
		}
	}
	return h
}

func anyValues() *rapid.Generator[[]int64] {
	return rapid.SliceOfN(rapid.Int64Range(1, int64(hist.Highest)), 1, 300)
}

func of(values []int64) *hist.Histogram {
	h := hist.New()
	for _, v := range values {
		h.Record(time.Duration(v))
	}
	return h
}

func TestCellsAreThoseOfHdrHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := anyValues().Draw(t, "values")
		var want []hist.Bucket
		for _, b := range reference(values).Distribution() {
			if b.Count > 0 {
				want = append(want, hist.Bucket{From: time.Duration(b.From), To: time.Duration(b.To), Count: b.Count})
			}
		}
		if got := of(values).Buckets(); !slices.Equal(got, want) {
			t.Fatalf("cells of %v: got %v, want %v", values, got, want)
		}
	})
}

func TestAnotherHdrToolReadsWhatIsEncodedAndIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := anyValues().Draw(t, "values")
		h, ref := of(values), reference(values)
		data, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := hdrhistogram.Decode(data)
		if err != nil {
			t.Fatalf("the library cannot read it: %v", err)
		}
		if !theirs.Equals(ref) {
			t.Fatal("the library reads other counts")
		}
		data, err = ref.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		back, err := hist.Decode(data, h.Sum())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back.Buckets(), h.Buckets()) || back.Sum() != h.Sum() || back.Count() != h.Count() {
			t.Fatal("read back differs")
		}
	})
}

func TestRanksAreTheSortedSamplesToThreeDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := anyValues().Draw(t, "values")
		h := of(values)
		slices.Sort(values)
		k := rapid.IntRange(1, len(values)).Draw(t, "k")
		got, want := int64(h.AtRank(int64(k))), values[k-1]
		if got < want || float64(got-want) > float64(want)/1000 {
			t.Fatalf("rank %d of %v: got %d, want %d to three digits", k, values, got, want)
		}
		if h.Min() != time.Duration(values[0]) || h.Max() != time.Duration(values[len(values)-1]) {
			t.Fatalf("extremes: got %v and %v", h.Min(), h.Max())
		}
	})
}

func TestMergingIsRecordingAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyValues().Draw(t, "a"), anyValues().Draw(t, "b")
		merged := of(a)
		other := of(b)
		merged.Merge(other)
		merged.Merge(nil)
		all := of(append(slices.Clone(a), b...))
		if !slices.Equal(merged.Buckets(), all.Buckets()) || merged.Mean() != all.Mean() || merged.Max() != all.Max() {
			t.Fatal("merged and recorded differ")
		}
		if !slices.Equal(other.Buckets(), of(b).Buckets()) {
			t.Fatal("merging changed what was merged")
		}
	})
}

func TestRecordingNTimesIsRecordingOnceNTimes(t *testing.T) {
	once, many := hist.New(), hist.New()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		d, n := time.Duration(1+rng.Int64N(int64(time.Minute))), 1+rng.Int64N(20)
		many.RecordN(d, n)
		for range n {
			once.Record(d)
		}
	}
	if !slices.Equal(once.Buckets(), many.Buckets()) || once.Sum() != many.Sum() {
		t.Error("RecordN(d, n) differs from n times Record(d)")
	}
}

func TestQuantileIsTheSmallestRankThatCoversTheShare(t *testing.T) {
	h := hist.New()
	for i := 1; i <= 100; i++ {
		h.Record(time.Duration(i) * time.Microsecond)
	}
	check := func(q float64, want time.Duration) {
		t.Helper()
		if got := h.Quantile(q); got < want || got > want+want/1000 {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
	check(0, time.Microsecond)
	check(0.5, 50*time.Microsecond)
	check(0.99, 99*time.Microsecond)
	check(0.991, 100*time.Microsecond)
	check(1, 100*time.Microsecond)
}

func TestValuesOutsideTheRangeAreClampedAndCounted(t *testing.T) {
	h := hist.New()
	h.Record(-time.Second)
	h.Record(0)
	h.Record(2 * time.Hour)
	if h.Clamped() != 3 || h.Min() != hist.Lowest || h.Max() != hist.Highest || h.Count() != 3 {
		t.Errorf("got clamped %d, min %v, max %v, count %d", h.Clamped(), h.Min(), h.Max(), h.Count())
	}
}

func TestAnEmptyOrMissingHistogramHasNoFigures(t *testing.T) {
	var none *hist.Histogram
	for _, h := range []*hist.Histogram{none, hist.New()} {
		if h.Count() != 0 || h.Mean() != 0 || h.Quantile(0.5) != 0 || h.AtRank(1) != 0 || h.Max() != 0 || h.CountAtOrBelow(time.Hour) != 0 {
			t.Errorf("%v: a figure out of nothing", h)
		}
	}
}

func FuzzDecode(f *testing.F) {
	h := of([]int64{1, 2047, 2048, 20_000_000})
	data, err := h.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("HISTFAAAAA=="))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := hist.Decode(data, -1)
		if err != nil {
			return
		}
		again, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := hist.Decode(again, h.Sum())
		if err != nil || !slices.Equal(back.Buckets(), h.Buckets()) {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	h := hist.New()
	for i := range b.N {
		h.Record(time.Duration(20_000_000 + i%500_000))
	}
}

func BenchmarkMerge(b *testing.B) {
	part, whole := hist.New(), hist.New()
	for i := range 1000 {
		part.Record(time.Duration(20_000_000 + i*5000))
	}
	for range b.N {
		whole.Merge(part)
	}
}

func BenchmarkEncode(b *testing.B) {
	part := hist.New()
	for i := range 1000 {
		part.Record(time.Duration(20_000_000 + i*5000))
	}
	for range b.N {
		if _, err := part.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
