package diagnose

import (
	"fmt"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

const (
	lockedThreads  = 3   // with one stack, waiting for a lock
	lockedShare    = 0.3 // of the busy threads of their pool
	grownThreads   = 10  // threads by which a process must have grown …
	grownShare     = 0.2 // … and their share of what there was
	steadyGrowth   = 0.5 // of the growth of the window's first half that its second must show
	waitingThreads = 50  // from which their states are worth a word
	waitingShare   = 0.7 // of all
	lowCPU         = 0.5 // of a core for each core
)

// inDumps takes over what the dumps show, and weighs it with the counters: an idle pool counts at the highest load only, and workers that read
// from sockets are no sign of a slow dependency where the execution time is known and did not grow.
func inDumps(s Scene, _ []Finding) []Finding {
	var out []Finding
	for _, name := range sortedKeys(s.Dumps) {
		for _, f := range dump.Findings(s.Dumps[name]) {
			if !contradicted(s, name, f) {
				f.Evidence["service"] = name
				out = append(out, f)
			}
		}
		out = append(out, starvedPools(s, name)...)
	}
	return out
}

// countersOf finds the counters of a pool of threads. Tomcat's threads have the connector's name with «-exec» behind it.
func countersOf(s Scene, service, pool string) (observed.Pool, bool) {
	pools := s.Services[service].Pools
	if p, ok := pools[pool]; ok {
		return p, true
	}
	p, ok := pools[strings.TrimSuffix(pool, "-exec")]
	return p, ok
}

func contradicted(s Scene, service string, f Finding) bool {
	pool, _ := f.Evidence["pool"].(string)
	known, ok := countersOf(s, service, pool)
	switch f.Code {
	case finding.PoolOversized:
		if s.Load == nil {
			return false
		}
		slots := known.Slots()
		return !s.Highest || ok && known.ActiveMax != nil && slots != nil && *known.ActiveMax > idleSlots**slots || !ok && len(s.Services[service].Pools) > 0
	case finding.ThreadLeak:
		return fillingPool(s, service, f)
	case finding.StuckThreads:
		return lively(s.Services[service])
	case finding.DownstreamSlow:
		return s.Load != nil && ok && known.Execution != nil
	default:
		return false
	}
}

// fillingPool tells a Java pool that makes a thread for every request until it has its core, idle ones beside them, from a leak: it is one pool,
// and most of it has nothing to do. Who leaks makes new pools, or threads that are busy with something.
func fillingPool(s Scene, service string, f Finding) bool {
	dumps := s.Dumps[service]
	last := dumps[len(dumps)-1]
	if len(dumps) > 2 || last.Format == threaddump.Go {
		return false
	}
	var of []dump.Pool
	for _, p := range last.Pools {
		if dump.Kind(p.Name) == f.Evidence["kind"] {
			of = append(of, p)
		}
	}
	return len(of) == 1 && 2*of[0].Idle > of[0].Threads
}

// fills tells whether the dumps of a service show a pool on its way to its core, which is what its threads grow by.
func fills(s Scene, service string) bool {
	for _, f := range dump.Findings(s.Dumps[service]) {
		if f.Code == finding.ThreadLeak && fillingPool(s, service, f) {
			return true
		}
	}
	return false
}

// lively tells whether by their counters the pools of a service go on: then threads that stand in one place in several dumps came back to it.
func lively(service observed.Service) bool {
	for _, p := range service.Pools {
		if slots := p.Slots(); p.Completed == nil || slots == nil || *p.Completed < *slots {
			return false
		}
	}
	return len(service.Pools) > 0
}

// starvedPools combines both: by the counters all workers of a pool are busy, work waits and hardly anything ends; by the dump none of
// them does anything but wait for results of others. That other threads of the process work proves nothing then.
func starvedPools(s Scene, service string) []Finding {
	dumps := s.Dumps[service]
	last := dumps[len(dumps)-1]
	var out []Finding
	for _, p := range last.Pools {
		counters, ok := countersOf(s, service, p.Name)
		waiting := p.On(dump.Latch, dump.Future)
		if !ok || p.Threads < 2 || p.Idle > 0 || waiting < p.Threads || !full(counters) || counters.Completed == nil || *counters.Completed > float64(p.Threads) {
			continue
		}
		if !positive(counters.QueueMean) && !positive(counters.Rejected) {
			continue
		}
		out = append(out, Finding{Code: finding.PoolStarvation, Severity: finding.Critical,
			Evidence: map[string]any{"service": service, "pool": p.Name, "threads": p.Names, "waiting_threads": waiting, "completed": *counters.Completed, "queue_mean": counters.QueueMean},
			Text: fmt.Sprintf("all %d workers of %s/%s wait for results of tasks while %s tasks wait for a worker, and %.0f ended: the pool waits for itself",
				p.Threads, service, p.Name, shown(counters.QueueMean), *counters.Completed),
			Next: "run the tasks that are waited for in a pool of their own that waits for nobody, or let the waiting thread run them itself"})
	}
	if has(dump.Findings(dumps), finding.PoolStarvation) {
		return nil // Said already.
	}
	return out
}

// lockedGroups finds contention in dumps that name no lock, as Go's do: several workers of a pool stand in one place and wait for a mutex.
func lockedGroups(s Scene, found []Finding) []Finding {
	var out []Finding
	for _, service := range sortedKeys(s.Dumps) {
		if hasFor(found, service, "", finding.LockContention) {
			continue
		}
		dumps := s.Dumps[service]
		last := dumps[len(dumps)-1]
		for _, g := range last.Stacks {
			if g.Reason != dump.LockWait || g.Count < lockedThreads {
				continue
			}
			if f := locked(last, service, g); f != nil {
				out = append(out, *f)
				break // The largest group says it.
			}
		}
	}
	return out
}

func locked(s *dump.Summary, service string, g dump.Group) *Finding {
	for _, pool := range sortedKeys(g.Pools) {
		p, ok := s.Pool(pool)
		if !ok || float64(g.Pools[pool]) < lockedShare*float64(p.Busy()) {
			continue
		}
		where := place(g.Stack)
		return &Finding{Code: finding.LockContention, Severity: finding.Warning,
			Evidence: map[string]any{"service": service, "pool": pool, "waiters": g.Count, "busy": p.Busy(), "where": where.Func, "file": where.File, "line": where.Line, "threads": g.Names},
			Text:     fmt.Sprintf("%d of %d busy threads of %s wait for a lock at %s (%s:%d)", g.Count, p.Busy(), pool, where.Func, where.File, where.Line),
			Next:     "hold the lock for less, or split it; the dump does not tell who holds it: look for the thread that is in the same place without waiting"}
	}
	return nil
}

// place is the first frame that is not the runtime's.
func place(stack []threaddump.Frame) threaddump.Frame {
	for _, f := range stack {
		if !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/") {
			return f
		}
	}
	return stack[0]
}

