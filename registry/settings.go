package registry

import (
	"reflect"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
)

// Origin is where a value in force comes from.
type Origin string

// The origins, the weakest first.
const (
	FromDefault  Origin = "default"
	FromCode     Origin = "code"
	FromFile     Origin = "file" // the settings document
	FromTier     Origin = "tier"
	FromOverride Origin = "override"
)

var layerOrigins = []Origin{FromCode, FromFile, FromTier, FromOverride}

// Setting is one value in force, as documents write it.
type Setting struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin Origin `json:"origin"`
}

// Settings is every value in force with its origin, by kind, name and key. Values are read back from the members themselves.
func (r *Registry) Settings() []Setting {
	r.changing.Lock()
	defer r.changing.Unlock()
	c := r.draft()
	out := []Setting{}
	for _, e := range c.members {
		_, layers := c.layers(e, c.tier)
		now := encode(reflect.ValueOf(e.last))
		for _, key := range now.keys("") {
			s := Setting{Kind: e.kind, Name: e.name, Key: key, Origin: FromDefault}
			s.Value, _ = now.at(key)
			for i, layer := range layers {
				if _, ok := layer.at(key); ok {
					s.Origin = layerOrigins[i]
				}
			}
			out = append(out, s)
		}
	}
	return out
}

// Snapshot is how everything stands. Members are read one after the other.
type Snapshot struct {
	At        time.Time
	Version   uint64 // of the settings
	Tier      string
	Pools     []pool.Snapshot
	Bulkheads []bulkhead.Snapshot
	Breakers  []breaker.Snapshot // those that are members themselves
	Commands  []CommandSnapshot
}

// CommandSnapshot is a command with its breaker, its own or a shared one.
type CommandSnapshot struct {
	command.Snapshot
	Breaker  breaker.Snapshot
	PoolName string // of the pool that it was given; empty where it has none
}

// Snapshot reads every member, each kind ordered by name.
func (r *Registry) Snapshot() Snapshot {
	r.mu.Lock()
	out := Snapshot{At: r.config.Now(), Version: r.version, Tier: r.tier}
	r.mu.Unlock()
	for _, e := range r.entries() {
		switch t := e.thing.(type) {
		case *pool.Pool:
			out.Pools = append(out.Pools, t.Snapshot())
		case *bulkhead.Bulkhead:
			out.Bulkheads = append(out.Bulkheads, t.Snapshot())
		case *breaker.Breaker:
			out.Breakers = append(out.Breakers, t.Snapshot())
		case Controlled:
			c := CommandSnapshot{Snapshot: t.Snapshot(), Breaker: t.Breaker().Snapshot()}
			if p := t.Pool(); p != nil {
				c.PoolName = p.Name()
			}
			out.Commands = append(out.Commands, c)
		}
	}
	return out
}
