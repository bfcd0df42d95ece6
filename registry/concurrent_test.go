package registry_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

// Writers, readers and work go on at once. Whatever is refused, the budget of 40 is passed in no version, and versions, history, hooks and
// what is in force agree.
func TestConcurrentChangesKeepTheBudgetAndTheOrderOfVersions(t *testing.T) {
	var told []uint64
	r := newRegistry(t, registry.Config{History: 100_000, OnChange: func(c registry.Change) { told = append(told, c.Version) }})
	a, b := newPool(t, r, "a", pool.Settings{Core: 1, Max: 10, Queue: 5}), newPool(t, r, "b", pool.Settings{Core: 1, Max: 10, Queue: 5})
	apply(t, r, `{"downstreams": {"db": {"limit": 40}}, "pools": {"a": {"downstream": "db"}, "b": {"downstream": "db"}},
		"tiers": {"x": {"pools": {"a": {"max": 12}}}, "y": {"pools": {"b": {"max": 12}}}}}`)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() { changeAtRandom(t, r, rand.New(rand.NewPCG(7, uint64(i)))) })
	}
	group.Go(func() {
		for range 300 {
			r.Settings()
			r.Snapshot()
			r.Findings()
			r.Graph()
			_ = a.Do(t.Context(), func(context.Context) error { return nil })
		}
	})
	group.Go(func() {
		for i := range 50 {
			name := string(rune('c' + i%3))
			h, err := bulkhead.New(bulkhead.Config{Name: name, Settings: bulkhead.Settings{Permits: 3}})
			if err == nil {
				err = r.Add(h)
			}
			if err != nil && !errors.Is(err, registry.ErrExists) {
				t.Error(err)
			}
			_ = r.Remove(registry.Bulkhead, name)
		}
	})
	group.Wait()
	history := r.History()
	if len(history) != len(told) || history[len(history)-1].Version != r.Version() {
		t.Fatalf("history %d, told %d, version %d", len(history), len(told), r.Version())
	}
	workers := map[string]int{"a": 10, "b": 10}
	for i, c := range history {
		for _, e := range c.Edits {
			if e.Key == "max" {
				workers[e.Name] = e.After.(int)
			}
		}
		if workers["a"]+workers["b"] > 40 {
			t.Fatalf("version %d: %v workers on a dependency that bears 40", c.Version, workers)
		}
		if c.Version != uint64(i+2) || told[i] != c.Version {
			t.Fatalf("entry %d: version %d, told %d", i, c.Version, told[i])
		}
	}
	if a.Settings().Max != workers["a"] || b.Settings().Max != workers["b"] {
		t.Errorf("in force %d and %d, by the history %v", a.Settings().Max, b.Settings().Max, workers)
	}
}

func changeAtRandom(t *testing.T, r *registry.Registry, random *rand.Rand) {
	for range 100 {
		name := []string{"a", "b"}[random.IntN(2)]
		var err error
		switch random.IntN(4) {
		case 0:
			_, err = r.SetTier([]string{"", "x", "y"}[random.IntN(3)])
		case 1:
			_, err = r.Release(registry.Pool, name)
		case 2:
			_, err = r.Override(registry.Pool, name, registry.Section{"queue": random.IntN(9)}, registry.Seen(r.Version()))
		default:
			_, err = r.Override(registry.Pool, name, registry.Section{"max": 1 + random.IntN(40)})
		}
		var refused *registry.RefusedError
		if err != nil && !errors.As(err, &refused) && !errors.Is(err, registry.ErrConflict) && !errors.Is(err, registry.ErrUnknown) {
			t.Error(err)
		}
	}
}

func TestAListenerMayUseTheRegistry(t *testing.T) {
	var r *registry.Registry
	calls := 0
	r = newRegistry(t, registry.Config{OnChange: func(c registry.Change) {
		calls++
		if c.Version < 4 {
			if _, err := r.Override(registry.Pool, "a", registry.Section{"max": 10 + int(c.Version)}); err != nil {
				t.Error(err)
			}
		}
		r.Settings()
	}})
	newPool(t, r, "a", pool.Settings{Core: 1, Max: 10})
	apply(t, r, `{"pools": {"a": {"core": 2}}}`)
	if calls != 3 || r.Version() != 4 {
		t.Errorf("calls %d, version %d", calls, r.Version())
	}
}
