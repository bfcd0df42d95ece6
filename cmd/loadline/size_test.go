package main_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sizing is the part of loadline.size/1 that these tests read.
type sizing struct {
	Workers struct {
		Minimum     int  `json:"minimum"`
		Recommended *int `json:"recommended"`
	} `json:"workers"`
	WorkersCap *int     `json:"workers_cap"`
	Queue      *int     `json:"queue"`
	TimeoutMS  *float64 `json:"timeout_ms"`
	Start      *int     `json:"start"`
	Cores      *float64 `json:"cores_needed"`
	Objective  *struct {
		Feasible bool `json:"feasible"`
		Workers  *int `json:"workers"`
	} `json:"objective"`
	Breaker *struct {
		Reached bool `json:"reached"`
	} `json:"breaker"`
	Steps   []string `json:"steps"`
	Caveats []coded  `json:"caveats"`
}

func sized(t *testing.T, args ...string) (sizing, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "size.json")
	got := loadline(t, time.Minute, append([]string{"size", "--json", out}, args...)...)
	if got.code != 0 {
		t.Fatalf("%v: exit %d\n%s", args, got.code, got.stderr)
	}
	var s sizing
	validated(t, out, "size", &s)
	return s, got.stdout
}

// The published rule: 3000/s × 20 ms = 60 at least, times 1.5 to 2.
func TestSizeFollowsTheRuleAndShowsItsArithmetic(t *testing.T) {
	s, text := sized(t, "--rate", "3000", "--service-time", "20ms", "--latency-budget", "150ms", "--service-p99", "30ms", "--safety", "2")
	if s.Workers.Minimum != 60 || *s.Workers.Recommended != 120 {
		t.Errorf("%+v, want 60 and 120", s.Workers)
	}
	// 150 ms less 30 ms of execution leave 120 ms of waiting: 120 workers end 6000 in a second, 720 in 120 ms.
	if *s.Queue != 720 || *s.TimeoutMS < 150 || *s.TimeoutMS > 151 {
		t.Errorf("queue %d, timeout %v ms; want 720 and 30 + 120 ms", *s.Queue, *s.TimeoutMS)
	}
	for _, says := range []string{"3000/s × 20 ms", "× 2 for safety", "120 ms of waiting"} {
		if !strings.Contains(text, says) {
			t.Errorf("stdout lacks %q:\n%s", says, text)
		}
	}
}

func TestSizeIsCappedByTheDownstreamAcrossReplicas(t *testing.T) {
	s, text := sized(t, "--rate", "3000", "--service-time", "20ms", "--replicas", "3", "--downstream", "60")
	// 1000/s each need 20 workers, times 1.5 is 30; 60 connections over 3 replicas leave 20.
	if s.Workers.Minimum != 20 || *s.Workers.Recommended != 20 || *s.WorkersCap != 20 {
		t.Errorf("%+v capped at %v\n%s", s.Workers, *s.WorkersCap, text)
	}
}

// The largest exponential service for which any pool keeps p99 within 10 ms is 10/ln 100 = 2.171 ms.
func TestSizeSaysWhereNoSizeMeetsTheObjective(t *testing.T) {
	s, text := sized(t, "--rate", "100", "--service-time", "2.2ms", "--slo", "p99<=10ms")
	if s.Objective.Feasible || s.Objective.Workers != nil || !has(s.Caveats, "slo-infeasible") || !strings.Contains(text, "infeasible at any size") {
		t.Errorf("%+v %+v\n%s", s.Objective, s.Caveats, text)
	}
	// Beside the published limits: 7526.15/s is the most that 4 workers of 0.5 ms carry within p99 <= 10 ms, so 7500/s need 4 and 7550/s 5.
	for rate, want := range map[string]int{"7500": 4, "7550": 5} {
		if s, _ := sized(t, "--rate", rate, "--service-time", "0.5ms", "--slo", "p99<=10ms"); !s.Objective.Feasible || *s.Objective.Workers != want {
			t.Errorf("%s/s: %+v, want %d workers", rate, s.Objective, want)
		}
	}
	if _, text := sized(t, "--rate", "3000", "--service-time", "20ms", "--slo", "p99<100ms", "--downstream", "40"); !strings.Contains(text, "needs 63 workers") {
		t.Errorf("want the workers that the objective needs beside the cap:\n%s", text)
	}
}

func TestSizeCountsCoresAndStartsAtTwoForEachCore(t *testing.T) {
	s, _ := sized(t, "--rate", "400", "--service-time", "10ms", "--kind", "cpu", "--cores", "4")
	if *s.Cores != 4 || !has(s.Caveats, "cpu-nearly-full") && !has(s.Caveats, "cores-too-few") {
		t.Errorf("cores %v, caveats %+v; want 400/s × 10 ms = 4 of 4", *s.Cores, s.Caveats)
	}
	if s, _ := sized(t, "--rate", "100", "--service-time", "20ms", "--cores", "4"); *s.Start != 8 {
		t.Errorf("start %v, want 2 × 4", *s.Start)
	}
}

func TestSizeNamesInputsThatContradictEachOther(t *testing.T) {
	s, _ := sized(t, "--rate", "100", "--service-time", "20ms", "--timeout", "10ms", "--latency-budget", "15ms", "--breaker-volume", "5000", "--cpu-time", "30ms", "--safety", "1.1")
	for _, code := range []string{"timeout-below-wait", "budget-below-execution", "breaker-never-opens", "cpu-above-service", "safety-low"} {
		if !has(s.Caveats, code) {
			t.Errorf("caveats %+v lack %s", s.Caveats, code)
		}
	}
	if s.Breaker == nil || s.Breaker.Reached {
		t.Errorf("%+v, want a breaker that is never reached", s.Breaker)
	}
}

func TestSizeRefusesWhatIsNoFigure(t *testing.T) {
	got := loadline(t, time.Minute, "size", "--rate", "-1", "--slo", "p99")
	if got.code != 2 {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
	got = loadline(t, time.Minute, "size", "--rate", "-1")
	if got.code != 2 || !strings.Contains(got.stderr, "rate") || !strings.Contains(got.stderr, "service time") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}
