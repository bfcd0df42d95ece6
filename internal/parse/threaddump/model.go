// Package threaddump reads what a process says about its threads into one model: HotSpot's text of JDK 5 to 25 (jstack, jcmd Thread.print,
// kill -3, ThreadInfo), the JSON and text of jcmd Thread.dump_to_file, and Go's goroutine dumps (pprof debug=1 and debug=2, crash output).
// Other output around and between the lines is passed over. Files are read as a stream, thread by thread; UTF-16 is recognised. It does
// no I/O but reading from what is handed in, and says nothing about what a dump means; internal/analysis/dump does.
package threaddump

import "time"

// Format names what a dump was written by.
type Format string

// The formats.
const (
	HotSpot     Format = "hotspot"      // text with Java stacks
	HotSpotJSON Format = "hotspot-json" // Thread.dump_to_file -format=json
	HotSpotFile Format = "hotspot-file" // Thread.dump_to_file, text
	Go          Format = "go"           // goroutines
)

// State is what a thread does, in Java's words.
type State uint8

// The states.
const (
	Unknown State = iota // the format does not tell
	New
	Runnable // on a CPU, ready, or in a native call such as a socket read
	Blocked  // waits for a monitor (Go: a mutex)
	Waiting
	TimedWaiting
	Terminated
)

var stateNames = [...]string{"UNKNOWN", "NEW", "RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING", "TERMINATED"}

// String is Java's spelling.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return stateNames[Unknown]
}

// ParseState reads Java's spelling; anything else is Unknown.
func ParseState(s string) State {
	for i, name := range stateNames {
		if s == name {
			return State(i)
		}
	}
	return Unknown
}

// Frame is one call of a stack.
type Frame struct {
	Func string // with package and class, without module, loader and the address of a hidden class
	File string // empty where unknown
	Line int    // 0 where unknown
}

// Object is a lock or what a thread waits on.
type Object struct {
	ID    string // an address or Class@hash; empty where the dump does not tell
	Class string
	Owner string // name of the thread that the dump says holds it; empty where it does not say so
}

// WaitKind tells how a thread waits for an object.
type WaitKind uint8

// The kinds.
const (
	NoWait     WaitKind = iota
	ForMonitor          // to enter a synchronised block
	OnMonitor           // in Object.wait, which gives the monitor back
	Parked              // LockSupport.park, by a lock, a queue, a latch
)

// Thread is one thread, or several that a format has counted together.
type Thread struct {
	Name      string
	ID        int64 // Java's or Go's id; 0 unknown
	Native    int64 // the system's thread id; 0 unknown
	Count     int   // how many threads this stands for, at least 1
	State     State
	Detail    string // the format's own words: parking, chan receive, in Object.wait(), …
	Daemon    bool
	Virtual   bool
	Internal  bool  // of the JVM: collector, compiler
	Carries   int64 // the id of the virtual thread it carries; 0 none
	CPU       time.Duration
	Elapsed   time.Duration // since it began; with CPU -1 where unknown
	Waited    time.Duration // Go: how long in this state, in whole minutes; 0 below one
	Stack     []Frame       // innermost first
	Wait      WaitKind
	WaitFor   Object
	Held      []Object // monitors entered and not given back by wait
	Owned     []Object // locks of java.util.concurrent, where the dump lists them
	CreatedBy string   // Go: the function that started it
	Container string   // JSON: the executor or scope
	Labels    map[string]string
}

// Head is what a dump says about itself.
type Head struct {
	Format  Format
	When    string // as written; empty where unknown
	Runtime string // version as written
	Locks   bool   // the owners of java.util.concurrent's locks are listed (jstack -l): known at the dump's end
}

// Dump is one dump held in memory.
type Dump struct {
	Head
	Threads   []Thread
	Deadlocks [][]string // names of threads, as the JVM printed them
}

// Visitor takes a stream of dumps apart. Begin and End enclose each dump; a Thread is the visitor's to keep. An error ends the reading
// and comes back from Visit.
type Visitor struct {
	Begin    func(Head) error
	Thread   func(*Thread) error
	Deadlock func(names []string) error
	End      func(Head) error
}
