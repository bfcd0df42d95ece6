package exposition

import (
	"strings"

	"github.com/loadline-dev/loadline/internal/record"
)

// field is a figure of a pool, or one from which a figure is worked out.
type field int

const (
	core field = iota
	size
	maximum
	capacity
	active
	queue
	activeMax
	queueMax
	activeEver // the highest since the service began
	queueEver
	completed
	rejected
	timedOut
	waiting
	idle         // size = active + idle
	free         // permits not taken: active = max - free
	remaining    // room in the queue: capacity = queue + remaining
	threshold    // the queue length at which work is refused
	waitCount    // of the queue wait
	waitSeconds  // sum
	runCount     // of the execution
	runSeconds   // sum
	totalCount   // of wait and execution together
	totalSeconds // sum
	numFields    // what follows is no single figure
	waitBucket
	runBucket
	totalBucket
	none
)

// rule says what one sample's name means.
type rule struct {
	name    string
	label   string // the sample must carry this label …
	values  string // … with one of these values, separated by |
	into    field
	scale   float64 // from the text's unit to ours; 0: the same
	handOff bool    // a negative value is a queue without room, not an unknown one
	series  string  // for what is not a pool's: the series' name
	by      string  // the label whose value stands in the series' name
}

func (r rule) matches(s sample) bool {
	if r.label == "" {
		return true
	}
	v := s.label(r.label)
	if v == "" {
		return false
	}
	if r.values == "" {
		return true
	}
	for want := range strings.SplitSeq(r.values, "|") {
		if strings.EqualFold(v, want) {
			return true
		}
	}
	return false
}

func (r rule) scaled(v float64) float64 {
	if r.scale == 0 {
		return v
	}
	return v * r.scale
}

// source is a family of names that one exporter writes.
type source struct {
	id       string
	kind     record.PoolKind
	key      []string // labels that name the pool; the first present counts
	name     string   // without such a label and without a prefix
	prefixed bool     // users choose a prefix
	rules    []rule
	finish   func(*figures)
}

func (s *source) poolName(m sample, prefix string) string {
	for _, label := range s.key {
		if v := m.label(label); v != "" {
			return v
		}
	}
	if prefix != "" {
		return prefix
	}
	return s.name
}

// bound is a rule with the source it belongs to; nil for series.
type bound struct {
	source *source
	rule   rule
}

// gauge and counter read better in the tables than a struct with most fields empty.
func gauge(name string, into field) rule { return rule{name: name, into: into} }

func counter(name string, into field) rule { return rule{name: name, into: into} }

// total is a counter that some exporters write with and some without the ending _total.
func total(name string, into field) []rule {
	return []rule{{name: name, into: into}, {name: name + "_total", into: into}}
}

// state is a gauge that is split by a label.
func state(name, label, values string, into field) rule {
	return rule{name: name, label: label, values: values, into: into}
}

// units in which durations are written.
var units = []struct {
	ending string
	scale  float64
}{{"_seconds", 1}, {"_milliseconds", 1e-3}, {"_ms", 1e-3}, {"_microseconds", 1e-6}, {"_nanoseconds", 1e-9}, {"_ns", 1e-9}}

// waits, runs and totals are cumulative distributions in any of the units, with or without buckets.
func waits(name string) []rule { return timing(name, waitCount, waitSeconds, waitBucket) }

func runs(name string) []rule { return timing(name, runCount, runSeconds, runBucket) }

func totals(name string) []rule { return timing(name, totalCount, totalSeconds, totalBucket) }

func timing(name string, count, sum, bucket field) []rule {
	var out []rule
	for _, u := range units {
		out = append(out, scaledTiming(name+u.ending, u.scale, count, sum, bucket)...)
	}
	return out
}

func scaledTiming(name string, scale float64, count, sum, bucket field) []rule {
	return []rule{
		{name: name + "_count", into: count}, {name: name + "_sum", into: sum, scale: scale}, {name: name + "_bucket", into: bucket, scale: scale},
	}
}

// list joins rules and groups of rules.
func list(parts ...any) []rule {
	var out []rule
	for _, p := range parts {
		switch p := p.(type) {
		case rule:
			out = append(out, p)
		case []rule:
			out = append(out, p...)
		}
	}
	return out
}

// exact and suffixes find the rules of a name; sentinelRules those of a family that has no name of its own.
var (
	exact         = index(false)
	suffixes      = index(true)
	sentinelRules = []bound{{source: sentinelSource(), rule: state("", "type", "concurrency", active)}}
)

func index(prefixed bool) map[string][]bound {
	out := map[string][]bound{}
	for _, s := range sources() {
		if prefixed && !s.prefixed {
			continue
		}
		for _, r := range s.rules {
			out[r.name] = append(out[r.name], bound{s, r})
		}
	}
	if prefixed {
		return out
	}
	for _, r := range seriesRules() {
		out[r.name] = append(out[r.name], bound{rule: r})
	}
	return out
}

func sources() []*source {
	var out []*source
	for _, list := range [][]*source{containerSources(), executorSources(), connectionSources(), hystrixSources(), isolationSources(), meshSources()} {
		out = append(out, list...)
	}
	return out
}
