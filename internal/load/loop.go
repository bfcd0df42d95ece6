package load

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/load/wire"
	"github.com/loadline-dev/loadline/internal/record"
)

const (
	readBuffer = 64 << 10
	// unreachableAfter is how long the first connection may fail before the target counts as unreachable.
	unreachableAfter = 200 * time.Millisecond
	// A user whose connection failed waits before it tries again, so that a dead target does not become a busy loop.
	firstBackOff   = int64(time.Millisecond)
	longestBackOff = int64(100 * time.Millisecond)
)

// loop is one thread that sends and receives. All fields but stop are for that thread.
type loop struct {
	index     int
	origin    time.Time
	line      *timeline
	poll      *poller
	collector *collector
	wanted    *wire.Wanted
	work      *work
	book      *book
	sources   *sources // nil: as the kernel chooses
	// maxRequests bounds the requests of a connection, dialEvery is the time between two connections in ns; 0: no bound.
	maxRequests uint32
	dialEvery   int64
	stop        atomic.Bool

	now      int64 // ns since the origin, as last read
	rec      *recorder
	meter    *threadMeter
	memory   wire.Memory
	wheel    wheel
	agenda   agenda
	conns    []*conn
	free     []*conn
	idle     []*conn   // open model only
	users    []user    // closed model only
	arrivals *arrivals // open model only
	backlog  backlog
	// mostInFlight and mostConns bound the open model; 0: no bound.
	mostInFlight, mostConns int
	left                    int64 // requests still to be planned in the window; negative: no end
	think                   func() int64
	rng                     *rand.Rand
	buf                     []byte
	dials                   int   // connections opened in this turn
	nextDial                int64 // when the next connection may be opened
	opened                  int
	inFlight                int // requests whose users wait
	watching                int // requests whose timeout has passed
	ending                  bool
	sampling                bool  // single requests are kept
	reached                 bool  // a connection was made
	failedAt                int64 // when the first connection failed
	failure                 error // why
	loops                   int
}

// user is one of the closed model.
type user struct {
	conn   *conn
	fails  uint8 // in a row
	permit bool  // may open a connection now
	// session is its way through the script, nil without one.
	session *session
}

// run is the loop's life. It hands over its last part in any case.
func (l *loop) run() {
	runtime.LockOSThread() // Never unlocked: the thread's timer slack was changed, so it ends with the goroutine.
	// Without slack timed waits end when they should instead of up to 50 µs later. A refusal costs precision only, and the lag shows it.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	l.meter = newThreadMeter()
	l.now = l.clock()
	l.begin(0, l.line.start)
	for {
		l.tick()
		l.turn()
		if l.over() {
			break
		}
		events, err := l.poll.wait(time.Duration(l.wakeAt() - l.now))
		if err != nil {
			l.giveUp(err)
			continue
		}
		for i := range events {
			l.event(&events[i])
			if l.arrivals != nil && (l.now >= l.arrivals.next || l.backlog.count > 0) {
				l.send() // What is planned must not wait until all answers are read.
			}
		}
	}
	l.leave()
}

func (l *loop) clock() int64 { return int64(time.Since(l.origin)) }

// tick reads the clock and closes the intervals that have ended.
func (l *loop) tick() {
	l.now = l.clock()
	if l.now >= l.rec.end {
		l.roll()
	}
}

func (l *loop) roll() {
	for l.now >= l.rec.end {
		r := l.rec
		if l.arrivals != nil {
			l.plan(r.end)
		}
		l.settle(r)
		l.begin(r.index+1, r.end)
		l.collector.hand(r)
	}
}

// planned counts a request as planned and ends the window when it was the last.
func (l *loop) planned(at int64) (inside bool) {
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

func (l *loop) begin(index int, start int64) {
	l.rec = newRecorder(l.line, l.index, index, start)
	l.rec.loopCPU = make([]time.Duration, l.loops)
}

// settle writes what is known only at an interval's end.
func (l *loop) settle(r *recorder) {
	r.inFlight = int64(l.inFlight)
	r.loopCPU[l.index], r.runWait = l.meter.sample()
}

// turn does what the clock asks for.
func (l *loop) turn() {
	l.dials = 0
	for c := l.wheel.due(l.now); c != nil; c = l.wheel.due(l.now) {
		l.expire(c)
	}
	l.ending = l.ending || l.now >= l.line.windowEnd || l.stop.Load()
	l.send()
	if !l.reached && l.failure != nil && l.now-l.failedAt >= int64(unreachableAfter) {
		l.giveUp(unreachable(l.failure))
	}
}

// send sends what is due.
func (l *loop) send() {
	if l.ending {
		l.agenda = l.agenda[:0]
	}
	if l.arrivals != nil {
		l.plan(l.now + 1)
		for len(l.agenda) > 0 && l.agenda[0].at <= l.now {
			l.proceed(l.agenda.pop().session)
		}
		l.dispatch()
		return
	}
	for len(l.agenda) > 0 && l.agenda[0].at <= l.now {
		l.ready(l.agenda.pop().user)
	}
}

func unreachable(reason error) error {
	if isLimit(reason) {
		return limits("connect", reason)
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, reason)
}

// wakeAt is when the clock next asks for something.
func (l *loop) wakeAt() int64 {
	at := l.rec.end
	if l.rec.phase != record.Drain {
		at = min(at, l.line.windowEnd)
	}
	if next, ok := l.agenda.next(); ok {
		at = min(at, next)
	}
	if l.arrivals != nil && !l.ending {
		at = min(at, l.arrivals.next)
	}
	switch {
	case l.backlog.count == 0:
	case l.dials == dialsPerTurn:
		return l.now
	case l.nextDial > l.now:
		at = min(at, l.nextDial)
	}
	if l.ending {
		at = min(at, l.drainEnd())
	}
	if next, ok := l.wheel.next(); ok {
		at = min(at, next)
	}
	return at
}

// over tells whether the loop has nothing left to do.
func (l *loop) over() bool {
	return l.stop.Load() || l.ending && (l.inFlight+l.watching == 0 || l.now >= l.drainEnd())
}

// drainEnd is when what has not ended is cut. Only what was sent long after its planned instant can be left then.
func (l *loop) drainEnd() int64 {
	const grain = int64(10 * time.Millisecond) // Deadlines come up to a tick of the wheel late.
	return l.line.windowEnd + 2*l.work.timeout + grain
}

// giveUp ends the loop, and with it the run, because of an error.
func (l *loop) giveUp(err error) {
	l.collector.fail(err)
	l.stop.Store(true)
}

// leave cuts what is in flight, closes everything and hands over the last part.
func (l *loop) leave() {
	l.tick()
	l.ending = true
	l.abandon()
	for _, c := range l.conns {
		if c.busy() {
			l.cut(c)
		}
		if c.fd >= 0 {
			l.drop(c)
		}
	}
	l.rec.end, l.rec.last = l.now, true
	l.settle(l.rec)
	l.collector.hand(l.rec)
}

func (l *loop) cut(c *conn) {
	if c.watched {
		l.end(c, record.Timeout, false)
		return
	}
	l.end(c, record.Cut, false)
}
