package load

import (
	"sync"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// ledger keeps the general engine's intervals and what is in flight. It is safe for concurrent use. Instants are read under its lock,
// so that no request counts in an interval that was handed over.
type ledger struct {
	origin    time.Time
	collector *collector
	meter     *processThreads
	timeout   int64 // ns, the longest of all requests

	mu       sync.Mutex // guards all below
	line     timeline
	rec      *recorder
	flights  map[*flight]struct{}
	inFlight int // requests whose users wait, those planned and not sent included
	watching int
	left     int64
	closed   bool      // the last part was handed over
	arrivals *arrivals // open model only
	waiting  []*flight // planned and not sent, in order; open model only
	airborne int       // sent and not ended
	// mostInFlight and mostConns bound the open model; 0: no bound.
	mostInFlight, mostConns int
	reached                 bool
	failure                 error
	failedAt                int64
	changed                 chan struct{} // something ended
}

// flight is one request of the general engine. Its fields are guarded by the ledger's lock once it was sent.
type flight struct {
	message  *message
	planned  int64
	sent     int64
	inside   bool
	watched  bool
	finished bool
}

func newLedger(job Job, timeout int64, c *collector) (*ledger, error) {
	origin, start := job.begin()
	l := &ledger{origin: origin, line: timelineOf(job.Phases, start), collector: c, timeout: timeout, meter: newProcessThreads(),
		flights: map[*flight]struct{}{}, left: -1, changed: make(chan struct{}, 1), mostInFlight: job.Shape.MaxInFlight, mostConns: job.Shape.Connections}
	if job.Shape.Requests > 0 {
		l.left = job.Shape.Requests
	}
	l.beginLocked(0, l.line.start)
	if job.Load.Model == record.Closed {
		return l, nil
	}
	var err error
	l.arrivals, err = arrivalsOf(job, &l.line, 0, 1)
	return l, err
}

func (l *ledger) clock() int64 { return int64(time.Since(l.origin)) }

func (l *ledger) beginLocked(index int, start int64) {
	l.rec = newRecorder(&l.line, 0, index, start)
	l.rec.loopCPU = make([]time.Duration, 1)
}

// nowLocked reads the clock and closes the intervals that have ended.
func (l *ledger) nowLocked() int64 {
	now := l.clock()
	for now >= l.rec.end && !l.closed {
		r := l.rec
		l.planArrivalsLocked(r.end)
		l.settleLocked(r)
		l.beginLocked(r.index+1, r.end)
		l.collector.hand(r)
	}
	return now
}

func (l *ledger) settleLocked(r *recorder) {
	r.inFlight = int64(l.inFlight)
	r.runWait = l.meter.sample()
}

// note changes the interval under way.
func (l *ledger) note(f func(r *recorder)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nowLocked()
	f(l.rec)
}

// plan plans a request that is sent now; false when nothing is planned any more.
func (l *ledger) plan(m *message) (*flight, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	if l.closed || now >= l.line.windowEnd {
		return nil, false
	}
	f := &flight{message: m, planned: now, sent: now, inside: l.plannedLocked(now)}
	l.flights[f] = struct{}{}
	l.inFlight++
	l.airborne++
	return f, true
}

// planArrivalsLocked takes note of all arrivals before an instant. They count in the interval under way, so it must be called before
// one ends.
func (l *ledger) planArrivalsLocked(before int64) {
	if l.arrivals == nil {
		return
	}
	for l.arrivals.next < min(before, l.line.windowEnd) {
		at := l.arrivals.next
		l.arrivals.advance()
		inside := l.plannedLocked(at)
		if l.mostInFlight > 0 && l.inFlight >= l.mostInFlight {
			l.rec.code("more in flight than allowed")
			l.forgoLocked(at, inside)
			continue
		}
		l.inFlight++
		l.waiting = append(l.waiting, &flight{planned: at, sent: never, inside: inside})
	}
}

// due takes the arrivals that are to be sent now, as far as connections are allowed, and tells when to ask again.
func (l *ledger) due() (send []*flight, next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	l.planArrivalsLocked(now + 1)
	for len(l.waiting) > 0 && !l.closed && (l.mostConns == 0 || l.airborne < l.mostConns) {
		f := l.waiting[0]
		l.waiting = l.waiting[1:]
		f.sent = now
		observe(&l.rec.lag, now-f.planned)
		l.flights[f] = struct{}{}
		l.airborne++
		send = append(send, f)
	}
	next = l.rec.end
	if l.arrivals != nil {
		next = min(next, l.arrivals.next)
	}
	return send, next
}

func (l *ledger) plannedLocked(at int64) (inside bool) {
	l.rec.planned++
	inside = l.line.inside(at)
	if !inside || l.left < 0 {
		return inside
	}
	if l.left--; l.left == 0 {
		l.line.curtail(l.rec.index, at+1)
		l.rec.end = l.line.windowEnd
	}
	return inside
}

// forgo drops an arrival that cannot be sent.
func (l *ledger) forgo(f *flight, code string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nowLocked()
	if f.finished {
		return
	}
	f.finished = true
	delete(l.flights, f)
	l.airborne--
	l.inFlight--
	l.rec.code(code)
	l.forgoLocked(f.planned, f.inside)
	l.wake()
}

// isWatched tells whether a request's timeout has passed.
func (l *ledger) isWatched(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f.watched
}

// watch tells that a request's timeout has passed; false when it has ended already.
func (l *ledger) watch(f *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.finished || f.watched {
		return false
	}
	f.watched = true
	l.inFlight--
	l.watching++
	return true
}

// finish counts a request as ended; wait is for how long it holds its user beyond its end. It returns whether the user is still waiting.
func (l *ledger) finish(f *flight, r reply, wait int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finishLocked(f, l.nowLocked(), r, wait)
}

func (l *ledger) finishLocked(f *flight, now int64, r reply, wait int64) bool {
	if f.finished {
		return false
	}
	f.finished = true
	delete(l.flights, f)
	if f.sent != never {
		l.airborne--
	}
	outcome := f.outcome(r)
	if outcome == record.Timeout && !r.answered {
		now = f.sent + f.message.timeout
	}
	held := now - f.planned + wait
	if f.watched {
		held = f.sent + f.message.timeout - f.planned
		l.watching--
	} else {
		l.inFlight--
	}
	if r.code != "" {
		l.rec.code(r.code)
	}
	e := ending{outcome: outcome, inside: f.inside, answered: r.answered, latency: now - f.planned, response: -1, held: held}
	if l.arrivals != nil {
		e.response = now - f.sent
	}
	l.rec.add(e)
	if l.collector.samples != nil {
		l.rec.sample(e, f.planned, f.sent, r.status)
	}
	if len(l.waiting) > 0 || l.rec.phase == record.Drain || l.left == 0 {
		l.wake()
	}
	return !f.watched
}

// outcome is what a reply comes to: after the timeout an answer is late, and anything else is nothing.
func (f *flight) outcome(r reply) record.Outcome {
	switch {
	case !f.watched:
		return r.outcome
	case r.answered:
		return record.Late
	}
	return record.Timeout
}

func (l *ledger) wake() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// failed notes the first reason why the target could not be reached; connected, that it was.
func (l *ledger) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		l.failure, l.failedAt = err, l.clock()
	}
	l.wake()
}

