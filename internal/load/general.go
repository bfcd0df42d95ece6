package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// exchanger carries out requests for the general engine. It is safe for concurrent use.
type exchanger interface {
	// exchange sends a request and reads the whole answer. It returns soon after ctx has ended.
	exchange(ctx context.Context, m *message, l *ledger) reply
	// background runs beside the exchanges until ctx ends.
	background(ctx context.Context)
	// close gives connections back; no exchange is under way.
	close()
}

// reply is how a request ended.
type reply struct {
	outcome  record.Outcome // without regard to lateness; Timeout where nothing came
	answered bool
	code     string // a sub-code, empty for a success
	status   int    // 0: no answer, or one without a status
	answer   answer // nil: none, or none that checks could look at
}

// general is the engine for everything that the fast one does not do. A goroutine carries each user or request.
type general struct {
	config Config
	open   func(ctx context.Context, c Config, job Job) (exchanger, *work, error)
}

func (g *general) Run(ctx context.Context, job Job, sink Sink) error {
	from, err := sourcesOf(job.Target.Client.Sources)
	if err != nil {
		return err
	}
	if err := enough(max(job.Load.Concurrency, job.Shape.Connections), from.count()); err != nil {
		return err
	}
	ex, work, err := g.open(ctx, g.config, job)
	if err != nil {
		return err
	}
	collector := newCollector(nil, 1)
	collector.samples = job.Samples
	ledger, err := newLedger(job, work.timeout, collector)
	if err != nil {
		ex.close()
		return err
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	quit, stop := context.WithCancel(base)
	c := &crowd{quit: quit, exchanger: ex, work: work, ledger: ledger, job: job, base: base, cancel: cancel, rng: rand.New(rand.NewPCG(uint64(job.Shape.Seed), 0))}
	restore := reserveProcessors(1)
	c.group.Go(c.keep)
	c.group.Go(func() { ex.background(base) })
	err = collector.deliver(ctx, 1, sink, stop)
	stop()
	c.group.Wait()
	ex.close()
	(&fleet{procs: restore}).restore()
	return err
}

// crowd is the goroutines of one cell.
type crowd struct {
	exchanger exchanger
	work      *work
	ledger    *ledger
	job       Job
	quit      context.Context // ends when the load must
	base      context.Context // ends when exchanges must: after what is in flight was cut
	cancel    context.CancelFunc
	group     sync.WaitGroup

	mu  sync.Mutex // guards rng
	rng *rand.Rand
}

// keep starts the load, watches over it and ends it.
func (c *crowd) keep() {
	defer c.cancel()
	if c.job.Load.Model == record.Closed {
		c.seatUsers()
	}
	for c.quit.Err() == nil && !c.ledger.over() {
		if err := c.ledger.unreachable(); err != nil {
			c.ledger.collector.fail(err)
			break
		}
		send, next := c.ledger.due()
		for _, f := range send {
			c.group.Go(func() { c.arrival(f) })
		}
		c.pause(next)
	}
	c.ledger.close()
}

// pause waits until an instant, until something has ended or until everything must. The timers of Go's runtime are up to a millisecond
// late, so the last stretch before an arrival is waited for by the thread itself.
func (c *crowd) pause(until int64) {
	const most = int64(50 * time.Millisecond) // The end of a window that was cut short is seen as late.
	const own = int64(2 * time.Millisecond)
	left := min(until-c.ledger.clock(), most)
	if left <= 0 {
		return
	}
	if left <= own {
		nap(left)
		return
	}
	timer := time.NewTimer(time.Duration(left - own/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ledger.changed:
	case <-c.quit.Done():
	}
}

func (c *crowd) seatUsers() {
	n := c.job.Load.Concurrency
	for i := range n {
		at := c.ledger.line.start + int64(float64(spreadOf(c.job))*float64(i)/float64(n))
		x := c.work.session()
		c.group.Go(func() { c.user(x, time.Duration(at-c.ledger.clock()), 0) })
	}
}

// user is a user of the closed model. It ends when nothing is planned any more, or when another goroutine has taken its place because
// this one watches for a late answer.
func (c *crowd) user(x *session, wait time.Duration, fails int) {
	for {
		if !c.sleep(wait) {
			return
		}
		m, ok := c.message(x)
		if !ok {
			c.ledger.note(func(r *recorder) { r.code("feeder: no more rows, the user ends") })
			return
		}
		f, ok := c.ledger.plan(m)
		if !ok {
			return
		}
		sent := c.send(f, x, fails, func(think time.Duration) { c.user(x, think+c.think(), 0) })
		if !sent.present {
			return
		}
		wait = c.think() + sent.think
		if sent.failed {
			wait += backOff(fails)
			fails++
			continue
		}
		fails = 0
	}
}

// message is what a session, nil without a script, sends next; false when its feeder has no more rows.
func (c *crowd) message(x *session) (*message, bool) {
	if x == nil {
		return c.work.message, true
	}
	c.mu.Lock()
	ok := c.work.script.begin(x, c.rng)
	c.mu.Unlock()
	if !ok {
		return nil, false
	}
	return x.message(), true
}

// arrival is an arrival of the open model: a request, or a flow of them.
func (c *crowd) arrival(f *flight) {
	x := c.work.session()
	m, ok := c.message(x)
	if !ok {
		c.ledger.forgo(f, "feeder: no more rows")
		return
	}
	f.message = m
	c.flow(f, x)
}

// flow sends a request of the open model and the steps that follow it, each of which is planned when the one before has ended.
func (c *crowd) flow(f *flight, x *session) {
	for {
		sent := c.send(f, x, 0, func(think time.Duration) { c.follow(x, think) })
		if !sent.present || x == nil {
			return
		}
		var ok bool
		if f, ok = c.following(x, sent.think); !ok {
			return
		}
	}
}

// follow goes on with a flow whose last request is still watched for.
func (c *crowd) follow(x *session, think time.Duration) {
	if x == nil {
		return
	}
	if f, ok := c.following(x, think); ok {
		c.flow(f, x)
	}
}

// following plans the next step of a flow; false when there is none.
func (c *crowd) following(x *session, think time.Duration) (*flight, bool) {
	if x.flow == nil || !c.sleep(think) {
		return nil, false
	}
	return c.ledger.plan(x.message())
}

// send carries out a request. When its timeout passes, the user goes on in a goroutine of its own and this one watches. It returns
// what came of it.
func (c *crowd) send(f *flight, x *session, fails int, goOn func(think time.Duration)) sent {
	timeout := time.Duration(f.message.timeout)
	ctx, cancel := context.WithTimeout(c.base, 2*timeout)
	defer cancel()
	passed := make(chan struct{})
	timer := time.AfterFunc(timeout-time.Duration(c.ledger.clock()-f.sent), func() {
		defer close(passed)
		if c.ledger.watch(f) {
			think := leave(x, record.Timeout)
			c.group.Go(func() { goOn(think) })
		}
	})
	r := c.exchanger.exchange(ctx, f.message, c.ledger)
	if !timer.Stop() {
		<-passed // The user's goroutine must have begun before this one can be the last.
	}
	out := sent{failed: failsConnection(r.outcome)}
	wait := time.Duration(0)
	if out.failed {
		wait = backOff(fails)
	}
	watched := c.ledger.isWatched(f)
	if !watched && x != nil && r.answer != nil {
		r.outcome, r.code = c.work.script.settle(x, r.answer, r.outcome)
	}
	if r.answered && r.code == "" && r.outcome != record.Success && r.status > 0 {
		r.code = fmt.Sprintf("status %d", r.status)
	}
	out.present = c.ledger.finish(f, r, int64(wait))
	if !watched {
		out.think = leave(x, r.outcome)
	}
	return out
}

// sent is what came of a request.
type sent struct {
	failed  bool          // its connection did
	present bool          // its user is still here
	think   time.Duration // of the script's step
}

// leave moves a session, nil without a script, past a step that has ended.
func leave(x *session, outcome record.Outcome) time.Duration {
	if x == nil {
		return 0
	}
	x.failed = outcome != record.Success
	think, _ := x.advance()
	return time.Duration(think)
}

func backOff(fails int) time.Duration {
	return time.Duration(min(firstBackOff<<min(fails, 16), longestBackOff))
}

// sleep waits; false when everything must end.
func (c *crowd) sleep(d time.Duration) bool {
	if d <= 0 {
		return c.quit.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.quit.Done():
		return false
	}
}

func (c *crowd) think() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if draw := thinkOf(c.job, c.rng); draw != nil {
		return time.Duration(draw())
	}
	return 0
}

// kindOf is what an error of an exchange means, with its sub-code.
func kindOf(err error) (record.Outcome, string) {
	for _, k := range errorKinds {
		if k.is(err) {
			return k.outcome, k.name + ": " + reason(err)
		}
	}
	return record.Reset, fmt.Sprintf("read: %v", reason(err))
}

// reason is the innermost error, which says why without naming addresses that differ from request to request.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
