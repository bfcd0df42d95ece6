package dump_test

import (
	"testing"

	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

func TestAWorkersLabelNamesItsPool(t *testing.T) {
	for worker, want := range map[string]string{"price-worker-3": "price", "a-worker-b-worker-12": "a-worker-b"} {
		if got := dump.PoolOf(&threaddump.Thread{Labels: map[string]string{"worker": worker}}); got != want {
			t.Errorf("worker %q: pool %q, want %q", worker, got, want)
		}
	}
	if got := dump.PoolOf(&threaddump.Thread{Labels: map[string]string{"worker": "price-worker-x"}, CreatedBy: "main.serve"}); got != "main.serve" {
		t.Errorf("a label of another kind: pool %q", got)
	}
}
