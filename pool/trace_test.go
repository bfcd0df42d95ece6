package pool_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline-dev/loadline/internal/policy"
	"github.com/loadline-dev/loadline/pool"
	"pgregory.net/rapid"
)

// The same random trace of events goes to the library and to the machine with a plain queue beside it, as the simulator holds one. After each
// event, when the library has come to rest, both must have decided alike: what runs, what waits in which order, who was refused.

// mirror is the machine with the lists that it leaves to its owner.
type mirror struct {
	machine *policy.Pool
	queue   []int
	running []int // in the order in which they began
	blocked []int
	ended   map[int]string // how those that are gone went
}

func (m *mirror) submit(id int) {
	v, _ := m.machine.Submit()
	switch v {
	case policy.PoolStart:
		m.running = append(m.running, id)
	case policy.PoolEnqueue:
		m.queue = append(m.queue, id)
	case policy.PoolRefuse:
		m.ended[id] = "rejected"
	case policy.PoolDrop:
		m.ended[id] = "discarded"
	case policy.PoolEvict:
		m.ended[m.queue[0]] = "discarded"
		m.queue = append(m.queue[1:], id)
		m.machine.Cancel()
		m.machine.Enqueued(1)
	case policy.PoolWait:
		m.blocked = append(m.blocked, id)
	}
	m.settle()
}

// settle has free workers take what is queued and callers that wait come in.
func (m *mirror) settle() {
	for again := true; again; {
		again = false
		for m.machine.Workers() > m.machine.Busy() && m.machine.Queued() > 0 && m.machine.Next() == policy.PoolTake {
			m.running = append(m.running, m.queue[0])
			m.queue = m.queue[1:]
			again = true
		}
		if v, ok := m.machine.Unblock(); ok {
			if v == policy.PoolStart {
				m.running = append(m.running, m.blocked[0])
			} else {
				m.queue = append(m.queue, m.blocked[0])
			}
			m.blocked = m.blocked[1:]
			again = true
		}
	}
}

func (m *mirror) finish(i int) {
	m.ended[m.running[i]] = "completed"
	m.running = slices.Delete(m.running, i, i+1)
	m.machine.Finish()
	if m.machine.Next() == policy.PoolTake {
		m.running = append(m.running, m.queue[0])
		m.queue = m.queue[1:]
	}
	m.settle()
}

func (m *mirror) cancel(i int) {
	m.ended[m.queue[i]] = "cancelled"
	m.queue = slices.Delete(m.queue, i, i+1)
	m.machine.Cancel()
	m.settle()
}

func (m *mirror) apply(r policy.PoolRules) {
	m.machine.Apply(r)
	for m.machine.Workers() > m.machine.Busy() && m.machine.Surplus() {
	}
	for {
		v, ok := m.machine.Unblock()
		if !ok {
			break
		}
		if v == policy.PoolStart {
			m.running = append(m.running, m.blocked[0])
		} else {
			m.queue = append(m.queue, m.blocked[0])
		}
		m.blocked = m.blocked[1:]
	}
	for m.machine.Missing() {
	}
	m.settle()
}

// rig is the library under the same trace.
type rig struct {
	pool    *pool.Pool
	order   chan int // ids as they begin
	begun   []int
	release map[int]chan struct{}
	cancel  map[int]context.CancelFunc
	result  map[int]chan error
}

func (r *rig) submit(id int) {
	ctx, cancel := context.WithCancel(context.Background())
	release, result := make(chan struct{}), make(chan error, 1)
	r.release[id], r.cancel[id], r.result[id] = release, cancel, result
	go func() {
		result <- r.pool.Do(ctx, func(context.Context) error {
			r.order <- id
			<-release
			return nil
		})
	}()
	r.settle()
}

func (r *rig) settle() {
	synctest.Wait()
	for {
		select {
		case id := <-r.order:
			r.begun = append(r.begun, id)
		default:
			return
		}
	}
}

func (r *rig) ended(id int) string {
	select {
	case err := <-r.result[id]:
		switch {
		case err == nil:
			return "completed"
		case errors.Is(err, pool.ErrRejected):
			return "rejected"
		case errors.Is(err, pool.ErrDiscarded):
			return "discarded"
		case errors.Is(err, context.Canceled):
			return "cancelled"
		}
		return err.Error()
	default:
		return ""
	}
}

func drawSettings(t *rapid.T) pool.Settings {
	limit := rapid.IntRange(1, 5).Draw(t, "max")
	return pool.Settings{
		Core: rapid.IntRange(0, limit).Draw(t, "core"), Max: limit, Queue: rapid.IntRange(0, 4).Draw(t, "queue"),
		Threshold: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "threshold"),
		Growth:    rapid.SampledFrom([]pool.Growth{pool.QueueFirst, pool.WorkersFirst}).Draw(t, "growth"),
		Policy:    rapid.SampledFrom([]pool.Policy{pool.Abort, pool.Discard, pool.DiscardOldest, pool.Block}).Draw(t, "policy"),
	}
}

func rulesOf(s pool.Settings) policy.PoolRules {
	r := policy.PoolRules{
		Core: s.Core, Max: s.Max, Capacity: s.Queue, Threshold: s.Threshold, Growth: policy.PoolGrowth(s.Growth),
		Policy: policy.PoolPolicy(s.Policy),
	}
	if s.Queue == 0 {
		r.Threshold = 0
	}
	return r
}

