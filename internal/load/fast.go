package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

var errConnectTimeout = errors.New("connect: no answer within the timeout")

// spareDescriptors is what must be left besides a connection for every user: files, archives, other sockets of the program.
const spareDescriptors = 64

// fast is the engine for HTTP/1.1 in clear text.
type fast struct{ config Config }

func (f *fast) Run(ctx context.Context, job Job, sink Sink) error {
	set, err := f.prepare(ctx, job)
	if err != nil {
		return err
	}
	defer set.restore()
	return set.run(ctx, sink)
}

// fleet is the loops of one cell.
type fleet struct {
	loops     []*loop
	collector *collector
	book      *book
	procs     int // GOMAXPROCS before; 0: unchanged
}

func (f *fast) prepare(ctx context.Context, job Job) (*fleet, error) {
	work, err := workOf(job.Target, f.config.Folder)
	if err != nil {
		return nil, err
	}
	client := job.Target.Client
	book, err := newBook(ctx, work.target, client.DNSTTL)
	if err != nil {
		return nil, err
	}
	from, err := sourcesOf(client.Sources)
	if err != nil {
		return nil, err
	}
	if err := enough(max(job.Load.Concurrency, job.Shape.Connections), from.count()); err != nil {
		return nil, err
	}
	wanted, err := work.classes.wanted()
	if err != nil {
		return nil, fmt.Errorf("target: outcomes: %w", err)
	}
	origin, start := job.begin()
	line := timelineOf(job.Phases, start)
	count := f.loops(job)
	set := &fleet{collector: newCollector(book.text, from.count()), book: book}
	set.collector.samples = job.Samples
	for i := range count {
		l := &loop{index: i, loops: count, origin: origin, line: &line, collector: set.collector, wanted: wanted, work: work, book: book, sources: from, maxRequests: mostRequests(client), dialEvery: dialEvery(client, count),
			buf: make([]byte, readBuffer)}
		if l.poll, err = newPoller(); err != nil {
			return nil, errors.Join(err, set.close())
		}
		l.left, l.sampling = -1, job.Samples != nil
		if job.Shape.Requests > 0 {
			l.left = job.Shape.Requests
		}
		set.loops = append(set.loops, l)
		if err := l.seat(job, i, count); err != nil {
			return nil, errors.Join(err, set.close())
		}
	}
	set.procs = reserveProcessors(count)
	return set, nil
}

// loops is how many threads send. One carries more than 100 000 requests a second; more are worth their cost only where a machine has
// cores to spare for the generator.
func (f *fast) loops(job Job) int {
	count := max(f.config.Loops, 1)
	if job.Shape.Requests > 0 {
		return 1 // The loops would end their windows at different instants.
	}
	for _, bound := range []int{job.Load.Concurrency, job.Shape.MaxInFlight, job.Shape.Connections} {
		if bound > 0 {
			count = min(count, bound)
		}
	}
	return count
}

// seat gives a loop its share of the load.
func (l *loop) seat(job Job, index, loops int) error {
	l.rng = rand.New(rand.NewPCG(uint64(job.Shape.Seed), uint64(index)))
	if job.Load.Model == record.Closed {
		l.seatUsers(job, index, loops)
		return nil
	}
	l.mostInFlight, l.mostConns = share(job.Shape.MaxInFlight, index, loops), share(job.Shape.Connections, index, loops)
	var err error
	l.arrivals, err = arrivalsOf(job, l.line, index, loops)
	return err
}

// share divides a bound among loops, each of which gets at least 1; 0 stays 0.
func share(bound, index, loops int) int {
	if bound == 0 {
		return 0
	}
	n := bound / loops
	if index < bound%loops {
		n++
	}
	return max(n, 1)
}

// spreadOf is the time over which users come at the begin: a think time, so that they do not stay in step; without think time, a moment
// that lets a server accept their connections.
func spreadOf(job Job) time.Duration {
	if job.Load.Think > 0 {
		return job.Load.Think
	}
	const perConnection = 20 * time.Microsecond
	return time.Duration(job.Load.Concurrency) * perConnection
}

