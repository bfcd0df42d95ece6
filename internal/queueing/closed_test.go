package queueing

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTheRepairmanAgreesWithAHundredPetriNets(t *testing.T) {
	f, err := os.Open("testdata/repairman.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r := csv.NewReader(f)
	r.TrimLeadingSpace = true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 101 {
		t.Fatalf("%d rows, want a header and 100", len(rows))
	}
	for _, row := range rows[1:] {
		var v [4]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i], 64); err != nil {
				t.Fatal(err)
			}
		}
		got := Repairman{Clients: int(v[0]), ThinkSec: 5, ServiceSec: 1, Servers: int(v[1])}.Figures()
		requireNear(t, "X of "+strings.Join(row, " "), got.ThroughputPerSec, v[2], 1.2e-5*v[2])
		requireNear(t, "R of "+strings.Join(row, " "), got.ResponseSec, v[3], 1.2e-5*v[3])
	}
}

func TestSmallClosedLoopsAreExact(t *testing.T) {
	f := Repairman{Clients: 4, ThinkSec: 1, ServiceSec: 1, Servers: 2}.Figures()
	requireNear(t, "X", f.ThroughputPerSec, 1.7, 1e-12)
	requireNear(t, "R", f.ResponseSec, 1.352941, 5e-7)
	for n, want := range map[int]float64{4: 1.64831, 7: 2.95926, 10: 5.18735} {
		requireNear(t, "R of one server, think 5", Repairman{Clients: n, ThinkSec: 5, ServiceSec: 1, Servers: 1}.Figures().ResponseSec, want, 1.2e-5*want)
	}
}

// Gunther and Chawla, arXiv:1811.12341: one pool of 300 threads, 0.444 s, no think time: a straight line to 300, then 675.6757/s.
func TestAPoolWithoutThinkTimeIsAStraightLineUpToItsThreads(t *testing.T) {
	for _, n := range []int{1, 150, 300, 600} {
		f := Repairman{Clients: n, ServiceSec: 0.444, Servers: 300}.Figures()
		requireNear(t, "X", f.ThroughputPerSec, float64(min(n, 300))/0.444, 1e-9)
	}
	requireNear(t, "ceiling", Repairman{Clients: 600, ServiceSec: 0.444, Servers: 300}.Figures().ThroughputPerSec, 675.6757, 5e-5)
}

func solve(t *testing.T, w Network, n int) []Load {
	t.Helper()
	out, err := w.Solve(n)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMeanValueAnalysisGivesThePublishedFigures(t *testing.T) {
	// Lazowska et al., p. 117.
	lazowska := Network{ThinkSec: 15, Stations: []Station{{"cpu", 0.605, 1}, {"disk 1", 2.1, 1}, {"disk 2", 1.35, 1}}}
	loads := solve(t, lazowska, 5)
	for n, want := range map[int][2]float64{1: {0.052480, 4.055}, 2: {0.103086, 4.401288}, 3: {0.151516, 4.799825}, 5: {0.240466, 5.793000}} {
		requireNear(t, "X", loads[n-1].ThroughputPerSec, want[0], 6e-7)
		requireNear(t, "R", loads[n-1].ResponseSec, want[1], 6e-7)
	}
	for k, want := range []float64{0.0976, 0.3947, 0.2350} {
		requireNear(t, "Q", loads[2].InStation[k], want, 6e-5)
	}
	// PDQ, demo/ebiz.R: three tiers and a dummy station.
	ebiz := Network{Stations: []Station{{"web", 0.0098, 1}, {"app", 0.0025, 1}, {"db", 0.00072, 1}, {"dummy", 0.0098, 1}}}
	loads = solve(t, ebiz, 10)
	for n, want := range map[int]float64{1: 43.8212, 2: 63.4241, 4: 79.7863, 10: 92.3945} {
		requireNear(t, "X of ebiz", loads[n-1].ThroughputPerSec, want, 6e-5)
	}
	requireNear(t, "R(10) of ebiz", loads[9].ResponseSec*1000, 108.2315, 6e-5)
	// PDQ, httpd prefork: a master and 16 workers' demands.
	stations := []Station{{"master", 0.0109, 1}}
	for range 16 {
		stations = append(stations, Station{"slave", 0.000275, 1})
	}
	loads = solve(t, Network{Stations: stations}, 5)
	for i, want := range []float64{65.3595, 86.4138, 90.9434, 91.6474, 91.7335} {
		requireNear(t, "X of httpd", loads[i].ThroughputPerSec, want, 6e-5)
	}
}

// Bolch et al., Queueing Networks and Markov Chains, example 8.4.
func TestMultiServersGiveThePublishedFigures(t *testing.T) {
	w := Network{Stations: []Station{{"1", 0.5, 2}, {"2", 0.6 * 0.5, 1}, {"3", 0.8 * 0.5, 1}, {"4", 1, Infinite}}}
	got := solve(t, w, 3)[2]
	for k, want := range []float64{0.624, 0.473, 0.686, 1.217} {
		requireNear(t, "Q", got.InStation[k], want, 1e-3)
	}
	requireNear(t, "X", got.ThroughputPerSec, 1.218, 1e-3)
}

func TestConvolutionAndMeanValuesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Network{ThinkSec: rapid.Float64Range(0, 10).Draw(t, "think")}
		for range rapid.IntRange(1, 5).Draw(t, "stations") {
			w.Stations = append(w.Stations, Station{DemandSec: rapid.Float64Range(0.01, 3).Draw(t, "demand"), Servers: rapid.IntRange(0, 1).Draw(t, "servers")})
		}
		n := rapid.IntRange(1, 60).Draw(t, "clients")
		a, b := w.meanValues(n)[n-1], w.convolve(n)[n-1]
		if !near(a.ThroughputPerSec, b.ThroughputPerSec, 1e-9*a.ThroughputPerSec) {
			t.Fatalf("X %v and %v", a.ThroughputPerSec, b.ThroughputPerSec)
		}
		for k := range a.InStation {
			if !near(a.InStation[k], b.InStation[k], 1e-7*float64(n)) {
				t.Fatalf("Q_%d %v and %v", k, a.InStation[k], b.InStation[k])
			}
		}
	})
}

