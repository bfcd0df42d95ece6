package dump

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis/finding"
)

// The thresholds choose when a condition is worth a word; the figures stand in the evidence.
const (
	contended    = 3   // waiters behind one lock
	mostly       = 0.8 // share of a pool's busy threads that do the same
	workers      = 4   // threads from which a pool is judged by shares
	idleShare    = 0.5 // share of idle workers from which a pool is called oversized …
	idleWorkers  = 8   // … and how many there must be
	leakThreads  = 10  // threads by which a kind must have grown …
	leakShare    = 0.2 // … and the share of what there was
	leakPools    = 10  // pools of one kind in one dump
	stuckThreads = 3   // dumps in which a thread stood still
	mostNames    = 50  // names in an evidence
)

// Findings says what dumps of one process, in their order, show. Conditions of a moment are those of the last dump.
func Findings(dumps []*Summary) []finding.Finding {
	if len(dumps) == 0 {
		return nil
	}
	last := dumps[len(dumps)-1]
	var out []finding.Finding
	out = append(out, deadlocks(last)...)
	out = append(out, starvation(dumps)...)
	out = append(out, contention(last)...)
	out = append(out, leaks(dumps)...)
	out = append(out, poolWaits(last)...)
	out = append(out, oversized(last)...)
	return append(out, standing(dumps)...)
}

func deadlocks(s *Summary) []finding.Finding {
	var out []finding.Finding
	for _, cycle := range s.Deadlocks {
		out = append(out, finding.Finding{
			Code: finding.Deadlock, Severity: finding.Critical,
			Text:     fmt.Sprintf("%d threads wait for each other and never go on: %s", len(cycle), strings.Join(append(slices.Clone(cycle), cycle[0]), " → ")),
			Evidence: map[string]any{"threads": cycle},
			Next:     "take these locks in one order everywhere, or with tryLock and a timeout; the process must be restarted to go on",
		})
	}
	return out
}

// contention names the holder of a lock that several wait for. Formatters of dates and numbers are told by name: they are not safe for
// several threads, are made so by a lock, and are then the whole service's queue.
func contention(s *Summary) []finding.Finding {
	var out []finding.Finding
	for _, k := range s.Locks {
		if k.Behind < contended || len(k.Waiters) < contended {
			continue
		}
		holder := "no thread of the dump"
		if k.Holder != "" {
			holder = fmt.Sprintf("%s (%s)", k.Holder, k.HolderDoes)
		}
		f := finding.Finding{
			Code: finding.LockContention, Severity: finding.Warning,
			Text: fmt.Sprintf("%d threads wait for %s at %s, held by %s; %d wait behind it in all", len(k.Waiters), lockName(k), k.Where.Func, holder, k.Behind),
			Evidence: map[string]any{"threads": k.Waiters[:min(len(k.Waiters), mostNames)], "waiters": len(k.Waiters), "behind": k.Behind,
				"lock": lockName(k), "holder": k.Holder, "where": k.Where.Func},
			Next: "hold the lock for less, or split it; sockets, databases and logs do not belong inside it",
		}
		if call := formatter(k); call != "" {
			f.Text += "; it guards " + call
			f.Evidence["formatter"] = call
			f.Next = "give each thread its own formatter (ThreadLocal), or use java.time.format.DateTimeFormatter, which needs no lock"
		}
		if k.Holder == "" {
			f.Next = "take the next dump with the owners of locks (jstack -l, jcmd Thread.print -l); where no thread holds it, a collection was stopping them"
		}
		out = append(out, f)
	}
	return out
}

func lockName(k Lock) string {
	if k.Class != "" && k.ID != "" {
		return k.Class + " " + k.ID
	}
	return k.Class + k.ID
}

// formatter finds a date or number formatter as the lock, or in what its holder does.
func formatter(k Lock) string {
	if isFormatter(k.Class) {
		return k.Class
	}
	for i, f := range k.HolderStack {
		const top = 15
		if i < top && isFormatter(f.Func) {
			return f.Func
		}
	}
	return ""
}

func isFormatter(name string) bool {
	for _, part := range []string{"java.text.SimpleDateFormat", "java.text.DateFormat", "java.text.DecimalFormat", "java.text.NumberFormat", "java.text.MessageFormat"} {
		if strings.HasPrefix(name, part) {
			return true
		}
	}
	return strings.HasSuffix(name, "DateFormat") || strings.HasSuffix(name, "DateFormatter")
}

