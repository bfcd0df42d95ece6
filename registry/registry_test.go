package registry_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

func newRegistry(t *testing.T, config registry.Config) *registry.Registry {
	t.Helper()
	r, err := registry.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newPool(t *testing.T, r *registry.Registry, name string, settings pool.Settings) *pool.Pool {
	t.Helper()
	p, err := r.NewPool(pool.Config{Name: name, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func document(t *testing.T, text string) registry.Document {
	t.Helper()
	d, err := registry.ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func apply(t *testing.T, r *registry.Registry, text string) registry.Result {
	t.Helper()
	result, err := r.Apply(document(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func setting(t *testing.T, r *registry.Registry, name, key string) registry.Setting {
	t.Helper()
	for _, s := range r.Settings() {
		if s.Name == name && s.Key == key {
			return s
		}
	}
	t.Fatalf("no setting %s of %s", key, name)
	return registry.Setting{}
}

func TestEveryValueHasAnOriginAndTheStrongestWins(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20, Queue: 50})
	check := func(key string, value any, origin registry.Origin) {
		t.Helper()
		if s := setting(t, r, "biz", key); s.Value != value || s.Origin != origin {
			t.Errorf("%s: got %v from %s, want %v from %s", key, s.Value, s.Origin, value, origin)
		}
	}
	check("core", 10, registry.FromCode)
	check("keep_alive", "1m0s", registry.FromDefault)
	apply(t, r, `{"pools": {"biz": {"core": 12, "keep_alive": "5s"}}, "tiers": {"peak": {"pools": {"biz": {"core": 15}}}}}`)
	check("core", 12, registry.FromFile)
	check("keep_alive", "5s", registry.FromFile)
	check("max", 20, registry.FromCode)
	if _, err := r.SetTier("peak"); err != nil {
		t.Fatal(err)
	}
	check("core", 15, registry.FromTier)
	if _, err := r.Override(registry.Pool, "biz", registry.Section{"core": 16}); err != nil {
		t.Fatal(err)
	}
	check("core", 16, registry.FromOverride)
	if got := p.Settings(); got.Core != 16 || got.KeepAlive != 5*time.Second {
		t.Errorf("in force: got %+v", got)
	}
	if _, err := r.Release(registry.Pool, "biz"); err != nil {
		t.Fatal(err)
	}
	check("core", 15, registry.FromTier)
}

func TestAChangeBehindTheRegistrysBackIsTheCodes(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20})
	if err := p.Apply(pool.Settings{Core: 10, Max: 30}); err != nil {
		t.Fatal(err)
	}
	if s := setting(t, r, "biz", "max"); s.Value != 30 || s.Origin != registry.FromCode {
		t.Errorf("got %+v", s)
	}
	apply(t, r, `{"pools": {"biz": {"core": 11}}}`)
	if got := p.Settings(); got.Core != 11 || got.Max != 30 {
		t.Errorf("the code's value stays under the document's: got %+v", got)
	}
}

func TestADocumentThatSaysNothingNewIsNoChange(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20, Queue: 5})
	first := apply(t, r, `{"pools": {"biz": {"core": 12}}}`)
	again := apply(t, r, `{"pools": {"biz": {"core": 12}}}`)
	if len(first.Changed) != 1 || first.Version != 2 || len(again.Changed) != 0 || again.Version != 2 || len(r.History()) != 1 {
		t.Errorf("got %+v, then %+v, history %d", first, again, len(r.History()))
	}
}

func TestAFaultInOneMemberLeavesAllAsTheyWere(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	a, b := newPool(t, r, "a", pool.Settings{Core: 1, Max: 2}), newPool(t, r, "b", pool.Settings{Core: 1, Max: 2})
	_, err := r.Apply(document(t, `{"pools": {"a": {"max": 9}, "b": {"core": 5, "max": 3}}}`))
	if err == nil || !strings.Contains(err.Error(), "pool b") {
		t.Errorf("got %v", err)
	}
	if a.Settings().Max != 2 || b.Settings().Core != 1 || r.Version() != 1 || len(r.History()) != 0 {
		t.Errorf("got %+v and %+v at version %d", a.Settings(), b.Settings(), r.Version())
	}
	// A member that refuses when it is asked takes back those before it: the policy «user» needs a hook that this pool lacks.
	if _, err := r.Apply(document(t, `{"pools": {"a": {"max": 1}, "b": {"policy": "user"}}}`)); err == nil {
		t.Error("a policy without its hook was accepted")
	}
	if a.Settings().Max != 2 || b.Settings().Policy != pool.Abort {
		t.Errorf("taken back: got %+v and %+v", a.Settings(), b.Settings())
	}
}

func TestAWriterWhoSawAnOlderVersionConflicts(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20})
	seen := r.Version()
	if _, err := r.Override(registry.Pool, "biz", registry.Section{"max": 21}, registry.Seen(seen)); err != nil {
		t.Fatal(err)
	}
	_, err := r.Override(registry.Pool, "biz", registry.Section{"max": 22}, registry.Seen(seen))
	if !errors.Is(err, registry.ErrConflict) || p.Settings().Max != 21 {
		t.Errorf("got %v, max %d", err, p.Settings().Max)
	}
}

func TestHistoryTellsBeforeAndAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var told []registry.Change
	r := newRegistry(t, registry.Config{Now: func() time.Time { return now }, OnChange: func(c registry.Change) { told = append(told, c) }, History: 2})
	newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20})
	for _, max := range []int{21, 22, 23} {
		if _, err := r.Override(registry.Pool, "biz", registry.Section{"max": max}, registry.By("ann")); err != nil {
			t.Fatal(err)
		}
	}
	h := r.History()
	if len(h) != 2 || len(told) != 3 || h[1].Version != 4 || h[1].By != "ann" || !h[1].At.Equal(now) {
		t.Fatalf("got %+v", h)
	}
	if e := h[1].Edits; len(e) != 1 || e[0] != (registry.Edit{Kind: registry.Pool, Name: "biz", Key: "max", Before: 22, After: 23}) {
		t.Errorf("got %+v", e)
	}
}

func TestAChangeAboveADeclaredBudgetIsRefusedWithItsArithmetic(t *testing.T) {
	r := newRegistry(t, registry.Config{Replicas: 4, Downstreams: map[string]registry.Downstream{"db": {Limit: 100}}})
	p := newPool(t, r, "biz", pool.Settings{Core: 20, Max: 20})
	apply(t, r, `{"pools": {"biz": {"downstream": "db"}}}`)
	_, err := r.Override(registry.Pool, "biz", registry.Section{"max": 26})
	var refused *registry.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "26 × 4 replicas = 104 > 100") {
		t.Fatalf("got %v", err)
	}
	if p.Settings().Max != 20 {
		t.Errorf("max: got %d", p.Settings().Max)
	}
	if _, err := r.Override(registry.Pool, "biz", registry.Section{"max": 25}); err != nil {
		t.Errorf("25 × 4 = 100 is within: %v", err)
	}
}

func TestATierThatWouldPassABudgetIsRefusedWithTheDocument(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20})
	_, err := r.Apply(document(t, `{"downstreams": {"db": {"limit": 50}}, "pools": {"biz": {"downstream": "db"}},
		"tiers": {"peak": {"pools": {"biz": {"core": 40, "max": 60, "queue": 10}}}}}`))
	if err == nil || !strings.Contains(err.Error(), "tier peak") {
		t.Errorf("got %v", err)
	}
}

