package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadline-dev/loadline/breaker"
	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/command"
	"github.com/loadline-dev/loadline/pool"
)

// Kind is what a member of the registry is.
type Kind string

// The kinds.
const (
	Pool     Kind = "pool"
	Bulkhead Kind = "bulkhead"
	Breaker  Kind = "breaker"
	Command  Kind = "command"
)

var kinds = []Kind{Pool, Bulkhead, Breaker, Command}

// What errors.Is finds in the errors of a registry.
var (
	// ErrConflict: the settings have changed since the version that the writer saw.
	ErrConflict = errors.New("version conflict")
	// ErrUnknown: no member, tier or layer has that name.
	ErrUnknown = errors.New("unknown")
	// ErrExists: another member of the kind has that name.
	ErrExists = errors.New("exists already")
)

// Config describes a registry. Its zero value is usable.
type Config struct {
	// Replicas is how many instances of this process share the dependencies: 1 by default. A document's own replicas go before it.
	Replicas int
	// Downstreams are dependencies and what they bear, by name. A document's own go before those of the same name.
	Downstreams map[string]Downstream
	// History is how many changes are kept: 1 to 100 000, 1000 by default. The oldest are forgotten first.
	History int
	// OnChange learns of each change, in order; OnStarvation of each pool or cycle of pools that waits on itself, once each and before
	// the wait begins. Both are called outside locks, on a goroutine that changes or waits, and may use the registry. None is required.
	OnChange     func(Change)
	OnStarvation func(Finding)
	// Now is the clock of history, schedule and streams: time.Now by default.
	Now func() time.Time
}

const (
	defaultHistory = 1000
	maxHistory     = 100_000
	maxReplicas    = 1_000_000
)

// Validate reports every fault of the configuration, each with the field and what is allowed. It changes nothing.
func (c Config) Validate() error {
	var faults []error
	if c.Replicas < 0 || c.Replicas > maxReplicas {
		faults = append(faults, outside("Replicas", c.Replicas, maxReplicas, 1))
	}
	if c.History < 0 || c.History > maxHistory {
		faults = append(faults, outside("History", c.History, maxHistory, defaultHistory))
	}
	for name, d := range c.Downstreams {
		faults = append(faults, d.validate("Downstreams."+name))
	}
	return errors.Join(faults...)
}

func outside(field string, found, highest, otherwise int) error {
	return fmt.Errorf("%s: %d: allowed 1 to %d, or 0 for %d", field, found, highest, otherwise)
}

// Registry keeps members by kind and name. It is safe for concurrent use and must be made by New; it owns no goroutine (Run is the
// caller's) and needs no closing. Members are not closed with it. Hooks of the members themselves run while a change is under way
// and must not call back methods that change, list or judge settings.
type Registry struct {
	config Config

	changing sync.Mutex // held through a whole change; taken before mu

	mu       sync.Mutex // guards what follows; no member's method is called under it that could call back
	members  []*entry   // in order of kind, then name
	document Document
	tier     string
	override map[Kind]map[string]Section
	version  uint64
	history  []Change
	outbox   []Change // for OnChange
	streams  int
	graph    graph

	delivering bool // a goroutine empties outbox
	rolling    *rolling
}

// New returns an empty registry.
func New(config Config) (*Registry, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	if config.History == 0 {
		config.History = defaultHistory
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	r := &Registry{config: config, version: 1, override: map[Kind]map[string]Section{}, rolling: newRolling(), graph: newGraph()}
	return r, nil
}

// NewPool makes a pool that is a member and tells the registry of its waits before they begin. Its own hooks are called too.
func (r *Registry) NewPool(config pool.Config) (*pool.Pool, error) {
	config.Hooks = r.Hooks(config.Hooks)
	p, err := pool.New(config)
	if err != nil {
		return nil, err
	}
	if err := r.Add(p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Hooks are the given hooks with the registry as a further listener of waits, for a pool that is made elsewhere and added later.
func (r *Registry) Hooks(hooks pool.Hooks) pool.Hooks {
	own := hooks.OnWait
	hooks.OnWait = func(from, to *pool.Pool) {
		r.learn(from.Name(), to.Name())
		if own != nil {
			own(from, to)
		}
	}
	return hooks
}

// Controlled is a command whatever its result type: *command.Command[T] has it embedded.
type Controlled interface {
	Name() string
	Group() string
	Settings() command.Settings
	Apply(command.Settings) error
	Snapshot() command.Snapshot
	Breaker() *breaker.Breaker
	Bulkhead() *bulkhead.Bulkhead
	Pool() *pool.Pool
	Close(ctx context.Context) error
}

// Add makes members of *pool.Pool, *bulkhead.Bulkhead, *breaker.Breaker and commands. What a document already says of a name is put in
// force at once, under the same checks as a change; when that is refused the member is not added. A command's own breaker is
// reached through the command's settings; add a shared one by itself.
func (r *Registry) Add(things ...any) error {
	for _, thing := range things {
		e, err := entryOf(thing)
		if err != nil {
			return err
		}
		if err := r.add(e); err != nil {
			return fmt.Errorf("add %s %q: %w", e.kind, e.name, err)
		}
	}
	return nil
}

func entryOf(thing any) (*entry, error) {
	switch t := thing.(type) {
	case *pool.Pool:
		return newEntry(Pool, t.Name(), t, t.Settings, t.Apply, pool.Settings.WithDefaults, pool.Settings.Validate), nil
	case *bulkhead.Bulkhead:
		return newEntry(Bulkhead, t.Name(), t, t.Settings, t.Apply, bulkhead.Settings.WithDefaults, bulkhead.Settings.Validate), nil
	case *breaker.Breaker:
		return newEntry(Breaker, t.Name(), t, t.Settings, t.Apply, breaker.Settings.WithDefaults, breaker.Settings.Validate), nil
	case Controlled:
		return newEntry(Command, t.Name(), t, t.Settings, t.Apply, command.Settings.WithDefaults, command.Settings.Validate), nil
	default:
		return nil, fmt.Errorf("add %T: only pools, bulkheads, breakers and commands are kept here", thing)
	}
}

func (r *Registry) add(e *entry) error {
	defer r.deliver()
	r.changing.Lock()
	defer r.changing.Unlock()
	if err := r.insert(e); err != nil {
		return err
	}
	c := r.draft()
	if err := c.swap(); err != nil {
		r.remove(e.kind, e.name)
		return err
	}
	r.commit(c, change{reason: "added " + string(e.kind) + " " + e.name})
	return nil
}

func (r *Registry) insert(e *entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, found := slices.BinarySearchFunc(r.members, e, func(a, b *entry) int { return compareEntries(a.kind, a.name, b) })
	if found {
		return ErrExists
	}
	r.members = slices.Insert(r.members, i, e)
	return nil
}

func compareEntries(kind Kind, name string, b *entry) int {
	if d := slices.Index(kinds, kind) - slices.Index(kinds, b.kind); d != 0 {
		return d
	}
	return strings.Compare(name, b.name)
}

// Remove forgets a member, which goes on with the settings it has.
func (r *Registry) Remove(kind Kind, name string) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	return r.remove(kind, name)
}

func (r *Registry) remove(kind Kind, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, e := range r.members {
		if e.kind == kind && e.name == name {
			r.members = slices.Delete(r.members, i, i+1)
			return nil
		}
	}
	return fmt.Errorf("%s %q: %w", kind, name, ErrUnknown)
}

// entries is the members at this moment.
func (r *Registry) entries() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.members)
}

// Version is that of the settings: 1 at first, one more with each change.
func (r *Registry) Version() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}
