package loadtest

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/schedule"
)

// pause holds a script for a time; the scripts are about time.
func pause(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

func contextAfter(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// counts compares all classes.
func (r *result) counts(t *testing.T, want map[record.Outcome]int64) {
	t.Helper()
	var all [record.NumOutcomes]int64
	for o, n := range want {
		all[o] = n
	}
	if r.err != nil || r.all != all {
		t.Errorf("got %s (%v), want %s; codes %v", describe(r.all), r.err, describe(all), r.codes)
	}
}

func closedModel() []rule {
	return []rule{
		{"phases", "Warm-up and discard are measured and kept apart from the window; all intervals end on phase boundaries.", phases},
		{"users", "In the closed model no more requests are in flight than there are users, and with no think time as many.", users},
		{"think", "A user thinks between an answer and the next request: cycles take service and think time.", think},
		{"exponential think", "Exponential think times have the mean that was asked for.", exponentialThink},
		{"requests", "A number of requests ends the window when so many were planned.", requests},
	}
}

func answering(t *testing.T, after time.Duration) (*server, *atomic.Int64) {
	var most, now atomic.Int64
	s := serve(t, func(x *exchange) then {
		for n := now.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		if after > 0 {
			pause(t, after)
		}
		now.Add(-1)
		x.write(ok)
		return keep
	})
	return s, &most
}

func phases(t *testing.T, e load.Engine) {
	s, _ := answering(t, time.Millisecond)
	j := job(s, 4, 0)
	const ms = time.Millisecond
	j.Phases = load.Phases{Warmup: 150 * ms, Discard: 100 * ms, Window: 250 * ms, Interval: 100 * ms}
	r := run(t.Context(), t, e, j)
	var lengths [4]time.Duration
	for _, i := range r.intervals {
		lengths[i.Phase] += i.End - i.Start
		if i.Phase < record.Window && i.Planned > 0 && len(i.Classes) > 0 && i.Classes[0].Inside {
			t.Error("what was planned before the window is not inside")
		}
	}
	if lengths[0] != 150*ms || lengths[1] != 100*ms || lengths[2] != 250*ms || r.planned == 0 || r.sent == r.planned {
		t.Errorf("got lengths %v, %d planned of which %d in the window", lengths, r.sent, r.planned)
	}
	if r.sent != s.requests.Load() {
		t.Errorf("%d planned, the server got %d", r.sent, s.requests.Load())
	}
}

func users(t *testing.T, e load.Engine) {
	s, most := answering(t, 20*time.Millisecond)
	j := job(s, 8, 0)
	j.Phases.Window = 400 * time.Millisecond
	r := run(t.Context(), t, e, j)
	if most.Load() != 8 {
		t.Errorf("8 users: the server saw %d requests at once", most.Load())
	}
	s.connections(t, 8)
	for _, i := range r.intervals {
		if i.InFlight > 8 {
			t.Errorf("8 users have %d requests in flight", i.InFlight)
		}
	}
	held := time.Duration(0)
	for _, c := range r.class(record.Success) {
		held += c.Held
		if c.Latency.Min() < 20*time.Millisecond {
			t.Errorf("the server never answers before 20 ms: %v", c.Latency.Min())
		}
	}
	// Every user is held all the time: from its start, up to 0.2 ms after the begin, until the answer of its last request.
	if most := 8 * (400*time.Millisecond + r.intervals[len(r.intervals)-1].End); held < 8*390*time.Millisecond || held > most {
		t.Errorf("8 users were held for %v in 400 ms", held)
	}
}

func think(t *testing.T, e load.Engine) {
	s, _ := answering(t, 10*time.Millisecond)
	j := job(s, 10, 0)
	j.Load.Think = 90 * time.Millisecond
	j.Phases.Window = 500 * time.Millisecond
	r := run(t.Context(), t, e, j)
	// A cycle takes 100 ms and what the machine adds, so that each user sends 5 times or a little less.
	if r.planned > 55 || r.planned < 30 {
		t.Errorf("10 users with cycles of 100 ms planned %d requests in 500 ms", r.planned)
	}
	r.only(t, record.Success, r.planned)
	if first := r.intervals[0].Planned; first > 15 {
		t.Errorf("users come spread over a think time: %d in the first 100 ms", first)
	}
}

func exponentialThink(t *testing.T, e load.Engine) {
	s, _ := answering(t, 0)
	j := job(s, 100, 0)
	j.Load.Think = 100 * time.Millisecond
	j.Shape.ThinkKind, j.Shape.Seed = plan.ThinkExponential, 3
	j.Phases.Window = time.Second
	r := run(t.Context(), t, e, j)
	// 1000 on average; the standard deviation is about 32, and a busy machine adds some time to each cycle.
	if r.planned < 700 || r.planned > 1130 {
		t.Errorf("100 users thinking 100 ms planned %d requests in 1 s, want about 1000", r.planned)
	}
}

func requests(t *testing.T, e load.Engine) {
	s, _ := answering(t, 0)
	r := run(t.Context(), t, e, job(s, 7, 1000))
	r.only(t, record.Success, 1000)
	if s.requests.Load() != 1000 || r.planned != 1000 {
		t.Errorf("%d planned, the server got %d, want 1000", r.planned, s.requests.Load())
	}
	if last := r.intervals[len(r.intervals)-1]; last.End > 20*time.Second {
		t.Errorf("the window ends with the last request, not at %v", last.End)
	}
}

func openModel() []rule {
	return []rule{
		{"constant rate", "At a constant rate the number planned is exact to one, in every interval.", constantRate},
		{"poisson rate", "Poisson arrivals are those of the schedule with the same seed.", poissonRate},
		{"stall", "When the server stalls, the load goes on, and latencies count from the planned instants.", stall},
		{"backlog", "With bounded connections, what is planned waits; waiting counts in the latency and not in the response time.", backlog},
		{"dropped", "What is planned while as many are in flight as allowed is dropped.", dropped},
		{"never sent", "What is planned and was never sent when the cell ends is dropped.", neverSent},
		{"profile", "A profile begins when the warm-up ends.", profile},
		{"recorded", "Recorded arrivals are replayed from the end of the warm-up.", recorded},
	}
}

func openJob(s *server, rate float64, window time.Duration) load.Job {
	j := job(s, 0, 0)
	j.Load = record.Load{Model: record.Open, RatePerSec: rate}
	j.Shape.Arrivals = plan.ArrivalsConstant
	j.Phases.Window = window
	return j
}

func constantRate(t *testing.T, e load.Engine) {
	s, _ := answering(t, 0)
	r := run(t.Context(), t, e, openJob(s, 730, 500*time.Millisecond))
	r.only(t, record.Success, 365)
	for _, i := range r.intervals {
		if i.Phase == record.Window && math.Abs(float64(i.Planned)-73) > 1 {
			t.Errorf("%d planned in 100 ms, want 73", i.Planned)
		}
		if i.Planned > 0 && i.Lag == nil {
			t.Error("the open model has a lag")
		}
	}
}

func poissonRate(t *testing.T, e load.Engine) {
	s, _ := answering(t, 0)
	j := openJob(s, 500, 500*time.Millisecond)
	j.Shape.Arrivals, j.Shape.Seed = plan.ArrivalsPoisson, 11
	r := run(t.Context(), t, e, j)
	source, err := schedule.New(schedule.Config{Stages: schedule.Constant(500, 500*time.Millisecond), Spacing: schedule.Poisson, Seed: 11})
	if err != nil {
		t.Fatal(err)
	}
	want := map[time.Duration]int64{}
	total := int64(0)
	for at, more := source.Next(); more; at, more = source.Next() {
		want[at.Truncate(100*time.Millisecond)]++
		total++
	}
	r.only(t, record.Success, total)
	for _, i := range r.intervals {
		if i.Phase == record.Window && i.Planned != want[i.Start-r.intervals[0].Start] {
			t.Errorf("%d planned from %v on, the schedule has %d", i.Planned, i.Start, want[i.Start])
		}
	}
}

func stall(t *testing.T, e load.Engine) {
	const length = 500 * time.Millisecond
	begun := make(chan time.Time, 1)
	var started atomic.Pointer[time.Time]
	s := serve(t, func(x *exchange) then {
		if x.number == 100 {
			now := time.Now()
			started.Store(&now)
			begun <- now
		}
		if at := started.Load(); at != nil {
			pause(t, length-time.Since(*at))
		}
		x.write(ok)
		return keep
	})
	r := run(t.Context(), t, e, openJob(s, 200, 1200*time.Millisecond))
	<-begun
	r.only(t, record.Success, 240)
	// 100 requests were planned while the server stalled, and wait uniformly from 0 to 500 ms, of which 50 longer than 250 ms.
	long := int64(0)
	for _, c := range r.class(record.Success) {
		long += c.Count - c.Latency.CountAtOrBelow(length/2)
	}
	if long < 40 || long > 100 {
		t.Errorf("%d requests took longer than half the stall, want about 50", long)
	}
}

func backlog(t *testing.T, e load.Engine) {
	s, most := answering(t, 100*time.Millisecond)
	j := openJob(s, 40, 500*time.Millisecond)
	j.Shape.Connections = 2
	r := run(t.Context(), t, e, j)
	r.only(t, record.Success, 20)
	if most.Load() != 2 {
		t.Errorf("the server saw %d requests at once, want 2", most.Load())
	}
	s.connections(t, 2)
	// 20 requests at two a time take 1 s, the last was planned at 475 ms.
	for _, c := range r.class(record.Success) {
		if c.Response.Min() < 100*time.Millisecond || c.Response.Max() > 300*time.Millisecond {
			t.Errorf("response times of %v to %v, want 100 ms and a little", c.Response.Min(), c.Response.Max())
		}
	}
	classes := r.class(record.Success)
	if last := classes[len(classes)-1].Latency.Max(); last < 500*time.Millisecond {
		t.Errorf("the last request took %v from its planned instant, want 525 ms or more", last)
	}
}

func dropped(t *testing.T, e load.Engine) {
	s, _ := answering(t, 600*time.Millisecond)
	j := openJob(s, 100, 500*time.Millisecond)
	j.Shape.MaxInFlight = 5
	r := run(t.Context(), t, e, j)
	r.counts(t, map[record.Outcome]int64{record.Success: 5, record.Dropped: 45})
}

func neverSent(t *testing.T, e load.Engine) {
	s := serve(t, func(x *exchange) then {
		<-x.over
		return end
	})
	j := openJob(s, 40, 250*time.Millisecond)
	j.Target.Request.Timeout = patience
	j.Shape.Connections = 1
	r := run(t.Context(), t, e, j)
	// The first is given up after two timeouts, 800 ms; the second is sent then and in flight when the cell ends, 1050 ms after its begin.
	if r.err != nil || r.all[record.Timeout] != 1 || r.all[record.Dropped] < 8 || sum(r.all) != 10 {
		t.Errorf("got %s (%v), want 1 timeout and 8 or 9 dropped of 10", describe(r.all), r.err)
	}
}

func profile(t *testing.T, e load.Engine) {
	s, _ := answering(t, 0)
	j := openJob(s, 1, 300*time.Millisecond)
	j.Phases.Warmup = 100 * time.Millisecond
	j.Shape.Profile = schedule.Spike(100, 500, 100*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond)
	r := run(t.Context(), t, e, j)
	want := []int64{10, 10, 50, 10}
	for n, i := range r.intervals[:4] {
		if i.Planned < want[n]-1 || i.Planned > want[n]+1 {
			t.Errorf("%d planned in interval %d, want %d", i.Planned, n, want[n])
		}
	}
}

func recorded(t *testing.T, e load.Engine) {
	s, _ := answering(t, 0)
	j := openJob(s, 1, 300*time.Millisecond)
	j.Phases.Warmup = 100 * time.Millisecond
	const ms = time.Millisecond
	j.Shape.Recorded = []time.Duration{0, 10 * ms, 20 * ms, 250 * ms, 400 * ms}
	r := run(t.Context(), t, e, j)
	r.only(t, record.Success, 4)
	for n, want := range []int64{0, 3, 0, 1} {
		if got := r.intervals[n].Planned; got != want {
			t.Errorf("%d planned in interval %d, want %d", got, n, want)
		}
	}
}
