package policy_test

import (
	"testing"

	"github.com/loadline-dev/loadline/internal/policy"
	"pgregory.net/rapid"
)

func TestABulkheadGrantsInOrderAndNeverTooMuch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := policy.BulkheadRules{Permits: rapid.IntRange(1, 6).Draw(t, "permits"), MaxWaiting: rapid.IntRange(0, 4).Draw(t, "waiting")}
		b := policy.NewBulkhead(rules)
		var out, waiting []int // weights, by a plain reading of first come, first served
		sum := func() (n int) {
			for _, w := range out {
				n += w
			}
			return n
		}
		serve := func(granted int) {
			want := 0
			for len(waiting) > 0 && sum()+waiting[0] <= rules.Permits {
				out, waiting = append(out, waiting[0]), waiting[1:]
				want++
			}
			if granted != want {
				t.Fatalf("granted %d, want %d; out %v, waiting %v of %d", granted, want, out, waiting, rules.Permits)
			}
		}
		for range 60 {
			switch rapid.IntRange(0, 3).Draw(t, "event") {
			case 0:
				w := rapid.IntRange(1, 4).Draw(t, "weight")
				want := policy.BulkheadRefuse
				switch {
				case w > rules.Permits:
					want = policy.BulkheadHeavy
				case len(waiting) == 0 && sum()+w <= rules.Permits:
					want = policy.BulkheadGrant
					out = append(out, w)
				case len(waiting) < rules.MaxWaiting:
					want = policy.BulkheadWait
					waiting = append(waiting, w)
				}
				if got := b.Acquire(w); got != want {
					t.Fatalf("Acquire(%d) = %d, want %d; out %v, waiting %v", w, got, want, out, waiting)
				}
			case 1:
				if len(out) > 0 {
					w := out[0]
					out = out[1:]
					serve(b.Release(w))
				}
			case 2:
				if len(waiting) > 0 {
					i := rapid.IntRange(0, len(waiting)-1).Draw(t, "place")
					waiting = append(waiting[:i:i], waiting[i+1:]...)
					serve(b.Leave(i))
				}
			case 3:
				rules.Permits = rapid.IntRange(1, 6).Draw(t, "permits")
				heavy, granted := b.Apply(rules)
				var kept []int
				for i, w := range waiting {
					if w <= rules.Permits {
						kept = append(kept, w)
					} else if len(heavy) == 0 || heavy[0] != i {
						t.Fatalf("place %d asks for %d of %d permits and was not refused", i, w, rules.Permits)
					} else {
						heavy = heavy[1:]
					}
				}
				waiting = kept
				serve(granted)
			}
			if b.InUse() != sum() || b.Waiting() != len(waiting) {
				t.Fatalf("%d in use, %d waiting; want %d, %d", b.InUse(), b.Waiting(), sum(), len(waiting))
			}
		}
	})
}
