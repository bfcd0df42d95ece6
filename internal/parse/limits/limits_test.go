package limits_test

import (
	"testing"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

func TestTheNearestNameIsFoundOnlyWhereItIsNear(t *testing.T) {
	known := []string{"core", "max", "queue", "keep_alive", "queueSizeRejectionThreshold"}
	for name, want := range map[string]string{"cor": "core", "qeue": "queue", "keep_alvie": "keep_alive", "queueSizeRejectionTreshold": "queueSizeRejectionThreshold",
		"downstream": "", "zzzzz": "", "queues": "queue"} {
		if got, ok := limits.Nearest(name, known); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestSlotsAreWhatCanRunAtOnce(t *testing.T) {
	n := func(v int) limits.Of[int] { return limits.Written(v, limits.At{}) }
	for _, c := range []struct {
		pool    limits.Pool
		want    int
		bounded bool
	}{
		{limits.Pool{Core: n(10), Max: n(50), Queue: n(200)}, 50, true},
		{limits.Pool{Core: n(10), Max: n(50), Queue: n(limits.Unbounded)}, 10, true}, // max is dead behind it
		{limits.Pool{Core: n(10), Max: n(50), Queue: n(limits.Unbounded), Growth: limits.WorkersFirst}, 50, true},
		{limits.Pool{Core: n(10), Max: n(limits.Unbounded), Queue: n(0)}, 0, false},
		{limits.Pool{Core: n(10)}, 0, false},
	} {
		if got, bounded := c.pool.Slots(); got != c.want || bounded != c.bounded {
			t.Errorf("%+v: got %d, %v", c.pool, got, bounded)
		}
	}
}

func TestAttemptsAreOneUnlessRetriesCanHappen(t *testing.T) {
	n := func(v int) limits.Of[int] { return limits.Written(v, limits.At{}) }
	a := limits.Attempt{SameServer: n(1), NextServer: n(2)}
	if a.Attempts() != 1 {
		t.Errorf("not possible: got %d", a.Attempts())
	}
	a.Possible = true
	if a.Attempts() != 6 { // (1 + 1) × (2 + 1)
		t.Errorf("possible: got %d", a.Attempts())
	}
}

func TestMergingKeepsWhatIsKnown(t *testing.T) {
	a := limits.System{Replicas: limits.Written(4, limits.At{}), Pools: make([]limits.Pool, 1)}
	a.Merge(limits.System{Pools: make([]limits.Pool, 2)})
	if len(a.Pools) != 3 || a.Replicas.Value != 4 {
		t.Errorf("got %+v", a)
	}
}
