package file_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/internal/analysis/lint"
	"github.com/loadline-dev/loadline/internal/parse/settings"
	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
	"github.com/loadline-dev/loadline/registry/file"
)

func newRegistry(t *testing.T) (*registry.Registry, *pool.Pool) {
	t.Helper()
	r, err := registry.New(registry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 1, Max: 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return r, p
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func watcher(t *testing.T, r *registry.Registry, name string, on func(file.Event)) *file.Watcher {
	t.Helper()
	w, err := file.New(file.Config{Path: name, Registry: r, Interval: time.Second, OnEvent: on})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAYAMLFileIsPutInForce(t *testing.T) {
	r, p := newRegistry(t)
	name := filepath.Join(t.TempDir(), "settings.yaml")
	write(t, name, "pools:\n  biz:\n    core: 10\n    max: 20\n    queue: unbounded\n    keep_alive: 5s\n    service_time: 18ms\n")
	if _, err := watcher(t, r, name, nil).Apply(); err != nil {
		t.Fatal(err)
	}
	if s := p.Settings(); s.Core != 10 || s.Max != 20 || s.Queue != pool.Unbounded || s.KeepAlive != 5*time.Second {
		t.Errorf("got %+v", s)
	}
	if h := r.History(); len(h) != 1 || h[0].By != "file "+name {
		t.Errorf("history: got %+v", h)
	}
}

func TestFaultsNameFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"pools:\n  biz:\n    core: ten\n":                            "s.yaml:3: pools.biz.core: found \"ten\"",
		"pools:\n  biz:\n    cores: 3\n":                             "s.yaml:3: pools.biz.cores: no such key; did you mean core?",
		"replicas: 2\npols: {}\n":                                    "pols: no such key; did you mean pools?",
		"pools:\n  biz: [1\n":                                        "s.yaml:",
		"tiers:\n  a: {}\nschedule:\n  - tier: b\n    from: \"9\"\n": "s.yaml:4: schedule[0].tier",
		"- 1\n":                                "s.yaml",
		"---\nreplicas: 2\n---\nreplicas: 3\n": "s.yaml: text after the document's end",
		"pools:\n  biz: {core: 1}\n  7: {core: 1}\n": "s.yaml:2: pools: found the key 7, which is no text: put it in quotes",
		"\x00": "s.yaml:",
	} {
		if _, err := file.Parse("s.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if d, err := file.Parse("s.yaml", nil); err != nil || d.Pools != nil {
		t.Errorf("an empty file says nothing: got %+v, %v", d, err)
	}
}

func TestHystrixPropertiesArePutInForce(t *testing.T) {
	r, p := newRegistry(t)
	name := filepath.Join(t.TempDir(), "hystrix.properties")
	write(t, name, "hystrix.threadpool.biz.coreSize=12\nhystrix.threadpool.biz.maximumSize=40\n")
	if _, err := watcher(t, r, name, nil).Apply(); err != nil {
		t.Fatal(err)
	}
	if s := p.Settings(); s.Core != 12 || s.Max != 12 {
		t.Errorf("maximumSize is ignored without the diverge flag: got %+v", s)
	}
}

func TestAChangedFileIsTakenUpAndAFaultyOneLeavesTheOldInForce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "settings.yaml")
	synctest.Test(t, func(t *testing.T) {
		r, err := registry.New(registry.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 1, Max: 2}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var events []file.Event
		w := watcher(t, r, name, func(e file.Event) { events = append(events, e) })
		ctx, stop := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		look := func(max, told int, fault bool) {
			t.Helper()
			time.Sleep(2500 * time.Millisecond)
			synctest.Wait()
			if got := p.Settings().Max; got != max || len(events) != told || told > 0 && (events[told-1].Err != nil) != fault {
				t.Errorf("max %d, events %+v; want max %d, %d events, fault %v", got, events, max, told, fault)
			}
		}
		look(2, 1, true) // It is missing, which is told once.
		look(2, 1, true)
		write(t, name, "pools: {biz: {max: 7}}")
		look(7, 2, false)
		look(7, 2, false)
		write(t, name, "pools: {biz: {max: seven}}")
		look(7, 3, true)
		write(t, name, "downstreams: {db: {limit: 5}}\npools: {biz: {max: 9, downstream: db}}")
		look(7, 4, true)
		var refused *registry.RefusedError
		if !errors.As(events[3].Err, &refused) {
			t.Errorf("got %v", events[3].Err)
		}
		write(t, name, "pools: {biz: {max: 8}}")
		look(8, 5, false)
		stop(errors.New("end of test"))
		if err := <-done; err == nil || err.Error() != "end of test" {
			t.Errorf("Run: got %v", err)
		}
	})
}

