package load

import (
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/schedule"
)

// never is an instant that does not come.
const never = math.MaxInt64

// arrivals are one sender's share of the open model's schedule, in ns since the origin.
type arrivals struct {
	source *schedule.Arrivals
	start  int64
	grain  int64 // arrivals are moved to the multiple of it before them, counted from start; 0: not moved
	next   int64 // never when there are no more
}

// arrivalsOf makes a share of the job's arrivals. A profile or a recording begins when the warm-up ends; a profile is preceded by the
// rate with which it begins.
func arrivalsOf(job Job, line *timeline, share, of int) (*arrivals, error) {
	c := schedule.Config{Seed: job.Shape.Seed, Share: share, Of: of, Spacing: schedule.Poisson}
	if job.Shape.Arrivals == plan.ArrivalsConstant {
		c.Spacing = schedule.Even
	}
	warmup := job.Phases.Warmup
	start := line.start
	switch {
	case len(job.Shape.Recorded) > 0:
		c.Recorded = job.Shape.Recorded
		start += int64(warmup)
	case len(job.Shape.Profile) > 0:
		c.Stages = append(schedule.Constant(job.Shape.Profile[0].From, warmup), job.Shape.Profile...)
	default:
		c.Stages = schedule.Constant(job.Load.RatePerSec, time.Duration(line.windowEnd-line.start))
	}
	source, err := schedule.New(c)
	if err != nil {
		return nil, err
	}
	a := &arrivals{source: source, start: start, grain: int64(job.Shape.Grain)}
	a.advance()
	return a, nil
}

func (a *arrivals) advance() {
	at, ok := a.source.Next()
	if !ok {
		a.next = never
		return
	}
	after := int64(at)
	if a.grain > 0 {
		after -= after % a.grain
	}
	a.next = a.start + after
}

// due is a request that is planned: an arrival, or the next step of a session.
type due struct {
	at      int64
	session *session // nil for an arrival
}

// backlog holds planned instants that were not yet sent, in order.
type backlog struct {
	ring  []due
	first int
	count int
}

func (b *backlog) push(d due) {
	if b.count == len(b.ring) {
		larger := make([]due, max(64, 2*len(b.ring)))
		for i := range b.count {
			larger[i] = b.ring[(b.first+i)%len(b.ring)]
		}
		b.ring, b.first = larger, 0
	}
	b.ring[(b.first+b.count)%len(b.ring)] = d
	b.count++
}

// pop takes the oldest instant; there must be one.
func (b *backlog) pop() due {
	d := b.ring[b.first]
	b.first = (b.first + 1) % len(b.ring)
	b.count--
	return d
}

// plan takes note of all arrivals before an instant. They count in the interval under way, so it must be called before one ends.
func (l *loop) plan(before int64) {
	for l.arrivals.next < min(before, l.line.windowEnd) {
		at := l.arrivals.next
		l.arrivals.advance()
		inside := l.planned(at)
		if l.mostInFlight > 0 && l.inFlight >= l.mostInFlight {
			l.rec.code("more in flight than allowed")
			l.forgo(at, inside)
			continue
		}
		l.inFlight++
		l.backlog.push(due{at: at})
	}
}

// dispatch sends what is planned, as far as there are connections.
func (l *loop) dispatch() {
	for l.backlog.count > 0 {
		c := l.spare()
		if c == nil {
			return
		}
		l.tick()
		r, ok := l.request(l.backlog.pop())
		if !ok {
			if c.state == closed {
				l.free = append(l.free, c)
			}
			continue
		}
		if c.state == closed {
			l.dial(c, r)
			continue
		}
		l.leaveIdle(c)
		c.take(r)
		c.reused = true
		l.wheel.look(c, c.deadline)
		l.transmit(c)
	}
}

// request makes the request of what is due; false when its feeder has no more rows, and it is dropped.
func (l *loop) request(d due) (request, bool) {
	m, x := l.work.message, d.session
	if l.work.script != nil {
		if x == nil {
			x = l.work.session()
		}
		if !l.work.script.begin(x, l.rng) {
			l.inFlight--
			l.rec.code("feeder: no more rows")
			l.forgo(d.at, l.line.inside(d.at))
			return request{}, false
		}
		m = x.message()
	}
	observe(&l.rec.lag, l.now-d.at)
	return request{message: m, session: x, planned: d.at, sent: l.now, deadline: l.now + m.timeout, user: nobody, inside: l.line.inside(d.at)}, true
}

// proceed plans the next step of a session of the open model: it is planned when the one before has ended.
func (l *loop) proceed(x *session) {
	if l.ending || l.now >= l.line.windowEnd {
		return
	}
	l.planned(l.now)
	l.inFlight++
	l.backlog.push(due{at: l.now, session: x})
}

// spare is a connection for the next request: the one that was used last, whose memory is warm, else a new one; nil when all that are
// allowed are busy.
func (l *loop) spare() *conn {
	if n := len(l.idle); n > 0 {
		return l.idle[n-1]
	}
	if l.mostConns > 0 && l.opened >= l.mostConns || l.nextDial > l.now {
		return nil
	}
	if l.dials == dialsPerTurn {
		return nil
	}
	l.dials++
	if l.dialEvery > 0 {
		l.nextDial = l.now + l.dialEvery
	}
	return l.newConn()
}

// dialsPerTurn bounds the connections opened before answers are read again. An answer gives a connection back, which costs a tenth of a
// new one; a loop that has fallen behind and opens one for each request that waits falls behind for good.
const dialsPerTurn = 16

// rest puts a connection among the idle ones.
func (l *loop) rest(c *conn) {
	c.place = int32(len(l.idle))
	l.idle = append(l.idle, c)
}

// abandon counts what is planned and cannot be sent any more.
func (l *loop) abandon() {
	for l.backlog.count > 0 {
		d := l.backlog.pop()
		l.inFlight--
		l.rec.code("never sent")
		l.forgo(d.at, l.line.inside(d.at))
	}
}

// forgo counts what was planned and is never sent.
func (l *loop) forgo(at int64, inside bool) {
	e := ending{outcome: record.Dropped, inside: inside, latency: -1, response: -1}
	l.rec.add(e)
	if l.sampling {
		l.rec.sample(e, at, -1, 0)
	}
}
