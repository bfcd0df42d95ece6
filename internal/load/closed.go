package load

import (
	"github.com/loadline-dev/loadline/internal/record"
)

// ready sends a user's next request: in the closed model it is planned at the moment in which it is sent.
func (l *loop) ready(u int32) {
	if l.ending || l.now >= l.line.windowEnd {
		return
	}
	if l.users[u].conn == nil && !l.mayDial(u) {
		return
	}
	m, x := l.work.message, l.users[u].session
	if x != nil {
		if !l.work.script.begin(x, l.rng) {
			l.rec.code("feeder: no more rows, the user ends")
			return
		}
		m = x.message()
	}
	l.inFlight++
	r := request{message: m, session: x, planned: l.now, sent: l.now, deadline: l.now + m.timeout, user: u, inside: l.planned(l.now)}
	c := l.users[u].conn
	if c == nil {
		c = l.newConn()
		l.own(c, u)
		l.dial(c, r)
		return
	}
	c.take(r)
	c.reused = true
	l.wheel.look(c, c.deadline)
	l.transmit(c)
}

// mayDial tells whether a user may open a connection now. Where their rate is bounded, users get their turns in order and are not ready
// before theirs.
func (l *loop) mayDial(u int32) bool {
	if l.dialEvery == 0 {
		return true
	}
	if l.users[u].permit {
		l.users[u].permit = false
		return true
	}
	turn := max(l.nextDial, l.now)
	l.nextDial = turn + l.dialEvery
	if turn == l.now {
		return true
	}
	l.users[u].permit = true
	l.agenda.push(entry{at: turn, user: u})
	return false
}

// own gives a connection to a user.
func (l *loop) own(c *conn, u int32) {
	if u != nobody && l.users != nil {
		l.users[u].conn = c
	}
}

// answered takes a complete answer.
func (l *loop) answered(c *conn) {
	l.finish(c, c.response.Reusable() && (l.maxRequests == 0 || c.carried < l.maxRequests))
}

// finish counts an answer and lets its user go on; reusable tells whether the connection may carry another request.
func (l *loop) finish(c *conn, reusable bool) {
	outcome := l.judge(c)
	reusable = reusable && c.state == waiting && !c.watched
	l.count(c, outcome, true)
	u, x := c.user, c.session
	if reusable {
		c.state = idle
		c.message, c.session = nil, nil
		if u == nobody {
			l.rest(c)
		}
	} else {
		l.drop(c)
	}
	if u != nobody {
		l.users[u].fails = 0
	}
	l.next(u, x, outcome, 0)
}

// judge decides what an answer is and counts its sub-code.
func (l *loop) judge(c *conn) record.Outcome {
	outcome, code := l.work.classes.outcome(&c.response), ""
	if c.session != nil {
		outcome, code = l.work.script.settle(c.session, &c.response, outcome)
	}
	switch {
	case code != "":
		l.rec.code(code)
	case outcome != record.Success:
		l.rec.statusCode(c.response.Status())
	}
	if c.watched {
		return record.Late
	}
	return outcome
}

// next has a user, or a session of the open model, go on after a request.
func (l *loop) next(u int32, x *session, outcome record.Outcome, wait int64) {
	more := false
	if x != nil {
		x.failed = outcome != record.Success
		var think int64
		think, more = x.advance()
		wait += think
	}
	switch {
	case u != nobody:
		l.goOn(u, wait)
	case more && wait > 0:
		l.agenda.push(entry{at: l.now + wait, user: nobody, session: x})
	case more:
		l.proceed(x)
	}
}

// end counts a request that got no proper answer, closes its connection and lets its user go on.
func (l *loop) end(c *conn, outcome record.Outcome, answered bool) {
	u, x := c.user, c.session
	wait := int64(0)
	if u != nobody && failsConnection(outcome) {
		wait = l.backOff(u)
	}
	l.countHeld(c, outcome, answered, wait)
	l.drop(c)
	l.next(u, x, outcome, wait)
}

// failsConnection tells the outcomes after which a user waits before it tries again.
func failsConnection(o record.Outcome) bool {
	switch o {
	case record.Refused, record.Reset, record.DNS, record.TLS, record.ClientLimit:
		return true
	}
	return false
}

// backOff is how long a user waits after a failed connection: twice as long each time in a row.
func (l *loop) backOff(u int32) int64 {
	fails := &l.users[u].fails
	wait := min(firstBackOff<<*fails, longestBackOff)
	if wait < longestBackOff {
		*fails++
	}
	return wait
}

// count counts a request that has ended.
func (l *loop) count(c *conn, outcome record.Outcome, answered bool) {
	l.countHeld(c, outcome, answered, 0)
}

// countHeld counts a request that has ended and held its user for some time more.
func (l *loop) countHeld(c *conn, outcome record.Outcome, answered bool, more int64) {
	if c.watched {
		l.watching--
	} else {
		l.inFlight--
	}
	done := l.now
	if outcome == record.Timeout && !answered {
		done = c.sent + c.message.timeout // Nothing came: the timeout itself is what is known.
	}
	held := done - c.planned
	if c.watched {
		held = c.sent + c.message.timeout - c.planned
	}
	e := ending{outcome: outcome, inside: c.inside, answered: answered, latency: done - c.planned, response: -1, held: held + more}
	if l.arrivals != nil {
		e.response = done - c.sent
	}
	l.rec.add(e)
	if l.sampling {
		l.rec.sample(e, c.planned, c.sent, statusOf(c, answered))
	}
}

// statusOf is the status of an answer, 0 where there was none.
func statusOf(c *conn, answered bool) int {
	if !answered {
		return 0
	}
	return c.response.Status()
}

// goOn lets a user think and send its next request. Without think time it is sent at once, unless the user has to wait.
func (l *loop) goOn(u int32, wait int64) {
	if l.think != nil {
		wait += l.think()
	}
	if wait == 0 {
		l.ready(u)
		return
	}
	l.agenda.push(entry{at: l.now + wait, user: u})
}

// expire looks at a connection whose deadline may have passed.
func (l *loop) expire(c *conn) {
	switch {
	case !c.busy():
	case l.now < c.deadline:
		l.wheel.look(c, c.deadline)
	case c.watched:
		l.end(c, record.Timeout, false)
	case c.state == connecting:
		l.rec.code("connect: timeout")
		l.noteFailure(errConnectTimeout)
		l.end(c, record.Timeout, false)
	default:
		l.watch(c)
	}
}

// watch lets the user of a request go on without an answer and waits for one for as long again.
func (l *loop) watch(c *conn) {
	u, x := c.user, c.session
	c.watched, c.user, c.session = true, nobody, nil
	c.deadline += c.message.timeout
	l.inFlight--
	l.watching++
	l.wheel.look(c, c.deadline)
	if u != nobody {
		l.users[u].conn = nil
	}
	l.next(u, x, record.Timeout, 0)
}

// noteFailure keeps the first reason why no connection could be made.
func (l *loop) noteFailure(err error) {
	if l.failure == nil {
		l.failure, l.failedAt = err, l.now
	}
}

// leaveIdle takes a connection out of the idle ones.
func (l *loop) leaveIdle(c *conn) {
	if c.place < 0 {
		return
	}
	last := l.idle[len(l.idle)-1]
	l.idle[c.place], last.place = last, c.place
	l.idle = l.idle[:len(l.idle)-1]
	c.place = -1
}
