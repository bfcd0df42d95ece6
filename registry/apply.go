package registry

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
)

// blank is addressable zero settings of a kind.
func blank(kind Kind) reflect.Value {
	switch kind {
	case Pool:
		return reflect.ValueOf(new(pool.Settings)).Elem()
	case Bulkhead:
		return reflect.ValueOf(new(bulkhead.Settings)).Elem()
	case Breaker:
		return reflect.ValueOf(new(breaker.Settings)).Elem()
	default:
		return reflect.ValueOf(new(command.Settings)).Elem()
	}
}

// change says who changes and what he saw.
type change struct {
	by      string
	reason  string
	version uint64
}

// Option says more about a change.
type Option func(*change)

// By names who makes the change, for the history.
func By(who string) Option { return func(c *change) { c.by = who } }

// Seen is the version on which the change was made: where the settings have changed since, it fails with ErrConflict. Without it, or with
// 0, the last writer wins.
func Seen(version uint64) Option { return func(c *change) { c.version = version } }

// Result is what a change came to.
type Result struct {
	Version  uint64    `json:"version"`  // in force now
	Changed  []Edit    `json:"changed"`  // empty where nothing changed
	Pending  []string  `json:"pending"`  // entries for members that do not exist (yet), such as pools.biz: taken up when they are added
	Findings []Finding `json:"findings"` // what the rules say of the settings now in force, warnings and information
}

// Apply puts a whole document in force in place of the one before.
func (r *Registry) Apply(d Document, options ...Option) (Result, error) {
	if err := d.Validate(); err != nil {
		return Result{}, fmt.Errorf("apply document: %w", err)
	}
	return r.change("document", options, func(c *draft) error {
		c.document = d
		if _, ok := d.Tiers[c.tier]; !ok {
			c.tier = ""
		}
		return nil
	})
}

// Override lays a section over one member by hand, above document and tier; what it does not say of an earlier override stays.
func (r *Registry) Override(kind Kind, name string, section Section, options ...Option) (Result, error) {
	return r.change("override of "+string(kind)+" "+name, options, func(c *draft) error {
		if c.find(kind, name) == nil {
			return fmt.Errorf("%s %q: %w", kind, name, ErrUnknown)
		}
		if faults := decode(blank(kind), section, string(kind)+"s."+name+"."); len(faults) > 0 {
			return errors.Join(faults...)
		}
		if c.override[kind] == nil {
			c.override[kind] = map[string]Section{}
		}
		c.override[kind][name] = c.override[kind][name].over(section)
		return nil
	})
}

// Release takes the override of one member away.
func (r *Registry) Release(kind Kind, name string, options ...Option) (Result, error) {
	return r.change("release of "+string(kind)+" "+name, options, func(c *draft) error {
		if _, ok := c.override[kind][name]; !ok {
			return fmt.Errorf("override of %s %q: %w", kind, name, ErrUnknown)
		}
		delete(c.override[kind], name)
		return nil
	})
}

// SetTier puts a tier of the document in force; "" takes any away.
func (r *Registry) SetTier(name string, options ...Option) (Result, error) {
	return r.change("tier "+name, options, func(c *draft) error {
		if _, ok := c.document.Tiers[name]; !ok && name != "" {
			return fmt.Errorf("tier %q: %w: the document has %v", name, ErrUnknown, slices.Sorted(maps.Keys(c.document.Tiers)))
		}
		c.tier = name
		return nil
	})
}

// change builds, checks and swaps.
func (r *Registry) change(reason string, options []Option, edit func(*draft) error) (Result, error) {
	ask := change{reason: reason}
	for _, o := range options {
		o(&ask)
	}
	defer r.deliver()
	r.changing.Lock()
	defer r.changing.Unlock()
	c := r.draft()
	if ask.version != 0 && ask.version != c.version {
		return Result{}, fmt.Errorf("%s: settings are at version %d, the writer saw %d: %w", reason, c.version, ask.version, ErrConflict)
	}
	if err := edit(c); err != nil {
		return Result{}, fmt.Errorf("%s: %w", reason, err)
	}
	if err := c.swap(); err != nil {
		return Result{}, fmt.Errorf("%s: %w", reason, err)
	}
	return r.commit(c, ask), nil
}

