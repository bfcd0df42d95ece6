// Package dump says what thread dumps mean: threads by pool, state and what they wait for, identical stacks, locks with the chain behind
// each, deadlocks, and from several dumps in order what grew and what did not move. It is pure; internal/parse/threaddump reads the dumps.
package dump

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

// Summary is what one dump says.
type Summary struct {
	threaddump.Head
	Threads   int
	Virtual   int // of these
	States    map[string]int
	Pools     []Pool     // largest first
	Stacks    []Group    // identical stacks of at least two threads, largest first
	Locks     []Lock     // that threads wait for, most waiters behind them first
	Deadlocks [][]string // the threads of each cycle, in the order in which each waits for the next

	stuck map[string]uint64 // what each named thread did, for comparison with the next dump
}

// Pool is the threads that share a pool's name.
type Pool struct {
	Name    string
	Threads int
	Idle    int            // wait for work: those of Selector included
	Waiting map[Reason]int // what the others do, and Selector; Running included
	States  map[string]int
	Names   []string // of up to sampleNames threads, idle ones last
}

// Busy is how many do not wait for work.
func (p Pool) Busy() int { return p.Threads - p.Idle }

// On is how many do one of these.
func (p Pool) On(reasons ...Reason) int {
	n := 0
	for _, r := range reasons {
		n += p.Waiting[r]
	}
	return n
}

// Group is threads with the same state and stack.
type Group struct {
	Count  int
	State  string
	Reason Reason
	Pools  map[string]int
	Stack  []threaddump.Frame
	Names  []string
}

// Lock is a monitor or lock that threads wait for.
type Lock struct {
	threaddump.Object
	Holder      string // empty where the dump does not tell
	HolderDoes  Reason
	HolderStack []threaddump.Frame
	Waiters     []string // that wait for this lock itself
	Behind      int      // waiters, and those who wait for what waiters hold, and so on
	Where       threaddump.Frame
}

const (
	sampleNames = 50  // names that are kept of a pool or group
	mostGroups  = 200 // distinct stacks that are kept after a dump; the largest
)

// Read reads all dumps of a stream and sums each up, one dump in memory at a time.
func Read(r io.Reader) ([]*Summary, error) {
	var out []*Summary
	b := newBuilder()
	err := threaddump.Visit(r, threaddump.Visitor{
		Begin:    func(threaddump.Head) error { b = newBuilder(); return nil },
		Thread:   func(t *threaddump.Thread) error { b.add(t); return nil },
		Deadlock: func(names []string) error { b.told = append(b.told, names); return nil },
		End:      func(h threaddump.Head) error { out = append(out, b.finish(h)); return nil },
	})
	return out, err
}

// Of sums one dump up.
func Of(d *threaddump.Dump) *Summary {
	b := newBuilder()
	b.told = d.Deadlocks
	for i := range d.Threads {
		b.add(&d.Threads[i])
	}
	return b.finish(d.Head)
}

// builder gathers threads.
type builder struct {
	s      *Summary
	pools  map[string]*Pool
	groups map[uint64]*Group
	locks  *locks
	told   [][]string // deadlocks that the JVM printed
}

func newBuilder() *builder {
	return &builder{
		s:     &Summary{States: map[string]int{}, stuck: map[string]uint64{}},
		pools: map[string]*Pool{}, groups: map[uint64]*Group{}, locks: newLocks(),
	}
}

func (b *builder) add(t *threaddump.Thread) {
	reason, pool := ReasonOf(t), PoolOf(t)
	b.s.Threads += t.Count
	if t.Virtual {
		b.s.Virtual += t.Count
	}
	b.s.States[t.State.String()] += t.Count
	b.addToPool(t, pool, reason)
	b.locks.add(t, reason)
	print := fingerprint(t)
	b.addToGroup(t, pool, reason, print)
	if t.Name != "" && !t.Internal && reason != Idle && reason != Selector {
		b.s.stuck[t.Name] = print
	}
}

func (b *builder) addToPool(t *threaddump.Thread, name string, reason Reason) {
	p := b.pools[name]
	if p == nil {
		p = &Pool{Name: name, Waiting: map[Reason]int{}, States: map[string]int{}}
		b.pools[name] = p
	}
	p.Threads += t.Count
	p.States[t.State.String()] += t.Count
	if reason == Idle || reason == Selector {
		p.Idle += t.Count
	}
	if reason != Idle {
		p.Waiting[reason] += t.Count
	}
	if len(p.Names) < sampleNames && t.Name != "" {
		p.Names = append(p.Names, t.Name)
	}
}

func (b *builder) addToGroup(t *threaddump.Thread, pool string, reason Reason, print uint64) {
	g := b.groups[print]
	if g == nil {
		g = &Group{State: t.State.String(), Reason: reason, Pools: map[string]int{}, Stack: t.Stack}
		b.groups[print] = g
	}
	g.Count += t.Count
	g.Pools[pool] += t.Count
	if len(g.Names) < sampleNames && t.Name != "" {
		g.Names = append(g.Names, t.Name)
	}
}

// fingerprint is the same for threads in the same state with the same calls (FNV-1a).
func fingerprint(t *threaddump.Thread) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset) ^ uint64(t.State)
	for _, f := range t.Stack {
		for i := range len(f.Func) {
			h = (h ^ uint64(f.Func[i])) * prime
		}
		h = (h ^ uint64(f.Line)) * prime
	}
	return h
}

func (b *builder) finish(head threaddump.Head) *Summary {
	s := b.s
	s.Head = head
	for _, p := range b.pools {
		s.Pools = append(s.Pools, *p)
	}
	slices.SortFunc(s.Pools, func(a, b Pool) int { return cmp.Or(b.Threads-a.Threads, strings.Compare(a.Name, b.Name)) })
	for _, g := range b.groups {
		if g.Count > 1 && len(g.Stack) > 0 {
			s.Stacks = append(s.Stacks, *g)
		}
	}
	slices.SortFunc(s.Stacks, func(a, b Group) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Stack[0].Func, b.Stack[0].Func), strings.Compare(first(a.Names), first(b.Names)))
	})
	s.Stacks = s.Stacks[:min(len(s.Stacks), mostGroups)]
	s.Locks = b.locks.contended()
	s.Deadlocks = b.locks.cycles(b.told)
	return s
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// Pool finds a pool by name.
func (s *Summary) Pool(name string) (Pool, bool) {
	for _, p := range s.Pools {
		if p.Name == name {
			return p, true
		}
	}
	return Pool{}, false
}

// sortedKeys lists a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
