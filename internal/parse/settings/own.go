package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// sections are the top-level keys of Loadline's own settings document, with the keys of one entry. Keys that only the running library
// needs are known and otherwise left alone.
var sections = map[string][]string{
	"pools": {"core", "max", "queue", "threshold", "keep_alive", "core_timeout", "growth", "policy", "block_for", "queue_budget", "run_budget",
		"service_time", "rate_per_sec", "caller_timeout", "downstream"},
	"bulkheads": {"permits", "max_waiting", "max_wait", "service_time", "rate_per_sec", "caller_timeout", "downstream"},
	"breakers":  breakerKeys,
	"commands": {"isolation", "max_concurrent", "max_wait", "timeout", "timeout_from", "no_timeout", "fallback_max", "no_fallback", "breaker", "pool",
		"bulkhead", "service_time", "rate_per_sec", "downstream"},
	"downstreams": {"limit", "replicas", "hosts"},
}

var breakerKeys = []string{"window", "window_length", "window_buckets", "window_calls", "min_volume", "failure_ratio", "slow_after", "slow_ratio",
	"sleep_window", "probes", "probe_expiry", "count_rejections", "mode", "force", "rate_per_sec", "caller_timeout"}

// topLevel are the other top-level keys.
var topLevel = []string{"schema", "replicas", "tiers", "schedule", "timezone", "pool"}

// own tells Loadline's document from others by its sections.
func own(props []limits.Property) bool {
	for _, p := range props {
		head, _, _ := strings.Cut(p.At.Key, ".")
		if _, ok := sections[head]; ok || head == "pool" && strings.Contains(p.At.Key, ".") {
			return true
		}
	}
	return false
}

// document is Loadline's own settings as they are read; names of entries may contain dots, so an entry's key is what follows the last.
type document struct {
	s   *source
	sys limits.System
}

func readOwn(props []limits.Property) limits.System {
	d := &document{s: newSource(withPlainPool(props))}
	for key, p := range d.s.last {
		p.At = asWritten(p.At)
		d.s.last[key] = p
	}
	d.checkKeys()
	d.sys.Replicas = d.s.int("replicas")
	for _, name := range d.entries("pools", d.s.all) {
		d.sys.Pools = append(d.sys.Pools, d.pool("pools."+name+".", name, limits.Pool{}))
	}
	for _, name := range d.entries("bulkheads", d.s.all) {
		d.sys.Bulkheads = append(d.sys.Bulkheads, d.bulkhead(name))
	}
	for _, name := range d.entries("breakers", d.s.all) {
		d.sys.Breakers = append(d.sys.Breakers, d.breaker("breakers."+name+".", name))
	}
	for _, name := range d.entries("commands", d.s.all) {
		d.sys.Commands = append(d.sys.Commands, d.command(name))
	}
	for _, name := range d.entries("downstreams", d.s.all) {
		prefix := "downstreams." + name + "."
		d.sys.Downstreams = append(d.sys.Downstreams, limits.Downstream{Name: name, At: limits.At{Key: "downstreams." + name}, Limit: d.s.int(prefix + "limit"),
			Replicas: d.s.int(prefix + "replicas"), Hosts: d.s.int(prefix + "hosts")})
	}
	d.tiers()
	d.shareTimeouts()
	d.sys.Faults = append(d.sys.Faults, d.s.faults...)
	return d.sys
}

// withPlainPool reads «pool: {core: …}» as a document with one pool of that name.
func withPlainPool(props []limits.Property) []limits.Property {
	out := slices.Clone(props)
	for i, p := range out {
		if rest, ok := strings.CutPrefix(p.At.Key, "pool."); ok {
			out[i].At.Key = plainPool + rest
		}
	}
	return out
}

// plainPool is where a pool without a name stands while it is read.
const plainPool = "pools.pool."

func asWritten(at limits.At) limits.At {
	if rest, ok := strings.CutPrefix(at.Key, plainPool); ok {
		at.Key = "pool." + rest
	}
	return at
}

