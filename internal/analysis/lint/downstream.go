package lint

import (
	"fmt"
	"slices"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// holder is something that holds slots of a dependency: a pool of connections to it, or workers or permits that go there.
type holder struct {
	what       string // such as «pool biz»
	slots      limits.Of[int]
	downstream limits.Of[string]
	workers    bool // waits for a connection where there are too few
}

// holders are those in force while a tier is ("" where none is): the pools as it sets them take the place of those outside.
func (s *scene) holders(tier string) []holder {
	var out []holder
	for _, c := range s.Connections {
		out = append(out, holder{what: "connections " + c.Name, slots: c.Total.Or(c.PerHost), downstream: c.Downstream})
	}
	for _, p := range s.Pools {
		if n, bounded := p.Slots(); bounded && s.inForce(p, tier) {
			slots := p.Max
			slots.Value = n
			out = append(out, holder{"pool " + p.Name, slots, p.Downstream, true})
		}
	}
	for _, b := range s.Bulkheads {
		out = append(out, holder{"bulkhead " + b.Name, b.Permits, b.Downstream, true})
	}
	for _, c := range s.Commands {
		if c.Isolation.Value == limits.Permits {
			out = append(out, holder{"command " + c.Name, c.Permits, c.Downstream, true})
		}
	}
	return out
}

func (s *scene) inForce(p limits.Pool, tier string) bool {
	if p.Tier != "" || tier == "" {
		return p.Tier == tier
	}
	return !slices.ContainsFunc(s.Pools, func(q limits.Pool) bool { return q.Tier == tier && q.Base == p.Name })
}

// tiers are the tiers that set a pool, and "" for none.
func (s *scene) tiers() []string {
	out := []string{""}
	for _, p := range s.Pools {
		if !slices.Contains(out, p.Tier) {
			out = append(out, p.Tier)
		}
	}
	return out
}

// poolAboveDownstream compares what is held of a dependency over all replicas with what it bears, and workers with the connections
// that they need. Several holders of one dependency are added up: they take from one budget.
func poolAboveDownstream(s *scene) []Finding {
	var out []Finding
	for _, d := range s.Downstreams {
		for _, tier := range s.tiers() {
			out = append(out, s.aboveLimit(d, tier)...)
		}
	}
	for _, c := range s.Connections {
		out = append(out, s.aboveConnections(c)...)
	}
	return out
}

func (s *scene) aboveLimit(d limits.Downstream, tier string) []Finding {
	holders := s.holdersOf(d.Name, tier)
	if !d.Limit.Known || len(holders) == 0 {
		return nil
	}
	replicas := d.Replicas.Or(s.Replicas).Or(limits.Default(1, ""))
	sum, names := 0, ""
	at := []limits.At{}
	for i, h := range holders {
		sum += h.slots.Value
		if i > 0 {
			names += " + "
		}
		names += fmt.Sprintf("%s %d", h.what, h.slots.Value)
		at = append(at, h.slots.At)
	}
	if sum*replicas.Value <= d.Limit.Value {
		return nil
	}
	each := max(d.Limit.Value/max(replicas.Value, 1), 0)
	arithmetic := fmt.Sprintf("%s × %d replicas = %d > %d", names, replicas.Value, sum*replicas.Value, d.Limit.Value)
	if len(holders) > 1 {
		arithmetic = fmt.Sprintf("(%s) × %d replicas = %d > %d", names, replicas.Value, sum*replicas.Value, d.Limit.Value)
	}
	return []Finding{report(PoolAboveDownstream, finding.Critical, fmt.Sprintf("%s is asked for more than it bears: %s", d.Name, arithmetic),
		fmt.Sprintf("at most %d ÷ %d = %d in each replica, or a larger limit of %s first", d.Limit.Value, replicas.Value, each, d.Name),
		figures{"held": sum, "replicas": replicas.Value, "total": sum * replicas.Value, "limit": d.Limit.Value}, append(at, d.Limit.At, replicas.At)...)}
}

// holdersOf are the holders of a dependency's slots: its connection pools where it has them, since workers then wait for those.
func (s *scene) holdersOf(name, tier string) []holder {
	var direct, workers []holder
	for _, h := range s.holders(tier) {
		switch {
		case h.downstream.Value != name || !h.slots.Known || h.slots.Value < 0:
		case h.workers:
			workers = append(workers, h)
		default:
			direct = append(direct, h)
		}
	}
	if len(direct) > 0 {
		return direct
	}
	return workers
}

// everyHolder is the holders of all tiers, for what is judged one by one.
func (s *scene) everyHolder() []holder {
	out := s.holders("")
	for _, p := range s.Pools {
		if n, bounded := p.Slots(); bounded && p.Tier != "" {
			slots := p.Max
			slots.Value = n
			out = append(out, holder{"pool " + p.Name, slots, p.Downstream, true})
		}
	}
	return out
}

// aboveConnections finds workers that can only wait for a connection.
func (s *scene) aboveConnections(c limits.Connections) []Finding {
	size := c.Total.Or(c.PerHost)
	if !size.Known || !c.Downstream.Known {
		return nil
	}
	var out []Finding
	for _, h := range s.everyHolder() {
		if !h.workers || h.downstream.Value != c.Downstream.Value || h.slots.Value <= size.Value {
			continue
		}
		out = append(out, report(PoolAboveDownstream, finding.Warning,
			fmt.Sprintf("%s has %d slots on %d connections to %s: %d - %d = %d only wait for one", h.what, h.slots.Value, size.Value,
				c.Downstream.Value, h.slots.Value, size.Value, h.slots.Value-size.Value),
			fmt.Sprintf("at most %d slots, or more connections where %s bears them", size.Value, c.Downstream.Value),
			figures{"slots": h.slots.Value, "connections": size.Value, "waiting": h.slots.Value - size.Value}, h.slots.At, size.At))
	}
	return out
}
