package pool_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/pool"
)

// stressSubmits is how many tasks the stress test submits: LOADLINE_STRESS_SUBMITS, by default a million, a fifth of that under the race
// detector and a fiftieth with -short.
func stressSubmits(t *testing.T) int {
	if text := os.Getenv("LOADLINE_STRESS_SUBMITS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("LOADLINE_STRESS_SUBMITS=%q: want a number from 1 on", text)
		}
		return n
	}
	n := 1_000_000
	if raceEnabled {
		n /= 5
	}
	if testing.Short() {
		n /= 10
	}
	return n
}

// TestStress submits from many goroutines while settings change all the time, callers cancel, tasks panic and call Goexit, and pools are shut
// down in the midst; then everything must be accounted for, by the pool and by the tasks themselves.
func TestStress(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	left := stressSubmits(t)
	for round := uint64(0); left > 0; round++ {
		n := min(left, 100_000)
		stressRound(t, n, rand.New(rand.NewPCG(seed, round)))
		left -= n
		if t.Failed() {
			t.Fatalf("round %d of seed %d", round, seed)
		}
	}
}

// stress is one pool under fire, and what its tasks and callers counted themselves.
type stress struct {
	pool                *pool.Pool
	submits             atomic.Int64
	began, ended        atomic.Int64
	rejected, discarded atomic.Int64
}

const stressMax = 24

