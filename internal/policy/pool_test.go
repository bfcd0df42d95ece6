package policy_test

import (
	"testing"

	"github.com/loadline-dev/loadline/internal/policy"
	"pgregory.net/rapid"
)

// jdk is java.util.concurrent.ThreadPoolExecutor's execute and worker loop written down from its documentation, over explicit lists: the
// oracle for the machine's counts. A worker is the number of the task it runs, 0 for an idle one.
type jdk struct {
	core, max, capacity int
	eager               bool // Tomcat's TaskQueue.offer
	workers             []int
	queue               []int
}

func (j *jdk) execute(task int) string {
	switch {
	case len(j.workers) < j.core:
		j.workers = append(j.workers, task)
		return "start"
	case j.idle() >= 0:
		j.workers[j.idle()] = task
		return "queue" // and taken at once
	case j.eager && len(j.workers) < j.max:
		j.workers = append(j.workers, task)
		return "start"
	case len(j.workers) == 0: // JDK: queue it and add a worker that takes it; here in one step
		j.workers = append(j.workers, task)
		return "start"
	case len(j.queue) < j.capacity:
		j.queue = append(j.queue, task)
		return "queue"
	case len(j.workers) < j.max:
		j.workers = append(j.workers, task)
		return "start"
	}
	return "refuse"
}

func (j *jdk) idle() int {
	for i, w := range j.workers {
		if w == 0 {
			return i
		}
	}
	return -1
}

func (j *jdk) finish(i int) {
	j.workers[i] = 0
	if len(j.queue) > 0 {
		j.workers[i], j.queue = j.queue[0], j.queue[1:]
	}
}

func verdict(v policy.PoolVerdict) string {
	switch v {
	case policy.PoolStart:
		return "start"
	case policy.PoolEnqueue:
		return "queue"
	}
	return "refuse"
}

// settle lets free workers take what is queued.
func settle(p *policy.Pool) {
	for p.Queued() > 0 && p.Workers() > p.Busy() && p.Next() == policy.PoolTake {
	}
}

func TestThePoolDecidesAsThreadPoolExecutorAndTomcatDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(t, "max")
		j := jdk{
			core: rapid.IntRange(0, limit).Draw(t, "core"), max: limit, capacity: rapid.IntRange(0, 4).Draw(t, "capacity"),
			eager: rapid.Bool().Draw(t, "eager"),
		}
		rules := policy.PoolRules{Core: j.core, Max: j.max, Capacity: j.capacity}
		if j.eager {
			rules.Growth = policy.PoolWorkersFirst
		}
		p := policy.NewPool(rules)
		for task := 1; task <= 60; task++ {
			if rapid.Bool().Draw(t, "submit") {
				want := j.execute(task)
				if got, _ := p.Submit(); verdict(got) != want {
					t.Fatalf("task %d: %s, ThreadPoolExecutor says %s, with %+v", task, verdict(got), want, j)
				}
				settle(p)
			} else if busy := p.Busy(); busy > 0 {
				n := rapid.IntRange(0, busy-1).Draw(t, "which")
				for i, w := range j.workers {
					if w == 0 {
						continue
					}
					if n--; n < 0 {
						j.finish(i)
						break
					}
				}
				p.Finish()
				settle(p)
			}
			if p.Workers() != len(j.workers) || p.Waiting() != len(j.queue) || p.Queued() != len(j.queue) {
				t.Fatalf("%d workers, %d waiting; ThreadPoolExecutor has %+v", p.Workers(), p.Waiting(), j)
			}
		}
	})
}

func TestAPoolNeverRunsMoreThanMaxNorQueuesMoreThanItsCapacityAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() policy.PoolRules {
			limit := rapid.IntRange(1, 8).Draw(t, "max")
			return policy.PoolRules{
				Core: rapid.IntRange(0, limit).Draw(t, "core"), Max: limit, Capacity: rapid.IntRange(0, 5).Draw(t, "capacity"),
				Threshold: rapid.SampledFrom([]int{0, 0, 1, 3, -1}).Draw(t, "threshold"),
				Growth:    policy.PoolGrowth(rapid.IntRange(0, 1).Draw(t, "growth")),
				Policy:    rapid.SampledFrom([]policy.PoolPolicy{policy.PoolAbort, policy.PoolBlock, policy.PoolDiscardOldest}).Draw(t, "policy"),
			}
		}
		p := policy.NewPool(draw())
		for range 80 {
			step(t, p, draw)
			check(t, p)
		}
	})
}