func TestAConfigNamesEveryFault(t *testing.T) {
	_, err := file.New(file.Config{Interval: time.Microsecond})
	for _, part := range []string{"Path", "Registry", "Interval"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is missing in %v", part, err)
		}
	}
}

// Both readers of a document, the registry's and the checker's, know the same keys: every setting of every kind, and every fact.
func TestTheCheckerKnowsEveryKeyOfADocument(t *testing.T) {
	r, _ := newRegistry(t)
	b, err := breaker.New(breaker.Config{Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := bulkhead.New(bulkhead.Config{Name: "h", Settings: bulkhead.Settings{Permits: 3}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := command.New(command.Config[int]{Name: "c"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := r.Add(b, h, c); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range r.Settings() {
		lines = append(lines, string(s.Kind)+"s."+s.Name+"."+s.Key)
	}
	lines = append(lines, "pools.biz.service_time", "pools.biz.rate_per_sec", "pools.biz.caller_timeout", "pools.biz.downstream", "bulkheads.h.downstream",
		"bulkheads.h.caller_timeout", "bulkheads.h.service_time", "bulkheads.h.rate_per_sec", "breakers.b.rate_per_sec", "breakers.b.caller_timeout", "commands.c.service_time",
		"commands.c.rate_per_sec", "commands.c.downstream", "commands.c.pool", "commands.c.bulkhead", "downstreams.d.limit", "downstreams.d.replicas")
	sys, err := settings.Read(settings.File{Name: "s.yaml", Text: []byte(strings.Join(lines, ": \n") + ": \nreplicas: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range lint.Check(sys).Findings {
		if f.Code == lint.InvalidValue {
			t.Errorf("the checker does not know a key of the registry: %s", f.Text)
		}
	}
	if len(lines) < 40 {
		t.Errorf("only %d keys were tried", len(lines))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("pools: {a: {core: 1}}\ntiers: {t: {}}\nschedule: [{tier: t, from: \"08:00\"}]"))
	f.Add([]byte("a: &a [*a]\n? x\n: y"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if d, err := file.Parse("f.yaml", text); err == nil {
			if err := d.Validate(); err != nil {
				t.Fatalf("a parsed document is valid: %v", err)
			}
		}
	})
}

func TestTheDocumentInTheManualIsAcceptedByTheRegistryAndTheChecker(t *testing.T) {
	manual, err := os.ReadFile("../../docs/formats/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(manual), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	d, err := file.Parse("settings.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, p := newRegistry(t)
	result, err := r.Apply(d)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Settings(); s.Core != 30 || s.Max != 50 || len(result.Pending) != 3 {
		t.Errorf("got %+v, pending %v", s, result.Pending)
	}
	for _, f := range result.Findings {
		if f.Severity != "info" {
			t.Errorf("the manual's example has a trap: %s", f.Text)
		}
	}
	sys, err := settings.Read(settings.File{Name: "settings.md", Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range lint.Check(sys).Findings {
		if f.Severity != "info" {
			t.Errorf("the checker says: %s", f.Text)
		}
	}
}

func TestARefusedFileIsNamed(t *testing.T) {
	r, p := newRegistry(t)
	name := filepath.Join(t.TempDir(), "settings.yaml")
	write(t, name, "pools:\n  biz: {core: 9, max: 3}\n")
	if _, err := watcher(t, r, name, nil).Apply(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "Core: 9") || p.Settings().Max != 2 {
		t.Errorf("got %v, max %d", err, p.Settings().Max)
	}
}