func (l *ledger) connected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reached = true
}

// unreachable is the reason why the target counts as unreachable, nil when it does not.
func (l *ledger) unreachable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reached || l.failure == nil || l.clock()-l.failedAt < int64(unreachableAfter) {
		return nil
	}
	return unreachable(l.failure)
}

// over tells whether all that was planned has ended and nothing more will be.
func (l *ledger) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	l.planArrivalsLocked(now + 1) // The last of them must not be missed.
	return now >= l.line.windowEnd && (l.inFlight+l.watching == 0 || now >= l.line.windowEnd+2*l.timeout+int64(10*time.Millisecond))
}

// forgoLocked counts what was planned and is never sent.
func (l *ledger) forgoLocked(at int64, inside bool) {
	e := ending{outcome: record.Dropped, inside: inside, latency: -1, response: -1}
	l.rec.add(e)
	if l.collector.samples != nil {
		l.rec.sample(e, at, -1, 0)
	}
}

// close cuts what is in flight and hands over the last part.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.nowLocked()
	for _, f := range l.waiting {
		l.inFlight--
		l.rec.code("never sent")
		l.forgoLocked(f.planned, f.inside)
	}
	l.waiting = nil
	for f := range l.flights {
		l.finishLocked(f, now, reply{outcome: record.Cut}, 0)
	}
	l.closed = true
	l.rec.end, l.rec.last = now, true
	l.settleLocked(l.rec)
	l.collector.hand(l.rec)
	l.rec = &recorder{end: never} // Connections that end after the cell are nobody's, and must not touch what was handed over.
}
