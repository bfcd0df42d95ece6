package command

import (
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

func TestASlotFillsTwoCacheLines(t *testing.T) {
	if size := unsafe.Sizeof(slot{}); size != 128 {
		t.Errorf("a slot has %d bytes", size)
	}
}

func TestAWordKeepsDeadlineAndSerial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Duration(rapid.Int64Range(int64(25*time.Hour), int64(20*365*24*time.Hour)).Draw(t, "now"))
		rest := time.Duration(rapid.Int64Range(int64(-24*time.Hour), int64(farAway)).Draw(t, "rest"))
		old := rapid.Uint64Range(0, serialMask).Draw(t, "old")
		word := wordAfter(old, now+rest)
		if free(word) || word&overtime != 0 || word&serialMask != (old+1)&serialMask {
			t.Fatalf("word %x after %x", word, old)
		}
		// Both are rounded to a microsecond.
		if got := left(word, now) - rest; got < -2*time.Microsecond || got > 2*time.Microsecond {
			t.Fatalf("left %v of %v", left(word, now), rest)
		}
		if left(word|overtime, now) != left(word, now) {
			t.Fatal("the mark changes the deadline")
		}
	})
}

func TestTheTableGrowsUnderManyCalls(t *testing.T) {
	c := &Control{}
	c.slots.Store(newSlots(c, nil, 1))
	taken := map[*slot]uint64{}
	for range 1000 {
		s, word := c.take(time.Second)
		if _, twice := taken[s]; twice {
			t.Fatal("a slot was given twice")
		}
		taken[s] = word
	}
	if got := len(c.slots.Load().chunks) * chunkSlots; got > 4096 {
		t.Errorf("%d slots for 1000 calls", got)
	}
	for s, word := range taken {
		if !s.release(word) || s.release(word) {
			t.Fatal("release must work once")
		}
	}
}
