package pool

import "github.com/loadline-dev/loadline/internal/buckets"

// Histogram is a distribution of durations in log-linear buckets, good to 1.6 %. Histograms merge.
type Histogram = buckets.Snapshot

// Snapshot is how a pool stands at one instant, all figures taken together.
//
// When nothing is waiting or running, Submitted = Completed + Failed + Rejected.Sum() + Cancelled + Discarded. Otherwise the difference is
// Waiting + Blocked + Active and what runs on callers.
type Snapshot struct {
	Name     string
	Settings Settings
	Version  uint64 // 1 at New, one more with each change
	State    State

	Workers  int // alive
	Active   int // running a task, zombies among them
	Zombies  int // running a task whose caller has left
	Waiting  int // the queue's depth: tasks that no free worker is about to take
	Transit  int // tasks that a free worker is about to take
	Blocked  int // callers that wait for room (policy Block)
	OnCaller int // tasks that run on their callers now

	LargestWorkers, LargestActive, LargestWaiting int // since New
	RecentActive, RecentWaiting                   int // the largest within the last 10 to 11 s

	Submitted  uint64
	Completed  uint64 // ran and returned no error
	Failed     uint64 // ran and returned an error, panicked or called runtime.Goexit
	Panicked   uint64 // of Failed
	Rejected   Rejections
	Cancelled  uint64 // the caller left, or QueueBudget passed, before the task began
	Expired    uint64 // of Cancelled: QueueBudget passed
	Discarded  uint64 // dropped by Discard, DiscardOldest or ShutdownNow
	CallerRuns uint64 // of Completed and Failed: ran on the caller
	Abandoned  uint64 // of Completed and Failed or still running: the caller left while the task ran

	LastPanic *PanicError // nil if no task has panicked

	QueueWait Histogram // admitted to begun, of tasks that began
	Execution Histogram // begun to ended
}

// Rejections count refused tasks by reason.
type Rejections struct{ Full, Threshold, TimedOut, Closed uint64 }

// Sum is all of them.
func (r Rejections) Sum() uint64 { return r.Full + r.Threshold + r.TimedOut + r.Closed }

// State is where a pool stands in its life.
type State uint8

// The states.
const (
	Running    State = iota
	Draining         // takes no more tasks, works on those it has
	Terminated       // all workers have ended
)

// String is the state's name.
func (s State) String() string {
	return nameOf([]string{"running", "draining", "terminated"}, int(s), "state")
}

// Wait is how often tasks of one pool wait for tasks of another. See Pool.Waits.
type Wait struct {
	On    *Pool
	Now   int    // waiting at this moment
	Total uint64 // waits since New
}
