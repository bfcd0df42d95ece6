package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong in a plan.
type Fault struct {
	File    string
	Line    int    // 1…; 0 where no line is to blame
	Key     string // where in the plan, such as services.order.ready.timeout; empty for the whole file
	Found   string // what stands there
	Allowed string // what may stand there
	Do      string // what to do next; may be empty
}

// Error says it in one line: file, line, key, found, allowed, what to do.
func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	b.WriteString(": ")
	if f.Key != "" {
		b.WriteString(f.Key + ": ")
	}
	b.WriteString("found " + f.Found)
	if f.Allowed != "" {
		b.WriteString("; allowed: " + f.Allowed)
	}
	if f.Do != "" {
		b.WriteString("; " + f.Do)
	}
	return b.String()
}

// InvalidError is a plan that cannot be used: all of its faults, in the order of their lines.
type InvalidError struct{ Faults []Fault }

// Error lists the faults, one a line.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// maxFaults is how many faults are collected at most: nobody reads more at once.
const maxFaults = 50

// faults collects what is wrong without repeating itself: the same text is read once per setting.
type faults struct {
	file string
	all  []Fault
	seen map[Fault]bool
}

func (c *faults) add(f Fault) {
	f.File = c.file
	if c.seen == nil {
		c.seen = map[Fault]bool{}
	}
	if c.seen[f] || len(c.all) >= maxFaults {
		return
	}
	c.seen[f] = true
	c.all = append(c.all, f)
}

// err is nil where nothing was wrong.
func (c *faults) err() error {
	if len(c.all) == 0 {
		return nil
	}
	sorted := slices.Clone(c.all)
	slices.SortStableFunc(sorted, func(a, b Fault) int { return cmp.Compare(a.Line, b.Line) })
	return &InvalidError{Faults: sorted}
}
