package dump

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

// locks knows who holds what and who waits for it.
type locks struct {
	holder  map[string]string // by the lock's id: a thread
	waiting map[string]edge   // by the thread that waits
	byID    map[string]string // «#12»: the thread's name, for dumps that name owners so
	does    map[string]doing  // of threads that hold something
}

// edge is a thread that waits for a lock.
type edge struct {
	lock  threaddump.Object
	where threaddump.Frame
}

type doing struct {
	reason Reason
	stack  []threaddump.Frame
}

func newLocks() *locks {
	return &locks{holder: map[string]string{}, waiting: map[string]edge{}, byID: map[string]string{}, does: map[string]doing{}}
}

func (l *locks) add(t *threaddump.Thread, reason Reason) {
	name := nameOf(t)
	if name == "" {
		return
	}
	if t.ID != 0 {
		l.byID["#"+strconv.FormatInt(t.ID, 10)] = name
	}
	for _, held := range [][]threaddump.Object{t.Held, t.Owned} {
		for _, o := range held {
			if o.ID != "" {
				l.holder[o.ID] = name
			}
		}
	}
	l.does[name] = doing{reason, t.Stack}
	// Who waits on a monitor has given it back; who is parked waits for an owner only where the object is a lock that has one.
	if t.Wait == threaddump.ForMonitor || t.Wait == threaddump.Parked && (t.WaitFor.Owner != "" || lockClass(t.WaitFor.Class)) {
		l.waiting[name] = edge{t.WaitFor, where(t.Stack)}
	}
}

// nameOf is a thread's name, or its id where it has none.
func nameOf(t *threaddump.Thread) string {
	if t.Name != "" {
		return t.Name
	}
	if t.ID != 0 && t.Count == 1 {
		return "#" + strconv.FormatInt(t.ID, 10)
	}
	return ""
}

func lockClass(class string) bool {
	return strings.Contains(class, "ReentrantLock") || strings.Contains(class, "ReentrantReadWriteLock")
}

// where is the first frame that is the program's own.
func where(stack []threaddump.Frame) threaddump.Frame {
	for _, f := range stack {
		if !strings.HasPrefix(f.Func, "java.") && !strings.HasPrefix(f.Func, "jdk.") && !strings.HasPrefix(f.Func, "sun.") &&
			!strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "internal/") {
			return f
		}
	}
	if len(stack) > 0 {
		return stack[0]
	}
	return threaddump.Frame{}
}

// owner finds who holds what a thread waits for; empty where it is not known.
func (l *locks) owner(o threaddump.Object) string {
	if o.Owner != "" {
		if name, ok := l.byID[o.Owner]; ok {
			return name
		}
		return o.Owner
	}
	return l.holder[o.ID]
}

// contended lists the locks that threads wait for.
func (l *locks) contended() []Lock {
	found := map[string]*Lock{}
	for _, name := range sortedKeys(l.waiting) {
		e := l.waiting[name]
		id := cmp.Or(e.lock.ID, e.lock.Owner)
		if id == "" {
			continue
		}
		k := found[id]
		if k == nil {
			holder := l.owner(e.lock)
			k = &Lock{Object: e.lock, Holder: holder, HolderDoes: l.does[holder].reason, HolderStack: l.does[holder].stack, Where: e.where}
			found[id] = k
		}
		k.Waiters = append(k.Waiters, name)
	}
	behind := l.behind()
	out := make([]Lock, 0, len(found))
	for _, k := range found {
		for _, w := range k.Waiters {
			k.Behind += 1 + behind[w]
		}
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b Lock) int { return cmp.Or(b.Behind-a.Behind, strings.Compare(a.ID, b.ID)) })
	return out
}

// behind counts for every thread those who wait for it, directly or through others. Those in a cycle count once each.
func (l *locks) behind() map[string]int {
	waitersOf := map[string][]string{}
	for name, e := range l.waiting {
		if owner := l.owner(e.lock); owner != "" {
			waitersOf[owner] = append(waitersOf[owner], name)
		}
	}
	out := make(map[string]int, len(waitersOf))
	for owner := range waitersOf {
		seen := map[string]bool{owner: true}
		stack := slices.Clone(waitersOf[owner])
		for len(stack) > 0 {
			name := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[name] {
				continue
			}
			seen[name] = true
			stack = append(stack, waitersOf[name]...)
		}
		out[owner] = len(seen) - 1
	}
	return out
}

// cycles finds the deadlocks: chains of waiting that come back to where they began. Those that the JVM printed are added where the
// owners that make them are not in the dump.
func (l *locks) cycles(told [][]string) [][]string {
	var out [][]string
	known := map[string]bool{}
	for _, start := range sortedKeys(l.waiting) {
		if known[start] {
			continue
		}
		if cycle := l.cycleFrom(start); cycle != nil && !known[cycle[0]] {
			for _, name := range cycle {
				known[name] = true
			}
			out = append(out, cycle)
		}
	}
	for _, names := range told {
		if !slices.ContainsFunc(names, func(n string) bool { return known[n] }) {
			out = append(out, names)
		}
	}
	return out
}

// cycleFrom follows who waits for whom and returns the cycle that it runs into, its least name first; nil where it ends.
func (l *locks) cycleFrom(start string) []string {
	position := map[string]int{}
	var path []string
	for name := start; ; {
		if at, ok := position[name]; ok {
			return rotate(path[at:])
		}
		e, waits := l.waiting[name]
		if !waits {
			return nil
		}
		owner := l.owner(e.lock)
		if owner == "" || owner == name {
			return nil
		}
		position[name] = len(path)
		path = append(path, name)
		name = owner
	}
}

func rotate(cycle []string) []string {
	least := 0
	for i, name := range cycle {
		if name < cycle[least] {
			least = i
		}
	}
	return slices.Concat(cycle[least:], cycle[:least])
}
