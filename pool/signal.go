package pool

import "sync/atomic"

// signal tells a submitter, who holds the inbox' lock and has put a task in, what to do about a worker for it.
//
//	quiet    nothing: no worker is parked, or one that was woken for the queue will come by and look
//	armed    wake one; whoever makes it quiet does so
//	handed   a worker has been woken with a task in its hands, and others are parked: leave word (missed)
//	missed   word has been left
//
// It is armed and handed only while the inbox is empty, under both locks. The worker with the task in its hands makes it armed again
// without a lock when it starts, unless it finds word that a task has come: then it sees to that first. So at any time after a task came
// in, somebody is on the way who will see it.
type signal struct{ v atomic.Uint32 }

const (
	quiet uint32 = iota
	armed
	handed
	missed
)

// arm makes a quiet signal armed.
func (s *signal) arm() { s.v.CompareAndSwap(quiet, armed) }

// quiet says that the signal is neither armed nor going to be.
func (s *signal) quiet() bool { return s.v.Load() == quiet }

// watched says that whoever puts a task into the inbox will see that a parked worker learns of it.
func (s *signal) watched() bool {
	v := s.v.Load()
	return v == armed || v == handed
}

// cameIn is called by a submitter who has put a task in; true asks him to wake a worker.
func (s *signal) cameIn() (wake bool) {
	for {
		switch s.v.Load() {
		case armed:
			if s.v.CompareAndSwap(armed, quiet) {
				return true
			}
		case handed:
			if s.v.CompareAndSwap(handed, missed) {
				return false
			}
		default:
			return false
		}
	}
}

// hand is called under both locks by who hands a task to a parked worker; false says that this is not the time.
func (s *signal) hand() bool { return s.v.CompareAndSwap(armed, handed) }

// leaveWord leaves word with the worker that starts with a task in its hands; false says that there is none.
func (s *signal) leaveWord() bool {
	return s.v.CompareAndSwap(handed, missed) || s.v.Load() == missed
}

// started is called by the worker with a task in its hands; false says that a task has come in meanwhile.
func (s *signal) started() bool { return s.v.CompareAndSwap(handed, armed) }
