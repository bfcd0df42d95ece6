// Package diagnose says what is wrong with a service, with evidence: conditions of its pools, threads and CPU that cost throughput or latency, each
// with the figures on which it rests, what to do next, and what would refute it; and the one limit that binds, or what is missing to name it.
// Rows of the layered-tuning study's diagnosis order, failure modes and quick table are rules here. It is pure: what was observed comes in as
// a Scene. A figure that is unknown fires no rule.
package diagnose

import (
	"slices"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

// Finding is a diagnosed condition.
type Finding = finding.Finding

// Scene is what the rules look at: one cell of a run, or a look at a service whose load is not ours. The zero value holds nothing, and nothing
// is found in it.
type Scene struct {
	Where    string        // the step, where several are diagnosed together; empty: there is one
	From, To time.Duration // when the figures were taken, on the cell's clock
	Load     *record.Load  // nil: not ours
	Timeout  time.Duration // a request's; 0 unknown
	Planned  int64         // in the window
	Inside   [record.NumOutcomes]int64
	Ended    [record.NumOutcomes]int64 // in the window, whenever planned

	SuccessPerSec  *float64
	RejectedPerSec *float64
	RejectedRatio  *float64 // of the answers
	MeanMS         *float64 // response time of successes
	TimeoutP50MS   *float64 // when requests that timed out were given up

	Generator    *Generator // nil: none
	HostCPURatio *float64   // 1.0 = every core busy
	Cores        int        // 0 unknown
	OwnCores     *float64   // used by the services and the generator; the rest of the machine's use is other programs'
	AcceptQueue  *float64   // mean number of connections that nobody had accepted yet
	Services     map[string]observed.Service
	Dumps        map[string][]*dump.Summary // by service, in their order, all under this load

	Before  *Scene // the step below this one, of the same setting
	Lowest  *Scene // the lowest step
	Highest bool   // no step is above it
}

// Generator is the load generator's own state.
type Generator struct {
	Valid                                bool // nothing speaks against its figures
	CPURatio, LoopCPURatio, CPUWaitRatio *float64
	LagP99MS                             *float64
}

// rule finds a condition in a scene, once for each pool or service where it holds. It sees what the rules before it found.
type rule func(Scene, []Finding) []Finding

// rules in an order in which each finds what it asks for already found: causes before what follows from them.
func rules() []rule {
	return []rule{
		generatorBinding, inDumps, lockedGroups, growingThreads, eachPool(downstreamPool), throttled, collecting, retries, tooManyThreads, switchOverload,
		eachPool(maxUnreachable), eachPool(coreTooSmall), eachPool(queueBacklog), eachPool(pooledTooSmall), eachPool(zombieWorkers), eachPool(timeoutBelowWait),
		eachPool(consumptionBlocked), grownExecution, eachPool(executionSlowed), storms, eachPool(slotCeiling), eachPool(workersHeld), cpuBinding,
		acceptBacklog, outsidePools, threadsWaiting, eachPool(isolationTooDear),
	}
}

// Of finds everything, what binds first standing first. Every finding has its evidence with the times at which it was taken, and says what
// would refute it.
func Of(s Scene) []Finding {
	out := []Finding{}
	for _, find := range rules() {
		out = append(out, find(s, out)...)
	}
	for i := range out {
		complete(&out[i], s)
	}
	slices.SortStableFunc(out, compare)
	return out
}

func complete(f *Finding, s Scene) {
	if f.Evidence == nil {
		f.Evidence = map[string]any{}
	}
	if s.To > s.From {
		f.Evidence["from_s"], f.Evidence["to_s"] = s.From.Seconds(), s.To.Seconds()
	}
	if s.Where != "" {
		f.Evidence["step"] = s.Where
	}
	if f.Refute == "" {
		f.Refute = refutations[f.Code]
	}
}

func eachPool(find func(Scene, observed.Named, []Finding) *Finding) rule {
	return func(s Scene, found []Finding) []Finding {
		var out []Finding
		for _, p := range observed.Pools(s.Services) {
			if f := find(s, p, found); f != nil {
				f.Evidence["service"], f.Evidence["pool"] = p.Service, p.Name
				out = append(out, *f)
			}
		}
		return out
	}
}

func has(findings []Finding, codes ...finding.Code) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return slices.Contains(codes, f.Code) })
}

// hasFor tells whether a finding of one of these codes is about a service, or about the pool of it where pool is not empty.
func hasFor(findings []Finding, service, pool string, codes ...finding.Code) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool {
		return slices.Contains(codes, f.Code) && f.Evidence["service"] == service && (pool == "" || f.Evidence["pool"] == pool)
	})
}

func positive(p *float64) bool { return p != nil && *p > 0 }

func atLeast(p *float64, least float64) bool { return p != nil && *p >= least }

func valueOr0(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

// value is a step's place on the load axis.
func value(l *record.Load) float64 {
	switch {
	case l == nil:
		return 0
	case l.Model == record.Open:
		return l.RatePerSec
	default:
		return float64(l.Concurrency)
	}
}
