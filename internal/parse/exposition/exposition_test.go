package exposition_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/parse/exposition"
	"github.com/loadline-dev/loadline/internal/record"
)

// want is what a pool should be; a figure that is not named must be unknown.
type want struct {
	kind    record.PoolKind
	figures map[string]float64
}

// figures flattens a sample; unknown ones are left out.
func figures(p record.PoolSample) map[string]float64 {
	out := map[string]float64{}
	add := func(name string, v *float64) {
		if v != nil {
			out[name] = *v
		}
	}
	add("core", p.Core)
	add("size", p.Size)
	add("max", p.Max)
	add("capacity", p.Capacity)
	add("active", p.Active)
	add("queue", p.Queue)
	add("active max", p.ActiveMax)
	add("queue max", p.QueueMax)
	add("completed", p.Completed)
	add("rejected", p.Rejected)
	add("timed out", p.TimedOut)
	add("waiting", p.Waiting)
	for name, d := range map[string]*record.Dist{"wait": p.QueueWait, "run": p.Execution} {
		if d != nil {
			out[name+" n"], out[name+" s"] = d.Count, d.Seconds
		}
	}
	return out
}

func read(t *testing.T, text string) map[string]record.PoolSample {
	t.Helper()
	r, err := exposition.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]record.PoolSample{}
	for _, p := range r.Pools {
		out[p.Pool] = p
	}
	return out
}

func TestEveryFamilyBecomesThePoolItDescribes(t *testing.T) {
	for name, c := range families() {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".prom"))
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, string(text))
			if len(got) != len(c) {
				t.Errorf("%d pools, want %d: %v", len(got), len(c), got)
			}
			for pool, w := range c {
				p, ok := got[pool]
				if !ok {
					t.Errorf("pool %q is missing", pool)
					continue
				}
				checkPool(t, pool, p, w)
			}
		})
	}
}

func checkPool(t *testing.T, pool string, p record.PoolSample, w want) {
	t.Helper()
	if p.Kind != w.kind {
		t.Errorf("%s: kind %s, want %s", pool, p.Kind, w.kind)
	}
	found := figures(p)
	for name, v := range w.figures {
		f, ok := found[name]
		if !ok || math.Abs(f-v) > 1e-9*math.Max(1, math.Abs(v)) {
			t.Errorf("%s: %s is %v (known: %v), want %v", pool, name, f, ok, v)
		}
	}
	for name, v := range found {
		if _, ok := w.figures[name]; !ok {
			t.Errorf("%s: %s is %v, want it unknown", pool, name, v)
		}
	}
}

func TestAMarkSinceTheStartBecomesOneSinceTheLastReadingOnlyWhenItRose(t *testing.T) {
	text := func(mark string) exposition.Reading {
		r, err := exposition.Read(strings.NewReader("executor_active_threads{name=\"price\"} 1\nloadline_pool_active_high_threads{name=\"price\"} " + mark + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var m exposition.Marks
	var got []string
	for _, mark := range []string{"4", "4", "7", "2", "3"} { // The service was restarted between the third and the fourth.
		r := text(mark)
		m.Apply(&r)
		p := r.Pools[0].ActiveMax
		if p == nil {
			got = append(got, "unknown")
			continue
		}
		got = append(got, map[float64]string{7: "7", 3: "3"}[*p])
	}
	if s := strings.Join(got, " "); s != "unknown unknown 7 unknown 3" {
		t.Errorf("marks %s", s)
	}
}

func TestBucketsAreRisingAndInSeconds(t *testing.T) {
	p := read(t, `# TYPE envoy_cluster_upstream_rq_time histogram
envoy_cluster_upstream_rq_time_bucket{envoy_cluster_name="price",le="500"} 3
envoy_cluster_upstream_rq_time_bucket{envoy_cluster_name="price",le="25"} 2
envoy_cluster_upstream_rq_time_bucket{envoy_cluster_name="price",le="+Inf"} 4
envoy_cluster_upstream_rq_time_sum{envoy_cluster_name="price"} 1234
envoy_cluster_upstream_rq_time_count{envoy_cluster_name="price"} 4
`)["price"]
	b := p.Execution.Buckets
	if len(b) != 3 || b[0] != (record.DistBucket{UpperSeconds: 0.025, Count: 2}) || b[1].UpperSeconds != 0.5 || !math.IsInf(b[2].UpperSeconds, 1) {
		t.Errorf("buckets %v", b)
	}
	if p.Execution.Seconds != 1.234 {
		t.Errorf("sum %v, want 1.234 s", p.Execution.Seconds)
	}
}

func TestTextThatIsNotOneIsRefusedAndWhatCameBeforeIsKept(t *testing.T) {
	r, err := exposition.Read(strings.NewReader("executor_active_threads 3\n<html>\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v, want one that names line 2", err)
	}
	if len(r.Pools) != 1 {
		t.Errorf("pools %v, want what stood before the fault", r.Pools)
	}
	if _, err := exposition.Read(strings.NewReader("# nothing\n")); !errors.Is(err, exposition.ErrEmpty) {
		t.Errorf("error %v, want ErrEmpty", err)
	}
}

func FuzzReadNeverPanics(f *testing.F) {
	for name := range families() {
		text, err := os.ReadFile(filepath.Join("testdata", name+".prom"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, _ := exposition.Read(strings.NewReader(text))
		var m exposition.Marks
		m.Apply(&r)
		for _, p := range r.Pools {
			for name, v := range figures(p) {
				if math.IsNaN(v) || v < 0 {
					t.Errorf("%s: %s is %v: unknown figures are left out", p.Pool, name, v)
				}
			}
		}
	})
}
