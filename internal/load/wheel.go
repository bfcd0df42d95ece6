package load

import "math/bits"

const (
	wheelShift = 20 // a tick is 2^20 ns, about 1 ms
	wheelSlots = 4096
	wheelMask  = wheelSlots - 1
)

// wheel holds the deadlines of connections in ticks of about 1 ms. A connection is in it at most once and stays where it is when its
// deadline moves away; it is put where it belongs when its slot comes up. So a request costs nothing here unless it waits long.
//
// Source: G. Varghese, T. Lauck, «Hashed and hierarchical timing wheels», SOSP 1987, scheme 6, with moving put off.
type wheel struct {
	slots [wheelSlots]*conn // heads of lists linked by conn.next
	used  [wheelSlots / 64]uint64
	tick  int64 // all slots before this tick have been emptied
	count int
}

// look sees to it that a connection comes up at an instant or before, and then again until it does so at the instant.
func (w *wheel) look(c *conn, at int64) {
	tick := max(at>>wheelShift+1, w.tick)
	if c.tick != 0 {
		if c.tick <= tick {
			return
		}
		w.remove(c)
	}
	tick = min(tick, w.tick+wheelSlots-1)
	slot := tick & wheelMask
	c.next, c.tick = w.slots[slot], tick
	if c.next != nil {
		c.next.prev = c
	}
	w.slots[slot] = c
	w.used[slot/64] |= 1 << (slot % 64)
	w.count++
}

// remove takes a connection out; it does nothing for one that is not in.
func (w *wheel) remove(c *conn) {
	if c.tick == 0 {
		return
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		w.slots[c.tick&wheelMask] = c.next
	}
	c.next, c.prev, c.tick = nil, nil, 0
	w.count--
}

// due takes a connection out whose slot has come up, nil when there is none.
func (w *wheel) due(now int64) *conn {
	last := now >> wheelShift
	for w.tick <= last {
		slot := w.tick & wheelMask
		if c := w.slots[slot]; c != nil {
			w.remove(c)
			return c
		}
		w.used[slot/64] &^= 1 << (slot % 64)
		w.tick = w.nextUsed(last + 1)
	}
	return nil
}

// nextUsed is the next tick after the current one whose slot may hold something, at most limit.
func (w *wheel) nextUsed(limit int64) int64 {
	if w.count == 0 {
		return limit
	}
	for tick := w.tick + 1; tick < limit; {
		slot := tick & wheelMask
		rest := w.used[slot/64] >> (slot % 64)
		if rest != 0 {
			return min(tick+int64(bits.TrailingZeros64(rest)), limit)
		}
		tick += 64 - slot%64
	}
	return limit
}

// next is when the next slot comes up that holds something.
func (w *wheel) next() (int64, bool) {
	if w.count == 0 {
		return 0, false
	}
	if w.slots[w.tick&wheelMask] != nil {
		return w.tick << wheelShift, true
	}
	return w.nextUsed(w.tick+wheelSlots) << wheelShift, true
}
