package pool

import "time"

// entry is a task on its way: fire and forget (fn) or with somebody who waits for its end (job).
type entry struct {
	fn  func()
	job *job
	at  time.Duration // when it was submitted
}

// dead says that the entry was taken out of the queue before its turn and left in place.
func (e *entry) dead() bool { return e.job != nil && e.job.state == jobLeft }

const chunkEntries = 128

type chunk struct {
	entries [chunkEntries]entry
	next    *chunk
}

// fifo is the queue: a list of chunks, so that a long queue costs 24 bytes a task, is never copied and gives its memory back. Guarded by
// the pool's lock.
type fifo struct {
	head, tail *chunk
	spare      *chunk // one is kept, so that a queue about a chunk's edge does not allocate
	first      int    // index of the head entry in head
	last       int    // index after the tail entry in tail
	entries    int    // dead ones among them
	deadCount  int
}

func (q *fifo) push(e entry) {
	if q.tail == nil {
		q.head = q.fresh()
		q.tail, q.first, q.last = q.head, 0, 0
	} else if q.last == chunkEntries {
		q.tail.next = q.fresh()
		q.tail, q.last = q.tail.next, 0
	}
	q.tail.entries[q.last] = e
	q.last++
	q.entries++
}

func (q *fifo) fresh() *chunk {
	if c := q.spare; c != nil {
		q.spare = nil
		return c
	}
	return new(chunk)
}

// pop takes the head, which must exist.
func (q *fifo) pop() entry {
	for {
		e := q.popAny()
		if !e.dead() {
			return e
		}
		q.deadCount--
	}
}

func (q *fifo) popAny() entry {
	e := q.head.entries[q.first]
	q.head.entries[q.first] = entry{}
	q.first++
	q.entries--
	switch {
	case q.entries == 0:
		q.rewind()
	case q.first == chunkEntries:
		q.spare, q.head, q.first = q.head, q.head.next, 0
		q.spare.next = nil
	}
	return e
}

func (q *fifo) rewind() {
	q.head, q.first, q.last = q.tail, 0, 0
}

// peek is the head, or nil.
func (q *fifo) peek() *entry {
	for q.entries > 0 {
		e := &q.head.entries[q.first]
		if !e.dead() {
			return e
		}
		q.popAny()
		q.deadCount--
	}
	return nil
}

// bury notes that an entry has died in place, and now and then takes the dead away: each for a constant cost in the mean.
func (q *fifo) bury() {
	q.deadCount++
	if q.deadCount <= chunkEntries || q.deadCount <= q.entries/2 {
		return
	}
	old := *q
	*q = fifo{}
	for old.entries > 0 {
		if e := old.popAny(); !e.dead() {
			q.push(e)
		}
	}
}
