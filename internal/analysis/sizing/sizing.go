// Package sizing computes pool settings from a handful of figures and shows the arithmetic: workers from Little's law, queue from the
// latency budget, timeout from execution and queue wait, the cap that a downstream pool sets, cores for work that computes, and what an
// objective asks by the M/M/c formulas.
//
// Opinion: a formula gives the place where measuring starts, not the setting. So every result lists its steps, says which inputs contradict
// each other, and says infeasible where no size helps instead of giving a number that looks like help.
package sizing

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/slo"
)

// Kind is what a request's service time is spent on.
type Kind string

// The kinds. The zero value is IO.
const (
	IO  Kind = "io"  // mostly waiting
	CPU Kind = "cpu" // computing throughout
)

const (
	// DefaultSafety is the lower end of the usual factor of 1.5 to 2 on Little's law: a mean must not fill the pool.
	DefaultSafety = 1.5
	// DefaultBreakerWindow is Hystrix's rolling window.
	DefaultBreakerWindow = 10 * time.Second
	// busyLimit is the CPU use above which responses grow faster than load.
	busyLimit = 0.7
	// rounding keeps the last digit of a product from adding a worker.
	rounding = 1e-9
)

// Input is what is known. Only RatePerSec and ServiceTime are required; zero values of the rest are unknown.
type Input struct {
	RatePerSec  float64       // of the whole service
	ServiceTime time.Duration // mean time for which one request holds one worker
	ServiceP99  time.Duration // default ln(100) × ServiceTime, as for exponential service
	Safety      float64       // default DefaultSafety; 1 to 10
	Kind        Kind
	Cores       float64       // of one replica
	CPUTime     time.Duration // of one request; default ServiceTime where Kind is CPU
	Replicas    int           // default 1

	Downstream     int           // connections that the downstream allows in all
	DownstreamTime time.Duration // of ServiceTime with a connection held; default all of it

	SLO           slo.SLO
	LatencyBudget time.Duration // longest response allowed; default the objective's latency bound

	Timeout       time.Duration // the one in force, to be checked
	BreakerVolume int           // requests in the window before the breaker may open
	BreakerWindow time.Duration // default DefaultBreakerWindow
}

// Validate joins all faults and changes nothing.
func (in Input) Validate() error {
	var faults []error
	fault := func(ok bool, field string, found any, allowed string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s = %v: allowed is %s", field, found, allowed))
		}
	}
	fault(in.RatePerSec > 0 && in.RatePerSec <= 1e9, "rate", in.RatePerSec, "above 0 and at most 1e9 per second")
	fault(in.ServiceTime > 0, "service time", in.ServiceTime, "a duration above 0")
	fault(in.ServiceP99 == 0 || in.ServiceP99 >= in.ServiceTime/100, "service p99", in.ServiceP99, "at least a hundredth of the mean, which is the least that a p99 can be")
	fault(in.Safety == 0 || (in.Safety >= 1 && in.Safety <= 10), "safety", in.Safety, "1 to 10")
	fault(in.Kind == "" || in.Kind == IO || in.Kind == CPU, "kind", in.Kind, "io or cpu")
	fault(in.Cores >= 0 && !math.IsInf(in.Cores, 0), "cores", in.Cores, "above 0")
	fault(in.CPUTime >= 0, "CPU time", in.CPUTime, "0 or more")
	fault(in.Replicas >= 0, "replicas", in.Replicas, "1 or more")
	fault(in.Downstream >= 0, "downstream", in.Downstream, "1 or more connections")
	fault(in.DownstreamTime >= 0, "downstream time", in.DownstreamTime, "0 to the service time")
	fault(in.LatencyBudget >= 0, "latency budget", in.LatencyBudget, "0 or more")
	fault(in.Timeout >= 0, "timeout", in.Timeout, "0 or more")
	fault(in.BreakerVolume >= 0, "breaker volume", in.BreakerVolume, "1 or more requests")
	fault(in.BreakerWindow >= 0, "breaker window", in.BreakerWindow, "a duration above 0")
	fault(in.RatePerSec*in.ServiceTime.Seconds() <= maxWorkers, "rate × service time", in.RatePerSec*in.ServiceTime.Seconds(), fmt.Sprintf("at most %d workers", maxWorkers))
	return errors.Join(faults...)
}

