package load

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTheWheelGivesEveryConnectionBackSoonAfterItsInstantAndNeverBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w wheel
		conns := make([]conn, rapid.IntRange(1, 20).Draw(t, "connections"))
		wanted := map[*conn]int64{}
		now := int64(0)
		const tick = 1 << wheelShift
		for range rapid.IntRange(1, 60).Draw(t, "actions") {
			c := &conns[rapid.IntRange(0, len(conns)-1).Draw(t, "connection")]
			switch rapid.IntRange(0, 3).Draw(t, "action") {
			case 0, 1:
				at := now + rapid.Int64Range(0, 6000*tick).Draw(t, "in") // Up to half as much again as the wheel holds.
				w.look(c, at)
				wanted[c] = at
			case 2:
				w.remove(c)
				delete(wanted, c)
			default:
				now += rapid.Int64Range(0, 3000*tick).Draw(t, "pass")
				turnWheel(t, &w, wanted, now)
			}
			if next, ok := w.next(); ok != (len(wanted) > 0) || ok && next > earliest(wanted)+2*tick {
				t.Fatalf("the next look is at %d (%v), the earliest instant at %d", next, ok, earliest(wanted))
			}
		}
		turnWheel(t, &w, wanted, now+10_000*tick)
		if len(wanted) > 0 || w.count != 0 {
			t.Fatalf("%d connections never came up, %d are left in the wheel", len(wanted), w.count)
		}
	})
}

// turnWheel takes what is due as a loop does: what came up too early goes back.
func turnWheel(t *rapid.T, w *wheel, wanted map[*conn]int64, now int64) {
	for c := w.due(now); c != nil; c = w.due(now) {
		at, ok := wanted[c]
		switch {
		case !ok:
			t.Fatal("a connection came up that was taken out")
		case now < at:
			w.look(c, at)
		default:
			delete(wanted, c)
		}
	}
	for _, at := range wanted {
		if at+2<<wheelShift < now {
			t.Fatalf("an instant %d passed by at %d", at, now)
		}
	}
}

func earliest(wanted map[*conn]int64) int64 {
	first := int64(never)
	for _, at := range wanted {
		first = min(first, at)
	}
	return first
}

func TestTheAgendaGivesEntriesInTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		var want []int64
		for _, at := range rapid.SliceOfN(rapid.Int64Range(-1, 100), 1, 100).Draw(t, "instants, -1 takes one") {
			if at >= 0 {
				a.push(entry{at: at})
				want = append(want, at)
				continue
			}
			if len(want) == 0 {
				continue
			}
			slices.Sort(want)
			if got := a.pop().at; got != want[0] {
				t.Fatalf("got %d, want %d", got, want[0])
			}
			want = want[1:]
		}
		if len(a) != len(want) {
			t.Fatalf("%d entries, want %d", len(a), len(want))
		}
	})
}

func TestTheBacklogGivesBackInTheOrderOfComing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b backlog
		var want []int64
		for i, push := range rapid.SliceOfN(rapid.Bool(), 1, 500).Draw(t, "pushes") {
			if push {
				b.push(due{at: int64(i)})
				want = append(want, int64(i))
				continue
			}
			if len(want) == 0 {
				continue
			}
			if got := b.pop().at; got != want[0] {
				t.Fatalf("got %d, want %d", got, want[0])
			}
			want = want[1:]
		}
		if b.count != len(want) {
			t.Fatalf("%d left, want %d", b.count, len(want))
		}
	})
}

func TestSourcesLeaveOutTheNetworksAddressAndTheBroadcasts(t *testing.T) {
	s, err := sourcesOf([]string{"10.0.0.254", "10.0.1.0/30", "fd00::/127"})
	if err != nil {
		t.Fatal(err)
	}
	var got []netip.Addr
	for range 5 {
		got = append(got, s.next())
	}
	want := []netip.Addr{netip.MustParseAddr("10.0.0.254"), netip.MustParseAddr("10.0.1.1"), netip.MustParseAddr("10.0.1.2"), netip.MustParseAddr("fd00::"), netip.MustParseAddr("fd00::1")}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, bad := range []string{"", "x", "10.0.0.0/8", "300.1.1.1"} {
		if _, err := sourcesOf([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
