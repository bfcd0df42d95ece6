package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/pool"
)

// starvation is the code of a pool, or a circle of pools, that waits on itself.
const starvation = "pool-starvation"

// Edge is the waiting of one pool's tasks for another's.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Now   int    `json:"now"`   // tasks waiting at this moment
	Total uint64 `json:"total"` // waits since the pool was made; 0 where one is about to begin
}

// graph is what was learnt of waits. Edges are never forgotten: a circle that was possible once is possible again.
type graph struct {
	edges map[string]map[string]bool
	told  map[string]bool // circles already reported
	found []Finding
}

func newGraph() graph { return graph{edges: map[string]map[string]bool{}, told: map[string]bool{}} }

// Graph is who waits for whom, by names: what was seen through the library's own futures, calls and batches, given the context of the
// task that waits.
func (r *Registry) Graph() []Edge {
	r.learnAll()
	counts := map[[2]string]pool.Wait{}
	for _, e := range r.entries() {
		if p, ok := e.thing.(*pool.Pool); ok {
			for _, w := range p.Waits() {
				counts[[2]string{p.Name(), w.On.Name()}] = w
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Edge{}
	for _, from := range slices.Sorted(maps.Keys(r.graph.edges)) {
		for _, to := range slices.Sorted(maps.Keys(r.graph.edges[from])) {
			w := counts[[2]string{from, to}]
			out = append(out, Edge{From: from, To: to, Now: w.Now, Total: w.Total})
		}
	}
	return out
}

// Starvation is the pools and circles of pools that were seen to wait on themselves: each can deadlock once every worker in it waits.
func (r *Registry) Starvation() []Finding {
	r.learnAll()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Finding{}, r.graph.found...)
}

// learnAll takes up the waits of pools that do not tell by a hook.
func (r *Registry) learnAll() {
	for _, e := range r.entries() {
		if p, ok := e.thing.(*pool.Pool); ok {
			for _, w := range p.Waits() {
				r.learn(p.Name(), w.On.Name())
			}
		}
	}
}

// learn adds an edge and reports the circle that it closes, if any.
func (r *Registry) learn(from, to string) {
	r.mu.Lock()
	if r.graph.edges[from][to] {
		r.mu.Unlock()
		return
	}
	if r.graph.edges[from] == nil {
		r.graph.edges[from] = map[string]bool{}
	}
	r.graph.edges[from][to] = true
	circle := r.graph.path(to, from)
	name := canonicalCircle(circle)
	if circle == nil || r.graph.told[name] {
		r.mu.Unlock()
		return
	}
	r.graph.told[name] = true
	workers := map[string]int{}
	for _, e := range r.members {
		if p, ok := e.thing.(*pool.Pool); ok && slices.Contains(circle, p.Name()) {
			workers[p.Name()] = p.Settings().Max
		}
	}
	f := starving(circle, workers)
	r.graph.found = append(r.graph.found, f)
	r.mu.Unlock()
	if r.config.OnStarvation != nil {
		r.config.OnStarvation(f)
	}
}

// path is the shortest way along edges from a to b, both included, or nil. Breadth first, neighbours by name.
func (g *graph) path(a, b string) []string {
	came := map[string]string{a: a}
	for next := []string{a}; len(next) > 0; next = next[1:] {
		at := next[0]
		if at == b {
			out := []string{b}
			for at != a {
				at = came[at]
				out = append(out, at)
			}
			slices.Reverse(out)
			return out
		}
		for _, to := range slices.Sorted(maps.Keys(g.edges[at])) {
			if _, seen := came[to]; !seen {
				came[to] = at
				next = append(next, to)
			}
		}
	}
	return nil
}

// canonicalCircle is one name for a circle wherever it is entered.
func canonicalCircle(circle []string) string {
	if len(circle) == 0 {
		return ""
	}
	least := slices.Index(circle, slices.Min(circle))
	return strings.Join(append(slices.Clone(circle[least:]), circle[:least]...), "\x00")
}

// starving describes a circle; its last pool is about to wait for its first, or was seen to.
func starving(circle []string, workers map[string]int) Finding {
	last := circle[len(circle)-1]
	circle = append([]string{last}, circle[:len(circle)-1]...)
	f := Finding{Code: starvation, Severity: string(finding.Critical), Evidence: map[string]any{"cycle": circle, "workers": workers}}
	for _, name := range circle {
		f.Keys = append(f.Keys, "pools."+name+".max")
	}
	if len(circle) == 1 {
		f.Text = fmt.Sprintf("a task of pool %s waits for a task of pool %s itself: when all %d workers wait so, none is left to work", last, last, workers[last])
		f.Next = "run the inner task on the same worker, or give it a pool of its own"
		return f
	}
	f.Text = fmt.Sprintf("pools wait for each other in a circle: %s: when every worker of one of them waits, none of them goes on",
		strings.Join(append(circle, last), " -> "))
	f.Next = "let work pass in one direction only: another pool for the way back"
	return f
}