func stressRound(t *testing.T, n int, random *rand.Rand) {
	s := &stress{}
	p, err := pool.New(pool.Config{Name: "stress", Settings: pool.Settings{Core: 4, Max: 8, Queue: 16}, OnOverflow: func(pool.Overflow) pool.Verdict {
		return pool.Verdict{Policy: pool.CallerRuns}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.pool = p
	done := make(chan struct{})
	var changer, submitters sync.WaitGroup
	changerSeed := rand.New(rand.NewPCG(random.Uint64(), 1))
	changer.Go(func() { s.change(t, done, changerSeed) })
	const goroutines = 16
	for i := range goroutines {
		share := n / goroutines
		if i < n%goroutines {
			share++
		}
		own := rand.New(rand.NewPCG(random.Uint64(), 2))
		submitters.Go(func() { s.submit(share, own) })
	}
	if random.IntN(3) == 0 { // in the midst
		for s.submits.Load() < int64(n/2) {
			runtime.Gosched()
		}
		p.ShutdownNow()
	}
	submitters.Wait()
	close(done)
	changer.Wait()
	p.Close()
	s.account(t, int64(n))
}

// change puts random settings in force, as fast as it can.
func (s *stress) change(t *testing.T, done chan struct{}, random *rand.Rand) {
	for {
		select {
		case <-done:
			return
		default:
		}
		limit := 1 + random.IntN(stressMax)
		settings := pool.Settings{
			Core: random.IntN(limit + 1), Max: limit, Queue: random.IntN(40), Threshold: random.IntN(3) * random.IntN(20),
			KeepAlive: time.Duration(1 + random.IntN(1_000_000)), CoreTimeout: random.IntN(2) == 0,
			Growth: pool.Growth(random.IntN(2)), Policy: pool.Policy(random.IntN(6)), BlockFor: time.Duration(random.IntN(300)) * time.Microsecond,
		}
		if random.IntN(10) == 0 {
			settings.Queue = pool.Unbounded
		}
		if random.IntN(6) == 0 {
			settings.QueueBudget = time.Duration(1+random.IntN(200)) * time.Microsecond
		}
		if random.IntN(6) == 0 {
			settings.RunBudget = time.Duration(1+random.IntN(200)) * time.Microsecond
		}
		if err := s.pool.Apply(settings); err != nil {
			t.Error(err)
			return
		}
		if snap := s.pool.Snapshot(); snap.Active < 0 || snap.Workers < snap.Active || snap.Zombies > snap.Active+snap.OnCaller {
			t.Errorf("impossible: %+v", short(snap))
			return
		}
		runtime.Gosched()
	}
}

// task is what most tasks do: count, and now and then panic, exit, or dawdle.
func (s *stress) task(what int) {
	s.began.Add(1)
	defer s.ended.Add(1)
	switch {
	case what == 0:
		panic("stress")
	case what == 1:
		runtime.Goexit()
	case what < 20:
		runtime.Gosched()
	}
}

func (s *stress) submit(n int, random *rand.Rand) {
	var futures []*pool.Future[int]
	for range n {
		s.submits.Add(1)
		what := random.IntN(1000)
		switch random.IntN(8) {
		case 0, 1, 2, 3:
			s.goOnce(what)
		case 4:
			s.doOnce(context.Background(), what)
		case 5, 6:
			ctx, cancel := context.WithCancel(context.Background())
			if random.IntN(2) == 0 {
				time.AfterFunc(time.Duration(random.IntN(50))*time.Microsecond, cancel)
			}
			s.doOnce(ctx, what)
			cancel()
		case 7:
			if f := s.future(what); f != nil {
				futures = append(futures, f)
			}
		}
		if len(futures) > 10 || len(futures) > 0 && random.IntN(5) == 0 {
			s.settle(futures, random)
			futures = futures[:0]
		}
	}
	s.settle(futures, random)
}

// guard runs f, which may run a task that ends its goroutine on this one.
func guard(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (s *stress) goOnce(what int) {
	submit := func() {
		if err := s.pool.Go(func() { s.task(what) }); err != nil {
			s.count(err)
		}
	}
	if what == 1 {
		guard(submit)
		return
	}
	submit()
}

func (s *stress) doOnce(ctx context.Context, what int) {
	do := func() { s.count(s.pool.Do(ctx, func(context.Context) error { s.task(what); return nil })) }
	if what == 1 {
		guard(do)
		return
	}
	do()
}

func (s *stress) future(what int) (f *pool.Future[int]) {
	if what == 1 {
		what = 2
	}
	f, err := pool.Submit(context.Background(), s.pool, func(context.Context) (int, error) { s.task(what); return what, nil })
	s.count(err)
	return f
}

func (s *stress) settle(futures []*pool.Future[int], random *rand.Rand) {
	for _, f := range futures {
		if random.IntN(3) == 0 {
			f.Cancel()
		}
		_, err := f.Wait(context.Background())
		s.count(err)
	}
}

func (s *stress) count(err error) {
	switch {
	case errors.Is(err, pool.ErrRejected):
		s.rejected.Add(1)
	case errors.Is(err, pool.ErrDiscarded):
		s.discarded.Add(1)
	}
}

func (s *stress) account(t *testing.T, n int64) {
	t.Helper()
	snap := balanced(t, s.pool)
	if int64(snap.Submitted) != n {
		t.Errorf("%d submitted, the pool counted %d", n, snap.Submitted)
	}
	if ran := int64(snap.Completed + snap.Failed); ran != s.began.Load() || ran != s.ended.Load() {
		t.Errorf("%d tasks began, %d ended, the pool counted %d", s.began.Load(), s.ended.Load(), ran)
	}
	if int64(snap.Rejected.Sum()) != s.rejected.Load() {
		t.Errorf("callers were refused %d times, the pool counted %+v", s.rejected.Load(), snap.Rejected)
	}
	if snap.State != pool.Terminated || snap.Workers != 0 || snap.Execution.N() != snap.Completed+snap.Failed {
		t.Errorf("at the end: %+v, %d executions", short(snap), snap.Execution.N())
	}
	if snap.LargestWorkers > stressMax {
		t.Errorf("%d workers, max was never above %d", snap.LargestWorkers, stressMax)
	}
}

func TestRunningNeverExceedsMaxWhileMaxFlaps(t *testing.T) {
	p := newPool(t, pool.Config{Settings: pool.Settings{Core: 16, Queue: 1000, Policy: pool.Block}})
	var running atomic.Int64
	n := 200
	if testing.Short() {
		n = 40
	}
	var submitters sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		submitters.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					p.Go(func() { running.Add(1); runtime.Gosched(); running.Add(-1) })
				}
			}
		})
	}
	for i := range n {
		limit := []int{3, 16, 1, 9}[i%4]
		apply(t, p, func(s *pool.Settings) { s.Core, s.Max = limit, limit })
		for { // what ran before the change may go on, and ends soon
			if s := p.Snapshot(); s.Active <= limit {
				break
			}
			runtime.Gosched()
		}
		for range 200 {
			if now := running.Load(); now > int64(limit) {
				t.Fatalf("%d run, max has been %d", now, limit)
			}
			runtime.Gosched()
		}
	}
	close(stop)
	submitters.Wait()
}
