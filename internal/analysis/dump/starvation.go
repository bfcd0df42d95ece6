package dump

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
)

// starvation looks for pools whose workers all wait for results that other workers would have to bring, while none of these works: every
// pool that could has all of its workers waiting for results as well. One dump can show a moment; that all of them still wait in the
// same place in a later dump makes it certain as far as dumps can.
func starvation(dumps []*Summary) []finding.Finding {
	last := dumps[len(dumps)-1]
	var starved []Pool
	for _, p := range last.Pools {
		switch {
		case !ofWorkers(p):
		case p.Idle == 0 && p.On(Latch, Future) == p.Threads:
			starved = append(starved, p)
		case p.Busy() > p.On(Latch, Future):
			return nil // Somebody works: results may still come.
		}
	}
	if len(starved) == 0 || singles(starved) {
		return nil
	}
	var names, pools, threads = []string{}, []string{}, 0
	for _, p := range starved {
		pools = append(pools, p.Name)
		names = append(names, p.Names...)
		threads += p.Threads
	}
	f := finding.Finding{Code: finding.PoolStarvation, Severity: finding.Warning,
		Text:     fmt.Sprintf("all %d threads of %s wait for results of tasks, and no thread is left to run these", threads, strings.Join(pools, ", ")),
		Evidence: map[string]any{"pools": pools, "threads": names[:min(len(names), mostNames)], "dumps": len(dumps)},
		Next:     "run the tasks that are waited for in a pool of their own that waits for nobody, or let the waiting thread run them itself"}
	if len(dumps) > 1 && allStuck(dumps, names) {
		f.Severity = finding.Critical
		f.Text += fmt.Sprintf("; none of them moved over %d dumps", len(dumps))
	}
	return []finding.Finding{f}
}

// ofWorkers leaves out threads that bring nobody's results: the JVM's own, and those of a name of their own, such as main or a timer. The
// threads of a pool are numbered.
func ofWorkers(p Pool) bool {
	if strings.HasPrefix(p.Name, "(") || p.Name == "main.main" {
		return false
	}
	return len(p.Names) == 0 || !slices.Contains(p.Names, p.Name)
}

// singles are pools of one thread each: a thread that joins another is no starved pool.
func singles(pools []Pool) bool {
	for _, p := range pools {
		if p.Threads > 1 {
			return false
		}
	}
	return true
}

func allStuck(dumps []*Summary, names []string) bool {
	still := map[string]bool{}
	for _, name := range Stuck(dumps) {
		still[name] = true
	}
	for _, name := range names {
		if !still[name] {
			return false
		}
	}
	return len(names) > 0
}