// step makes one event happen, and asserts what must hold of it.
func step(t *rapid.T, p *policy.Pool, draw func() policy.PoolRules) {
	switch rapid.IntRange(0, 6).Draw(t, "event") {
	case 0, 1:
		free, flight := p.Free(), p.Queued()+p.Busy()
		saturated, waiting := p.Saturated(), p.Waiting()
		v, _ := p.Submit()
		if (v == policy.PoolEnqueue) != (flight < free) && (v == policy.PoolEnqueue || flight < free) {
			if v != policy.PoolEnqueue || free != 0 { // Free may say 0 where the machine must be asked
				t.Fatalf("Free says %d with %d in flight, Submit says %d", free, flight, v)
			}
		}
		if saturated != (v == policy.PoolRefuse) && p.Rules().Policy == policy.PoolAbort {
			t.Fatalf("saturated %t, Submit says %d", saturated, v)
		}
		if v == policy.PoolEnqueue && waiting >= p.Rules().Capacity && p.Waiting() > waiting {
			t.Fatalf("queued as number %d over capacity %d", p.Waiting(), p.Rules().Capacity)
		}
		if v == policy.PoolEvict {
			p.Cancel()
			p.Enqueued(1)
		}
	case 2:
		if p.Busy() > 0 {
			p.Finish()
			p.Next()
		}
	case 3:
		if p.Workers() > p.Busy() {
			if p.Next() == policy.PoolTake && p.Busy() > p.Rules().Max {
				t.Fatalf("%d run, max %d", p.Busy(), p.Rules().Max)
			}
		}
	case 4:
		if p.Workers()-p.Busy() > p.Queued() {
			p.Expire()
		}
	case 5:
		p.Unblock()
	case 6:
		p.Apply(draw())
		for p.Workers() > p.Busy() && p.Surplus() {
		}
		for p.Missing() {
		}
	}
}

func check(t *rapid.T, p *policy.Pool) {
	r := p.Rules()
	switch {
	case p.Busy() < 0 || p.Queued() < 0 || p.Blocked() < 0 || p.Workers() < p.Busy():
		t.Fatalf("impossible counts: %+v", p)
	case p.Workers() == 0 && p.Queued() > 0:
		t.Fatalf("tasks wait and nobody is there to take them: %+v", p)
	case p.Busy() < p.Workers() && p.Workers() < r.Core && p.Waiting() > 0:
		t.Fatalf("a task waits, and a core worker is missing: %+v", p)
	}
}

func TestHystrixThresholdAsMeasuredOnHystrix(t *testing.T) {
	submits := func(r policy.PoolRules, n int) (started, queued, refused int) {
		p := policy.NewPool(r)
		for range n {
			switch v, _ := p.Submit(); v {
			case policy.PoolStart:
				started++
			case policy.PoolEnqueue:
				queued++
			case policy.PoolRefuse:
				refused++
			}
		}
		return started, queued, refused
	}
	for _, c := range []struct {
		name                     string
		rules                    policy.PoolRules
		started, queued, refused int
	}{
		{"threshold below the capacity binds", policy.PoolRules{Core: 10, Max: 10, Capacity: 100, Threshold: 5}, 10, 5, 15},
		{"threshold at or below the capacity keeps the pool at core", policy.PoolRules{Core: 2, Max: 10, Capacity: 5, Threshold: 5}, 2, 5, 23},
		{"only above the capacity does it grow", policy.PoolRules{Core: 2, Max: 10, Capacity: 5, Threshold: 6}, 10, 5, 15},
		{"threshold 0 with a queue refuses everything", policy.PoolRules{Core: 10, Max: 10, Capacity: 5, Threshold: -1}, 0, 0, 30},
		{"a hand-off has no queue", policy.PoolRules{Core: 2, Max: 10}, 10, 0, 20},
	} {
		s, q, r := submits(c.rules, 30)
		if s != c.started || q != c.queued || r != c.refused {
			t.Errorf("%s: started %d, queued %d, refused %d; want %d, %d, %d", c.name, s, q, r, c.started, c.queued, c.refused)
		}
	}
}

func TestAFullPoolFollowsItsPolicy(t *testing.T) {
	for _, c := range []struct {
		policy   policy.PoolPolicy
		capacity int
		want     policy.PoolVerdict
	}{
		{policy.PoolAbort, 1, policy.PoolRefuse},
		{policy.PoolCallerRuns, 1, policy.PoolRunCaller},
		{policy.PoolDiscard, 1, policy.PoolDrop},
		{policy.PoolDiscardOldest, 1, policy.PoolEvict},
		{policy.PoolDiscardOldest, 0, policy.PoolRefuse}, // nothing older waits
		{policy.PoolBlock, 1, policy.PoolWait},
		{policy.PoolUser, 1, policy.PoolAsk},
	} {
		p := policy.NewPool(policy.PoolRules{Core: 1, Max: 1, Capacity: c.capacity, Policy: c.policy})
		for range 1 + c.capacity {
			p.Submit()
		}
		if v, reason := p.Submit(); v != c.want || reason != policy.PoolFull {
			t.Errorf("policy %d, capacity %d: %d for reason %d, want %d", c.policy, c.capacity, v, reason, c.want)
		}
		p.Close()
		if v, reason := p.Submit(); v != policy.PoolRefuse || reason != policy.PoolClosed {
			t.Errorf("policy %d, closed: %d for reason %d", c.policy, v, reason)
		}
	}
}

func TestWorkersStayAsKeepAliveAndCoreSay(t *testing.T) {
	p := policy.NewPool(policy.PoolRules{Core: 1, Max: 3})
	for range 3 {
		p.Submit()
	}
	for range 3 {
		p.Finish()
		p.Next()
	}
	for _, want := range []bool{true, true, false} {
		if got := p.Expire(); got != want {
			t.Errorf("with %d workers above a core of 1: expired %v, want %v", p.Workers(), got, want)
		}
	}
	if p.Workers() != 1 {
		t.Errorf("%d workers remain, core is 1", p.Workers())
	}
	p.Apply(policy.PoolRules{Core: 1, Max: 3, CoreTimeout: true})
	if !p.Expire() || p.Workers() != 0 {
		t.Errorf("%d workers remain, core may end", p.Workers())
	}
}