// seatUsers gives a loop its share of the users, and each its first instant.
func (l *loop) seatUsers(job Job, index, loops int) {
	n := job.Load.Concurrency
	for i := index; i < n; i += loops {
		at := l.line.start + int64(float64(spreadOf(job))*float64(i)/float64(n))
		l.agenda.push(entry{at: at, user: int32(len(l.users))})
		l.users = append(l.users, user{session: l.work.session()})
	}
	l.think = thinkOf(job, l.rng)
}

// thinkOf draws think times in ns; nil where there are none.
func thinkOf(job Job, rng *rand.Rand) func() int64 {
	mean := int64(job.Load.Think)
	switch {
	case mean <= 0:
		return nil
	case job.Shape.ThinkKind == plan.ThinkExponential:
		return func() int64 { return int64(rng.ExpFloat64() * float64(mean)) }
	}
	return func() int64 { return mean }
}

// run runs the loops and delivers what they see. It returns when all threads have ended.
func (s *fleet) run(ctx context.Context, sink Sink) error {
	var group sync.WaitGroup
	for _, l := range s.loops {
		group.Go(l.run)
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() { s.book.refresh(background) })
	err := s.collector.deliver(ctx, len(s.loops), sink, func() {
		for _, l := range s.loops {
			l.stop.Store(true)
			if err := l.poll.wake(); err != nil {
				// Without the wake the loop sees the stop at the end of its interval.
				continue
			}
		}
	})
	cancel()
	group.Wait()
	return errors.Join(err, s.close())
}

func (s *fleet) close() error {
	var faults []error
	for _, l := range s.loops {
		faults = append(faults, l.poll.close())
	}
	return errors.Join(faults...)
}

// reserveProcessors makes room for goroutines beside the loops, each of which keeps a processor of Go's scheduler to itself. It returns
// what to restore, 0 when nothing was changed.
func reserveProcessors(loops int) int {
	before := runtime.GOMAXPROCS(0)
	if before > loops {
		return 0
	}
	runtime.GOMAXPROCS(loops + 1)
	return before
}

func (s *fleet) restore() {
	if s.procs > 0 {
		runtime.GOMAXPROCS(s.procs)
	}
}

// enough refuses a load that would run out of descriptors or local ports.
func enough(connections int, sources int64) error {
	if err := enoughDescriptors(connections); err != nil {
		return err
	}
	if free := newProcessMeter(sources).portsFree(); free >= 0 && int64(connections) > free {
		return fmt.Errorf("%w: %d connections need as many local ports, found %d free; wait until old connections have ended, widen net.ipv4.ip_local_port_range, "+
			"or have connections come from several addresses (client: sources: 127.0.0.0/24 for a target on this machine)", ErrLimits, connections, free)
	}
	return nil
}

// enoughDescriptors refuses a load that would run out of descriptors, raising the soft limit where the hard one allows it.
func enoughDescriptors(connections int) error {
	need := int64(connections + spareDescriptors)
	free := descriptorsFree()
	if free < 0 || free >= need {
		return nil
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("descriptors: %w", err)
	}
	missing := uint64(need - free)
	if limit.Cur+missing <= limit.Max {
		limit.Cur += missing
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: %d connections need %d descriptors, found %d free; raise the limit of open files (ulimit -n %d) or lower the load",
		ErrLimits, connections, need, free, limit.Cur+missing)
}

// mostRequests is how many requests a connection carries; 0: no bound.
func mostRequests(c plan.Client) uint32 {
	if c.Close {
		return 1
	}
	return uint32(max(c.MaxRequests, 0))
}

// dialEvery is the time between two connections of one of so many loops, in ns; 0: no bound.
func dialEvery(c plan.Client, loops int) int64 {
	if c.ConnectRate <= 0 {
		return 0
	}
	return max(1, int64(float64(loops)*float64(time.Second)/c.ConnectRate))
}
