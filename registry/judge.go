package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/lint"
	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/pool"
)

// Finding is a condition with its evidence; docs/findings.md lists the codes.
type Finding struct {
	Code     string         `json:"code"`
	Severity string         `json:"severity"` // info, warning, critical
	Text     string         `json:"text"`     // a sentence with the arithmetic
	Keys     []string       `json:"keys"`     // the settings that have to do with it, as in a document
	Evidence map[string]any `json:"evidence"` // figures by name, the unit last
	Next     string         `json:"next"`     // what to do
}

// Critical tells whether a change with this finding is refused.
func (f Finding) Critical() bool { return f.Severity == string(finding.Critical) }

// RefusedError says that a change was refused because of what the rules say of its result.
type RefusedError struct{ Findings []Finding }

// Error is the critical findings, one a line.
func (e *RefusedError) Error() string {
	lines := []string{"refused"}
	for _, f := range e.Findings {
		if f.Critical() {
			lines = append(lines, f.Code+": "+f.Text+"; "+f.Next)
		}
	}
	return strings.Join(lines, "\n")
}

// judge validates every tier and looks at the whole with the rules.
func (c *draft) judge() error {
	sys, err := c.system()
	if err != nil {
		return err
	}
	refused := false
	for _, f := range lint.Check(sys).Findings {
		own := Finding{Code: string(f.Code), Severity: string(f.Severity), Text: f.Text, Keys: f.Keys, Evidence: f.Evidence, Next: f.Next}
		c.findings = append(c.findings, own)
		refused = refused || own.Critical()
	}
	if refused {
		return &RefusedError{Findings: c.findings}
	}
	return nil
}

// Findings is what the rules say of the settings in force and of every tier, and of the waits that were seen.
func (r *Registry) Findings() []Finding {
	r.changing.Lock()
	defer r.changing.Unlock()
	c := r.draft()
	err := c.judge()
	var refused *RefusedError
	if err != nil && !errors.As(err, &refused) {
		c.findings = append(c.findings, Finding{Code: string(lint.InvalidValue), Severity: string(finding.Critical), Text: err.Error(), Keys: []string{},
			Evidence: map[string]any{}, Next: "the change was made behind the registry's back: set it right there"})
	}
	return append(r.Starvation(), c.findings...)
}

// system is the settings wanted in the common model, and what is wrong with those of tiers that are not in force.
func (c *draft) system() (limits.System, error) {
	sys := limits.System{Replicas: c.replicas(), Downstreams: c.downstreams()}
	var faults []error
	for _, tier := range append([]string{""}, slices.Sorted(maps.Keys(c.document.Tiers))...) {
		for _, e := range c.members {
			if _, set := c.document.Tiers[tier].sections(e.kind)[e.name]; tier != "" && !set {
				continue
			}
			facts, layers := c.layers(e, tier)
			raw, err := e.sum(layers...)
			err = append(err, e.validate(raw), c.declares(facts))
			if joined := errors.Join(err...); joined != nil {
				faults = append(faults, fmt.Errorf("tier %q: %s %s: %w", tier, e.kind, e.name, joined))
				continue
			}
			v := view{thing: e.thing, kind: e.kind, name: e.name, tier: tier, facts: facts, given: Section{}.over(layers[0]).over(layers[1]).over(layers[2]).over(layers[3])}
			v.add(&sys, e.defaults(raw))
		}
	}
	shareTimeouts(&sys)
	return sys, errors.Join(faults...)
}

func (c *draft) replicas() limits.Of[int] {
	if c.document.Replicas > 0 {
		return limits.Written(c.document.Replicas, limits.At{Key: "replicas"})
	}
	return limits.Default(max(c.registry.config.Replicas, 1), "replicas")
}

// budgets are the downstreams declared, the document's before the registry's own.
func (c *draft) budgets() map[string]Downstream {
	all := map[string]Downstream{}
	maps.Copy(all, c.registry.config.Downstreams)
	maps.Copy(all, c.document.Downstreams)
	return all
}

