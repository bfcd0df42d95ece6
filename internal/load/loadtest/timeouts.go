package loadtest

import (
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/record"
)

// patience is the timeout of these cases: long beside what a busy machine delays.
const patience = 400 * time.Millisecond

func timeouts() []rule {
	return []rule{
		{"timeout", "At its timeout a request lets its user go on; when nothing came for one more timeout, it is a timeout, and its latency is the timeout.", timeout},
		{"late", "An answer within one more timeout is late: its latency is the true one, its user was held for the timeout.", late},
		{"lost after the timeout", "A connection lost after the timeout is a timeout: nothing came.", lost},
		{"trickle", "An answer whose bytes trickle in past the timeout is late, not a success.", trickle},
		{"interrupt after the timeout", "When the context ends, a request past its timeout is a timeout, not cut.", interruptLate},
	}
}

// stalled is a server that leaves the first request to a script of its own and answers the others.
func stalled(t *testing.T, first func(x *exchange) then) *server {
	return serve(t, func(x *exchange) then {
		if x.number == 1 {
			return first(x)
		}
		x.write(ok)
		return keep
	})
}

// oneUser is a job of one user who sends three requests; the user's own timing shows in Held.
func oneUser(s *server) load.Job {
	j := job(s, 1, 3)
	j.Target.Request.Timeout = patience
	return j
}

func timeout(t *testing.T, e load.Engine) {
	s := stalled(t, func(x *exchange) then {
		<-x.over
		return end
	})
	begun := time.Now()
	r := run(t.Context(), t, e, oneUser(s))
	r.counts(t, map[record.Outcome]int64{record.Timeout: 1, record.Success: 2})
	if took := time.Since(begun); took < 2*patience || took > 4*patience {
		t.Errorf("the run took %v, want two timeouts, %v", took, 2*patience)
	}
	for _, c := range r.class(record.Timeout) {
		if c.Answered || c.Latency.Max() != patience || c.Held != patience {
			t.Errorf("got latency %v, held %v, answered %v, want %v, %v, false", c.Latency.Max(), c.Held, c.Answered, patience, patience)
		}
	}
	if s.conns.Load() != 2 {
		t.Errorf("the user goes on over another connection: %d connections, want 2", s.conns.Load())
	}
}

func late(t *testing.T, e load.Engine) {
	s := stalled(t, func(x *exchange) then {
		pause(t, patience*3/2)
		x.write(ok)
		return keep
	})
	r := run(t.Context(), t, e, oneUser(s))
	r.counts(t, map[record.Outcome]int64{record.Late: 1, record.Success: 2})
	for _, c := range r.class(record.Late) {
		if !c.Answered || c.Latency.Max() < patience*3/2 || c.Latency.Max() > patience*2 || c.Held != patience {
			t.Errorf("got latency %v, held %v, answered %v, want %v and a little, %v, true", c.Latency.Max(), c.Held, c.Answered, patience*3/2, patience)
		}
	}
}

func lost(t *testing.T, e load.Engine) {
	s := stalled(t, func(*exchange) then {
		pause(t, patience*3/2)
		return reset
	})
	run(t.Context(), t, e, oneUser(s)).counts(t, map[record.Outcome]int64{record.Timeout: 1, record.Success: 2})
}

func trickle(t *testing.T, e load.Engine) {
	s := stalled(t, func(x *exchange) then {
		for i := range 3 {
			x.write(ok[i*len(ok)/3 : (i+1)*len(ok)/3])
			if i < 2 {
				pause(t, patience*3/4)
			}
		}
		return keep
	})
	run(t.Context(), t, e, oneUser(s)).counts(t, map[record.Outcome]int64{record.Late: 1, record.Success: 2})
}

func interruptLate(t *testing.T, e load.Engine) {
	s := serve(t, func(x *exchange) then {
		<-x.over
		return end
	})
	ctx, cancel := contextAfter(t, patience*3/2)
	defer cancel()
	j := job(s, 1, 1)
	j.Target.Request.Timeout = patience
	r := run(ctx, t, e, j)
	if r.all[record.Timeout] != 1 || sum(r.all) != 1 {
		t.Errorf("got %s, want 1 timeout", describe(r.all))
	}
}
