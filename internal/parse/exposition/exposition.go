// Package exposition reads Prometheus text and finds in it the pools of the frameworks that services are built of: every family that it
// knows is mapped to the one model of a pool, with units and sentinels put right. What a family does not tell stays unknown, which is
// not 0. It does no I/O. docs/metrics.md lists the families.
package exposition

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/loadline-dev/loadline/internal/record"
)

// Reading is what one text told.
type Reading struct {
	Pools  []record.PoolSample   // by name; without service and time
	Series []record.SeriesSample // by name; without source and time

	marks map[string]marks // by pool
}

// Read reads a text in Prometheus' format 0.0.4. What stands before a fault comes back beside the error.
func Read(text io.Reader) (Reading, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		err = fmt.Errorf("metrics: %w", err)
	}
	var flat []sample
	for _, name := range slices.Sorted(maps.Keys(families)) {
		flat = append(flat, flatten(families[name])...)
	}
	if err == nil && len(flat) == 0 {
		err = ErrEmpty
	}
	return read(flat), err
}

// ErrEmpty says that a text held no metric at all.
var ErrEmpty = errors.New("metrics: found no sample, want Prometheus text")

func read(flat []sample) Reading {
	b := builder{pools: map[poolKey]*figures{}}
	for _, s := range flat {
		b.take(s)
	}
	out := Reading{Series: b.series(), marks: map[string]marks{}}
	b.finish(&out)
	return out
}

// poolKey names a pool within a reading.
type poolKey struct{ source, name string }

// builder gathers the samples of each pool.
type builder struct {
	pools  map[poolKey]*figures
	others map[string]float64
}

// take gives a sample to every rule that wants it.
func (b *builder) take(s sample) {
	if rules := exact[s.name]; rules != nil {
		b.apply(s, "", rules)
		return
	}
	// A family with a prefix of the user's choice: try the name after each underscore.
	for at := 0; ; {
		next := strings.IndexByte(s.name[at:], '_')
		if next < 0 {
			break
		}
		at += next + 1
		if rules := suffixes[s.name[at:]]; rules != nil {
			b.apply(s, s.name[:at-1], rules)
			return
		}
	}
	b.sentinel(s)
}

func (b *builder) apply(s sample, prefix string, rules []bound) {
	for _, r := range rules {
		if !r.rule.matches(s) {
			continue
		}
		if r.source == nil {
			b.note(s, r.rule)
			continue
		}
		key := poolKey{r.source.id, r.source.poolName(s, prefix)}
		f := b.pools[key]
		if f == nil {
			f = &figures{source: r.source}
			b.pools[key] = f
		}
		f.put(r.rule, s)
	}
}

// sentinel knows Alibaba's exporter by its labels: its only family is named after the application.
func (b *builder) sentinel(s sample) {
	resource, kind := s.label("resource"), s.label("type")
	if resource == "" || kind == "" || s.label("classification") == "" {
		return
	}
	b.apply(s, "", sentinelRules)
}

// finish makes the pools. Pools of different families that share a name get the family's name behind theirs.
func (b *builder) finish(out *Reading) {
	taken := map[string]int{}
	for key := range b.pools {
		taken[key.name]++
	}
	for key, f := range b.pools {
		p, ok := f.pool()
		if !ok {
			continue
		}
		p.Pool = key.name
		if taken[key.name] > 1 {
			p.Pool = key.name + " (" + key.source + ")"
		}
		out.Pools = append(out.Pools, p)
		out.marks[p.Pool] = marks{f.at(activeEver), f.at(queueEver)}
	}
	slices.SortFunc(out.Pools, func(a, b record.PoolSample) int { return strings.Compare(a.Pool, b.Pool) })
}
