package process

import (
	"time"

	"github.com/loadline-dev/loadline/internal/parse/procfs"
)

// A thread that has not run for a while is looked at less often: what it does then is found that much later, and not lost, since its
// counters are cumulative. Without this the thousand sleeping threads of a server cost more at 10 Hz than its working ones.
const (
	asleep   = time.Second
	probed   = 400 * time.Millisecond
	tooRare  = 250 * time.Millisecond // Looks further apart than this look at every thread.
	staggers = 4                      // Sleeping threads are spread over this many looks.
)

// due tells whether a thread is worth a look.
func (t *thread) due(at, apart time.Duration, turn int) bool {
	if apart <= 0 || apart >= tooRare || at-t.lastRan < asleep {
		return true
	}
	return at-t.looked >= probed || (t.id+int64(turn))%staggers == 0
}

// thread is one task of a process.
type thread struct {
	id        int64
	group     string // of its name; read when it first runs
	schedstat held
	status    held
	sched     procfs.Schedstat
	switches  procfs.Switches
	ran       bool          // between the last two looks at it
	lastRan   time.Duration // when it was last seen to have run
	looked    time.Duration // when it was looked at last
	fresh     time.Duration // run time since the look before
}

func newThread(id int64, dir string) *thread {
	return &thread{
		id: id, schedstat: held{path: dir + "/schedstat"}, status: held{path: dir + "/status"},
		sched: procfs.Schedstat{RunNanos: -1, WaitNanos: -1, Slices: -1}, switches: procfs.Switches{Voluntary: -1, Involuntary: -1},
	}
}

func (t *thread) close(f files) {
	t.schedstat.close(f)
	t.status.close(f)
}

// read looks at a thread; an error means that it has ended. A thread that was not on a CPU since the last look has the same switches
// as then, so that only its schedstat is read.
func (t *thread) read(f files, at time.Duration) error {
	t.looked = at
	text, err := t.schedstat.read(f)
	sched, ok := procfs.ParseSchedstat(text)
	before := t.ran
	if err == nil && ok {
		t.ran = sched.RunNanos != t.sched.RunNanos || sched.Slices != t.sched.Slices
		t.fresh = time.Duration(sched.RunNanos - max(0, t.sched.RunNanos))
		t.sched = sched
		if !t.ran {
			return nil
		}
		t.lastRan = at
	}
	status, err := t.readStatus(f, before)
	if err != nil {
		return err
	}
	if s, ok := procfs.ParseSwitches(status); ok {
		t.switches = s
	}
	return nil
}

// readStatus keeps the file open for threads that run from look to look.
func (t *thread) readStatus(f files, ranBefore bool) ([]byte, error) {
	if ranBefore {
		return t.status.read(f)
	}
	return f.read(t.status.path)
}
