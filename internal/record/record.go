package record

import (
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
)

// Run is one execution of a plan.
type Run struct {
	ID          string    // unique in an archive
	Name        string    // the plan's name
	Started     time.Time // wall clock
	Ended       time.Time // zero while the run goes on or when it was killed
	Partial     bool      // interrupted, killed or still going on
	Interrupted string    // why, where known
	Environment Environment
	Plan        []byte // the plan's text as it was read
	SLO         string // in the form slo.Parse reads; empty: none
	Cells       []Cell
}

// Environment is what a figure depends on besides the plan.
type Environment struct {
	Host       string            `json:"host"`
	OS         string            `json:"os"`
	Kernel     string            `json:"kernel"`
	CPUModel   string            `json:"cpu_model"`
	Cores      int               `json:"cores"` // usable by this process
	MemoryByte int64             `json:"memory_bytes"`
	Go         string            `json:"go"`
	Loadline   string            `json:"loadline"`
	Limits     map[string]string `json:"limits,omitempty"` // descriptors, ports, cgroup quota, …
}

// Model says who decides when the next request is sent.
type Model string

// The load models.
const (
	Closed Model = "closed" // each of N users sends when its answer has come and its think time has passed
	Open   Model = "open"   // arrivals follow a clock, whatever the service does
)

// Load is one step: the load of one cell.
type Load struct {
	Model       Model
	Concurrency int           // users of the closed model, 0 in the open one
	RatePerSec  float64       // arrivals of the open model, 0 in the closed one
	Think       time.Duration // mean think time of the closed model
}

// Phase is a part of a cell.
type Phase uint8

// The phases, in their order.
const (
	Warmup  Phase = iota // measured, kept apart
	Discard              // the first part of the measured time, thrown away
	Window               // what figures are made of
	Drain                // after the window, until what is in flight has ended
)

var phaseNames = [...]string{"warmup", "discard", "window", "drain"}

// String is the phase's name.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "unknown"
}

// Endless is the planned window of a cell that is to last until enough is known of it: a trial of a search, which is taken off after a second
// or two and is whole then.
const Endless = time.Hour

// Cell is one setting at one step, once.
type Cell struct {
	Index     int // 0…, in the plan's order, not the order of execution
	Setting   Setting
	Repeat    int // 1…
	Load      Load
	Started   time.Time     // wall clock of the cell's origin; every At, Start and End counts from it on the monotonic clock
	Warmup    time.Duration // as planned
	Discard   time.Duration
	Window    time.Duration // as planned, without Discard; the intervals tell how much of it was measured
	Timeout   time.Duration // a request's
	Intervals []Interval
	Processes []ProcessSample
	Pools     []PoolSample
	Series    []SeriesSample
	Dumps     []Dump
	Slots     []SlotLimit
	Imported  *Imported // nil for a cell that was measured here
	Partial   bool      // ended before its time
	Failure   string    // why it ended before its time, where it was not the user's wish
}

// Interval is what happened between two instants of a cell, usually 1 s apart; phases begin and end on interval boundaries.
type Interval struct {
	Phase      Phase
	Start, End time.Duration // since the cell's origin
	Planned    int64         // requests planned in the interval
	InFlight   int64         // at the interval's end
	Classes    []Class
	Lag        *hist.Histogram // planned to sent, of requests sent in the interval; nil in the closed model
	Connect    *hist.Histogram // time to connect, of connections made in the interval; nil when none
	TLS        *hist.Histogram // time of the TLS handshakes; nil when none
	Addresses  map[string]int64
	BytesSent  int64
	BytesRead  int64
	Codes      map[string]int64 // sub-codes of what was not a success, such as «status 503» or «connect: timeout»
	Generator  GeneratorSample
}

// Class is the requests of one outcome that ended in an interval.
type Class struct {
	Outcome  Outcome
	Inside   bool // planned inside the window: what the cell's outcome counts and latencies are made of
	Answered bool // the service answered: always so for success, failure, late, rejected and short_circuited; a timeout by a 504
	Count    int64
	Latency  *hist.Histogram // planned to done; to the timeout for a timeout, the age for a cut; nil for dropped
	Response *hist.Histogram // sent to done; nil where it is the same as Latency (closed model)
	Held     time.Duration   // sum of the time for which the requests held their user (a late one: only its timeout)
}

// GeneratorSample is what the generator used and suffered in one interval.
type GeneratorSample struct {
	CPU             time.Duration // user and system time of the generator's process
	LoopCPU         []time.Duration
	RunQueueWait    time.Duration // longest wait for a CPU among the generator's threads that send load
	GCPause         time.Duration
	DescriptorsFree int64 // below the soft limit; -1 unknown
	PortsFree       int64 // local ports left to the target; -1 unknown
}

// ProcessSample is one look at one service's processes: all threads, children included. Counters are cumulative since the process
// started; a negative figure is unknown.
type ProcessSample struct {
	Service      string
	At           time.Duration
	CPUUser      time.Duration
	CPUSystem    time.Duration
	Voluntary    int64
	Involuntary  int64
	RunQueueWait time.Duration
	Threads      int64
	RSSBytes     int64
	Descriptors  int64
	MinorFaults  int64
	MajorFaults  int64
}

// PoolKind tells workers with a queue from permits.
type PoolKind string

// The kinds.
const (
	KindPool     PoolKind = "pool"
	KindBulkhead PoolKind = "bulkhead"
)

// PoolSample is one look at one pool of a service. A nil figure is unknown, which is not 0.
type PoolSample struct {
	Service, Pool string
	Kind          PoolKind
	At            time.Duration
	Core          *float64
	Size          *float64 // workers alive or permits in force
	Max           *float64
	Capacity      *float64 // of the queue
	Active        *float64
	Queue         *float64
	ActiveMax     *float64 // high-water mark since the last sample, where the service keeps one
	QueueMax      *float64
	Completed     *float64 // cumulative
	Rejected      *float64 // cumulative
	TimedOut      *float64 // cumulative
	Waiting       *float64 // callers waiting for a connection or permit
	QueueWait     *Dist
	Execution     *Dist
}

// Dist is a cumulative distribution as a service exposes it.
type Dist struct {
	Count   float64
	Seconds float64      // sum
	Buckets []DistBucket // rising, cumulative; empty where only count and sum are exposed
}

// DistBucket counts what took at most UpperSeconds.
type DistBucket struct {
	UpperSeconds float64
	Count        float64
}

// SeriesSample is one value of another series: a heap, a core's use, a host's load.
type SeriesSample struct {
	Source string // service or «host»
	Name   string // with its unit last, such as heap_used_bytes
	At     time.Duration
	Value  float64
}

// Dump is a thread dump taken in a cell.
type Dump struct {
	Service string
	At      time.Duration
	Why     string        // steady, start, before-peak, peak, finding:CODE
	Cost    time.Duration // how long it took
	Format  string        // hotspot, hotspot-json, go
	Data    []byte
}

// SlotLimit is what the plan says bounds the concurrency behind the target.
type SlotLimit struct {
	Service string
	Pool    string
	Slots   int
}