// leaks looks for kinds of threads that become more from dump to dump, and for pools that are made again and again.
func leaks(dumps []*Summary) []finding.Finding {
	var out []finding.Finding
	for _, g := range Grown(dumps) {
		from, to := g.Counts[0], g.Counts[len(g.Counts)-1]
		if to-from < leakThreads || float64(to-from) < leakShare*float64(from) {
			continue
		}
		out = append(out, finding.Finding{
			Code: finding.ThreadLeak, Severity: finding.Warning,
			Text:     fmt.Sprintf("threads named %s grew from %d to %d over %d dumps and never fell", g.Kind, from, to, len(dumps)),
			Evidence: map[string]any{"kind": g.Kind, "counts": g.Counts, "pools": g.Pools, "threads": g.New[:min(len(g.New), mostNames)]},
			Next:     "find who makes them; if the pool only grows to its maximum under this load, a later dump stays level",
		})
	}
	if len(out) > 0 {
		return out
	}
	return manyPools(dumps[len(dumps)-1])
}

func manyPools(s *Summary) []finding.Finding {
	kinds := map[string][]Pool{}
	for _, p := range s.Pools {
		if k := Kind(p.Name); k != p.Name {
			kinds[k] = append(kinds[k], p)
		}
	}
	var out []finding.Finding
	for _, kind := range sortedKeys(kinds) {
		pools := kinds[kind]
		threads, idle := 0, 0
		var names []string
		for _, p := range pools {
			threads, idle = threads+p.Threads, idle+p.Idle
			names = append(names, p.Names...)
		}
		if len(pools) < leakPools || float64(idle) < mostly*float64(threads) {
			continue
		}
		out = append(out, finding.Finding{
			Code: finding.ThreadLeak, Severity: finding.Warning,
			Text:     fmt.Sprintf("%d pools are named %s, %d of their %d threads idle: pools are made again and again and not shut down", len(pools), kind, idle, threads),
			Evidence: map[string]any{"kind": kind, "pools": len(pools), "idle": idle, "threads": names[:min(len(names), mostNames)]},
			Next:     "make the pool once, or close it where it is made; give its threads a name that tells where it comes from",
		})
	}
	return out
}

// poolWaits looks at pools of which most busy workers wait for the same.
func poolWaits(s *Summary) []finding.Finding {
	var out []finding.Finding
	for _, p := range s.Pools {
		if p.Busy() < workers {
			continue
		}
		share := func(r ...Reason) float64 { return float64(p.On(r...)) / float64(p.Busy()) }
		evidence := map[string]any{"pool": p.Name, "workers": p.Threads, "idle": p.Idle, "threads": p.Names}
		switch {
		case share(ConnectionPool) >= idleShare:
			evidence["waiting"] = p.On(ConnectionPool)
			out = append(out, finding.Finding{Code: finding.DownstreamPoolBinding, Severity: finding.Warning, Evidence: evidence,
				Text: fmt.Sprintf("%d of %d busy threads of %s wait for a connection: the pool behind them binds", p.On(ConnectionPool), p.Busy(), p.Name),
				Next: "hold connections for less or allow more of them, as far as what is behind has room; more threads only wait"})
		case p.Idle == 0 && share(SocketRead) >= mostly:
			evidence["waiting"] = p.On(SocketRead)
			out = append(out, finding.Finding{Code: finding.DownstreamSlow, Severity: finding.Warning, Evidence: evidence,
				Text: fmt.Sprintf("%s has no idle thread and %d of %d wait for an answer on a socket: what they call is slow, or too few threads share it", p.Name, p.On(SocketRead), p.Busy()),
				Next: "look at the time of the calls they make; where it is what it always is, the pool is too small for the load"})
		}
	}
	return out
}

// oversized looks for pools of which most workers have nothing to do.
func oversized(s *Summary) []finding.Finding {
	var out []finding.Finding
	for _, p := range s.Pools {
		// Event loops and kept connections wait for the network by nature.
		idle := p.Idle - p.On(Selector)
		if idle < idleWorkers || float64(idle) <= idleShare*float64(p.Threads) || strings.HasPrefix(p.Name, "(") {
			continue
		}
		out = append(out, finding.Finding{Code: finding.PoolOversized, Severity: finding.Info,
			Text:     fmt.Sprintf("%d of %d threads of %s wait for work", p.Idle, p.Threads, p.Name),
			Evidence: map[string]any{"pool": p.Name, "workers": p.Threads, "idle": p.Idle},
			Next:     "under the highest load that must be carried, a pool this idle can be made smaller"})
	}
	return out
}

// standing looks for threads that did not move through several dumps.
func standing(dumps []*Summary) []finding.Finding {
	if len(dumps) < stuckThreads {
		return nil
	}
	names := Stuck(dumps)
	if len(names) == 0 {
		return nil
	}
	return []finding.Finding{{Code: finding.StuckThreads, Severity: finding.Info,
		Text:     fmt.Sprintf("%d threads stood in the same place in all %d dumps", len(names), len(dumps)),
		Evidence: map[string]any{"threads": names[:min(len(names), mostNames)], "dumps": len(dumps)},
		Next:     "where the dumps are further apart than one task takes, these hang"}}
}
