package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// Hop is one limit on the way of a call, from the client inwards.
type Hop struct {
	What   string `json:"what"`  // such as «workers of tomcat»
	Slots  int    `json:"slots"` // calls that may be past it at once
	Key    string `json:"key"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Beyond string `json:"beyond"` // what happens to the next call: waits, refused
	at     limits.At
}

// Chain is the way of one kind of call with the hop that binds: the smallest, the outermost of equals.
type Chain struct {
	Name    string `json:"name"`
	Hops    []Hop  `json:"hops"`
	Binding int    `json:"binding"` // index in Hops
}

func (c Chain) binding() Hop { return c.Hops[c.Binding] }

// Chains are the ways with at least two known limits: container workers, permits or a pool, connections in all, connections to one
// instance times its instances, and this replica's share of what the dependency bears.
func Chains(sys limits.System) []Chain {
	s := &scene{System: sys}
	if len(sys.Containers) == 1 && sys.Containers[0].Workers.Known {
		s.front = &sys.Containers[0]
	}
	out := []Chain{}
	add := func(name string, hops []Hop) {
		if len(hops) < 2 {
			return
		}
		c := Chain{Name: name, Hops: hops}
		for i, h := range hops {
			if h.Slots < hops[c.Binding].Slots {
				c.Binding = i
			}
		}
		out = append(out, c)
	}
	for _, c := range sys.Commands {
		add(c.Name, s.hopsOf(c))
	}
	for _, p := range sys.Pools {
		if p.Downstream.Known {
			add(p.Name, append(s.frontHop(), s.poolHops(p)...))
		}
	}
	return out
}

// binders are the keys of the hops that bind alike.
func (c Chain) binders() []string {
	var out []string
	for _, h := range c.Hops {
		if h.Slots == c.binding().Slots && !slices.Contains(out, h.Key) {
			out = append(out, h.Key)
		}
	}
	return out
}

func hop(what string, n limits.Of[int], beyond string) Hop {
	return Hop{What: what, Slots: n.Value, Key: n.At.Key, File: n.At.File, Line: n.At.Line, Beyond: beyond, at: n.At}
}

func (s *scene) frontHop() []Hop {
	if s.front == nil {
		return nil
	}
	return []Hop{hop("workers of "+s.front.Name, s.front.Workers, "waits")}
}

func (s *scene) hopsOf(c limits.Command) []Hop {
	hops := s.frontHop()
	if slots := s.slotsOf(c); slots.Known {
		hops = append(hops, hop("slots of command "+c.Name, slots, "refused"))
	}
	if conns, ok := s.connections(c.Connections); ok {
		hops = append(hops, s.connectionHops(conns)...)
	}
	if c.Isolation.Value != limits.ByPool {
		hops = append(hops, s.shareHop(c.Downstream.Value)...)
	}
	return hops
}

func (s *scene) poolHops(p limits.Pool) []Hop {
	var hops []Hop
	if n, bounded := p.Slots(); bounded {
		slots := p.Max
		if n != p.Max.Value {
			slots = p.Core
		}
		beyond := "waits"
		if p.Queue.Value == 0 && p.Refuses {
			beyond = "refused"
		}
		hops = append(hops, hop("workers of pool "+p.Name, slots, beyond))
	}
	for _, c := range s.Connections {
		if c.Downstream.Known && c.Downstream.Value == p.Downstream.Value {
			hops = append(hops, s.connectionHops(c)...)
		}
	}
	return append(hops, s.shareHop(p.Downstream.Value)...)
}

func (s *scene) connectionHops(c limits.Connections) []Hop {
	var hops []Hop
	if c.Total.Known {
		hops = append(hops, hop("connections "+c.Name, c.Total, "waits"))
	}
	if c.PerHost.Known {
		size, what := s.perHost(c)
		hops = append(hops, hop(what, size, "waits"))
	}
	return hops
}

// perHost is the connections to all instances of the dependency; one instance where nothing says how many there are.
func (s *scene) perHost(c limits.Connections) (limits.Of[int], string) {
	hosts := 1
	if d, ok := s.downstream(c.Downstream.Value); ok && d.Hosts.Value > 0 {
		hosts = d.Hosts.Value
	}
	size := c.PerHost
	size.Value *= hosts
	return size, fmt.Sprintf("connections %s, %d to each of %d instances", c.Name, c.PerHost.Value, hosts)
}

// reach is how many connections the callers have in the end.
func (s *scene) reach(c limits.Connections) (limits.Of[int], string) {
	size, what := s.perHost(c)
	if c.PerHost.Known && (!c.Total.Known || size.Value < c.Total.Value) {
		return size, what
	}
	return c.Total, "connections " + c.Name
}

func (s *scene) shareHop(name string) []Hop {
	d, ok := s.downstream(name)
	if !ok || !d.Limit.Known {
		return nil
	}
	replicas := d.Replicas.Or(s.Replicas).Or(limits.Default(1, ""))
	share := d.Limit
	share.Value /= max(replicas.Value, 1)
	return []Hop{hop(fmt.Sprintf("share of %s, %d ÷ %d replicas", d.Name, d.Limit.Value, replicas.Value), share, "refused")}
}

// slotsOf is what bounds the command's own concurrency.
func (s *scene) slotsOf(c limits.Command) limits.Of[int] {
	switch c.Isolation.Value {
	case limits.Permits:
		return c.Permits
	case limits.ByPool:
		if p, ok := s.pool(c.Pool); ok {
			if n, bounded := p.Slots(); bounded {
				slots := p.Max
				slots.Value = n
				return slots
			}
		}
	}
	return limits.Of[int]{}
}

func bindingLimits(s *scene) []Finding {
	var out []Finding
	for _, c := range Chains(s.System) {
		parts := make([]string, len(c.Hops))
		at := []limits.At{c.binding().at}
		evidence := figures{"binding": c.binding().Slots}
		for i, h := range c.Hops {
			parts[i] = fmt.Sprintf("%d %s", h.Slots, h.What)
			at = append(at, h.at)
		}
		b := c.binding()
		next := fmt.Sprintf("call %d %s there; only %s moves this limit", b.Slots+1, beyond(b), strings.Join(c.binders(), " together with "))
		out = append(out, report(BindingLimit, finding.Info, fmt.Sprintf("in flight for %s <= min(%s) = %d: %s binds", c.Name, strings.Join(parts, ", "), b.Slots, b.What),
			next, evidence, at...))
	}
	return out
}

func beyond(h Hop) string {
	if h.Beyond == "refused" {
		return "is refused"
	}
	return h.Beyond
}

// smallest is the key of the smallest binding limit of all ways.
func smallest(chains []Chain) *string {
	var best *Hop
	for _, c := range chains {
		if b := c.binding(); best == nil || b.Slots < best.Slots {
			best = &b
		}
	}
	if best == nil {
		return nil
	}
	return &best.Key
}