// maxWorkers bounds the search for the smallest pool that meets an objective.
const maxWorkers = 1_000_000

// Caveat is a reason to doubt or to act.
type Caveat struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Workers are the pool's sizes, per replica.
type Workers struct {
	Minimum     int `json:"minimum"`     // by Little's law, all of them busy all the time
	Recommended int `json:"recommended"` // where measuring starts
}

// Objective is what the objective asks of the pool.
type Objective struct {
	Text     string `json:"text"`
	Feasible bool   `json:"feasible"`
	Workers  *int   `json:"workers"` // fewest that meet it; nil where none do
	// Predicted is the first latency term's figure with the recommended workers and an unbounded queue, in ms; nil where they are too few.
	Predicted *float64 `json:"predicted_ms"`
}

// Breaker compares the breaker's volume with the traffic.
type Breaker struct {
	RequestsInWindow float64 `json:"requests_in_window"`
	Volume           int     `json:"volume"`
	Reached          bool    `json:"reached"`
}

// Schema names the form of Result.
const Schema = "loadline.size/1"

// Result is the sizing of one replica.
type Result struct {
	Schema     string     `json:"schema"`
	Workers    Workers    `json:"workers"`
	WorkersCap *int       `json:"workers_cap"` // set by the downstream; nil: none
	Start      *int       `json:"start"`       // 2N for work that waits, N for work that computes; nil: cores unknown
	Queue      int        `json:"queue"`
	TimeoutMS  float64    `json:"timeout_ms"`
	CoresNeed  *float64   `json:"cores_needed"` // nil: CPU time unknown
	Objective  *Objective `json:"objective"`
	Breaker    *Breaker   `json:"breaker"`
	Steps      []string   `json:"steps"`
	Caveats    []Caveat   `json:"caveats"`
}

// sizer carries a result while it grows.
type sizer struct {
	in   Input
	rate float64 // of one replica
	s    float64 // service time in seconds
	out  Result
}

// Size computes the settings. A wish that cannot be met is a caveat, not an error.
func Size(in Input) (Result, error) {
	if err := in.Validate(); err != nil {
		return Result{}, err
	}
	z := &sizer{in: withDefaults(in), out: Result{Schema: Schema, Steps: []string{}, Caveats: []Caveat{}}}
	z.s = z.in.ServiceTime.Seconds()
	z.rate = z.in.RatePerSec / float64(z.in.Replicas)
	if z.in.Replicas > 1 {
		z.step("%s/s over %d replicas = %s/s each; all figures are for one replica", num(z.in.RatePerSec), z.in.Replicas, num(z.rate))
	}
	z.workers()
	z.objective()
	z.cores()
	z.downstream()
	z.queue()
	z.timeout()
	z.breaker()
	z.outcome()
	return z.out, nil
}

func withDefaults(in Input) Input {
	if in.Safety == 0 {
		in.Safety = DefaultSafety
	}
	if in.Kind == "" {
		in.Kind = IO
	}
	if in.Replicas == 0 {
		in.Replicas = 1
	}
	if in.BreakerWindow == 0 {
		in.BreakerWindow = DefaultBreakerWindow
	}
	if in.CPUTime == 0 && in.Kind == CPU {
		in.CPUTime = in.ServiceTime
	}
	if bound, ok := in.SLO.LatencyBound(); ok && in.LatencyBudget == 0 {
		in.LatencyBudget = bound
	}
	return in
}

func (z *sizer) step(format string, args ...any) {
	z.out.Steps = append(z.out.Steps, fmt.Sprintf(format, args...))
}

func (z *sizer) caveat(code, format string, args ...any) {
	z.out.Caveats = append(z.out.Caveats, Caveat{Code: code, Text: fmt.Sprintf(format, args...)})
}