func TestShrinkingGoesFirst(t *testing.T) {
	var order []string
	r := newRegistry(t, registry.Config{})
	hook := func(c pool.Change) { order = append(order, c.Pool) }
	for _, name := range []string{"a", "b"} {
		p, err := r.NewPool(pool.Config{Name: name, Settings: pool.Settings{Core: 10, Max: 10}, Hooks: pool.Hooks{OnApply: hook}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
	}
	apply(t, r, `{"pools": {"a": {"max": 20}, "b": {"core": 5, "max": 5}}}`)
	if strings.Join(order, "") != "ba" {
		t.Errorf("order: got %v", order)
	}
}

func TestEntriesForMembersToComeArePendingAndTakenUpLater(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	result := apply(t, r, `{"pools": {"late": {"max": 7}}, "breakers": {"price": {"min_volume": 3}}}`)
	if strings.Join(result.Pending, " ") != "pools.late breakers.price" {
		t.Errorf("pending: got %v", result.Pending)
	}
	p := newPool(t, r, "late", pool.Settings{Core: 1, Max: 2})
	b, err := breaker.New(breaker.Config{Name: "price"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(b); err != nil {
		t.Fatal(err)
	}
	if p.Settings().Max != 7 || b.Settings().MinVolume != 3 {
		t.Errorf("got %d and %d", p.Settings().Max, b.Settings().MinVolume)
	}
}

func TestNamesAreOnceOfEachKindAndOnlyKnownThingsAreKept(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "x", pool.Settings{Core: 1})
	if err := r.Add(p); !errors.Is(err, registry.ErrExists) {
		t.Errorf("twice: got %v", err)
	}
	b, err := bulkhead.New(bulkhead.Config{Name: "x", Settings: bulkhead.Settings{Permits: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(b); err != nil {
		t.Errorf("the same name of another kind: got %v", err)
	}
	if err := r.Add("x"); err == nil {
		t.Error("a string was added")
	}
	if err := r.Remove(registry.Pool, "x"); err != nil || !errors.Is(r.Remove(registry.Pool, "x"), registry.ErrUnknown) {
		t.Errorf("remove: %v", err)
	}
	if s := r.Snapshot(); len(s.Pools) != 0 || len(s.Bulkheads) != 1 || s.Bulkheads[0].Name != "x" {
		t.Errorf("snapshot: got %+v", s)
	}
}

func TestSettingsOfEveryKindGoThroughADocumentUnchanged(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	newPool(t, r, "p", pool.Settings{Core: 3, Max: 9, Queue: pool.Unbounded, Growth: pool.WorkersFirst, Policy: pool.CallerRuns, QueueBudget: time.Second, CoreTimeout: true})
	b, err := breaker.New(breaker.Config{Name: "b", Settings: breaker.HystrixSettings()})
	if err != nil {
		t.Fatal(err)
	}
	h, err := bulkhead.New(bulkhead.Config{Name: "h", Settings: bulkhead.Settings{Permits: 3, MaxWaiting: bulkhead.Unbounded, MaxWait: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(b, h); err != nil {
		t.Fatal(err)
	}
	d := registry.Document{Pools: map[string]registry.Section{}, Breakers: map[string]registry.Section{}, Bulkheads: map[string]registry.Section{}}
	into := map[registry.Kind]map[string]registry.Section{registry.Pool: d.Pools, registry.Breaker: d.Breakers, registry.Bulkhead: d.Bulkheads}
	for _, s := range r.Settings() {
		if into[s.Kind][s.Name] == nil {
			into[s.Kind][s.Name] = registry.Section{}
		}
		into[s.Kind][s.Name][s.Key] = s.Value
	}
	result, err := r.Apply(d)
	if err != nil || len(result.Changed) != 0 {
		t.Errorf("got %+v, %v", result.Changed, err)
	}
	if d.Pools["p"]["queue"] != "unbounded" || d.Pools["p"]["policy"] != "caller-runs" || d.Pools["p"]["growth"] != "workers-first" {
		t.Errorf("got %v", d.Pools["p"])
	}
}

func TestAConfigNamesEveryFault(t *testing.T) {
	_, err := registry.New(registry.Config{Replicas: -1, History: -2, Downstreams: map[string]registry.Downstream{"db": {}}})
	for _, part := range []string{"Replicas: -1", "History: -2", "Downstreams.db"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
}

func TestADownstreamThatNobodyDeclaredIsRefused(t *testing.T) {
	r := newRegistry(t, registry.Config{Downstreams: map[string]registry.Downstream{"db": {Limit: 40}}})
	p := newPool(t, r, "biz", pool.Settings{Core: 10, Max: 20})
	for text, want := range map[string]string{
		`{"pools": {"biz": {"max": 50, "downstream": "bd"}}}`:                                   `downstream: "bd" is not declared; did you mean db?`,
		`{"tiers": {"peak": {"pools": {"biz": {"max": 50, "downstream": "cache-of-others"}}}}}`: "declare it under downstreams",
	} {
		d, err := registry.ParseDocument([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Apply(d); err == nil || !strings.Contains(err.Error(), want) || p.Settings().Max != 20 {
			t.Errorf("%s: got %v, max %d", text, err, p.Settings().Max)
		}
	}
}
