package expose_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/buckets"
	"github.com/loadline-dev/loadline/internal/lab/expose"
)

func TestAnExposedBucketCountsWhatIsNotLonger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOf(rapid.Int64Range(0, int64(10*time.Second))).Draw(t, "took")
		var h buckets.Snapshot
		for _, d := range took {
			h.RecordN(time.Duration(d), 1)
		}
		var e expose.Text
		e.Family("executor_seconds", "histogram", "Execution.")
		e.Histogram("executor_seconds", `name="price"`, h)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(string(e.Bytes())))
		if err != nil {
			t.Fatal(err)
		}
		got := families["executor_seconds"].GetMetric()[0].GetHistogram()
		if int(got.GetSampleCount()) != len(took) {
			t.Fatalf("%d samples, want %d", got.GetSampleCount(), len(took))
		}
		for _, b := range got.GetBucket() {
			want := len(took)
			if bound := b.GetUpperBound(); bound < 100 {
				want = 0
				for _, d := range took {
					if float64(d) <= bound*1e9+0.5 { // A bound is a whole number of nanoseconds.
						want++
					}
				}
			}
			if int(b.GetCumulativeCount()) != want {
				t.Fatalf("%d up to %v s, want %d of %v", b.GetCumulativeCount(), b.GetUpperBound(), want, took)
			}
		}
	})
}

func TestExposedBoundsAreFineAroundTheStudysServiceTime(t *testing.T) {
	bounds := expose.Bounds()
	if !slices.IsSorted(bounds) || len(bounds) > 200 || bounds[0] > 100*time.Microsecond || bounds[len(bounds)-1] < 4*time.Second {
		t.Fatalf("%d bounds from %v to %v", len(bounds), bounds[0], bounds[len(bounds)-1])
	}
	for i := 1; i < len(bounds); i++ {
		step := float64(bounds[i]) / float64(bounds[i-1])
		if step > 1.26 || bounds[i-1] > 10*time.Millisecond && bounds[i] < 60*time.Millisecond && step > 1.035 {
			t.Errorf("from %v to %v", bounds[i-1], bounds[i])
		}
	}
}
