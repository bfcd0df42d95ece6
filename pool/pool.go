package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline-dev/loadline/internal/buckets"
	"github.com/loadline-dev/loadline/internal/coarse"
	"github.com/loadline-dev/loadline/internal/policy"
)

// Pool runs tasks on its workers. It is safe for concurrent use, must be made by New and should be ended by Close, Shutdown or
// ShutdownNow. Its goroutines are its workers; Shutdown waits for them.
type Pool struct {
	name       string
	osThreads  bool
	onOverflow func(Overflow) Verdict
	hooks      Hooks
	clock      *Clock
	base       context.Context // ends with ShutdownNow, or with the pool
	cancelBase context.CancelCauseFunc
	background context.Context // of tasks whose caller gave context.Background
	calls      sync.Pool       // of *call[T], mostly of one T
	waiters    sync.Pool       // of *waiter
	waits      waits
	done       chan struct{} // closed when the last worker has ended

	_    [64]byte
	full atomic.Pointer[fullMark] // set while every task would be refused or dropped; read without the lock
	fast [fastKinds]atomic.Uint64 // tasks that met a fullMark, by its kind
	_    [64]byte

	in inbox
	_  [64]byte

	mu lock // guards everything below, and the states of jobs and waiters
	state
}

// state is what the lock guards.
type state struct {
	machine   policy.Pool
	settings  Settings
	version   uint64
	queue     fifo      // what workers took over from the inbox: the older tasks
	dead      int       // entries in both queues that died in place
	left      int       // tasks that were in flight and are no longer
	idle      []*worker // parked, longest first
	searching int       // workers woken or started for the queue that have not taken the lock since
	blocked   waitList
	runs      jobs // that can be cancelled
	freeIDs   []int
	lastID    int
	alive     int // goroutines that work for the pool: workers, and callers that run tasks
	onCaller  int
	zombies   int

	timer   *time.Timer
	timerAt time.Duration // when timer fires, 0 if it is not set

	counts    counts
	peaks     peaks
	queueWait buckets.Plain
	execution buckets.Plain
	rejection *RejectedError // the last, for the next that has the same figures
	lastPanic *PanicError
	saturated bool
	mark      *fullMark
	stopped   bool // done is closed
}

type counts struct {
	submitted, completed, failed, panicked, cancelled, expired uint64
	discarded, callerRuns, abandoned                           uint64
	rejected                                                   Rejections
}

// New returns a pool at work.
func New(config Config) (*Pool, error) {
	if err := config.Validate(); err != nil {
		return nil, wrapNew(config.Name, err)
	}
	p := &Pool{
		name: config.Name, osThreads: config.OSThreads, onOverflow: config.OnOverflow, hooks: config.Hooks, clock: config.Clock,
		done: make(chan struct{}),
	}
	if p.clock == nil {
		p.clock = coarse.Exact()
	}
	p.base, p.cancelBase = context.WithCancelCause(context.Background())
	p.background = &plainContext{context.Background(), p}
	p.settings, p.version = config.Settings.WithDefaults(), 1
	p.machine = policy.MakePool(p.settings.rules())
	p.lockBoth()
	var fx effects
	for config.Prestart && p.machine.Prestart() {
		p.searching++
		fx.rare(p.spawnLocked(entry{}))
	}
	p.unlockBoth(&fx)
	return p, nil
}

// Name is the pool's name.
func (p *Pool) Name() string { return p.name }

// Clock is the clock that the pool reads.
func (p *Pool) Clock() *Clock { return p.clock }

// Done is closed when the pool takes no more tasks and its last worker has ended.
func (p *Pool) Done() <-chan struct{} { return p.done }

// Settings are those in force, with defaults filled in.
func (p *Pool) Settings() Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// Apply puts settings in force, all in one step and at any time. What runs goes on, and what waits keeps its place, even beyond a
// smaller queue. With a smaller Max, a worker that ends a task takes no other while there are too many. QueueBudget holds for those
// that wait already, RunBudget for tasks that begin later. Settings equal to those in force change nothing. An error leaves the old
// settings in force.
func (p *Pool) Apply(settings Settings) error {
	if err := settings.Validate(); err != nil {
		return wrapApply(p.name, err)
	}
	if settings.Policy == User && p.onOverflow == nil {
		return wrapApply(p.name, errNoOverflow)
	}
	settings = settings.WithDefaults()
	var fx effects
	p.lockBoth()
	before := p.settings
	if before == settings {
		p.unlockBoth(&fx)
		return nil
	}
	p.settings = settings
	p.version++
	change := Change{Pool: p.name, Before: before, After: settings, Version: p.version}
	p.machine.Apply(settings.rules())
	p.followBoth(&fx)
	p.unlockBoth(&fx)
	if p.hooks.OnApply != nil {
		p.hooks.OnApply(change)
	}
	return nil
}

// followBoth does what new settings ask for.
func (p *Pool) followBoth(fx *effects) {
	for len(p.idle) > 0 && p.machine.Surplus() {
		fx.rare(p.dismissLocked())
	}
	now := p.clock.Exact()
	p.admitBoth(now, fx)
	for p.machine.Missing() {
		p.searching++
		fx.rare(p.spawnLocked(entry{}))
	}
	p.armLocked(now, now+1) // what is due by the new settings is found by upkeep
}

// Snapshot is how the pool stands.
func (p *Pool) Snapshot() Snapshot {
	p.lockBoth()
	defer p.unlockBoth(&effects{})
	now := p.clock.Now()
	p.peaks.note(now, p.machine.Busy(), 0)
	p.in.peaks.note(now, 0, p.machine.Waiting())
	m, c := &p.machine, &p.counts
	s := Snapshot{
		Name: p.name, Settings: p.settings, Version: p.version, State: p.stateLocked(),
		Workers: m.Workers(), Active: m.Busy(), Zombies: p.zombies, Waiting: m.Waiting(), Transit: m.Queued() - m.Waiting(),
		Blocked: m.Blocked(), OnCaller: p.onCaller,
		LargestWorkers: p.peaks.workers, LargestActive: p.peaks.active, LargestWaiting: p.in.peaks.waiting,
		Submitted: c.submitted, Completed: c.completed, Failed: c.failed, Panicked: c.panicked, Rejected: c.rejected,
		Cancelled: c.cancelled, Expired: c.expired, Discarded: c.discarded, CallerRuns: c.callerRuns, Abandoned: c.abandoned,
		QueueWait: p.queueWait.Snapshot(), Execution: p.execution.Snapshot(), LastPanic: p.lastPanic,
	}
	s.RecentActive, _ = p.peaks.recent()
	_, s.RecentWaiting = p.in.peaks.recent()
	p.addFast(&s)
	return s
}

func (p *Pool) stateLocked() State {
	switch {
	case p.stopped:
		return Terminated
	case p.machine.Closed():
		return Draining
	}
	return Running
}

// addFast adds the tasks that were refused without the lock.
func (p *Pool) addFast(s *Snapshot) {
	full, threshold, closed := p.fast[fastFull].Load(), p.fast[fastThreshold].Load(), p.fast[fastClosed].Load()
	dropped := p.fast[fastDropped].Load()
	s.Rejected.Full += full
	s.Rejected.Threshold += threshold
	s.Rejected.Closed += closed
	s.Discarded += dropped
	s.Submitted += full + threshold + closed + dropped
}
