package pool

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
)

// worker is one of a pool's goroutines, and the task that it runs.
type worker struct {
	pool   *Pool
	wake   chan struct{}   // of one place, so that waking never blocks
	marks  context.Context // carries the label
	task   entry
	began  time.Duration
	idle   time.Duration // since when it is parked; guarded by the pool's lock
	id     int32
	sent   bool // away: told to end while parked; guarded by the pool's lock
	handed bool // task was handed over while parked: its wait is not recorded yet
	live   bool // the task is running: a panic is its
}

// ending is how a task ended.
type ending struct {
	kind  endingKind
	early error // for whoever waits, in place of what execute brought
}

type endingKind uint8

const (
	completed endingKind = iota
	failed
	panicked
	exited  // runtime.Goexit
	skipped // its caller had left before it began
)

// spawnLocked makes a worker and returns what starts it. A worker without a task is one that searches.
func (p *Pool) spawnLocked(e entry) func() {
	w := &worker{pool: p, id: int32(p.nextIDLocked()), wake: make(chan struct{}, 1), task: e}
	p.alive++
	p.peaks.workers = max(p.peaks.workers, p.machine.Workers())
	return func() { go w.run(e.job != nil || e.fn != nil) }
}

func (p *Pool) nextIDLocked() int {
	if n := len(p.freeIDs); n > 0 {
		id := p.freeIDs[n-1]
		p.freeIDs = p.freeIDs[:n-1]
		return id
	}
	p.lastID++
	return p.lastID
}

func (w *worker) name() string { return w.pool.name + "-worker-" + strconv.Itoa(int(w.id)) }

// run is the worker's life.
func (w *worker) run(hasTask bool) {
	if w.pool.osThreads {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the worker
	}
	w.marks = pprof.WithLabels(context.Background(), pprof.Labels("worker", w.name()))
	w.label()
	more := w.first(hasTask)
	for more {
		more = w.work()
	}
	w.pool.leave()
}

// label names the worker in profiles and in goroutine dumps that show labels. It is one label, since each costs every idle worker memory. Tasks that use pprof.Do leave their own labels behind, so it is repeated whenever
// the worker parks.
func (w *worker) label() { pprof.SetGoroutineLabels(w.marks) }

// first takes the lock once before the first task, to count its wait or to find one.
func (w *worker) first(hasTask bool) bool {
	p := w.pool
	w.began = p.clock.Now()
	p.mu.Lock()
	if hasTask {
		p.queueWait.Record(w.began - w.task.at)
		p.mu.Unlock()
		return true
	}
	p.searching--
	return w.nextUnlock(ended{})
}

// work runs task after task until the worker ends (false) or a task panics (true, with another task at hand). So a task costs no defer.
func (w *worker) work() (more bool) {
	defer w.rescue(&more)
	for {
		if !w.finish(w.perform()) {
			return false
		}
	}
}

func (w *worker) perform() (end ending) {
	w.live = true
	if w.task.job == nil {
		w.task.fn()
	} else {
		end = w.task.job.run()
	}
	w.live = false
	return end
}

// rescue keeps the worker at work after a panic, and replaces its goroutine after runtime.Goexit.
func (w *worker) rescue(more *bool) {
	if !w.live {
		return
	}
	w.live = false
	value := recover()
	if value != nil {
		*more = w.finish(w.pool.panicEnding(value, w.name()))
		return
	}
	p := w.pool
	p.mu.Lock()
	over := p.endLocked(&w.task, ending{exited, ErrGoexit}, p.clock.Now()-w.began)
	p.finishLocked()
	w.noteHandedLocked()
	p.searching++
	w.task = entry{}
	p.unlock(&effects{})
	over.tell()
	go w.run(false)
}

func (p *Pool) panicEnding(value any, worker string) ending {
	err := &PanicError{Pool: p.name, Worker: worker, Value: value, Stack: debug.Stack()}
	return ending{panicked, err}
}

// finish ends the task and finds the next, parking as long as there is none. False means that the worker is to end.
func (w *worker) finish(end ending) bool {
	p := w.pool
	now := p.clock.Now()
	p.mu.Lock()
	over := p.endLocked(&w.task, end, now-w.began)
	p.finishLocked()
	w.noteHandedLocked()
	w.began = now
	return w.nextUnlock(over)
}

// noteHandedLocked records how long a task waited that was handed over, before w.task and w.began are used anew.
func (w *worker) noteHandedLocked() {
	if w.handed {
		w.handed = false
		w.pool.queueWait.Record(w.began - w.task.at)
	}
}

// finishLocked counts a task out.
func (p *Pool) finishLocked() {
	p.machine.Finish()
	p.left++
}

