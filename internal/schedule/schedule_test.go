package schedule_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/schedule"
)

func all(t rapid.TB, c schedule.Config) []time.Duration {
	t.Helper()
	a, err := schedule.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var out []time.Duration
	for at, ok := a.Next(); ok; at, ok = a.Next() {
		out = append(out, at)
	}
	return out
}

// anyRate draws rates from 0.1 to 200 000 per second, all magnitudes alike.
func anyRate() *rapid.Generator[float64] {
	return rapid.Map(rapid.Float64Range(math.Log(0.1), math.Log(200_000)), math.Exp)
}

func TestEvenArrivalsAreExactToOneInEveryStretchOfTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := anyRate().Draw(t, "rate")
		length := time.Duration(rapid.Float64Range(1, 50_000).Draw(t, "arrivals") / rate * float64(time.Second))
		got := all(t, schedule.Config{Stages: schedule.Constant(rate, length)})
		from := time.Duration(rapid.Int64Range(0, int64(length)).Draw(t, "from"))
		to := time.Duration(rapid.Int64Range(int64(from), int64(length)).Draw(t, "to"))
		low, _ := slices.BinarySearch(got, from)
		high, _ := slices.BinarySearch(got, to)
		if want := rate * (to - from).Seconds(); math.Abs(float64(high-low)-want) > 1.001 {
			t.Fatalf("%v per second: %d arrivals from %v to %v, want %v", rate, high-low, from, to, want)
		}
	})
}

func TestArrivalsDoNotDriftOverADay(t *testing.T) {
	const rate, length = 333.3, 24 * time.Hour
	a, err := schedule.New(schedule.Config{Stages: schedule.Constant(rate, length)})
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	var last time.Duration
	for at, ok := a.Next(); ok; at, ok = a.Next() {
		n++
		last = at
	}
	if want := rate * length.Seconds(); math.Abs(float64(n)-want) > 1 {
		t.Errorf("%d arrivals in a day, want %v", n, want)
	}
	if want := float64(n-1) / rate; math.Abs(last.Seconds()-want) > 1e-6 {
		t.Errorf("the last arrival lies at %v s, want %v s", last.Seconds(), want)
	}
}

func TestSharesTogetherAreTheWholeSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := schedule.Config{Spacing: schedule.Spacing(rapid.IntRange(0, 1).Draw(t, "spacing")), Seed: rapid.Int64().Draw(t, "seed"),
			Stages: []schedule.Stage{{From: anyRate().Draw(t, "from"), To: anyRate().Draw(t, "to"), Length: 10 * time.Millisecond}}}
		whole := all(t, c)
		c.Of = rapid.IntRange(1, 8).Draw(t, "of")
		var shares []time.Duration
		for c.Share = range c.Of {
			share := all(t, c)
			if n := len(whole) / c.Of; len(share) < n || len(share) > n+1 {
				t.Fatalf("share %d of %d has %d of %d arrivals", c.Share, c.Of, len(share), len(whole))
			}
			shares = append(shares, share...)
		}
		slices.Sort(shares)
		if !slices.Equal(shares, whole) {
			t.Fatalf("the shares have %d arrivals, the whole has %d", len(shares), len(whole))
		}
	})
}

func TestARampsArrivalsFollowTheIntegralOfItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stage := schedule.Stage{From: rapid.Float64Range(0, 1000).Draw(t, "from"), To: rapid.Float64Range(0, 1000).Draw(t, "to"), Length: 10 * time.Second}
		got := all(t, schedule.Config{Stages: []schedule.Stage{stage}})
		at := rapid.Float64Range(0, 10).Draw(t, "at")
		n, _ := slices.BinarySearch(got, time.Duration(at*float64(time.Second)))
		want := stage.From*at + (stage.To-stage.From)*at*at/20
		if math.Abs(float64(n)-want) > 1.001 {
			t.Fatalf("%d arrivals in %v s of %+v, want %v", n, at, stage, want)
		}
		if !slices.IsSorted(got) {
			t.Fatal("the arrivals do not rise")
		}
	})
}

func TestPoissonArrivalsHaveExponentialGapsAndRepeatWithTheirSeed(t *testing.T) {
	const rate, n = 1000.0, 100_000
	c := schedule.Config{Stages: schedule.Constant(rate, n/rate*time.Second), Spacing: schedule.Poisson, Seed: 7}
	got := all(t, c)
	if !slices.Equal(got, all(t, c)) {
		t.Error("the same seed gave other arrivals")
	}
	// The count of a Poisson process has the standard deviation √n.
	if math.Abs(float64(len(got))-n) > 5*math.Sqrt(n) {
		t.Errorf("%d arrivals, want %d ± %.0f", len(got), n, 5*math.Sqrt(n))
	}
	gaps := make([]float64, len(got)-1)
	for i := range gaps {
		gaps[i] = (got[i+1] - got[i]).Seconds()
	}
	slices.Sort(gaps)
	// Kolmogorov and Smirnov: the largest distance from the exponential distribution stays below 1.95/√n at the level of 0.1 %.
	var distance float64
	for i, g := range gaps {
		want := 1 - math.Exp(-rate*g)
		distance = max(distance, math.Abs(want-float64(i)/float64(len(gaps))), math.Abs(want-float64(i+1)/float64(len(gaps))))
	}
	if limit := 1.95 / math.Sqrt(float64(len(gaps))); distance > limit {
		t.Errorf("the gaps lie %v from an exponential distribution, want at most %v", distance, limit)
	}
}

func TestASpikeHasItsArrivalsWhereTheyBelong(t *testing.T) {
	got := all(t, schedule.Config{Stages: schedule.Spike(100, 1000, time.Second, 2*time.Second, time.Second)})
	count := func(from, to time.Duration) int {
		low, _ := slices.BinarySearch(got, from)
		high, _ := slices.BinarySearch(got, to)
		return high - low
	}
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{{0, time.Second, 100}, {time.Second, 3 * time.Second, 2000}, {3 * time.Second, 4 * time.Second, 100}} {
		if n := count(c.from, c.to); n != c.want {
			t.Errorf("%d arrivals from %v to %v, want %d", n, c.from, c.to, c.want)
		}
	}
}

func TestRecordedArrivalsAreReplayedFromTheFirst(t *testing.T) {
	got, err := schedule.Read(strings.NewReader("# seconds\n100.5\n\n100s\n101\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{0, 500 * time.Millisecond, time.Second}
	if replayed := all(t, schedule.Config{Recorded: got}); !slices.Equal(replayed, want) {
		t.Errorf("got %v, want %v", replayed, want)
	}
	for _, bad := range []string{"", "x", "1e300", "NaN", "1\ntwo"} {
		if _, err := schedule.Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestFaultyConfigsAreRefused(t *testing.T) {
	for _, c := range []schedule.Config{
		{},
		{Stages: schedule.Constant(-1, time.Second)},
		{Stages: schedule.Constant(math.NaN(), time.Second)},
		{Stages: schedule.Constant(math.Inf(1), time.Second)},
		{Stages: schedule.Constant(1, -time.Second)},
		{Stages: schedule.Constant(1, time.Second), Recorded: []time.Duration{1}},
		{Recorded: []time.Duration{2, 1}},
		{Stages: schedule.Constant(1, time.Second), Share: 2, Of: 2},
	} {
		if _, err := schedule.New(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}
