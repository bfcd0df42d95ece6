package queueing

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// near tells whether two figures agree to the given absolute tolerance.
func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

func requireNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !near(got, want, tolerance) {
		t.Errorf("%s: %.10g, want %.10g", what, got, want)
	}
}

func TestOneServerFollowsItsClosedForms(t *testing.T) {
	tests := []struct{ rho, w, lq, p50, p95, p99 float64 }{
		{0.5, 2, 0.5, 1.386294, 5.991465, 9.210340}, {0.7, 3.333333, 1.633333, 2.310491, 9.985774, 15.350567},
		{0.8, 5, 3.2, 3.465736, 14.978661, 23.025851}, {0.9, 10, 8.1, 6.931472, 29.957323, 46.051702}, {0.95, 20, 18.05, 13.862944, 59.914645, 92.103404},
	}
	for _, tt := range tests {
		q := MM1{ArrivalPerSec: tt.rho, ServiceSec: 1}
		c := MMc{ArrivalPerSec: tt.rho, ServiceSec: 1, Servers: 1}
		requireNear(t, "W", q.ResponseSec(), tt.w, 5e-7)
		requireNear(t, "Lq", q.Waiting(), tt.lq, 5e-7)
		requireNear(t, "W as M/M/c", c.ResponseSec(), tt.w, 5e-7)
		for share, want := range map[float64]float64{0.5: tt.p50, 0.95: tt.p95, 0.99: tt.p99} {
			requireNear(t, "quantile", q.ResponseQuantileSec(share), want, 5e-7)
			requireNear(t, "quantile as M/M/c", c.ResponseQuantileSec(share), want, 5e-7)
		}
	}
	// Jain, The Art of Computer Systems Performance Analysis (1991), gateway example: 125/s, 2 ms.
	q := MM1{ArrivalPerSec: 125, ServiceSec: 0.002}
	requireNear(t, "ρ", q.Utilisation(), 0.25, 1e-12)
	requireNear(t, "L", q.InSystem(), 0.3333, 5e-5)
	requireNear(t, "W ms", q.ResponseSec()*1000, 2.667, 5e-4)
	requireNear(t, "P(N >= 13)", q.AtLeast(13)*1e8, 1.490, 5e-4)
}

func TestErlangsFormulasGiveTheTables(t *testing.T) {
	tests := []struct {
		a    float64
		c    int
		b, w float64
	}{
		{1, 2, 0.2, 0.3333333333}, {2, 4, 0.0952380952, 0.1739130435}, {5, 5, 0.2848678213, 1}, {5, 10, 0.0183845703, 0.0361053592},
		{10, 10, 0.2145823431, 1}, {10, 15, 0.0364969455, 0.1020423670}, {20, 30, 0.0084574983, 0.0249504581},
		{50, 64, 0.0084394267, 0.0374514200}, {100, 117, 0.0097900711, 0.0637097652},
	}
	for _, tt := range tests {
		requireNear(t, "Erlang B", ErlangB(tt.a, tt.c), tt.b, 5e-11)
		requireNear(t, "Erlang C", ErlangC(tt.a, tt.c), tt.w, 5e-11)
	}
	for c, want := range map[int]float64{1: 0.0101, 2: 0.1526, 5: 1.3608, 10: 4.4612, 20: 12.0306, 30: 20.3373, 50: 37.9014, 100: 84.0642} {
		requireNear(t, "offered at 1 %", OfferedAtBlocking(c, 0.01), want, 5e-5)
	}
	for c, want := range map[int]float64{10: 3.0920, 20: 9.4115, 50: 32.5119, 100: 75.2420} {
		requireNear(t, "offered at 0.1 %", OfferedAtBlocking(c, 0.001), want, 5.1e-5)
	}
}