// A closed network of one multi-server is the repairman, and every state lies within its asymptotic bounds.
func TestNetworksOfOneStationAreRepairmenWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 40).Draw(t, "servers")
		n := rapid.IntRange(1, 200).Draw(t, "clients")
		z := rapid.Float64Range(0.1, 20).Draw(t, "think")
		w := Network{ThinkSec: z, Stations: []Station{{"pool", 1, m}}}
		loads, err := w.Solve(n)
		if err != nil {
			t.Fatal(err)
		}
		got, want := loads[n-1], Repairman{Clients: n, ThinkSec: z, ServiceSec: 1, Servers: m}.Figures()
		if !near(got.ThroughputPerSec, want.ThroughputPerSec, 1e-9*want.ThroughputPerSec) {
			t.Fatalf("X %v, repairman %v", got.ThroughputPerSec, want.ThroughputPerSec)
		}
		low, high := w.Bounds().ThroughputPerSec(n)
		if got.ThroughputPerSec < low*(1-1e-9) || got.ThroughputPerSec > high*(1+1e-9) {
			t.Fatalf("X %v outside %v…%v", got.ThroughputPerSec, low, high)
		}
		rLow, rHigh := w.Bounds().ResponseSec(n)
		if got.ResponseSec < rLow*(1-1e-9) || got.ResponseSec > rHigh*(1+1e-9) {
			t.Fatalf("R %v outside %v…%v", got.ResponseSec, rLow, rHigh)
		}
	})
}

func TestAsymptotesCrossWherePublished(t *testing.T) {
	lazowska := Network{ThinkSec: 15, Stations: []Station{{"cpu", 0.605, 1}, {"disk", 2.1, 1}, {"disk 2", 1.35, 1}}}.Bounds()
	requireNear(t, "N* of Lazowska", lazowska.SaturationClients(), 9.0738, 5e-5)
	if lazowska.Bottleneck != "disk" {
		t.Errorf("bottleneck %q, want disk", lazowska.Bottleneck)
	}
	requireNear(t, "N* of Jain", Bounds{DemandSec: 6, LargestSec: 3, ThinkSec: 4}.SaturationClients(), 3.3333, 5e-5)
	// Octave's queueing package, qncsaba: 20 clients, demands 9.2 and 8, think 120.
	b := Network{ThinkSec: 120, Stations: []Station{{"a", 9.2, 1}, {"b", 8, 1}}}.Bounds()
	_, x := b.ThroughputPerSec(20)
	r, _ := b.ResponseSec(20)
	requireNear(t, "X upper", x, 0.109, 1e-3)
	requireNear(t, "R lower", r, 64, 1e-3)
}