// nextUnlock tells who waits for the task that is over, if there is one, and finds the next.
func (w *worker) nextUnlock(over ended) bool {
	p := w.pool
	for {
		next := p.machine.Next()
		if next == policy.PoolTake && p.settings.QueueBudget == 0 && p.blocked.first == nil {
			w.takeUnlock(&over)
			return true
		}
		if next == policy.PoolIdle && p.in.signal.watched() && p.blocked.first == nil && !p.machine.Closed() {
			w.parkLocked()
			p.unlock(&effects{})
			over.tell()
		} else if next = w.nextSlowUnlock(next, &over); next != policy.PoolIdle {
			return next == policy.PoolTake
		}
		over = ended{}
		w.label()
		<-w.wake
		w.began = p.clock.Now()
		if w.handed {
			w.start()
			return true
		}
		p.mu.Lock()
		if w.sent {
			p.mu.Unlock()
			return false
		}
		p.searching--
	}
}

// start begins with a task that was handed over.
func (w *worker) start() {
	p := w.pool
	if p.in.signal.started() {
		return
	}
	p.lockBoth() // a task came in: wake another worker for it
	p.in.signal.v.Store(quiet)
	p.unlockBoth(&effects{})
}

// parkLocked makes the worker one that can be woken.
func (w *worker) parkLocked() {
	p := w.pool
	w.task = entry{}
	w.idle = w.began
	p.idle = append(p.idle, w)
	if p.machine.Expires() {
		p.armLocked(w.began, w.began+p.settings.KeepAlive)
	}
}

// takeUnlock takes the queue's head, the common way.
func (w *worker) takeUnlock(over *ended) {
	p := w.pool
	var fx effects
	w.task = p.popLocked()
	p.queueWait.Record(w.began - w.task.at)
	p.beginLocked(&w.task, w.began)
	p.wakeLocked(&fx)
	if p.wantsWakeLocked() && p.in.signal.quiet() {
		p.armInbox(&fx)
	}
	p.unlock(&fx)
	over.tell()
}

// armInbox has the next submitter wake a worker, or wakes one for who came in meanwhile.
func (p *Pool) armInbox(fx *effects) {
	lockInbox(&p.in.mu)
	p.syncBoth()
	if p.machine.Queued() == 0 {
		p.in.signal.arm()
	}
	p.in.mu.Unlock()
	p.wakeLocked(fx)
}

// nextSlowUnlock does what the machine said when the way is not the common one: the queue seems empty, callers wait for room, tasks may be
// overdue, the worker is one too many.
func (w *worker) nextSlowUnlock(next policy.PoolNext, over *ended) policy.PoolNext {
	p := w.pool
	var fx effects
	lockInbox(&p.in.mu)
	p.syncBoth()
	if next == policy.PoolIdle {
		next = p.machine.Next()
	}
	for next == policy.PoolTake {
		w.task = p.popBoth()
		if !p.overdueLocked(&w.task, w.began, &fx) {
			break
		}
		p.finishLocked()
		next = p.machine.Next()
	}
	switch next {
	case policy.PoolTake:
		p.queueWait.Record(w.began - w.task.at)
		p.beginLocked(&w.task, w.began)
	case policy.PoolIdle:
		w.parkLocked()
	case policy.PoolRetire:
		w.task = entry{}
		p.freeIDs = append(p.freeIDs, int(w.id))
	}
	p.admitBoth(w.began, &fx)
	p.unlockBoth(&fx)
	over.tell()
	return next
}

// wakeLocked wakes a worker for the queue, unless one is on its way already. That one wakes the next if there is more than it can take, so
// that a burst of tasks costs its submitter one wake-up and not one each.
func (p *Pool) wakeLocked(fx *effects) {
	if p.searching == 0 && p.machine.Queued() > 0 && !p.in.signal.leaveWord() {
		p.wakeTopLocked(fx)
	}
}

// wakeTopLocked wakes the worker that was parked last, if one is parked.
func (p *Pool) wakeTopLocked(fx *effects) {
	n := len(p.idle)
	if n == 0 {
		return
	}
	fx.wake = p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	p.searching++
}

// dismissLocked takes the worker that has been parked for longest out of the list, and returns what ends it.
func (p *Pool) dismissLocked() func() {
	w := p.idle[0]
	copy(p.idle, p.idle[1:])
	p.idle[len(p.idle)-1] = nil
	p.idle = p.idle[:len(p.idle)-1]
	w.sent = true
	p.freeIDs = append(p.freeIDs, int(w.id))
	return func() { w.wake <- struct{}{} }
}