func TestSeveralServersGiveThePublishedWaitsAndQuantiles(t *testing.T) {
	// PDQ, demo/mmm.R: λ = 2, S = 1, m = 3.
	q := MMc{ArrivalPerSec: 2, ServiceSec: 1, Servers: 3}
	requireNear(t, "C", q.WaitProbability(), 0.4444444, 5e-8)
	requireNear(t, "W", q.ResponseSec(), 1.4444444, 5e-8)
	requireNear(t, "Lq", q.Waiting(), 0.8888889, 5e-8)
	// Gross and Harris, example 4.1 (40 an hour, 4 min), exact value.
	requireNear(t, "four cashiers", MMc{ArrivalPerSec: 40.0 / 60, ServiceSec: 4, Servers: 4}.WaitSec(), 1.1352550, 5e-8)
	tests := []struct {
		lambda, s float64
		c         int
		want      [4]float64
	}{
		{2, 1, 3, [4]float64{1.087413, 4.020688, 5.891174, 8.468827}}, {9, 0.2, 2, [4]float64{0.753832, 3.059448, 4.668886, 6.971471}},
		{9, 0.2, 4, [4]float64{0.151004, 0.619025, 0.941317, 1.401898}}, {7.2, 1, 8, [4]float64{1.489355, 4.925147, 7.087347, 10.078262}},
		{14.4, 1, 16, [4]float64{1.078010, 3.623543, 5.269835, 7.588420}},
	}
	for _, tt := range tests {
		q := MMc{ArrivalPerSec: tt.lambda, ServiceSec: tt.s, Servers: tt.c}
		for i, share := range []float64{0.5, 0.95, 0.99, 0.999} {
			requireNear(t, "quantile", q.ResponseQuantileSec(share), tt.want[i], 6e-7)
		}
	}
}

func TestABoundedQueueRejectsAsPublished(t *testing.T) {
	tests := []struct {
		lambda, mu          float64
		c, k                int
		p0, pk, l, r, wq, x float64
	}{
		{40, 30, 3, 7, 0.255037, 0.003931315, 1.454937923, 0.036517, 0.003183675, 39.84274739},
		{50, 10, 4, 6, 0.007214113, 0.293543, 4.354205414, 0.123268801, 0.023268801, 35.32285033},
		{3, 2, 2, 5, 0.179334, 0.085113, 2.00595, 0.730857580, 0.230857, 2.744658494},
	}
	for _, tt := range tests {
		q := MMcK{ArrivalPerSec: tt.lambda, ServiceSec: 1 / tt.mu, Servers: tt.c, Room: tt.k}
		f := q.Figures()
		requireNear(t, "p0", q.Probabilities()[0], tt.p0, 6e-7)
		requireNear(t, "p_K", f.RejectedRatio, tt.pk, 1e-6)
		requireNear(t, "L", f.InSystem, tt.l, 5e-6)
		requireNear(t, "R", f.ResponseSec, tt.r, 6e-7)
		requireNear(t, "Wq", f.WaitSec, tt.wq, 1e-6)
		requireNear(t, "X", f.ThroughputPerSec, tt.x, 5e-8*tt.x)
	}
}

func TestVariationOfServiceSetsTheWait(t *testing.T) {
	for scv, want := range map[float64]float64{0: 2, 0.25: 2.5, 0.5: 3, 1: 4, 4: 10} {
		q := MG1{ArrivalPerSec: 0.8, ServiceSec: 1, SCV: scv}
		requireNear(t, "Wq", q.WaitSec(), want, 1e-12)
		requireNear(t, "shared", q.SharedResponseSec(), 5, 1e-12)
		requireNear(t, "response", q.ResponseSec(), want+1, 1e-12)
	}
}

