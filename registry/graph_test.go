package registry_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

func TestATaskThatWaitsOnItsOwnPoolIsReportedBeforeItDeadlocks(t *testing.T) {
	var told []registry.Finding
	r := newRegistry(t, registry.Config{OnStarvation: func(f registry.Finding) { told = append(told, f) }})
	p := newPool(t, r, "biz", pool.Settings{Core: 1, Max: 1, Queue: 1})
	known := -1
	// One worker waits for a task that no worker is left to run: a deadlock, which the caller's cancellation ends.
	ctx, cancel := context.WithCancel(t.Context())
	err := p.Do(ctx, func(ctx context.Context) error {
		inner, err := p.Submit(ctx, func(context.Context) error { return nil })
		if err != nil {
			return err
		}
		go cancel()
		_, err = inner.Wait(ctx)
		known = len(r.Starvation())
		return err
	})
	if err == nil {
		t.Error("the deadlock did not happen: this test proves nothing")
	}
	if err := p.Close(); err != nil || known != 1 || len(told) != 1 {
		t.Fatalf("known %d, told %+v", known, told)
	}
	f := told[0]
	if f.Code != "pool-starvation" || !f.Critical() || !strings.Contains(f.Text, "pool biz itself: when all 1 workers") || f.Keys[0] != "pools.biz.max" {
		t.Errorf("got %+v", f)
	}
}

func wait(t *testing.T, outer *pool.Pool, inner ...*pool.Pool) {
	t.Helper()
	err := outer.Do(t.Context(), func(ctx context.Context) error {
		if len(inner) == 0 {
			return nil
		}
		wait(t, inner[0], inner[1:]...)
		return inner[0].Do(ctx, func(context.Context) error { return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestACircleOfPoolsIsNamedOnceWhereverItIsEntered(t *testing.T) {
	var told []registry.Finding
	r := newRegistry(t, registry.Config{OnStarvation: func(f registry.Finding) { told = append(told, f) }})
	s := pool.Settings{Core: 2, Max: 2, Queue: 5}
	common, selected, db := newPool(t, r, "common", s), newPool(t, r, "select", s), newPool(t, r, "db", s)
	wait(t, common, selected)
	wait(t, selected, db)
	if len(told) != 0 || len(r.Starvation()) != 0 {
		t.Fatalf("a chain is no circle: got %+v", told)
	}
	wait(t, db, common)
	wait(t, selected, db)
	if len(told) != 1 || !slices.Equal(told[0].Evidence["cycle"].([]string), []string{"db", "common", "select"}) ||
		!strings.Contains(told[0].Text, "db -> common -> select -> db") {
		t.Errorf("got %+v", told)
	}
	edges := r.Graph()
	if len(edges) != 3 || edges[0].From != "common" || edges[0].To != "select" || edges[0].Total == 0 {
		t.Errorf("graph: got %+v", edges)
	}
	if f := r.Findings(); len(f) == 0 || f[0].Code != "pool-starvation" {
		t.Errorf("findings: got %+v", f)
	}
}

func TestAPoolAddedWithoutHooksIsLearntFromItsWaits(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p, err := pool.New(pool.Config{Name: "biz", Settings: pool.Settings{Core: 2, Max: 2, Queue: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := r.Add(p); err != nil {
		t.Fatal(err)
	}
	wait(t, p, p)
	if got := r.Starvation(); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
}
