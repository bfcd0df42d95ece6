// Package plan reads the YAML that describes an experiment, checks it, and expands it into settings, steps and cells. It does no
// I/O: bytes come in, values and errors with line, key, found and allowed come out. docs/formats/plan.md is the format's document.
package plan

import (
	"time"

	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/schedule"
)

// Plan is a checked plan. In what Parse returns, text holds varied values unexpanded as ${name}, and a duration or number that varies
// has its value of the first setting; ForSetting fills in those of a setting. A Plan is not changed once made and may be shared.
type Plan struct {
	Name     string
	Target   Target
	Services []Service // in the order of the file, which is the order of starting
	Vary     []record.Setting
	Apply    []ApplyStep
	Load     Load
	Observe  []Observe
	SLO      string // normalised, as slo.Parse reads it; empty: none
	Source   []byte // the text read
	File     string // its name, for messages

	root  *node // what was read, for ForSetting; nil for a plan that was not parsed
	quick bool
}

// Target is what receives the load.
type Target struct {
	Request  Request
	Outcomes []OutcomeRule
	Client   Client
	Flows    []Flow   // what users do instead of Request; empty: Request again and again
	Feeders  []Feeder // where the values in Flows come from
}

// Request is one HTTP request.
type Request struct {
	URL      string
	Method   string // default GET, POST where a body is given
	Headers  []Header
	Body     string
	BodyFile string   // read by whoever sends; relative to the plan's folder
	Form     []Header // sent as application/x-www-form-urlencoded, in this order; at most one of Body, BodyFile and Form
	Auth     Auth
	Timeout  time.Duration // default 5 s
}

// Header is one header line, in the order given.
type Header struct{ Name, Value string }

// OutcomeRule says what an answer is; the first that matches wins, before the defaults. Zero fields match all.
type OutcomeRule struct {
	Status   StatusMatch
	Header   []Header // all must match; an empty value means present
	Contains string   // of the body
	Is       record.Outcome
}

// StatusMatch is a set of status codes. Empty matches all.
type StatusMatch struct {
	Codes   []int // 404
	Classes []int // 5 for 5xx
}

// Service is a process that the run starts.
type Service struct {
	Name    string
	Command []string
	Ready   Ready
	Env     []Header // name and value
	CPUs    string   // a list as ParseCPUs reads it, such as 0-1; empty: all
	Dir     string   // where it runs, relative to the plan's folder; empty: where Loadline runs
	Log     string   // a file for its output, relative to the plan's folder; empty: none
	Stop    Stop
}

// ApplyStep tells a system that Loadline did not start of a setting. Exactly one of Command and HTTP is set. The steps are taken in
// order before a cell whose setting is not the last cell's; one fails where the command does not exit with 0 or the answer's status is
// not 2xx.
type ApplyStep struct {
	Command []string
	HTTP    *Request
	Timeout time.Duration // default 30 s
	Settle  time.Duration // wait after the step; default 0
}

// Ready says when a service can be used. Without URL and TCP a service is ready when started.
type Ready struct {
	URL     string
	TCP     string
	Timeout time.Duration // default 10 s
}

// Stop says how a service is ended.
type Stop struct {
	Signal string        // default TERM
	Grace  time.Duration // default 5 s; KILL after it
}

// Load is the load of all cells.
type Load struct {
	Model       record.Model
	Concurrency []int            // closed
	Rate        []float64        // open, per second
	Arrivals    string           // open: ArrivalsPoisson (default) or ArrivalsConstant
	MaxInFlight int              // open: 0 no cap
	Connections int              // open: at most so many; 0 no bound
	Profile     []schedule.Stage // open: a rate that changes, from the end of the warm-up; Rate then holds its mean
	Recorded    string           // open: a file of recorded arrivals, relative to the plan's folder; Rate is then 0 until it is read
	Think       time.Duration    // closed; mean
	ThinkKind   string           // closed: ThinkConstant (default) or ThinkExponential
	Warmup      time.Duration    // default 10 s
	Measure     time.Duration    // Discard included; default 30 s
	Discard     time.Duration    // default 0
	Rest        time.Duration    // default 2 s
	Repeats     int              // default 1
	Order       Order            // default listed
	Seed        int64            // of shuffles and arrivals; default 1
}

// The distributions of think times and of the times between arrivals.
const (
	ThinkConstant    = "constant"
	ThinkExponential = "exponential"
	ArrivalsPoisson  = "poisson"
	ArrivalsConstant = "constant"
)

// Order is the order in which cells run.
type Order string

// The orders.
const (
	Listed      Order = "listed"      // setting by setting, step by step, repeat by repeat
	Shuffled    Order = "shuffled"    // at random, from the seed
	Interleaved Order = "interleaved" // every setting once at a step before the next repeat
)

// Observe is one thing to sample. Exactly one of Process, Prometheus, Dumps and JVM is set.
type Observe struct {
	Process    string        // a service's name, «pid:N», «name:NAME» or «port:N»
	Prometheus string        // the URL of a metrics endpoint
	Dumps      string        // of threads: the URL of net/http/pprof, or «jvm:» and a process as in Process
	JVM        string        // the JVM's own counters: a process as in Process
	Service    string        // to whom the metrics or dumps belong
	Every      time.Duration // default 1 s
}