// The largest rate with p99 <= 10 ms, exponential service, computed from the response time's distribution.
func TestTheLargestRateWithinABoundIsTheComputedOne(t *testing.T) {
	servers := []int{1, 2, 4, 8, 16, 32}
	for ms, want := range map[float64][]float64{
		0.5: {1539.4830, 3531.6765, 7526.1511, 15522.1214, 31519.1662, 63517.0064},
		1.0: {539.4830, 1515.9522, 3500.9034, 7490.3593, 15482.7471, 31477.2119},
		1.5: {206.1496, 810.7041, 2105.9808, 4745.9344, 10059.6333, 20711.7031},
		2.0: {39.4830, 353.3941, 1212.4592, 3092.2379, 6984.2437, 14886.8339},
		2.1: {15.6735, 231.8766, 949.1644, 2623.7046, 6198.0918, 13577.1277},
	} {
		for i, c := range servers {
			got, err := MaxRateWithin(c, ms/1000, 0.99, 0.010)
			if err != nil {
				t.Fatal(err)
			}
			requireNear(t, "rate", got, want[i], 5.1e-5)
		}
	}
	for _, c := range servers {
		_, err := MaxRateWithin(c, 0.0022, 0.99, 0.010)
		if !errors.Is(err, ErrInfeasible) || !strings.Contains(err.Error(), "0.0101313") {
			t.Errorf("2.2 ms on %d servers: %v, want infeasible with 10.131 ms named", c, err)
		}
	}
	if _, err := MaxRateWithin(1, 0.00217147, 0.99, 0.010); err != nil {
		t.Errorf("just below the threshold of 2.17147 ms: %v", err)
	}
}

func TestOutsideTheirDomainModelsSaySo(t *testing.T) {
	if err := (MM1{ArrivalPerSec: 1, ServiceSec: 1}).Validate(); !errors.Is(err, ErrUnstable) {
		t.Errorf("ρ = 1: %v", err)
	}
	if err := (MMc{ArrivalPerSec: 10, ServiceSec: 1, Servers: 4}).Validate(); !errors.Is(err, ErrUnstable) {
		t.Errorf("10 erlangs on 4 servers: %v", err)
	}
	err := MMcK{ArrivalPerSec: -1, ServiceSec: 0, Servers: 4, Room: 2}.Validate()
	for _, says := range []string{"ArrivalPerSec = -1", "ServiceSec = 0", "room = 2"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if err := (MG1{ArrivalPerSec: 0.5, ServiceSec: 1, SCV: math.NaN()}).Validate(); err == nil {
		t.Error("a variation that is not a number was accepted")
	}
	if err := (Repairman{Clients: 1, ThinkSec: -1, ServiceSec: 1, Servers: 1}).Validate(); err == nil {
		t.Error("a negative think time was accepted")
	}
}

// The tail is a tail: between 0 and 1, falling, and its quantile inverts it, also where c − 1 − a is near 0 or below it.
func TestResponseTailsAreDistributions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(1, 64).Draw(t, "servers")
		rho := rapid.Float64Range(0.01, 0.999).Draw(t, "rho")
		q := MMc{ArrivalPerSec: rho * float64(c), ServiceSec: 1, Servers: c}
		last := 1.0 + 1e-12
		for _, x := range []float64{0, 0.1, 0.5, 1, 2, 5, 10, 50, 200, 5000} {
			p := q.ResponseTail(x)
			if !(p >= 0 && p <= last) {
				t.Fatalf("P(T > %v) = %v after %v", x, p, last)
			}
			last = p + 1e-12
		}
		share := rapid.Float64Range(0.01, 0.9999).Draw(t, "share")
		if got := q.ResponseTail(q.ResponseQuantileSec(share)); !near(got, 1-share, 1e-9) {
			t.Fatalf("tail at the quantile %v: %v", share, got)
		}
	})
}

func TestVeryLargeSystemsKeepTheirDigits(t *testing.T) {
	f := MMcK{ArrivalPerSec: 5000, ServiceSec: 1, Servers: 2000, Room: 50000}.Figures()
	requireNear(t, "X of a saturated pool", f.ThroughputPerSec, 2000, 1e-6)
	requireNear(t, "rejected", f.RejectedRatio, 0.6, 1e-9)
	r := Repairman{Clients: 100000, ThinkSec: 1, ServiceSec: 0.01, Servers: 100}.Figures()
	requireNear(t, "X of a saturated loop", r.ThroughputPerSec, 10000, 1e-6)
}
