package stat

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// Vectors published with Go's benchmath.
func TestRankTestsGiveThePublishedValues(t *testing.T) {
	l1, l2 := make([]float64, 500), make([]float64, 600)
	for i := range l1 {
		l1[i] = float64(i * 2)
	}
	for i := range l2 {
		l2[i] = float64(i*2 - 41)
	}
	l3 := append([]float64(nil), l2...)
	for i := range 30 {
		l3[i] = l1[i]
	}
	tests := []struct {
		name string
		a, b []float64
		u, p float64
	}{
		{"apart", []float64{2, 1, 3, 5}, []float64{12, 11, 13, 15}, 0, 0.0285714},
		{"mixed", []float64{2, 1, 3, 5}, []float64{0, 4, 6, 7}, 5, 0.4857143},
		{"large", l1, l2, 135250, 0.0049335360814},
		{"large with 30 ties", l1, l3, 134845, 0.0038703814},
	}
	for _, tt := range tests {
		got := MannWhitneyU(tt.a, tt.b)
		if got.U != tt.u || math.Abs(got.P-tt.p) > 5e-8 {
			t.Errorf("%s: %+v, want U %v p %v", tt.name, got, tt.u, tt.p)
		}
	}
}

func TestTheSmallestPossiblePIsKnownBeforehand(t *testing.T) {
	for n, want := range map[int]float64{4: 0.0285714, 5: 0.0079365, 6: 0.0021645, 7: 0.00058275, 8: 0.00015540} {
		if got := SmallestP(n, n); math.Abs(got-want) > 5e-8 {
			t.Errorf("n %d: %v, want %v", n, got, want)
		}
	}
}

// With ties, the count over deals must agree with dealing out every subset.
func TestExactRankTestsAgreeWithEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Map(rapid.IntRange(0, 6), func(i int) float64 { return float64(i) })
		a := rapid.SliceOfN(value, 1, 5).Draw(t, "a")
		b := rapid.SliceOfN(value, 1, 5).Draw(t, "b")
		got := MannWhitneyU(a, b)
		all := append(append([]float64(nil), a...), b...)
		mean := float64(len(a)*len(b)) / 2
		var total, tail float64
		for set := range 1 << len(all) {
			var x, y []float64
			for i, v := range all {
				if set>>i&1 == 1 {
					x = append(x, v)
				} else {
					y = append(y, v)
				}
			}
			if len(x) != len(a) {
				continue
			}
			total++
			if math.Abs(pairs(x, y)-mean) >= math.Abs(got.U-mean)-1e-9 {
				tail++
			}
		}
		if got.U != pairs(a, b) {
			t.Fatalf("U %v, counted %v", got.U, pairs(a, b))
		}
		if !math.IsNaN(got.P) && math.Abs(got.P-tail/total) > 1e-9 {
			t.Fatalf("p %v, enumerated %v", got.P, tail/total)
		}
	})
}

func pairs(a, b []float64) float64 {
	u := 0.0
	for _, x := range a {
		for _, y := range b {
			switch {
			case x > y:
				u++
			case x == y:
				u += 0.5
			}
		}
	}
	return u
}

func TestARankTestWithoutDataHasNoP(t *testing.T) {
	for _, got := range []MannWhitney{MannWhitneyU(nil, []float64{1}), MannWhitneyU([]float64{3, 3}, []float64{3})} {
		if !math.IsNaN(got.P) {
			t.Errorf("p %v, want none", got.P)
		}
	}
}

// Worked by hand: 0.005·4 = 0.02; 0.01·3 = 0.03; 0.03·2 = 0.06; 0.04·1 is below its predecessor and takes its 0.06.
func TestHolmStepsDown(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, math.NaN(), 0.03, 0.005})
	want := []float64{0.03, 0.06, math.NaN(), 0.06, 0.02}
	for i := range want {
		if math.IsNaN(want[i]) != math.IsNaN(got[i]) || math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("adjusted %v, want %v", got, want)
			break
		}
	}
}

func TestTheBootstrapFindsADifferenceAndRepeatsItself(t *testing.T) {
	a := []float64{10, 11, 9, 10.5, 9.5, 10.2}
	b := []float64{12, 13, 11.5, 12.5, 12.1, 11.9}
	ratio := func(x, y []float64) float64 { return Median(y) / Median(x) }
	run := func() Interval { return Bootstrap(a, b, ratio, 0.95, 2000, rand.New(rand.NewPCG(7, 7))) }
	got := run()
	if got.Low <= 1 || got.High >= 1.4 || !got.Contains(Median(b)/Median(a)) {
		t.Errorf("interval %+v around %v", got, Median(b)/Median(a))
	}
	if run() != got {
		t.Error("the same stream gave another interval")
	}
	if i := Bootstrap(a[:1], b, ratio, 0.95, 2000, rand.New(rand.NewPCG(7, 7))); !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
		t.Errorf("one run gives %+v, want no bounds", i)
	}
}

// An AR(1) series with coefficient φ has the correlation time (1+φ)/(1−φ).
func TestTheCorrelationTimeOfAnAutoregressionIsTheKnownOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, phi := range []float64{0, 0.5, 0.8} {
		x := make([]float64, 20000)
		for i := 1; i < len(x); i++ {
			x[i] = phi*x[i-1] + rng.NormFloat64()
		}
		want := (1 + phi) / (1 - phi)
		if got := CorrelationTime(x); math.Abs(got/want-1) > 0.2 {
			t.Errorf("φ %v: %v, want %v", phi, got, want)
		}
	}
	if got := CorrelationTime([]float64{1, 1, 1, 1}); got != 1 {
		t.Errorf("constant series: %v, want 1", got)
	}
}

func TestTheSpectrumGivesTheSameAutocorrelationsAsTheirDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, n := range []int{2, 3, 10, 100, 257} {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64() + float64(i%7)
		}
		for lag, got := range autocorrelations(x) {
			if want := Autocorrelation(x, lag); math.Abs(got-want) > 1e-12 {
				t.Errorf("n %d lag %d: %v, want %v", n, lag, got, want)
			}
		}
	}
}

func BenchmarkCorrelationTimeOf100000Intervals(b *testing.B) {
	x := make([]float64, 100_000)
	for i := range x {
		x[i] = float64(i % 1000)
	}
	for b.Loop() {
		CorrelationTime(x)
	}
}

// Bad requests in clumps of m make the count vary m times as much, so that a sample tells as much as one m times smaller.
func TestClumpsOfSlowRequestsShrinkTheSample(t *testing.T) {
	for _, clump := range []int64{1, 5, 20} {
		rng := rand.New(rand.NewPCG(5, uint64(clump)))
		batches := make([]Batch, 400)
		for i := range batches {
			batches[i].N = 10000
			for range 10000 / clump {
				if rng.Float64() < 0.01 {
					batches[i].Bad += clump
				}
			}
		}
		want := 4e6 / float64(clump)
		if got := EffectiveN(batches); math.Abs(got/want-1) > 0.35 {
			t.Errorf("clumps of %d: %v, want about %v", clump, got, want)
		}
	}
	if got := EffectiveN([]Batch{{100, 1}, {100, 0}}); got != 200 {
		t.Errorf("two batches: %v, want all 200", got)
	}
}
