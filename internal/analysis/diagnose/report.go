package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

// Schema names the format of a Report: docs/formats/findings.md.
const Schema = "loadline.findings/1"

// Report is a diagnosis as it is written.
type Report struct {
	Schema   string    `json:"schema"`
	Findings []Finding `json:"findings"`
	Binding  *string   `json:"binding_limit"` // nil: not determined
	Missing  []string  `json:"missing"`       // what would have to be known to determine it; empty where it is
	Pools    []Pool    `json:"pools"`
	Steps    []Step    `json:"steps,omitempty"` // where several steps are diagnosed together: what binds in each
}

// Step is the limit of one of several steps.
type Step struct {
	Step    string   `json:"step"`
	Binding *string  `json:"binding_limit"`
	Missing []string `json:"missing"`
}

// Pool is a pool as dumps and counters show it.
type Pool struct {
	Step    string         `json:"step,omitempty"`
	Service string         `json:"service,omitempty"`
	Name    string         `json:"name"`
	Threads *int           `json:"threads"` // nil: unknown
	Idle    *int           `json:"idle"`
	Waiting map[string]int `json:"waiting"` // what the others do, where a dump tells
}

// NewReport diagnoses scenes, such as a look at a live service beside the steps of a run, and joins what they show. The binding limit is that of
// what binds first in any of them; where there are steps of several settings, each has its own, and the report's is that of the step that
// carried most.
func NewReport(scenes ...Scene) Report {
	out := Report{Schema: Schema, Findings: []Finding{}, Missing: []string{}, Pools: []Pool{}}
	best := -1.0
	for _, s := range scenes {
		found := Of(s)
		out.Findings = append(out.Findings, found...)
		out.Pools = append(out.Pools, pools(s)...)
		if s.Where == "" {
			continue
		}
		step := Step{Step: s.Where, Missing: []string{}}
		if step.Binding = limitOf(found); step.Binding == nil {
			step.Missing = append(step.Missing, Missing(s)...)
		}
		out.Steps = append(out.Steps, step)
		if rate := valueOr0(s.SuccessPerSec); rate > best {
			best, out.Binding, out.Missing = rate, step.Binding, step.Missing
		}
	}
	if len(out.Steps) > 0 {
		return out
	}
	slices.SortStableFunc(out.Findings, compare)
	if out.Binding = limitOf(out.Findings); out.Binding == nil {
		out.Missing = append(out.Missing, missingOfAll(scenes)...)
	}
	return out
}

func limitOf(found []Finding) *string {
	limit := Binding(found)
	if limit == nil {
		return nil
	}
	return &limit.Name
}

// missingOfAll is what no scene has.
func missingOfAll(scenes []Scene) []string {
	var out []string
	for i, s := range scenes {
		missing := Missing(s)
		if i == 0 {
			out = missing
		}
		out = slices.DeleteFunc(out, func(what string) bool { return !slices.Contains(missing, what) })
	}
	return out
}

// pools lists the pools of a scene: those of the last dump of each service, and those of which only counters are known.
func pools(s Scene) []Pool {
	out := []Pool{}
	for _, service := range sortedKeys(s.Dumps) {
		dumps := s.Dumps[service]
		for _, p := range dumps[len(dumps)-1].Pools {
			out = append(out, dumped(service, p))
		}
	}
	tells := func(p Pool) int { // Pools that count themselves stand before mere names of threads.
		if _, ok := s.Services[p.Service].Pools[p.Name]; ok {
			return 0
		}
		return 1
	}
	for _, p := range observed.Pools(s.Services) {
		known := slices.ContainsFunc(out, func(o Pool) bool { return o.Service == p.Service && o.Name == p.Name })
		if !known && p.Kind == record.KindPool {
			out = append(out, counted(p))
		}
	}
	slices.SortStableFunc(out, func(a, b Pool) int { return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(tells(a), tells(b))) })
	for i := range out {
		out[i].Step = s.Where
	}
	return out
}

func dumped(service string, p dump.Pool) Pool {
	out := Pool{Service: service, Name: p.Name, Threads: &p.Threads, Idle: &p.Idle, Waiting: map[string]int{}}
	for reason, n := range p.Waiting {
		out.Waiting[string(reason)] = n
	}
	return out
}

func counted(p observed.Named) Pool {
	out := Pool{Service: p.Service, Name: p.Name, Waiting: map[string]int{}}
	if p.Size == nil {
		return out
	}
	threads := int(math.Round(*p.Size))
	out.Threads = &threads
	if p.ActiveMean != nil {
		idle := max(0, threads-int(math.Round(*p.ActiveMean)))
		out.Idle = &idle
	}
	return out
}
