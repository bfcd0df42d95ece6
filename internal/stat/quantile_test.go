package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Ranks and coverages computed from the binomial law; the minimum sizes are the classical values of Wilks.
func TestRanksOfP99AreTheBinomialOnes(t *testing.T) {
	tests := []struct {
		n, lower, upper int64
		coverage        float64
		oneSided        int64
	}{
		{368, 360, 368, 0.96242, 368}, {500, 490, 500, 0.98019, 499}, {1000, 983, 997, 0.97609, 996}, {2000, 1971, 1989, 0.95783, 1988},
		{5000, 4936, 4964, 0.95374, 4962}, {10000, 9880, 9920, 0.95575, 9917}, {50000, 49456, 49544, 0.95207, 49537},
	}
	for _, tt := range tests {
		got := QuantileRanks(tt.n, 0.99, 0.95)
		if got.Lower != tt.lower || got.Upper != tt.upper || math.Abs(got.Coverage-tt.coverage) > 1e-5 {
			t.Errorf("n %d: %+v, want %d–%d (%v)", tt.n, got, tt.lower, tt.upper, tt.coverage)
		}
		if u := UpperRank(tt.n, 0.99, 0.95); u != tt.oneSided {
			t.Errorf("n %d: one-sided upper rank %d, want %d", tt.n, u, tt.oneSided)
		}
	}
}

func TestTooFewSamplesGiveNoUpperBound(t *testing.T) {
	if r := QuantileRanks(299, 0.99, 0.95); r.Upper != 0 || r.Lower == 0 {
		t.Errorf("299 samples: %+v, want a lower bound and no upper one", r)
	}
	if r := QuantileRanks(367, 0.99, 0.95); r.Upper != 0 {
		t.Errorf("367 samples: upper %d, want none", r.Upper)
	}
	if u := UpperRank(299, 0.99, 0.95); u != 299 {
		t.Errorf("299 samples: one-sided upper rank %d, want 299", u)
	}
	if u := UpperRank(298, 0.99, 0.95); u != 0 {
		t.Errorf("298 samples: one-sided upper rank %d, want none", u)
	}
	if c := 1 - math.Pow(0.99, 299); math.Abs(c-0.95046) > 1e-5 {
		t.Errorf("coverage of the largest of 299: %v", c)
	}
	if r := QuantileRanks(0, 0.99, 0.95); r.Lower != 0 || r.Upper != 0 {
		t.Errorf("no samples: %+v", r)
	}
}

func TestMinimumSampleSizesAreTheClassicalOnes(t *testing.T) {
	for q, want := range map[float64]int64{0.90: 29, 0.95: 59, 0.99: 299, 0.999: 2995} {
		if got := MinSamples(q, 0.95); got != want {
			t.Errorf("q %v: %d, want %d", q, got, want)
		}
	}
	if got := MinSamplesTwoSided(0.99, 0.95); got != 368 {
		t.Errorf("two-sided: %d, want 368", got)
	}
}

func TestMedianRanksAreThoseOfBenchstat(t *testing.T) {
	for _, tt := range []struct {
		n, lower, upper int64
		coverage        float64
	}{{6, 1, 6, 0.96875}, {8, 1, 8, 0.9921875}, {10, 2, 9, 0.9785156}, {20, 6, 15, 0.9586}} {
		got := QuantileRanks(tt.n, 0.5, 0.95)
		if got.Lower != tt.lower || got.Upper != tt.upper || math.Abs(got.Coverage-tt.coverage) > 5e-5 {
			t.Errorf("n %d: %+v, want %d–%d", tt.n, got, tt.lower, tt.upper)
		}
	}
	if got := MedianInterval([]float64{5, 1, 3, 2, 4}, 0.95); !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
		t.Errorf("five samples give %+v, want no bounds", got)
	}
	if got := MedianInterval([]float64{6, 5, 1, 3, 2, 4}, 0.95); got.Low != 1 || got.High != 6 {
		t.Errorf("six samples give %+v, want 1–6", got)
	}
	if m := Median([]float64{4, 1, 3, 2}); m != 2.5 {
		t.Errorf("median %v, want 2.5", m)
	}
}

// The normal form used for large samples must agree with the exact sum at the border between them.
func TestTheTwoFormsOfTheBinomialAgreeWhereTheyMeet(t *testing.T) {
	n, p := int64(2_100_000), 0.99
	sd := math.Sqrt(float64(n) * p * (1 - p))
	for _, z := range []float64{-3, -2, -1, 0, 1, 2, 3} {
		k := int64(float64(n)*p + z*sd)
		exact := 0.0
		for i := k; i > k-int64(12*sd) && i >= 0; i-- {
			exact += math.Exp(logBinomial(n, i, p))
		}
		if got := binomialCDF(k, n, p); math.Abs(got-exact) > 2e-5 {
			t.Errorf("z %v: %v, exact sum %v", z, got, exact)
		}
	}
}

func logBinomial(n, k int64, p float64) float64 {
	lg := func(v int64) float64 { g, _ := math.Lgamma(float64(v) + 1); return g }
	return lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p)
}

func TestSmallBinomialsAreTheirSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 3000).Draw(t, "n")
		k := rapid.Int64Range(0, n).Draw(t, "k")
		p := rapid.Float64Range(0.001, 0.999).Draw(t, "p")
		sum := 0.0
		for i := int64(0); i <= k; i++ {
			sum += math.Exp(logBinomial(n, i, p))
		}
		if got := binomialCDF(k, n, p); math.Abs(got-sum) > 1e-9 {
			t.Fatalf("P(B <= %d), n %d, p %v: %v, sum %v", k, n, p, got, sum)
		}
	})
}

// Of intervals at 95 %, at least 95 % hold the true p99, whatever the distribution; here an exponential one.
func TestIntervalsOfP99HoldTheTruthAsOftenAsPromised(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs, n = 2000, 1000
	truth := -math.Log(0.01)
	r := QuantileRanks(n, 0.99, 0.95)
	held := 0
	for range runs {
		below, fromLower, fromUpper := 0, int64(0), int64(0)
		for range n {
			if rng.ExpFloat64() < truth {
				below++
			}
		}
		fromLower, fromUpper = r.Lower, r.Upper
		if int64(below) >= fromLower && int64(below) < fromUpper {
			held++
		}
	}
	if share := float64(held) / runs; share < 0.965 || share > 0.987 {
		t.Errorf("held in %.4f of the runs, the binomial law says 0.976", share)
	}
}

func TestCorrelatedSamplesWidenTheRanks(t *testing.T) {
	independent := QuantileRanks(10000, 0.99, 0.95)
	if got := QuantileRanksEffective(10000, 10000, 0.99, 0.95); got != independent {
		t.Errorf("all effective: %+v, want %+v", got, independent)
	}
	got := QuantileRanksEffective(10000, 1000, 0.99, 0.95)
	if got.Lower != 9830 || got.Upper != 9970 {
		t.Errorf("a tenth effective: %+v, want the ranks of 1000 spread to 10000: 9830–9970", got)
	}
	if got := QuantileRanksEffective(10000, 300, 0.99, 0.95); got.Upper != 0 {
		t.Errorf("300 effective: upper %d, want none", got.Upper)
	}
}
