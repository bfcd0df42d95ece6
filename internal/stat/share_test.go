package stat

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestThisManySlowRequestsStillProveThatP99Holds(t *testing.T) {
	for n, want := range map[int64]int64{299: 0, 473: 1, 628: 2, 1000: 4, 2000: 12, 5000: 38, 10000: 83, 100000: 948} {
		got, ok := MaxBad(n, 0.01, 0.95)
		if !ok || got != want {
			t.Errorf("n %d: %d (%v), want %d", n, got, ok, want)
		}
		if hi := ClopperPearsonUpper(want, n, 0.95); hi > 0.01 {
			t.Errorf("n %d: bound %v of %d is above 1 %%", n, hi, want)
		}
		if hi := ClopperPearsonUpper(want+1, n, 0.95); hi <= 0.01 {
			t.Errorf("n %d: bound %v of %d is not above 1 %%", n, hi, want+1)
		}
	}
	if _, ok := MaxBad(298, 0.01, 0.95); ok {
		t.Error("298 samples cannot prove a p99")
	}
}

// Published: Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
func TestIntervalsOfAShareAreThePublishedOnes(t *testing.T) {
	tests := []struct {
		k, n                                     int64
		exactLow, exactHigh, scoreLow, scoreHigh float64
	}{
		{81, 263, 0.2527, 0.3676, 0.2553, 0.3662}, {15, 148, 0.0578, 0.1617, 0.0624, 0.1605},
		{0, 20, 0, 0.1684, 0, 0.1611}, {1, 29, 0.0009, 0.1776, 0.0061, 0.1718},
	}
	for _, tt := range tests {
		e, s := ClopperPearson(tt.k, tt.n, 0.95), Wilson(tt.k, tt.n, 0.95)
		for _, pair := range [][2]float64{{e.Low, tt.exactLow}, {e.High, tt.exactHigh}, {s.Low, tt.scoreLow}, {s.High, tt.scoreHigh}} {
			if math.Abs(pair[0]-pair[1]) > 6e-5 {
				t.Errorf("%d of %d: exact %+v, score %+v, want %+v", tt.k, tt.n, e, s, tt)
			}
		}
	}
	if i := ClopperPearson(0, 0, 0.95); i.Low != 0 || i.High != 1 {
		t.Errorf("no samples: %+v, want 0…1", i)
	}
}

func TestProofsForAndAgainstAShareNeverOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 200000).Draw(t, "n")
		limit := rapid.Float64Range(0.0005, 0.2).Draw(t, "limit")
		most, okMost := MaxBad(n, limit, 0.95)
		fewest, okFewest := MinBad(n, limit, 0.95)
		if okMost && okFewest && most >= fewest {
			t.Fatalf("n %d limit %v: %d proves below and %d proves above", n, limit, most, fewest)
		}
		if okMost && float64(most) > float64(n)*limit {
			t.Fatalf("n %d limit %v: %d bad ones prove less", n, limit, most)
		}
		if okFewest && float64(fewest) < float64(n)*limit {
			t.Fatalf("n %d limit %v: %d bad ones prove more", n, limit, fewest)
		}
	})
}

func TestWaldsBoundsAreTheComputedOnes(t *testing.T) {
	tests := []struct{ p0, p1, slope, h, atP0, atP1 float64 }{
		{0.005, 0.02, 0.01083863, 2.10094, 324, 206}, {0.005, 0.015, 0.00911065, 2.65573, 582, 406},
		{0.008, 0.012, 0.00986656, 7.19023, 3467, 3033}, {0.009, 0.011, 0.00996691, 14.52674, 13521, 12655},
	}
	for _, tt := range tests {
		s := SPRT{P0: tt.p0, P1: tt.p1, Alpha: 0.05, Beta: 0.05}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		l := s.Line()
		if math.Abs(l.Slope-tt.slope) > 5e-9 || math.Abs(l.Upper-tt.h) > 5e-6 || math.Abs(l.Lower-tt.h) > 5e-6 {
			t.Errorf("%v against %v: %+v, want slope %v and ±%v", tt.p0, tt.p1, l, tt.slope, tt.h)
		}
		a, b := s.MeanSamples()
		if math.Abs(a-tt.atP0) > 0.6 || math.Abs(b-tt.atP1) > 0.6 {
			t.Errorf("%v against %v: mean samples %v and %v, want %v and %v", tt.p0, tt.p1, a, b, tt.atP0, tt.atP1)
		}
	}
}

func TestTheSequentialTestDecidesOnItsLines(t *testing.T) {
	s := SPRT{P0: 0.005, P1: 0.02, Alpha: 0.05, Beta: 0.05}
	for _, tt := range []struct {
		bad, n float64
		want   Decision
	}{{0, 193, Undecided}, {0, 194, AcceptLow}, {3, 10, AcceptHigh}, {2, 10, Undecided}} {
		if got := s.Decide(tt.bad, tt.n); got != tt.want {
			t.Errorf("%v of %v: %v, want %v", tt.bad, tt.n, got, tt.want)
		}
	}
}

func TestFaultsOfASequentialTestAreNamedTogether(t *testing.T) {
	err := SPRT{P0: 0.2, P1: 0.1, Alpha: 0.7, Beta: 0.05}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, says := range []string{"P0 = 0.2", "Alpha = 0.7"} {
		if !contains(err.Error(), says) {
			t.Errorf("%v does not name %s", err, says)
		}
	}
}