// draft is a change while it is built: copies of the layers, and what follows from them.
type draft struct {
	registry *Registry
	version  uint64
	members  []*entry
	document Document
	tier     string
	override map[Kind]map[string]Section
	was      struct {
		document Document
		tier     string
		override map[Kind]map[string]Section
	}
	steps    []step
	findings []Finding
}

// step is the change of one member.
type step struct {
	entry       *entry
	raw, before any // raw settings wanted, and those in force with defaults
	after       any // wanted, with defaults
	fallback    any // raw settings that bring back what was before
}

func (r *Registry) draft() *draft {
	r.mu.Lock()
	c := &draft{registry: r, version: r.version, members: slices.Clone(r.members), document: r.document, tier: r.tier,
		override: copyLayers(r.override), findings: []Finding{}}
	c.was.document, c.was.tier, c.was.override = r.document, r.tier, r.override
	r.mu.Unlock()
	for _, e := range c.members {
		e.reconcile()
	}
	return c
}

func copyLayers(layers map[Kind]map[string]Section) map[Kind]map[string]Section {
	out := make(map[Kind]map[string]Section, len(layers))
	for kind, named := range layers {
		out[kind] = maps.Clone(named)
	}
	return out
}

func (c *draft) find(kind Kind, name string) *entry {
	for _, e := range c.members {
		if e.kind == kind && e.name == name {
			return e
		}
	}
	return nil
}

// layers are a member's sections, the strongest last, under a tier.
func (c *draft) layers(e *entry, tier string) (facts Facts, layers []Section) {
	_, file, _ := declared(e.kind, c.document.sections(e.kind)[e.name], "")
	_, inTier, _ := declared(e.kind, c.document.Tiers[tier].sections(e.kind)[e.name], "")
	both := c.document.sections(e.kind)[e.name].over(c.document.Tiers[tier].sections(e.kind)[e.name])
	facts, _, _ = declared(e.kind, both, "")
	return facts, []Section{e.code, file, inTier, c.override[e.kind][e.name]}
}

// swap validates everything and puts it in force, or changes nothing.
func (c *draft) swap() error {
	if err := c.build(); err != nil {
		return err
	}
	if err := c.judge(); err != nil {
		return err
	}
	return c.perform()
}

// build computes the steps and validates each.
func (c *draft) build() error {
	var faults []error
	for _, e := range c.members {
		facts, layers := c.layers(e, c.tier)
		raw, err := e.sum(layers...)
		err = append(err, e.validate(raw), e.agrees(facts), c.declares(facts))
		if joined := errors.Join(err...); joined != nil {
			faults = append(faults, fmt.Errorf("%s %s: %w", e.kind, e.name, joined))
			continue
		}
		s := step{entry: e, raw: raw, before: e.last, after: e.defaults(raw)}
		s.fallback, _ = e.sum(e.sparse(e.last))
		if s.after != s.before {
			c.steps = append(c.steps, s)
		}
	}
	return errors.Join(faults...)
}

// perform applies the steps, those that shrink first, and takes all back where one fails.
func (c *draft) perform() error {
	slices.SortStableFunc(c.steps, func(a, b step) int { return growth(a) - growth(b) })
	for i, s := range c.steps {
		err := s.put()
		if err == nil {
			continue
		}
		i++ // It may have changed in part, and is taken back too.
		faults := []error{fmt.Errorf("%s %s: %w", s.entry.kind, s.entry.name, err)}
		for _, done := range slices.Backward(c.steps[:i]) {
			faults = append(faults, done.entry.put(done.fallback))
			done.entry.last = done.entry.read()
		}
		return errors.Join(faults...)
	}
	return nil
}

