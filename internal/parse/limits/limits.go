// Package limits is the one model into which every supported configuration is read: the limits that a service puts on its own
// concurrency (container workers, pools, permits, connections), the time it gives a call (timeouts, retries), its breakers, and what its
// dependencies can bear; each value with the key, file and line that it came from. It holds facts and no opinion: the rules that judge
// them live in the lint package. Parsers of settings fill it, the registry of the library fills it from live objects.
//
// It imports the standard library only, since the public registry stands on it. Values are plain data without locks.
package limits

import (
	"fmt"
	"time"
)

// At says where a setting stands. The zero At is nowhere.
type At struct {
	Key  string // as it is written, such as hystrix.threadpool.price.coreSize
	File string // empty where there is none
	Line int    // from 1; 0 where it is not known
}

// String gives the place as a compiler would: file:line: key.
func (a At) String() string {
	switch {
	case a.File != "" && a.Line > 0:
		return fmt.Sprintf("%s:%d: %s", a.File, a.Line, a.Key)
	case a.Line > 0:
		return fmt.Sprintf("line %d: %s", a.Line, a.Key)
	default:
		return a.Key
	}
}

// Property is one key with its value as text: the form to which every file is flattened before it is understood.
type Property struct {
	Value string
	At    At
}

// Of is a setting's value with its origin. The zero Of is a value that is not known.
type Of[T any] struct {
	Value T
	Known bool // Value is in force
	Given bool // it is written at At; otherwise it is a documented default
	At    At
}

// Written is a value that stands at a place.
func Written[T any](value T, at At) Of[T] {
	return Of[T]{Value: value, Known: true, Given: true, At: at}
}

// Default is a value in force because nothing else is written for key.
func Default[T any](value T, key string) Of[T] {
	return Of[T]{Value: value, Known: true, At: At{Key: key}}
}

// Or is o where it is known, else other.
func (o Of[T]) Or(other Of[T]) Of[T] {
	if o.Known {
		return o
	}
	return other
}

// Unbounded is a queue without a capacity, and a number of workers without a bound.
const Unbounded = -1

// System is everything that is known of one service.
type System struct {
	Containers  []Container
	Pools       []Pool
	Bulkheads   []Bulkhead
	Connections []Connections
	Commands    []Command
	Breakers    []Breaker
	Downstreams []Downstream
	Replicas    Of[int] // instances of this service that run side by side
	Faults      []Fault // what a reader could not take as it stands
}

// Merge adds what other holds. Replicas of other win where they are known.
func (s *System) Merge(other System) {
	s.Containers = append(s.Containers, other.Containers...)
	s.Pools = append(s.Pools, other.Pools...)
	s.Bulkheads = append(s.Bulkheads, other.Bulkheads...)
	s.Connections = append(s.Connections, other.Connections...)
	s.Commands = append(s.Commands, other.Commands...)
	s.Breakers = append(s.Breakers, other.Breakers...)
	s.Downstreams = append(s.Downstreams, other.Downstreams...)
	s.Faults = append(s.Faults, other.Faults...)
	s.Replicas = other.Replicas.Or(s.Replicas)
}

// Container is a server whose workers carry the requests of clients.
type Container struct {
	Name           string
	Workers        Of[int]
	MaxConnections Of[int]
	AcceptQueue    Of[int]
	Queue          Of[int] // requests waiting for a worker inside the process; Unbounded where nothing bounds them
}

// Growth is the order in which a pool grows.
type Growth int

// The orders.
const (
	QueueFirst   Growth = iota // core workers, then the queue, then workers up to max (java.util.concurrent)
	WorkersFirst               // workers up to max, then the queue (Tomcat, Dubbo eager)
)

// Pool is workers and a queue.
type Pool struct {
	Name        string
	At          At // where it is declared
	Growth      Growth
	Core        Of[int]
	Max         Of[int] // in force; Unbounded is possible
	Queue       Of[int] // tasks; 0 hands off; Unbounded is possible
	Threshold   Of[int] // queue depth from which admission is refused, below the capacity
	KeepAlive   Of[time.Duration]
	CoreTimeout Of[bool]
	Timeout     Of[time.Duration] // after which the caller of a task leaves, counted from its submission
	ServiceTime Of[time.Duration] // how long a task holds a worker
	RatePerSec  Of[float64]       // tasks offered
	Downstream  Of[string]        // the dependency that a task holds one connection of
	Tier, Base  string            // where it is pool Base as a tier sets it; tiers take turns
	Refuses     bool              // a task for which there is no room is refused, rather than run by its caller or waited for
	Fixed       []Of[int]         // settings that a live change does not reach, such as a queue's capacity
	Observed    []Of[time.Duration]
	Hystrix     *HystrixPool // what is written, where the pool is Hystrix's
}

