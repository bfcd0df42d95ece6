// Package lint judges settings before any load is sent: it holds one rule for each trap that users of pools, bulkheads, breakers and
// gateways fall into, and says for each the keys, the arithmetic and the mend. It also computes which limit binds on the way of a call.
// It reads the common model of package limits and nothing else: no file, no clock.
//
// A rule speaks only where the figures it needs are known: no service time, no word about waiting. Critical findings are settings that
// cannot do their work (they refuse everything, or pass what a dependency bears); warnings act otherwise than they read; the rest is
// information. The registry refuses a settings document with critical findings; the check verb exits 3 on them.
//
// The package imports the standard library only, since the public registry stands on it.
package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// Schema is the name of the format that a Report is written in (docs/formats/findings.md).
const Schema = "loadline.findings/1"

// Finding is a trap with the settings that make it.
type Finding struct {
	finding.Finding
	Keys []string `json:"keys"`           // every setting that has to do with it, the one to change first
	File string   `json:"file,omitempty"` // of the first key that is written somewhere
	Line int      `json:"line,omitempty"` // likewise; from 1
}

// Report is what is found in a system. Findings are ordered by severity, then by place.
type Report struct {
	Schema   string    `json:"schema"`
	Findings []Finding `json:"findings"`
	Binding  *string   `json:"binding_limit"` // the key of the smallest limit on the way of a call; null where no way is known
	Pools    []Pool    `json:"pools"`
	Chains   []Chain   `json:"chains"`
}

// Pool is a pool as it was understood.
type Pool struct {
	Name    string `json:"name"`
	Threads *int   `json:"threads"` // the most workers; null where nothing bounds them
	Idle    *int   `json:"idle"`    // null: settings do not tell
}

// Errors are the critical findings.
func (r Report) Errors() []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if f.Severity == finding.Critical {
			out = append(out, f)
		}
	}
	return out
}

// Rule is one line of the table of rules.
type Rule struct {
	Code    finding.Code
	Meaning string
	find    func(*scene) []Finding
}

// scene is the system with what several rules look up in it.
type scene struct {
	limits.System
	front *limits.Container // the workers in front, where there is exactly one set of them
}

// Check applies every rule.
func Check(sys limits.System) Report {
	s := &scene{System: sys}
	if len(sys.Containers) == 1 && sys.Containers[0].Workers.Known {
		s.front = &sys.Containers[0]
	}
	r := Report{Schema: Schema, Findings: []Finding{}, Pools: []Pool{}, Chains: Chains(sys)}
	for _, rule := range Rules() {
		r.Findings = append(r.Findings, rule.find(s)...)
	}
	slices.SortStableFunc(r.Findings, byWeight)
	for _, p := range sys.Pools {
		out := Pool{Name: p.Name}
		if n, ok := p.Slots(); ok {
			out.Threads = &n
		}
		r.Pools = append(r.Pools, out)
	}
	r.Binding = smallest(r.Chains)
	return r
}

func byWeight(a, b Finding) int {
	return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

func rank(s finding.Severity) int {
	return slices.Index([]finding.Severity{finding.Critical, finding.Warning, finding.Info}, s)
}

// figures is the evidence of a finding, by name with the unit last.
type figures = map[string]any

// report makes a finding from the places of the settings that make it.
func report(code finding.Code, severity finding.Severity, text, next string, evidence figures, at ...limits.At) Finding {
	f := Finding{Finding: finding.Finding{Code: code, Severity: severity, Text: text, Evidence: evidence, Next: next}, Keys: []string{}}
	if f.Evidence == nil {
		f.Evidence = figures{}
	}
	for _, a := range at {
		if a.Key == "" || slices.Contains(f.Keys, a.Key) {
			continue
		}
		f.Keys = append(f.Keys, a.Key)
		if f.Line == 0 && a.Line > 0 {
			f.File, f.Line = a.File, a.Line
		}
	}
	return f
}

// eachPool, eachCommand and eachBreaker lift a rule about one to a rule about the system.
func eachPool(find func(limits.Pool) []Finding) func(*scene) []Finding {
	return func(s *scene) []Finding {
		var out []Finding
		for _, p := range s.Pools {
			out = append(out, find(p)...)
		}
		return out
	}
}

func eachCommand(find func(*scene, limits.Command) []Finding) func(*scene) []Finding {
	return func(s *scene) []Finding {
		var out []Finding
		for _, c := range s.Commands {
			out = append(out, find(s, c)...)
		}
		return out
	}
}

func eachBreaker(find func(limits.Breaker) []Finding) func(*scene) []Finding {
	return func(s *scene) []Finding {
		var out []Finding
		for _, b := range s.breakers() {
			out = append(out, find(b)...)
		}
		return out
	}
}

func all(rules ...func(*scene) []Finding) func(*scene) []Finding {
	return func(s *scene) []Finding {
		var out []Finding
		for _, find := range rules {
			out = append(out, find(s)...)
		}
		return out
	}
}

// breakers are those that stand alone and those of commands, which know their command's timeout and rate.
func (s *scene) breakers() []limits.Breaker {
	out := slices.Clone(s.Breakers)
	for _, c := range s.Commands {
		if c.Breaker == nil {
			continue
		}
		b := *c.Breaker
		b.Timeout, b.RatePerSec = b.Timeout.Or(c.Timeout), b.RatePerSec.Or(c.RatePerSec)
		out = append(out, b)
	}
	return out
}

func (s *scene) pool(name string) (limits.Pool, bool) {
	i := slices.IndexFunc(s.Pools, func(p limits.Pool) bool { return p.Name == name })
	if i < 0 {
		return limits.Pool{}, false
	}
	return s.Pools[i], true
}

func (s *scene) downstream(name string) (limits.Downstream, bool) {
	i := slices.IndexFunc(s.Downstreams, func(d limits.Downstream) bool { return d.Name == name })
	if i < 0 || name == "" {
		return limits.Downstream{}, false
	}
	return s.Downstreams[i], true
}

func (s *scene) connections(name string) (limits.Connections, bool) {
	i := slices.IndexFunc(s.Connections, func(c limits.Connections) bool { return c.Name == name })
	if i < 0 || name == "" {
		return limits.Connections{}, false
	}
	return s.Connections[i], true
}
