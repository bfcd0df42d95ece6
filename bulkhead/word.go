package bulkhead

import (
	"sync/atomic"
	"unsafe"
)

// The word holds everything that decides on a caller who need not wait, so that one compare-and-swap both asks and takes: permits in use in
// the low 31 bits, then a bit that says that somebody waits and nobody may overtake, then the number of permits.
const (
	useMask     = 1<<31 - 1
	waitingBit  = 1 << 31
	permitShift = 32
)

func pack(permits int) uint64      { return uint64(permits) << permitShift }
func inUse(word uint64) int        { return int(word & useMask) }
func permitsOf(word uint64) int    { return int(word >> permitShift) }
func someWait(word uint64) bool    { return word&waitingBit != 0 }
func fits(word uint64, w int) bool { return inUse(word)+w <= permitsOf(word) }

// take takes weight permits if they are free and nobody waits.
func (b *Bulkhead) take(weight int) (word uint64, ok bool) {
	for {
		word := b.word.Load()
		if someWait(word) || !fits(word, weight) {
			return word, false
		}
		if b.word.CompareAndSwap(word, word+uint64(weight)) {
			b.noteUse(inUse(word) + weight)
			return word, true
		}
	}
}

func (b *Bulkhead) noteUse(n int) {
	for {
		peak := b.peak.Load()
		if int64(n) <= peak || b.peak.CompareAndSwap(peak, int64(n)) {
			return
		}
	}
}

func (b *Bulkhead) setPermitsLocked(permits int) {
	for {
		word := b.word.Load()
		if b.word.CompareAndSwap(word, word&(useMask|waitingBit)|pack(permits)) {
			return
		}
	}
}

const tallies = 4

// tally is a counter for many goroutines at once: parts on cache lines of their own, chosen by the caller's stack.
type tally [tallies]struct {
	n atomic.Uint64
	_ [56]byte
}

func (t *tally) add() {
	var here byte
	t[uint32(uintptr(unsafe.Pointer(&here))>>11)*0x9E3779B1>>30].n.Add(1)
}

func (t *tally) sum() (n uint64) {
	for i := range t {
		n += t[i].n.Load()
	}
	return n
}