// declares checks that a downstream that is named has a limit: a name with a slip of the pen would leave it out of every check.
func (c *draft) declares(facts Facts) error {
	all := c.budgets()
	if _, ok := all[facts.Downstream]; ok || facts.Downstream == "" {
		return nil
	}
	hint := "declare it under downstreams"
	if near, ok := limits.Nearest(facts.Downstream, slices.Sorted(maps.Keys(all))); ok {
		hint = "did you mean " + near + "?"
	}
	return fmt.Errorf("downstream: %q is not declared; %s", facts.Downstream, hint)
}

func (c *draft) downstreams() []limits.Downstream {
	all := c.budgets()
	var out []limits.Downstream
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		at := limits.At{Key: "downstreams." + name + ".limit"}
		out = append(out, limits.Downstream{Name: name, At: at, Limit: limits.Written(d.Limit, at)})
		if d.Replicas > 0 {
			out[len(out)-1].Replicas = limits.Written(d.Replicas, limits.At{Key: "downstreams." + name + ".replicas"})
		}
		if d.Hosts > 0 {
			out[len(out)-1].Hosts = limits.Written(d.Hosts, limits.At{Key: "downstreams." + name + ".hosts"})
		}
	}
	return out
}

// shareTimeouts gives a pool the timeout of its least patient command, where nothing else is known of its callers.
func shareTimeouts(sys *limits.System) {
	for i := range sys.Pools {
		p := &sys.Pools[i]
		for _, cmd := range sys.Commands {
			if p.Timeout.Given || cmd.Isolation.Value != limits.ByPool || cmd.Pool != p.Base && cmd.Pool != p.Name || cmd.Timeout.Value <= 0 {
				continue
			}
			if !p.Timeout.Known || cmd.Timeout.Value < p.Timeout.Value {
				p.Timeout = limits.Of[time.Duration]{Value: cmd.Timeout.Value, Known: true, At: cmd.Timeout.At}
			}
		}
	}
}

// view turns one member's settings into the common model.
type view struct {
	thing      any
	kind       Kind
	name, tier string
	facts      Facts
	given      Section
}

func (v view) at(key string) limits.At {
	prefix := string(v.kind) + "s." + v.name + "."
	if v.tier != "" {
		prefix = "tiers." + v.tier + "." + prefix
	}
	return limits.At{Key: prefix + key}
}

func of[T any](v view, value T, key string) limits.Of[T] {
	_, given := v.given.at(key)
	return limits.Of[T]{Value: value, Known: true, Given: given, At: v.at(key)}
}

// fact is a declared value, known only where it is not zero.
func fact[T comparable](v view, value T, key string) limits.Of[T] {
	var zero T
	if value == zero {
		return limits.Of[T]{}
	}
	return limits.Written(value, v.at(key))
}

func (v view) label() string {
	if v.tier == "" {
		return v.name
	}
	return v.name + " (tier " + v.tier + ")"
}

func (v view) add(sys *limits.System, settings any) {
	switch s := settings.(type) {
	case pool.Settings:
		sys.Pools = append(sys.Pools, v.pool(s))
	case bulkhead.Settings:
		if v.tier == "" {
			sys.Bulkheads = append(sys.Bulkheads, limits.Bulkhead{Name: v.name, At: v.at(""), Permits: of(v, s.Permits, "permits"), Wait: of(v, s.MaxWait, "max_wait"),
				Timeout: fact(v, v.facts.CallerTimeout, "caller_timeout"), Downstream: fact(v, v.facts.Downstream, "downstream")})
		}
	case breaker.Settings:
		b := v.breaker(s, "")
		b.Timeout = fact(v, v.facts.CallerTimeout, "caller_timeout")
		sys.Breakers = append(sys.Breakers, b)
	case command.Settings:
		if v.tier == "" {
			sys.Commands = append(sys.Commands, v.command(s))
		}
	}
}