func TestFaultsOfANetworkAreNamedTogether(t *testing.T) {
	_, err := Network{ThinkSec: -1, Stations: []Station{{"db", 0, -2}}}.Solve(5)
	for _, says := range []string{"think time = -1 s", `station "db": DemandSec = 0`, "Servers = -2"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if _, err := (Network{Stations: []Station{{"a", 1, 1}}}).Solve(0); err == nil {
		t.Error("no clients were accepted")
	}
}

func TestThreadsThatHoldConnectionsAreSolvedExactly(t *testing.T) {
	closed := []struct {
		n    int
		z    float64
		m    int
		s1   float64
		k    int
		s2   float64
		want [6]float64
	}{
		{20, 0.1, 2, 0.01, 4, 0.02, [6]float64{66.666488, 0.20000080, 0.17000080, 0, 1.9999946, 1.3333298}},
		{20, 0.1, 4, 0.01, 2, 0.02, [6]float64{95.838681, 0.10868401, 0.067144594, 0.011539413, 3.9810825, 1.9167736}},
		{20, 0.1, 8, 0.01, 2, 0.02, [6]float64{99.333845, 0.10134125, 0.025662046, 0.045679200, 7.5175059, 1.9866769}},
		{20, 0.1, 8, 0.01, 4, 0.02, [6]float64{148.19136, 0.034960633, 0.001095621, 0.0038650117, 5.0185022, 2.9638272}},
		{50, 0.1, 10, 0.005, 5, 0.01, [6]float64{417.82531, 0.019667236, 0.0019109491, 0.0027562872, 7.4190262, 4.1782531}},
	}
	for _, c := range closed {
		q := Nested{Clients: c.n, ThinkSec: c.z, Threads: c.m, LocalSec: c.s1, Connections: c.k, ConnectionSec: c.s2}
		requireNested(t, q, 0, c.want)
	}
	open := []struct {
		lambda   float64
		m, kq    int
		s1       float64
		k        int
		s2       float64
		rejected float64
		want     [6]float64
	}{
		{80, 4, 4, 0.01, 2, 0.02, 0.05959405, [6]float64{75.232476, 0.04799856, 0.010071692, 0.0079268681, 2.8533322, 1.5046495}},
		{120, 4, 4, 0.01, 2, 0.02, 0.24016970, [6]float64{91.179636, 0.06266773, 0.022080987, 0.010586743, 3.7006845, 1.8235927}},
		{120, 8, 16, 0.01, 4, 0.02, 9.7537947e-6, [6]float64{119.99883, 0.033681335, 0.0010541026, 0.0026272319, 3.9152296, 2.3999766}},
		{600, 10, 20, 0.005, 5, 0.01, 0.17588043, [6]float64{494.47174, 0.051718692, 0.031544972, 0.0051737198, 9.9753343, 4.9447174}},
		{600, 20, 20, 0.005, 5, 0.01, 0.16691719, [6]float64{499.84969, 0.070127202, 0.030315440, 0.024811762, 19.899897, 4.9984969}},
	}
	for _, c := range open {
		q := Nested{ArrivalPerSec: c.lambda, Queue: c.kq, Threads: c.m, LocalSec: c.s1, Connections: c.k, ConnectionSec: c.s2}
		requireNested(t, q, c.rejected, c.want)
	}
}

func requireNested(t *testing.T, q Nested, rejected float64, want [6]float64) {
	t.Helper()
	f, err := q.Figures()
	if err != nil {
		t.Fatal(err)
	}
	got := [6]float64{f.ThroughputPerSec, f.ResponseSec, f.ThreadWaitSec, f.ConnWaitSec, f.BusyThreads, f.BusyConns}
	for i := range want {
		if !near(got[i], want[i], 1e-7*math.Abs(want[i])+2e-9) {
			t.Errorf("%+v: figure %d is %.9g, want %.9g", q, i, got[i], want[i])
		}
	}
	if !near(f.RejectedRatio, rejected, 6e-9) {
		t.Errorf("%+v: rejected %.9g, want %.9g", q, f.RejectedRatio, rejected)
	}
}

// With connections to spare and hardly any local work, a nested pool is the repairman.
func TestNestedPoolsWithoutContentionBelowAreRepairmen(t *testing.T) {
	f, err := Nested{Clients: 12, ThinkSec: 5, Threads: 3, LocalSec: 1e-9, Connections: 3, ConnectionSec: 1}.Figures()
	if err != nil {
		t.Fatal(err)
	}
	want := Repairman{Clients: 12, ThinkSec: 5, ServiceSec: 1, Servers: 3}.Figures()
	requireNear(t, "X", f.ThroughputPerSec, want.ThroughputPerSec, 1e-8)
	// With cores that bind, local work is an M/M/c/K of so many servers: connections cost nothing.
	f, err = Nested{ArrivalPerSec: 3, Threads: 5, Queue: 0, Cores: 2, LocalSec: 0.5, Connections: 5, ConnectionSec: 1e-9}.Figures()
	if err != nil {
		t.Fatal(err)
	}
	requireNear(t, "X of two cores", f.ThroughputPerSec, 2.744658494, 1e-7)
	requireNear(t, "rejected of two cores", f.RejectedRatio, 0.085113, 1e-6)
}

func TestNestedPoolsRefuseWhatTheyCannotSolve(t *testing.T) {
	ok := Nested{Threads: 2, LocalSec: 1, Connections: 1, ConnectionSec: 1, Clients: 3, ThinkSec: 1}
	for says, edit := range map[string]func(*Nested){
		"give one of them": func(q *Nested) { q.ArrivalPerSec = 1 },
		"clients = 0":      func(q *Nested) { q.Clients = 0 },
		"Threads = 0":      func(q *Nested) { q.Threads = 0 },
		"queue = -1":       func(q *Nested) { q.Queue = -1 },
		"are solved":       func(q *Nested) { q.Clients, q.Threads = 10000, 5000 },
	} {
		q := ok
		edit(&q)
		if _, err := q.Figures(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", q, err, says)
		}
	}
}

func TestPoolsThatTakeSeveralConnectionsNeedOneToSpare(t *testing.T) {
	if got := DeadlockFreePool(3, 4); got != 10 {
		t.Errorf("3 threads with 4 connections each: %d, want 10", got)
	}
	if got := DeadlockFreePool(8, 1); got != 1 {
		t.Errorf("one connection each: %d, want 1", got)
	}
}
