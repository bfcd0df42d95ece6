package command

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/loadline-dev/loadline/breaker"
)

// A call that runs holds a slot. The slot's word says whose it is and until when, so that the watch finds calls that are over time
// without their help, and a context that outlives its call finds that it has ended:
//
//	bit 63      the call is over time, and has been counted so
//	bits 17-62  its deadline in microseconds, rounded up, modulo 2^46 (2.2 years); 0 in a free slot
//	bits 0-16   a number that differs between the calls of a slot; it stays when the slot is given back
//
// Taking a slot and giving it back are one compare-and-swap each.
const (
	overtime     = 1 << 63
	serialBits   = 17
	serialMask   = 1<<serialBits - 1
	deadlineBits = 46
	// farAway stands for "no deadline": more than any timeout, and less than half the range, so that it compares as later.
	farAway = time.Duration(1<<(deadlineBits-2)) * time.Microsecond
)

// slot has two cache lines to itself, since the processor fetches them in pairs.
type slot struct {
	word   atomic.Uint64
	ticket atomic.Uint64                // the breaker's, written only when it differs from the last call's
	asked  atomic.Pointer[cancellation] // made when the function asks for Done; the watch's lock guards changes
	// passage is that of the last call that went through a pool.
	passage atomic.Pointer[passage]
	owner   *Control
	plain   plainContext
	fresh   []callContext // contexts not yet handed out; the holder's
	onPool  []workerContext
	marked  Outcome // as what a call was counted that is over time or left; the watch's lock guards it
	handing bool    // the breaker is just being told of that; the watch's lock guards it
	_       [128 - 6*8 - 2*24 - 8]byte
}

func free(word uint64) bool { return word <= serialMask }

// wordAfter is the word of a slot's next call, given its free word.
func wordAfter(old uint64, deadline time.Duration) uint64 {
	return wordOf(old+1, deadline)
}

func wordOf(serial uint64, deadline time.Duration) uint64 {
	micros := uint64((deadline+time.Microsecond-1)/time.Microsecond) & (1<<deadlineBits - 1)
	return max(micros, 1)<<serialBits | serial&serialMask
}

// left is how long remains from now until the deadline of a word, in whole microseconds; 0 or negative when it is over.
func left(word uint64, now time.Duration) time.Duration {
	micros := word&^overtime>>serialBits - uint64(now/time.Microsecond)
	return time.Duration(int64(micros<<(64-deadlineBits))>>(64-deadlineBits)) * time.Microsecond
}

// slots is the table of a command: 2^n slots in chunks. It grows and never shrinks, and a slot never moves.
type slots struct {
	chunks []*chunk
	mask   uint64
}

const (
	chunkSlots = 16
	// A table counts as crowded when that many slots in a row are taken at that many places.
	probeSlots  = 4
	probePlaces = 6
	hashFactor  = 0x9E3779B97F4A7C15 // 2^64 ÷ the golden ratio: Knuth, The Art of Computer Programming, vol. 3, section 6.4
)

type chunk [chunkSlots]slot

func newSlots(owner *Control, chunks []*chunk, n int) *slots {
	for len(chunks) < n {
		c := new(chunk)
		for i := range c {
			c[i].owner = owner
			c[i].plain.slot = &c[i]
		}
		chunks = append(chunks, c)
	}
	return &slots{chunks: chunks, mask: uint64(n*chunkSlots) - 1}
}

func (s *slots) at(i uint64) *slot {
	i &= s.mask
	return &s.chunks[i/chunkSlots][i%chunkSlots]
}

// each visits all slots.
func (s *slots) each(visit func(*slot)) {
	for _, c := range s.chunks {
		for i := range c {
			visit(&c[i])
		}
	}
}

// take gives the caller a free slot and the word that it now has.
func (c *Control) take(deadline time.Duration) (*slot, uint64) {
	// Goroutines have stacks of their own, so a stack address leads one goroutine to the same slot each time, and others elsewhere.
	var here byte
	place := uint64(uintptr(unsafe.Pointer(&here))>>9) * hashFactor >> 32
	for {
		table := c.slots.Load()
		for range probePlaces {
			if s, word := table.takeFrom(place, deadline); s != nil {
				return s, word
			}
			place = rand.Uint64()
		}
		c.grow(table)
	}
}

func (s *slots) takeFrom(start uint64, deadline time.Duration) (*slot, uint64) {
	for i := range uint64(probeSlots) {
		slot := s.at(start + i)
		old := slot.word.Load()
		if !free(old) {
			continue
		}
		word := wordAfter(old, deadline)
		if slot.word.CompareAndSwap(old, word) {
			return slot, word
		}
	}
	return nil, 0
}

// grow doubles a table that is crowded, unless that has happened already.
func (c *Control) grow(crowded *slots) {
	c.growing.Lock()
	defer c.growing.Unlock()
	if c.slots.Load() == crowded {
		c.slots.Store(newSlots(c, append([]*chunk(nil), crowded.chunks...), 2*len(crowded.chunks)))
	}
}

// hold notes what the watch needs to hand the call's result to the breaker. It costs a load: tickets hardly ever change.
func (s *slot) hold(permit *breaker.Permit) {
	if ticket := uint64(permit.Ticket()); s.ticket.Load() != ticket {
		s.ticket.Store(ticket)
	}
}

// release gives the slot back if the call is not over time; false means that the watch has counted it so.
func (s *slot) release(word uint64) bool { return s.word.CompareAndSwap(word, word&serialMask) }