// workers is Little's law: busy workers = rate × service time, and a factor so that the mean does not fill the pool.
func (z *sizer) workers() {
	busy := z.rate * z.s
	z.out.Workers.Minimum = max(1, ceil(busy))
	z.out.Workers.Recommended = max(1, ceil(busy*z.in.Safety))
	z.step("workers at least %s/s × %s ms = %s busy on average, so %d", num(z.rate), ms(z.s), num(busy), z.out.Workers.Minimum)
	z.step("× %s for safety (1.5 to 2 is usual: %d to %d) = %d", num(z.in.Safety), max(1, ceil(busy*1.5)), max(1, ceil(busy*2)), z.out.Workers.Recommended)
	if z.in.Safety < 1.2 {
		z.caveat("safety-low", "a factor of %s leaves the pool %s busy on average: waits grow without bound as it nears 100 %%", num(z.in.Safety), pct(1/z.in.Safety))
	}
}

// cores compares computing with the cores there are, and says where a search starts.
func (z *sizer) cores() {
	n := z.in.Cores
	if n > 0 {
		start := ceil(n)
		if z.in.Kind == IO {
			start = ceil(2 * n)
			z.step("a search for work that waits starts at 2 × %s cores = %d workers", num(n), start)
		} else {
			z.step("a search for work that computes starts at %s cores = %d workers, or one more", num(n), start)
		}
		z.out.Start = &start
	}
	cpu := z.in.CPUTime.Seconds()
	if cpu == 0 {
		if n > 0 {
			z.step("%s cores allow %s ms of CPU a request at %s/s (%s × 1000 / %s); the CPU time of a request is not known", num(n), num(n/z.rate*1000), num(z.rate), num(n), num(z.rate))
		}
		return
	}
	need := z.rate * cpu
	z.out.CoresNeed = &need
	z.step("cores: %s/s × %s ms of CPU = %s busy", num(z.rate), ms(cpu), num(need))
	if cpu > z.s {
		z.caveat("cpu-above-service", "a request cannot compute for %s ms in a service time of %s ms unless it uses several cores at once", ms(cpu), ms(z.s))
	}
	switch {
	case n == 0:
	case need >= n:
		z.caveat("cores-too-few", "%s cores are needed and there are %s: at most %s/s (%s / %s ms), whatever the pool's size", num(need), num(n), num(n/cpu), num(n), ms(cpu))
	case need > busyLimit*n:
		z.caveat("cpu-nearly-full", "%s of %s cores busy is %s: above %s responses grow faster than load", num(need), num(n), pct(need/n), pct(busyLimit))
	}
	if z.in.Kind == CPU && n > 0 && z.out.Workers.Recommended > ceil(n)+1 {
		z.step("work that computes gains nothing from more workers than cores + 1: %d becomes %d", z.out.Workers.Recommended, ceil(n)+1)
		z.out.Workers.Recommended = ceil(n) + 1
	}
}

// downstream caps the workers by the connections that they would wait for.
func (z *sizer) downstream() {
	if z.in.Downstream == 0 {
		return
	}
	perReplica := z.in.Downstream / z.in.Replicas
	held := z.s
	if d := z.in.DownstreamTime.Seconds(); d > 0 {
		held = d
	}
	if z.in.Replicas > 1 {
		z.step("%d downstream connections over %d replicas = %d each", z.in.Downstream, z.in.Replicas, perReplica)
	}
	if held > z.s {
		z.caveat("downstream-above-service", "a connection cannot be held for %s ms in a service time of %s ms", ms(held), ms(z.s))
		held = z.s
	}
	most := int(math.Floor(float64(perReplica)*z.s/held + rounding))
	z.out.WorkersCap = &most
	if held < z.s {
		z.step("a worker holds a connection %s of %s ms, so %d connections keep %d × %s / %s = %d workers busy", ms(held), ms(z.s), perReplica, perReplica, ms(z.s), ms(held), most)
	} else {
		z.step("more workers than %d connections would only wait for one", perReplica)
	}
	if perReplica == 0 {
		z.caveat("downstream-too-small", "%d connections leave none for each of %d replicas", z.in.Downstream, z.in.Replicas)
		z.out.Workers.Recommended = 1
		return
	}
	if most < z.out.Workers.Minimum {
		z.caveat("downstream-too-small", "%d workers are needed at least and the downstream keeps %d busy: at most %s/s (%d / %s ms); raise its connections to %d in all, shorten the hold or lower the rate",
			z.out.Workers.Minimum, most, num(float64(perReplica)/held), perReplica, ms(held), ceil(z.rate*held)*z.in.Replicas)
	}
	if most < z.out.Workers.Recommended {
		z.step("workers %d capped to %d", z.out.Workers.Recommended, most)
		z.out.Workers.Recommended = most
	}
}

