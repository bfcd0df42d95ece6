package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// Kind names an engine.
type Kind string

// The engines.
const (
	Auto    Kind = ""        // the fast one where it can carry the target
	Fast    Kind = "fast"    // own sockets and event loops: HTTP/1.1 in clear text
	General Kind = "general" // net/http: TLS, HTTP/2, proxies, redirects
)

// Config says how load is sent, apart from what it is.
type Config struct {
	Kind Kind
	// Loops is the number of threads that send, for the fast engine. 0: 1.
	Loops int
	// Folder is where the names of body files begin. Empty: the working folder.
	Folder string
	// Function takes the place of the target, of which the timeout alone counts. nil: the target is served over the network.
	Function Function
}

// Validate joins all faults.
func (c Config) Validate() error {
	const most = 64
	var faults []error
	if c.Loops < 0 || c.Loops > most {
		faults = append(faults, fmt.Errorf("load: loops: found %d, allowed: 0 to %d", c.Loops, most))
	}
	if c.Kind != Auto && c.Kind != Fast && c.Kind != General {
		faults = append(faults, fmt.Errorf("load: engine: found %q, allowed: %s, %s, or nothing", c.Kind, Fast, General))
	}
	return errors.Join(faults...)
}

// New returns an engine. With Kind Auto it chooses for each job by its target.
func New(c Config) (Engine, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &engine{config: c}, nil
}

// engine chooses among the engines.
type engine struct{ config Config }

// Run implements Engine.
func (e *engine) Run(ctx context.Context, job Job, sink Sink) error {
	if err := job.validate(); err != nil {
		return err
	}
	if e.config.Function != nil {
		return (&general{config: e.config, open: openFunction(e.config.Function)}).Run(ctx, job, sink)
	}
	if err := checkGRPC(job.Target); err != nil {
		return err
	}
	reason := needsGeneral(job.Target)
	switch {
	case e.config.Kind == Fast && reason != "":
		return fmt.Errorf("load: the fast engine cannot carry this target: it %s; use the general engine", reason)
	case (e.config.Kind == General || reason != "") && job.Target.Client.MaxRequests > 0:
		return fmt.Errorf("load: client: max_requests: found %d with the general engine, allowed: 0, since only the fast one counts the requests of a connection",
			job.Target.Client.MaxRequests)
	case e.config.Kind == General || reason != "":
		return (&general{config: e.config, open: openHTTP}).Run(ctx, job, sink)
	}
	return (&fast{config: e.config}).Run(ctx, job, sink)
}

// needsGeneral says why the fast engine cannot carry a target; empty: it can.
func needsGeneral(t plan.Target) string {
	all := urls(t)
	for _, u := range all {
		switch {
		case strings.HasPrefix(hostOf(u), "https:"):
			return "uses TLS"
		case hostOf(u) != hostOf(all[0]):
			return "has several hosts"
		}
	}
	switch {
	case t.Client.Protocol == plan.ProtocolHTTP2, t.Client.Protocol == plan.ProtocolGRPC:
		return "uses HTTP/2"
	case t.Client.Proxy != "":
		return "uses a proxy"
	case t.Client.Follow > 0:
		return "follows redirects"
	}
	return ""
}

func (j Job) validate() error {
	faults := []error{j.Phases.validate()}
	switch j.Load.Model {
	case record.Closed:
		if j.Load.Concurrency < 1 {
			faults = append(faults, fmt.Errorf("load: concurrency: found %d, allowed: 1 and more", j.Load.Concurrency))
		}
	case record.Open:
		if !(j.Load.RatePerSec > 0) && len(j.Shape.Profile) == 0 && len(j.Shape.Recorded) == 0 {
			faults = append(faults, fmt.Errorf("load: rate: found %v, allowed: more than 0 per second", j.Load.RatePerSec))
		}
	default:
		faults = append(faults, fmt.Errorf("load: model: found %q, allowed: %s, %s", j.Load.Model, record.Closed, record.Open))
	}
	if j.Shape.Grain < 0 || j.Shape.Grain > time.Second {
		faults = append(faults, fmt.Errorf("load: grain: found %v, allowed: 0 to 1s", j.Shape.Grain))
	}
	if j.Shape.Requests < 0 {
		faults = append(faults, fmt.Errorf("load: requests: found %d, allowed: 0 and more", j.Shape.Requests))
	}
	if j.Shape.MaxInFlight < 0 || j.Shape.Connections < 0 {
		faults = append(faults, fmt.Errorf("load: found %d in flight at most over %d connections at most, allowed: 0 and more", j.Shape.MaxInFlight, j.Shape.Connections))
	}
	if j.Load.Think < 0 {
		faults = append(faults, fmt.Errorf("load: think: found %v, allowed: 0 and more", j.Load.Think))
	}
	return errors.Join(faults...)
}

// begin is the instant from which times count, and how long after it the first phase begins.
func (j Job) begin() (origin time.Time, start time.Duration) {
	now := time.Now()
	if j.Origin.IsZero() {
		return now, 0
	}
	return j.Origin, max(0, now.Sub(j.Origin))
}