// put applies a step and reads back: a change that is accepted and not in force is a fault.
func (s step) put() error {
	if err := s.entry.put(s.raw); err != nil {
		return err
	}
	s.entry.last = s.entry.read()
	if s.entry.last == s.after {
		return nil
	}
	wanted, found := encode(reflect.ValueOf(s.after)), encode(reflect.ValueOf(s.entry.last))
	return fmt.Errorf("accepted but not in force: %v; change it by its own Apply or not at the same time", difference(wanted, found).keys(""))
}

// growth is how many slots a step adds.
func growth(s step) int { return slots(s.after) - slots(s.before) }

func slots(settings any) int {
	switch s := settings.(type) {
	case pool.Settings:
		return s.Max
	case bulkhead.Settings:
		return s.Permits
	case command.Settings:
		return s.MaxConcurrent
	default:
		return 0
	}
}

// commit makes the draft the registry's and writes the history, unless nothing has changed.
func (r *Registry) commit(c *draft, ask change) Result {
	edits := []Edit{}
	for _, s := range c.steps {
		edits = append(edits, editsOf(s)...)
	}
	same := len(edits) == 0 && c.tier == c.was.tier && reflect.DeepEqual(c.document, c.was.document) && reflect.DeepEqual(c.override, c.was.override)
	r.mu.Lock()
	if !same {
		r.version++
	}
	r.document, r.tier, r.override = c.document, c.tier, c.override
	done := Change{Version: r.version, At: r.config.Now(), By: ask.by, Reason: ask.reason, Tier: c.tier, Edits: edits}
	if !same {
		r.rememberLocked(done)
	}
	result := Result{Version: r.version, Changed: edits, Pending: c.pending(), Findings: c.findings}
	r.mu.Unlock()
	return result
}

// rememberLocked writes the history and keeps the change for OnChange.
func (r *Registry) rememberLocked(done Change) {
	r.history = append(r.history, done)
	r.history = r.history[max(0, len(r.history)-r.config.History):]
	if r.config.OnChange != nil {
		r.outbox = append(r.outbox, done)
	}
}

// deliver hands changes to OnChange in order and outside locks. While one goroutine delivers, others leave theirs to it.
func (r *Registry) deliver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.delivering {
		return
	}
	r.delivering = true
	defer func() { r.delivering = false }()
	for len(r.outbox) > 0 {
		done := r.outbox[0]
		r.outbox = r.outbox[1:]
		r.tell(done)
	}
}

// tell calls OnChange with mu given back meanwhile, whatever the callee does.
func (r *Registry) tell(done Change) {
	r.mu.Unlock()
	defer r.mu.Lock()
	r.config.OnChange(done)
}

// pending are entries of the document that no member has.
func (c *draft) pending() []string {
	out := []string{}
	for _, kind := range kinds {
		for _, name := range slices.Sorted(maps.Keys(c.document.sections(kind))) {
			if c.find(kind, name) == nil {
				out = append(out, string(kind)+"s."+name)
			}
		}
	}
	return out
}

// Change is one change of settings. Several values change in one step.
type Change struct {
	Version uint64    `json:"version"` // after it
	At      time.Time `json:"at"`
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason"`
	Tier    string    `json:"tier,omitempty"` // in force after it
	Edits   []Edit    `json:"edits"`
}

// Edit is one value that a change changed, as documents write values.
type Edit struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	Key    string `json:"key"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

func editsOf(s step) []Edit {
	before, after := encode(reflect.ValueOf(s.before)), encode(reflect.ValueOf(s.after))
	var out []Edit
	for _, key := range difference(after, before).keys("") {
		b, _ := before.at(key)
		a, _ := after.at(key)
		out = append(out, Edit{Kind: s.entry.kind, Name: s.entry.name, Key: key, Before: b, After: a})
	}
	return out
}

// History is the changes that are kept, oldest first.
func (r *Registry) History() []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Change{}, r.history...)
}

// Document is the document in force, and the tier.
func (r *Registry) Document() (d Document, tier string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.document, r.tier
}