// queue turns the latency budget into places: a full queue of q places before w workers takes q/w service times to drain.
func (z *sizer) queue() {
	w := float64(z.out.Workers.Recommended)
	if w == 0 {
		return
	}
	if z.in.LatencyBudget == 0 {
		z.out.Queue = z.out.Workers.Recommended
		z.step("queue: no latency budget given, so a full queue may take one service time: %d places", z.out.Queue)
		return
	}
	budget, exec := z.in.LatencyBudget.Seconds(), z.execution()
	left := budget - exec
	if left <= 0 {
		z.step("queue: budget %s ms − execution %s ms leaves nothing: 0 places", ms(budget), ms(exec))
		z.caveat("budget-below-execution", "the latency budget of %s ms lies below the execution's p99 of %s ms: every place in a queue breaks it", ms(budget), ms(exec))
		return
	}
	z.out.Queue = int(math.Floor(left/z.s*w + rounding))
	z.step("queue: budget %s ms − execution p99 %s ms = %s ms of waiting, × %s workers / %s ms = %d places", ms(budget), ms(exec), ms(left), num(w), ms(z.s), z.out.Queue)
}

// execution is the p99 of the service alone, in seconds.
func (z *sizer) execution() float64 {
	if z.in.ServiceP99 > 0 {
		return z.in.ServiceP99.Seconds()
	}
	return z.s * math.Log(100)
}

// timeout must not end before a request that waited through a full queue has been executed.
func (z *sizer) timeout() {
	exec, wait := z.execution(), 0.0
	if w := float64(z.out.Workers.Recommended); w > 0 {
		wait = float64(z.out.Queue) / w * z.s
	}
	z.out.TimeoutMS = math.Ceil((exec+wait)*1000 - rounding)
	source := "given"
	if z.in.ServiceP99 == 0 {
		source = "ln 100 × the mean, as for exponential service"
	}
	z.step("timeout: execution p99 %s ms (%s) + queue wait %s ms = %s ms", ms(exec), source, ms(wait), num(z.out.TimeoutMS))
	if t := z.in.Timeout; t > 0 && t.Seconds()*1000 < z.out.TimeoutMS {
		z.caveat("timeout-below-wait", "the timeout of %v ends before execution and queue wait (%s ms): the caller leaves while the worker goes on", t, num(z.out.TimeoutMS))
	}
	if b := z.in.LatencyBudget; b > 0 && z.in.Timeout > b {
		z.caveat("timeout-above-budget", "the timeout of %v lies above the latency budget of %v: late answers are still waited for", z.in.Timeout, b)
	}
}

// breaker asks whether the window ever sees as many requests as the breaker wants.
func (z *sizer) breaker() {
	if z.in.BreakerVolume == 0 {
		return
	}
	seen := z.rate * z.in.BreakerWindow.Seconds()
	b := Breaker{RequestsInWindow: seen, Volume: z.in.BreakerVolume, Reached: seen >= float64(z.in.BreakerVolume)}
	z.out.Breaker = &b
	z.step("breaker: %s/s × %v = %s requests in its window against a volume of %d", num(z.rate), z.in.BreakerWindow, num(seen), b.Volume)
	if !b.Reached {
		z.caveat("breaker-never-opens", "the breaker wants %d requests in %v and sees %s: it never opens; set the volume below %d or the window above %v",
			b.Volume, z.in.BreakerWindow, num(seen), max(2, ceil(seen)), time.Duration(float64(b.Volume)/z.rate*float64(time.Second)).Round(time.Second))
	}
}

func ceil(v float64) int { return int(math.Ceil(v - rounding)) }
