package dump

import "slices"

// Growth is threads of one kind of name in dumps that follow each other.
type Growth struct {
	Kind   string // the pool's name with stars for numbers
	Counts []int  // in each dump
	Pools  []int  // how many pools of this kind each dump has
	New    []string
}

// Grown lists the kinds of which every dump has at least as many as the one before and the last more than the first.
func Grown(dumps []*Summary) []Growth {
	if len(dumps) < 2 {
		return nil
	}
	byKind := map[string]*Growth{}
	for i, d := range dumps {
		for _, p := range d.Pools {
			kind := Kind(p.Name)
			g := byKind[kind]
			if g == nil {
				g = &Growth{Kind: kind, Counts: make([]int, len(dumps)), Pools: make([]int, len(dumps))}
				byKind[kind] = g
			}
			g.Counts[i] += p.Threads
			g.Pools[i]++
			if i == len(dumps)-1 {
				g.New = append(g.New, newNames(p, dumps[0])...)
			}
		}
	}
	var out []Growth
	for _, kind := range sortedKeys(byKind) {
		if g := byKind[kind]; slices.IsSorted(g.Counts) && g.Counts[len(g.Counts)-1] > g.Counts[0] {
			out = append(out, *g)
		}
	}
	return out
}

// newNames are a pool's threads that an earlier dump has not.
func newNames(p Pool, earlier *Summary) []string {
	before, ok := earlier.Pool(p.Name)
	if !ok {
		return p.Names
	}
	var out []string
	for _, name := range p.Names {
		if !slices.Contains(before.Names, name) {
			out = append(out, name)
		}
	}
	return out
}

// Stuck lists the threads that did the same, in the same place, in every dump, and were not idle.
func Stuck(dumps []*Summary) []string {
	if len(dumps) < 2 {
		return nil
	}
	var out []string
	for _, name := range sortedKeys(dumps[0].stuck) {
		same := true
		for _, d := range dumps[1:] {
			print, ok := d.stuck[name]
			same = same && ok && print == dumps[0].stuck[name]
		}
		if same {
			out = append(out, name)
		}
	}
	return out
}