// entries are the names in a section, in order of appearance.
func (d *document) entries(section string, props []limits.Property) []string {
	var out []string
	for _, p := range props {
		rest, ok := strings.CutPrefix(p.At.Key, section+".")
		if !ok {
			continue
		}
		name, _ := entryOf(section, rest)
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// entryOf splits name.key; the breaker of a command has keys of its own.
func entryOf(section, rest string) (name, key string) {
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		return rest, ""
	}
	if inner := strings.LastIndex(rest, ".breaker."); section == "commands" && inner >= 0 {
		return rest[:inner], rest[inner+1:]
	}
	return rest[:i], rest[i+1:]
}

// checkKeys reports what the document does not know. The registry refuses such a document, so these are errors.
func (d *document) checkKeys() {
	for _, p := range d.s.all {
		key := p.At.Key
		if rest, ok := strings.CutPrefix(key, "tiers."); ok {
			_, key, _ = strings.Cut(rest, ".")
		}
		head, rest, _ := strings.Cut(key, ".")
		known, section := sections[head]
		switch {
		case strings.HasPrefix(head, "schedule["), slices.Contains(topLevel, head):
			continue
		case !section:
			d.unknown(p, head, append(slices.Sorted(mapKeys(sections)), topLevel...))
			continue
		}
		name, field := entryOf(head, rest)
		if inner, ok := strings.CutPrefix(field, "breaker."); ok {
			known, field = breakerKeys, inner
		}
		if name != "" && field != "" && !slices.Contains(known, field) {
			d.unknown(p, field, known)
		}
	}
}

func mapKeys(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (d *document) unknown(p limits.Property, name string, known []string) {
	f := limits.Fault{Kind: limits.Invalid, At: asWritten(p.At), Text: fmt.Sprintf("no such key %q", name), Next: "known are " + strings.Join(known, ", ")}
	if near, ok := limits.Nearest(name, known); ok {
		f.Next = "did you mean " + near + "?"
	}
	d.s.fault(f)
}

// pool reads one pool over what base says, which is what the document says outside a tier.
func (d *document) pool(prefix, name string, base limits.Pool) limits.Pool {
	p := base
	p.Name, p.At = name, limits.At{Key: strings.TrimSuffix(prefix, ".")}
	p.Core, p.Max = d.s.int(prefix+"core").Or(p.Core), d.s.int(prefix+"max").Or(p.Max)
	if !p.Max.Known {
		p.Max = p.Core
	}
	p.Queue = d.queue(prefix).Or(p.Queue)
	p.Threshold = d.threshold(prefix).Or(p.Threshold)
	p.KeepAlive, p.CoreTimeout = d.s.duration(time.Millisecond, prefix+"keep_alive").Or(p.KeepAlive), d.s.bool(prefix+"core_timeout").Or(p.CoreTimeout)
	p.ServiceTime, p.RatePerSec = d.s.duration(time.Millisecond, prefix+"service_time").Or(p.ServiceTime), d.s.float(prefix+"rate_per_sec").Or(p.RatePerSec)
	p.Timeout, p.Downstream = d.s.duration(time.Millisecond, prefix+"caller_timeout").Or(p.Timeout), d.s.text(prefix+"downstream").Or(p.Downstream)
	if growth := d.s.text(prefix + "growth"); growth.Known {
		p.Growth = limits.QueueFirst
		if growth.Value == "workers-first" {
			p.Growth = limits.WorkersFirst
		}
	}
	policy := d.s.text(prefix + "policy")
	p.Refuses = !policy.Known || policy.Value == "abort"
	return p
}

// queue is a capacity, or unbounded when that is asked for by name.
func (d *document) queue(prefix string) limits.Of[int] {
	p, ok := d.s.find(prefix + "queue")
	return of(d.s, p, ok, func(v string) (int, error) {
		if v == "unbounded" {
			return limits.Unbounded, nil
		}
		n, err := parseCount(v)
		if err == nil && n < 0 {
			return 0, strconv.ErrRange
		}
		return n, err
	}, "a number of tasks from 0 (hand-off) on, or unbounded")
}

// threshold is a depth, or refuse-all; 0 means none here, unlike in Hystrix.
func (d *document) threshold(prefix string) limits.Of[int] {
	p, ok := d.s.find(prefix + "threshold")
	out := of(d.s, p, ok, func(v string) (int, error) {
		if v == "refuse-all" {
			return 0, nil
		}
		n, err := parseCount(v)
		if err == nil && n < 0 {
			return 0, strconv.ErrRange
		}
		return n, err
	}, "a depth from 1 on, 0 for none, or refuse-all")
	if p.Value != "refuse-all" && out.Value == 0 {
		return limits.Of[int]{}
	}
	return out
}

func (d *document) bulkhead(name string) limits.Bulkhead {
	prefix := "bulkheads." + name + "."
	return limits.Bulkhead{Name: name, At: limits.At{Key: "bulkheads." + name}, Permits: d.s.int(prefix + "permits"),
		Wait: d.s.duration(time.Millisecond, prefix+"max_wait"), Timeout: d.s.duration(time.Millisecond, prefix+"caller_timeout"), Downstream: d.s.text(prefix + "downstream")}
}

func (d *document) breaker(prefix, name string) limits.Breaker {
	b := limits.Breaker{Name: name, At: limits.At{Key: strings.TrimSuffix(prefix, ".")}, RatePerSec: d.s.float(prefix + "rate_per_sec"),
		Timeout: d.s.duration(time.Millisecond, prefix+"caller_timeout"),
		Volume:  d.s.int(prefix + "min_volume").Or(limits.Default(20, prefix+"min_volume")), Probes: d.s.int(prefix + "probes"),
		Sleep: d.s.duration(time.Millisecond, prefix+"sleep_window"), SlowCall: d.s.duration(time.Millisecond, prefix+"slow_after")}
	if ratio := d.s.float(prefix + "failure_ratio"); ratio.Known {
		b.FailurePercent = limits.Written(100*ratio.Value, ratio.At)
	}
	if d.s.text(prefix+"window").Value == "count" {
		b.WindowCalls = d.s.int(prefix + "window_calls").Or(limits.Default(100, prefix+"window_calls"))
	} else {
		b.Window = d.s.duration(time.Millisecond, prefix+"window_length").Or(limits.Default(10*time.Second, prefix+"window_length"))
	}
	force := d.s.text(prefix + "force")
	b.ForceOpen = limits.Of[bool]{Value: force.Value == "forced-open", Known: true, Given: force.Given, At: force.At}
	b.ForceClosed = limits.Of[bool]{Value: force.Value == "forced-closed", Known: true, Given: force.Given, At: force.At}
	b.Enabled = limits.Of[bool]{Value: force.Value != "disabled", Known: true, Given: force.Given, At: force.At}
	b.RefusalsFail = d.s.bool(prefix+"count_rejections").Value || d.s.text(prefix+"mode").Value == "hystrix"
	return b
}

func (d *document) command(name string) limits.Command {
	prefix := "commands." + name + "."
	c := limits.Command{Name: name, At: limits.At{Key: "commands." + name}, Library: true,
		Timeout:     d.s.duration(time.Millisecond, prefix+"timeout").Or(limits.Default(time.Second, prefix+"timeout")),
		ServiceTime: d.s.duration(time.Millisecond, prefix+"service_time"), RatePerSec: d.s.float(prefix + "rate_per_sec"), Downstream: d.s.text(prefix + "downstream")}
	if off := d.s.bool(prefix + "no_timeout"); off.Value {
		c.Timeout = limits.Written(time.Duration(0), off.At)
	}
	switch kind := d.s.text(prefix + "isolation"); kind.Value {
	case "semaphore":
		c.Isolation = limits.Written(limits.Permits, kind.At)
		c.Permits = d.s.int(prefix + "max_concurrent").Or(limits.Default(10, prefix+"max_concurrent"))
		if held := d.s.text(prefix + "bulkhead"); held.Known {
			c.Permits = d.s.int("bulkheads." + held.Value + ".permits")
		}
	case "pool":
		c.Isolation = limits.Written(limits.ByPool, kind.At)
		c.Pool = d.s.text(prefix + "pool").Or(limits.Default(name, "")).Value
	}
	if n := d.s.int(prefix + "fallback_max"); n.Value > 0 {
		c.FallbackPermits = n
	}
	b := d.breaker(prefix+"breaker.", name)
	c.Breaker = &b
	return c
}

// shareTimeouts gives a pool the timeout of its least patient command, where it has none of its own.
func (d *document) shareTimeouts() {
	for i := range d.sys.Pools {
		p := &d.sys.Pools[i]
		if p.Timeout.Known {
			continue
		}
		for _, c := range d.sys.Commands {
			if c.Isolation.Value == limits.ByPool && c.Pool == p.Name && c.Timeout.Value > 0 && (!p.Timeout.Known || c.Timeout.Value < p.Timeout.Value) {
				p.Timeout = c.Timeout
			}
		}
	}
}

// tiers adds each tier's pools under their own name, over what the document says outside: a tier must hold as it stands.
func (d *document) tiers() {
	for _, tier := range tierNames(d.s.all) {
		for _, name := range d.entries("tiers."+tier+".pools", d.s.all) {
			var base limits.Pool
			if i := slices.IndexFunc(d.sys.Pools, func(p limits.Pool) bool { return p.Name == name }); i >= 0 {
				base = d.sys.Pools[i]
			}
			p := d.pool("tiers."+tier+".pools."+name+".", name+" (tier "+tier+")", base)
			p.Tier, p.Base = tier, name
			d.sys.Pools = append(d.sys.Pools, p)
		}
	}
}

func tierNames(props []limits.Property) []string {
	var out []string
	for _, p := range props {
		rest, ok := strings.CutPrefix(p.At.Key, "tiers.")
		name, _, _ := strings.Cut(rest, ".")
		if ok && name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