func TestLibraryAndPolicyDecideAlikeOnOneTrace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { bubble(t, func() { trace(rt) }) })
}

// bubble runs f in a bubble of its own, and brings a panic of f, as rapid's failures are, out of it.
func bubble(t *testing.T, f func()) {
	var caught any
	synctest.Test(t, func(*testing.T) {
		defer func() { caught = recover() }()
		f()
	})
	if caught != nil {
		panic(caught)
	}
}

func trace(t *rapid.T) {
	settings := drawSettings(t)
	m := &mirror{machine: policy.NewPool(rulesOf(settings)), ended: map[int]string{}}
	p, err := pool.New(pool.Config{Name: "trace", Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		pool: p, order: make(chan int, 1000), release: map[int]chan struct{}{}, cancel: map[int]context.CancelFunc{},
		result: map[int]chan error{},
	}
	defer r.end()
	for id := 1; id <= 40; id++ {
		playStep(t, m, r, id)
		compare(t, m, r)
	}
}

// playStep plays one event on both sides.
func playStep(t *rapid.T, m *mirror, r *rig, id int) {
	switch event := rapid.IntRange(0, 9).Draw(t, "event"); {
	case event < 5:
		m.submit(id)
		r.submit(id)
	case event < 7 && len(m.running) > 0:
		i := rapid.IntRange(0, len(m.running)-1).Draw(t, "running")
		close(r.release[m.running[i]])
		r.settle()
		m.finish(i)
	case event == 7 && len(m.queue) > 0:
		i := rapid.IntRange(0, len(m.queue)-1).Draw(t, "queued")
		r.cancel[m.queue[i]]()
		r.settle()
		m.cancel(i)
	case event == 8 && len(m.blocked) > 0:
		i := rapid.IntRange(0, len(m.blocked)-1).Draw(t, "blocked")
		r.cancel[m.blocked[i]]()
		r.settle()
		m.ended[m.blocked[i]] = "cancelled"
		m.blocked = slices.Delete(m.blocked, i, i+1)
		m.machine.Leave()
		m.settle()
	case event == 9:
		s := drawSettings(t)
		if err := r.pool.Apply(s); err != nil {
			t.Fatal(err)
		}
		r.settle()
		m.apply(rulesOf(s))
	}
}

func compare(t *rapid.T, m *mirror, r *rig) {
	for id, want := range m.ended {
		if got := r.ended(id); got != want {
			t.Fatalf("task %d: %q, the machine says %q", id, got, want)
		}
		delete(m.ended, id)
		delete(r.result, id)
	}
	for id := range r.result {
		if got := r.ended(id); got != "" {
			t.Fatalf("task %d: %q, the machine says that it is not over", id, got)
		}
	}
	s := r.pool.Snapshot()
	if s.Workers != m.machine.Workers() || s.Active != len(m.running) || s.Waiting+s.Transit != len(m.queue) || s.Blocked != len(m.blocked) {
		t.Fatalf("library: %d workers, %d active, %d waiting, %d blocked; machine: %d, %v, %v, %v", s.Workers, s.Active,
			s.Waiting+s.Transit, s.Blocked, m.machine.Workers(), m.running, m.queue, m.blocked)
	}
	begun := slices.Clone(r.begun)
	for _, id := range m.running {
		if !slices.Contains(begun, id) {
			t.Fatalf("the machine runs %v, the library began %v", m.running, begun)
		}
	}
	if s.Active > s.Settings.Max && s.Active > len(m.running) {
		t.Fatalf("%d run, max %d", s.Active, s.Settings.Max)
	}
}

// end lets everything run out, and looks at the account.
func (r *rig) end() {
	for _, cancel := range r.cancel {
		cancel()
	}
	for _, release := range r.release {
		select {
		case <-release:
		default:
			close(release)
		}
	}
	r.pool.Close()
	time.Sleep(time.Hour) // bubble time: lets goroutines of abandoned callers end
}

func TestTasksBeginInTheOrderInWhichTheyWereQueued(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bubble(t, func() {
			t := rt
			workers := rapid.IntRange(1, 4).Draw(t, "workers")
			p, err := pool.New(pool.Config{Name: "fifo", Settings: pool.Settings{Core: workers, Queue: pool.Unbounded}})
			if err != nil {
				t.Fatal(err)
			}
			gate, order := make(chan struct{}), make(chan int, 1000)
			for range workers {
				if err := p.Go(func() { <-gate }); err != nil {
					t.Fatal(err)
				}
			}
			n := rapid.IntRange(1, 300).Draw(t, "n")
			for i := range n {
				if err := p.Go(func() { order <- i; <-gate }); err != nil {
					t.Fatal(err)
				}
				if rapid.IntRange(0, 40).Draw(t, "resize") == 0 { // capacity alone: order must not notice
					s := p.Settings()
					s.Queue = rapid.IntRange(1, 1000).Draw(t, "queue") + n
					if err := p.Apply(s); err != nil {
						t.Fatal(err)
					}
				}
			}
			synctest.Wait()
			for i := range n { // one worker goes on at a time
				gate <- struct{}{}
				synctest.Wait()
				if got := <-order; got != i {
					t.Fatalf("task %d began in place of %d", got, i)
				}
			}
			close(gate)
			p.Close()
		})
	})
}