// growingThreads finds a process whose threads become more all through the window under one load.
func growingThreads(s Scene, found []Finding) []Finding {
	var out []Finding
	for _, name := range sortedKeys(s.Services) {
		g := s.Services[name].ThreadGrowth
		if g == nil || hasFor(found, name, "", finding.ThreadLeak) || fills(s, name) {
			continue
		}
		grew, late := g.Last-g.First, g.Last-g.Second
		if grew < grownThreads || grew < grownShare*g.First || late < steadyGrowth*(g.Second-g.First) {
			continue
		}
		out = append(out, Finding{Code: finding.ThreadLeak, Severity: finding.Warning,
			Evidence: map[string]any{"service": name, "threads_first_third": g.First, "threads_second_third": g.Second, "threads_last_third": g.Last},
			Text:     fmt.Sprintf("%s had %.0f threads in the first third of the window and %.0f in the last, under one load: threads are made and not ended", name, g.First, g.Last),
			Next:     "compare two thread dumps: the names that become more tell who makes them; if a pool only grows to its maximum, a longer look stays level"})
	}
	return out
}

// threadsWaiting is the study's «threads many, CPU low, most WAITING». It is said of Java's threads: that goroutines wait is how they are
// meant.
func threadsWaiting(s Scene, _ []Finding) []Finding {
	var out []Finding
	for _, service := range sortedKeys(s.Dumps) {
		dumps := s.Dumps[service]
		d := dumps[len(dumps)-1]
		cpu := s.Services[service].CPURatio
		if d.Format == threaddump.Go || d.Threads < waitingThreads || cpu != nil && s.Cores > 0 && *cpu > lowCPU*float64(s.Cores) {
			continue
		}
		timed, waiting, idle := d.States["TIMED_WAITING"], d.States["WAITING"], 0
		reasons := map[string]any{}
		for _, p := range d.Pools {
			idle += p.Idle
			for r, n := range p.Waiting {
				if before, ok := reasons[string(r)].(int); ok {
					n += before
				}
				reasons[string(r)] = n
			}
		}
		if float64(timed+waiting) < waitingShare*float64(d.Threads) || 2*idle > d.Threads {
			continue
		}
		evidence := map[string]any{"waits_for": reasons, "service": service, "threads_total": d.Threads, "waiting": waiting, "timed_waiting": timed, "idle": idle, "cpu_ratio": cpu}
		out = append(out, Finding{Code: finding.ThreadsWaiting, Severity: finding.Info, Evidence: evidence,
			Text: fmt.Sprintf("%d of %d threads of %s wait (%d of them timed), only %d for work: CPU is not what they lack, and a larger pool is useless unless what they wait for has room", waiting+timed, d.Threads, service, timed, idle),
			Next: "look at what they wait for: a dependency, a pooled resource, results of another pool"})
	}
	return out
}