// HystrixPool is what a Hystrix thread pool was told, beside what follows from it.
type HystrixPool struct {
	CoreSize, MaximumSize   Of[int]
	AllowDiverge            Of[bool]
	MaxQueueSize, Threshold Of[int]
}

// Slots is how many tasks run at once at most, and false where nothing bounds them or it is not known. A queue-first pool with an
// unbounded queue never grows past its core.
func (p Pool) Slots() (int, bool) {
	if p.Growth == QueueFirst && p.Queue.Known && p.Queue.Value == Unbounded && p.Core.Known {
		return p.Core.Value, true
	}
	if !p.Max.Known || p.Max.Value == Unbounded {
		return 0, false
	}
	return p.Max.Value, true
}

// Bulkhead is permits that bound how many callers are inside.
type Bulkhead struct {
	Name       string
	At         At
	Permits    Of[int]
	Wait       Of[time.Duration] // how long a caller waits for a permit; 0 refuses at once
	Timeout    Of[time.Duration] // around the wait and the call
	Downstream Of[string]
}

// Connections is a pool of connections to a dependency.
type Connections struct {
	Name       string
	At         At
	Total      Of[int]
	PerHost    Of[int]           // to one instance of the dependency
	LeaseWait  Of[time.Duration] // how long a caller waits for one; 0 with Known means without limit
	Downstream Of[string]
	Users      []string // pools whose tasks hold one of them
}

// Isolation is what bounds the concurrency of a command.
type Isolation int

// The kinds.
const (
	None    Isolation = iota
	ByPool            // the work moves to a pool's worker
	Permits           // the caller's own thread works under a permit
)

// Command is one kind of call to a dependency with everything that guards it.
type Command struct {
	Name            string
	At              At
	Isolation       Of[Isolation]
	Pool            string  // the name of its pool, with ByPool
	Permits         Of[int] // with Permits
	FallbackPermits Of[int]
	Timeout         Of[time.Duration] // the outer one; 0 with Known means none
	Attempt         Attempt
	Connections     string   // the name of the connections it uses
	Breaker         *Breaker // nil where it has none
	ServiceTime     Of[time.Duration]
	RatePerSec      Of[float64]
	Downstream      Of[string]
	Gateway         bool // its callers hold a container's worker while they wait
	Library         bool // it is this module's own: its timeout frees the caller under permits too
}

// Attempt is what the inner client may do within one call.
type Attempt struct {
	Connect, Read          Of[time.Duration]
	SameServer, NextServer Of[int] // retries besides the first try
	Backoff                Of[time.Duration]
	Possible               bool // retries can happen at all
}

// Attempts is how many tries one call may make at most, the first included.
func (a Attempt) Attempts() int {
	if !a.Possible {
		return 1
	}
	return (max(a.SameServer.Value, 0) + 1) * (max(a.NextServer.Value, 0) + 1)
}

// Breaker is a circuit breaker's settings.
type Breaker struct {
	Name           string
	At             At
	Enabled        Of[bool]
	ForceClosed    Of[bool]
	ForceOpen      Of[bool]
	Volume         Of[int] // calls in the window before it may open
	FailurePercent Of[float64]
	Window         Of[time.Duration] // of a time window
	WindowCalls    Of[int]           // of a count window
	Buckets        Of[int]
	Sleep          Of[time.Duration]
	Probes         Of[int]
	HalfOpenMax    Of[time.Duration] // how long half-open may last; 0 with Known means for ever
	SlowCall       Of[time.Duration]
	SlowPercent    Of[float64]
	RefusalsFail   bool // refusals for capacity count as failures (Hystrix)
	RatePerSec     Of[float64]
	Timeout        Of[time.Duration] // of the calls it watches
}

// Downstream is a dependency and what it can bear.
type Downstream struct {
	Name     string
	At       At
	Limit    Of[int] // connections or concurrent calls that it bears from all replicas together
	Replicas Of[int] // instances of our service that share it; the system's where not known
	Hosts    Of[int] // instances of the dependency
}

// Kind says what is wrong with a setting as it is written.
type Kind int

// The kinds.
const (
	Invalid       Kind = iota // it cannot be read; the whole file is refused
	Unknown                   // no such key
	WithoutEffect             // it is read by nobody, or something else overrides it
	Unresolved                // its value stands elsewhere and is not known here
)

// Fault is a setting that a reader could not take as it stands.
type Fault struct {
	Kind Kind
	At   At
	Also []At   // other places that have to do with it
	Text string // what was found, with the value
	Next string // what is allowed, and what to do
}

// Error makes a fault usable as an error.
func (f Fault) Error() string {
	if f.Next == "" {
		return f.At.String() + ": " + f.Text
	}
	return f.At.String() + ": " + f.Text + "; " + f.Next
}
