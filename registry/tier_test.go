package registry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

// The tiers of the layered-tuning study.
const tiers = `{
	"pools": {"biz": {"core": 30, "max": 50, "queue": 50}},
	"tiers": {
		"low":    {"pools": {"biz": {"core": 10, "max": 20, "queue": 50}}},
		"normal": {"pools": {"biz": {"core": 30, "max": 50, "queue": 50}}},
		"peak":   {"pools": {"biz": {"core": 40, "max": 60, "queue": 10}}}
	},
	"timezone": "UTC",
	"schedule": [{"tier": "normal", "from": "08:00"}, {"tier": "peak", "from": "18:00", "days": ["fri", "sat"]}, {"tier": "low", "from": "23:00"}]
}`

func TestTiersAreSwitchedByName(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "biz", pool.Settings{Core: 1, Max: 1})
	apply(t, r, tiers)
	for name, want := range map[string][3]int{"low": {10, 20, 50}, "normal": {30, 50, 50}, "peak": {40, 60, 10}, "": {30, 50, 50}} {
		if _, err := r.SetTier(name); err != nil {
			t.Fatal(err)
		}
		if s := p.Settings(); [3]int{s.Core, s.Max, s.Queue} != want {
			t.Errorf("tier %q: got %d/%d/%d, want %v", name, s.Core, s.Max, s.Queue, want)
		}
	}
	if _, err := r.SetTier("noon"); !errors.Is(err, registry.ErrUnknown) {
		t.Errorf("unknown tier: got %v", err)
	}
}

func TestTheScheduleSwitchesTiersByTimeOfDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, registry.Config{})
		p, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 1, Max: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		apply(t, r, tiers)
		ctx, stop := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		// A bubble's clock starts at midnight UTC on Saturday, 1 January 2000; the shift before is Friday's 23:00.
		for _, want := range []struct {
			at  time.Duration
			max int
		}{{time.Minute, 20}, {7*time.Hour + 59*time.Minute, 20}, {8 * time.Hour, 50}, {18 * time.Hour, 60}, {23 * time.Hour, 20}, {32 * time.Hour, 50}, {42 * time.Hour, 50}} {
			time.Sleep(time.Until(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(want.at)))
			synctest.Wait()
			if got := p.Settings().Max; got != want.max {
				t.Errorf("after %v: max %d, want %d", want.at, got, want.max)
			}
		}
		// A tier set by hand stays until the next shift.
		if _, err := r.SetTier("peak"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := p.Settings().Max; got != 60 {
			t.Errorf("set by hand: max %d, want 60", got)
		}
		why := errors.New("end of test")
		stop(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("Run: got %v", err)
		}
	})
}

func TestADocumentWithoutTheTierInForceTakesItAway(t *testing.T) {
	r := newRegistry(t, registry.Config{})
	p := newPool(t, r, "biz", pool.Settings{Core: 1, Max: 1})
	apply(t, r, tiers)
	if _, err := r.SetTier("peak"); err != nil {
		t.Fatal(err)
	}
	apply(t, r, `{"pools": {"biz": {"core": 30, "max": 50}}}`)
	if _, tier := r.Document(); tier != "" || p.Settings().Max != 50 {
		t.Errorf("tier %q, max %d", tier, p.Settings().Max)
	}
}
