package pool

import (
	"sync"
	"time"
)

// entry is a task on its way: fire and forget (fn) or with somebody who waits for its end (job).
type entry struct {
	fn  func()
	job *job
	at  time.Duration // when it was submitted
}

// dead says that the entry was taken out of the queue before its turn and left in place.
func (e *entry) dead() bool { return e.job != nil && e.job.state == jobLeft }

const (
	chunkEntries = 128
	spareChunks  = 16 // kept, 50 KB, so that a queue that fills and empties does not allocate
)

type chunk struct {
	entries [chunkEntries]entry
	next    *chunk
}

// fifo is a queue: a list of chunks, so that a long one costs 24 bytes a task, is never copied and gives its memory back.
type fifo struct {
	head, tail *chunk
	spare      *chunk // a list
	spares     int
	first      int // index of the head entry in head
	last       int // index after the tail entry in tail
	entries    int // dead ones among them
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
		q.spare, c.next = c.next, nil
		q.spares--
		return c
	}
	return new(chunk)
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
		empty := q.head
		q.head, q.first = empty.next, 0
		q.keep(empty)
	}
	return e
}

func (q *fifo) front() *entry { return &q.head.entries[q.first] }

// compact takes the dead out.
func (q *fifo) compact() {
	old := *q
	*q = fifo{}
	for old.entries > 0 {
		if e := old.popAny(); !e.dead() {
			q.push(e)
		}
	}
}

func (q *fifo) keep(c *chunk) {
	c.next = nil
	if q.spares < spareChunks {
		c.next, q.spare = q.spare, c
		q.spares++
	}
}

func (q *fifo) rewind() {
	q.head, q.first, q.last = q.tail, 0, 0
}

// inbox is where tasks come in, under a lock of its own, so that those who submit and the workers meet only when the workers run out of tasks
// and take the whole inbox. Lock order: pool.mu, then inbox.mu.
type inbox struct {
	mu      sync.Mutex // guards what follows; taken by lockInbox
	queue   fifo
	fresh   int // tasks in queue that the machine does not know of yet
	entered int // tasks that came to be in flight
	left    int // tasks that were and are no longer, when somebody last said
	ceiling int // as long as fewer are in flight, a task may come in without a question: see ceilingBoth
	signal  signal
	peaks   peaks
}

// lockBoth locks all of the pool and lets the machine know of every task.
func (p *Pool) lockBoth() {
	p.mu.Lock()
	lockInbox(&p.in.mu)
	p.syncBoth()
}

// syncBoth tells the machine of tasks that came in, and the inbox of those that left.
func (p *Pool) syncBoth() {
	if n := p.in.fresh; n > 0 {
		p.in.fresh = 0
		p.machine.Enqueued(n)
		p.counts.submitted += uint64(n)
	}
	p.in.left = p.left
}

// pushBoth puts a task, of which the machine knows, at the queue's tail.
func (p *Pool) pushBoth(e *entry) {
	if e.job != nil {
		e.job.state = jobQueued
	}
	p.in.queue.push(*e)
	p.in.entered++
	p.in.peaks.note(e.at, 0, p.machine.Waiting())
}

// popLocked takes the queue's head, which must exist.
func (p *Pool) popLocked() entry {
	for {
		if p.queue.entries == 0 {
			lockInbox(&p.in.mu)
			p.queue, p.in.queue = p.in.queue, p.queue
			p.syncBoth()
			p.in.mu.Unlock()
		}
		e := p.queue.popAny()
		if !e.dead() {
			return e
		}
		p.dead--
	}
}

// popBoth is popLocked under both locks.
func (p *Pool) popBoth() entry {
	e := p.peekBoth()
	head := *e
	p.queue.popAny()
	return head
}

// peekBoth is the queue's head, or nil.
func (p *Pool) peekBoth() *entry {
	for {
		if p.queue.entries == 0 {
			p.queue, p.in.queue = p.in.queue, p.queue
		}
		if p.queue.entries == 0 {
			return nil
		}
		if e := p.queue.front(); !e.dead() {
			return e
		}
		p.queue.popAny()
		p.dead--
	}
}

// buryBoth notes that an entry has died in place, and now and then takes the dead away: each for a constant cost in the mean.
func (p *Pool) buryBoth() {
	p.dead++
	if p.dead <= chunkEntries || p.dead <= (p.queue.entries+p.in.queue.entries)/2 {
		return
	}
	p.dead = 0
	p.queue.compact()
	p.in.queue.compact()
}