func (v view) pool(s pool.Settings) limits.Pool {
	p := limits.Pool{Name: v.label(), At: v.at("core"), Tier: v.tier, Core: of(v, s.Core, "core"), Max: of(v, s.Max, "max"), Queue: of(v, s.Queue, "queue"),
		KeepAlive: of(v, s.KeepAlive, "keep_alive"), CoreTimeout: of(v, s.CoreTimeout, "core_timeout"),
		Timeout: fact(v, v.facts.CallerTimeout, "caller_timeout"), ServiceTime: fact(v, v.facts.ServiceTime, "service_time"),
		RatePerSec: fact(v, v.facts.RatePerSec, "rate_per_sec"), Downstream: fact(v, v.facts.Downstream, "downstream"), Refuses: s.Policy == pool.Abort}
	if v.tier != "" {
		p.Base = v.name
	}
	if s.Queue == pool.Unbounded {
		p.Queue.Value = limits.Unbounded
	}
	if s.Growth == pool.WorkersFirst {
		p.Growth = limits.WorkersFirst
	}
	if s.Threshold != 0 && s.Queue != 0 {
		p.Threshold = of(v, max(s.Threshold, 0), "threshold")
	}
	return p
}

func (v view) breaker(s breaker.Settings, prefix string) limits.Breaker {
	yes := func(b bool, key string) limits.Of[bool] { return of(v, b, prefix+key) }
	b := limits.Breaker{Name: v.label(), At: v.at(strings.TrimSuffix(prefix, ".")), Enabled: yes(s.Force != breaker.Disabled, "force"),
		ForceOpen: yes(s.Force == breaker.ForcedOpen, "force"), ForceClosed: yes(s.Force == breaker.ForcedClosed, "force"),
		Volume: of(v, s.MinVolume, prefix+"min_volume"), FailurePercent: of(v, 100*s.FailureRatio, prefix+"failure_ratio"),
		Sleep: of(v, s.SleepWindow, prefix+"sleep_window"), Probes: of(v, s.Probes, prefix+"probes"), SlowCall: of(v, s.SlowAfter, prefix+"slow_after"),
		HalfOpenMax: of(v, s.ProbeExpiry, prefix+"probe_expiry"), RefusalsFail: s.CountRejections, RatePerSec: fact(v, v.facts.RatePerSec, "rate_per_sec")}
	if s.Window == breaker.Count {
		b.WindowCalls = of(v, s.WindowCalls, prefix+"window_calls")
	} else {
		b.Window = of(v, s.WindowLength, prefix+"window_length")
	}
	return b
}

func (v view) command(s command.Settings) limits.Command {
	b := v.breaker(s.Breaker, "breaker.")
	c := limits.Command{Name: v.name, At: v.at("isolation"), Library: true, Timeout: of(v, s.Timeout, "timeout"), Breaker: &b,
		ServiceTime: fact(v, v.facts.ServiceTime, "service_time"), RatePerSec: fact(v, v.facts.RatePerSec, "rate_per_sec"),
		Downstream: fact(v, v.facts.Downstream, "downstream")}
	if s.NoTimeout {
		c.Timeout = of(v, time.Duration(0), "no_timeout")
	}
	switch s.Isolation {
	case command.Semaphore:
		c.Isolation, c.Permits = of(v, limits.Permits, "isolation"), of(v, s.MaxConcurrent, "max_concurrent")
		// A shared bulkhead stands in the model by itself: its permits are not the command's to be added up.
		if b := v.thing.(Controlled).Bulkhead(); b != nil && b.Name() != v.name {
			c.Permits = limits.Of[int]{}
		}
	case command.Pool:
		c.Isolation = of(v, limits.ByPool, "isolation")
		if p := v.thing.(Controlled).Pool(); p != nil {
			c.Pool = p.Name()
		}
	}
	if s.FallbackMax > 0 && !s.NoFallback {
		c.FallbackPermits = of(v, s.FallbackMax, "fallback_max")
	}
	return c
}
