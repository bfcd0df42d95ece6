package queueing

import (
	"errors"
	"fmt"
	"math"
)

// Nested is a pool whose threads each take a connection from a second pool for part of their work and keep the thread while they wait for
// it. Two resources held at once have no product form; the chain over (requests in the system, those in the connection stage) is solved
// exactly.
//
// Service is exponential in both stages: first the thread alone, then thread and connection.
type Nested struct {
	Threads       int
	LocalSec      float64 // mean time of a thread without a connection
	Connections   int
	ConnectionSec float64 // mean time with one
	Cores         int     // local work shares so many; 0: as many as threads

	Clients  int     // closed loop of so many clients, with
	ThinkSec float64 // this mean think time; or
	// ArrivalPerSec > 0 makes it open: Poisson arrivals, Queue places before the threads, rejection when full.
	ArrivalPerSec float64
	Queue         int
}

// NestedFigures are the means of a nested pool. Waits are per admitted request.
type NestedFigures struct {
	ThroughputPerSec float64
	RejectedRatio    float64
	ResponseSec      float64
	ThreadWaitSec    float64
	ConnWaitSec      float64
	BusyThreads      float64
	BusyConns        float64
}

// maxNestedStates keeps a wrong figure from asking for hours of elimination.
const maxNestedStates = 200_000

// Validate joins all faults.
func (q Nested) Validate() error {
	err := positive(map[string]float64{"Threads": float64(q.Threads), "LocalSec": q.LocalSec, "Connections": float64(q.Connections), "ConnectionSec": q.ConnectionSec})
	open := q.ArrivalPerSec > 0
	switch {
	case open && (q.Clients != 0 || q.ThinkSec != 0):
		err = errors.Join(err, errors.New("arrivals are for an open system, clients and think time for a closed one: give one of them"))
	case !open && (q.Clients < 1 || !(q.ThinkSec > 0)):
		err = errors.Join(err, fmt.Errorf("clients = %d, think time = %v s: allowed are 1 or more and above 0, or arrivals for an open system", q.Clients, q.ThinkSec))
	}
	if q.Queue < 0 || q.Cores < 0 {
		err = errors.Join(err, fmt.Errorf("queue = %d, cores = %d: allowed is 0 or more", q.Queue, q.Cores))
	}
	if err == nil && (q.top()+1)*(q.Threads+1) > maxNestedStates {
		err = fmt.Errorf("%d states: at most %d are solved; simulate larger systems", (q.top()+1)*(q.Threads+1), maxNestedStates)
	}
	return err
}

// top is the most requests in the system.
func (q Nested) top() int {
	if q.ArrivalPerSec > 0 {
		return q.Threads + q.Queue
	}
	return q.Clients
}

// nestedState is n requests in the system, d of them in the connection stage.
type nestedState struct{ n, d int }

// Figures solves the chain.
func (q Nested) Figures() (NestedFigures, error) {
	if err := q.Validate(); err != nil {
		return NestedFigures{}, err
	}
	var states []nestedState
	index := map[nestedState]int{}
	for n := 0; n <= q.top(); n++ {
		for d := 0; d <= min(n, q.Threads); d++ {
			index[nestedState{n, d}] = len(states)
			states = append(states, nestedState{n, d})
		}
	}
	chain := newBand(len(states), q.Threads+2)
	for i, s := range states {
		q.transitions(s, func(to nestedState, rate float64) {
			if rate > 0 {
				chain.add(i, index[to], rate)
			}
		})
	}
	return q.means(states, chain.stationary()), nil
}

// transitions lists where a state leads, with rates.
func (q Nested) transitions(s nestedState, to func(nestedState, float64)) {
	running := min(s.n, q.Threads)
	if s.n < q.top() {
		to(nestedState{s.n + 1, s.d}, q.arrival(s.n))
	}
	if local := running - s.d; local > 0 {
		busy := local
		if q.Cores > 0 {
			busy = min(local, q.Cores)
		}
		to(nestedState{s.n, s.d + 1}, float64(busy)/q.LocalSec)
	}
	if s.d > 0 {
		to(nestedState{s.n - 1, s.d - 1}, float64(min(s.d, q.Connections))/q.ConnectionSec)
	}
}

func (q Nested) arrival(n int) float64 {
	if q.ArrivalPerSec > 0 {
		return q.ArrivalPerSec
	}
	return float64(q.Clients-n) / q.ThinkSec
}

func (q Nested) means(states []nestedState, p []float64) NestedFigures {
	var f NestedFigures
	var inSystem, waitThread, waitConn float64
	for i, s := range states {
		running := min(s.n, q.Threads)
		f.BusyThreads += p[i] * float64(running)
		f.BusyConns += p[i] * float64(min(s.d, q.Connections))
		inSystem += p[i] * float64(s.n)
		waitThread += p[i] * float64(s.n-running)
		waitConn += p[i] * float64(max(0, s.d-q.Connections))
		if q.ArrivalPerSec > 0 && s.n == q.top() {
			f.RejectedRatio += p[i]
		}
	}
	f.ThroughputPerSec = f.BusyConns / q.ConnectionSec
	f.ResponseSec = inSystem / f.ThroughputPerSec
	f.ThreadWaitSec = waitThread / f.ThroughputPerSec
	f.ConnWaitSec = waitConn / f.ThroughputPerSec
	return f
}

// DeadlockFreePool is the fewest connections with which threads that each take several from one pool, one after the other and keeping
// them, always get on: threads·(perThread−1) + 1. Inputs below 1 count as 1.
//
// Source: HikariCP, "About Pool Sizing".
func DeadlockFreePool(threads, perThread int) int { return max(1, threads)*(max(1, perThread)-1) + 1 }

// band is a generator matrix whose entries lie within width of the diagonal.
type band struct {
	size, width int
	rates       []float64 // row i holds i−width … i+width
}

func newBand(size, width int) *band {
	return &band{size: size, width: width, rates: make([]float64, size*(2*width+1))}
}

func (b *band) at(i, j int) *float64 { return &b.rates[i*(2*b.width+1)+j-i+b.width] }

func (b *band) add(i, j int, rate float64) { *b.at(i, j) += rate }

// stationary solves for the long-run probabilities by the elimination of Grassmann, Taksar and Heyman, which never subtracts and so keeps
// its digits; within a band it takes size·width² steps. The chain must be irreducible.
//
// Source: W. K. Grassmann, M. I. Taksar and D. P. Heyman, "Regenerative Analysis and Steady State Distributions for Markov Chains",
// Operations Research 33 (1985).
func (b *band) stationary() []float64 {
	for k := b.size - 1; k > 0; k-- {
		low := max(0, k-b.width)
		out := 0.0
		for j := low; j < k; j++ {
			out += *b.at(k, j)
		}
		for i := low; i < k; i++ {
			share := *b.at(i, k) / out
			*b.at(i, k) = share
			if share == 0 {
				continue
			}
			for j := low; j < k; j++ {
				if j != i {
					*b.at(i, j) += share * *b.at(k, j)
				}
			}
		}
	}
	p := make([]float64, b.size)
	p[0] = 1
	sum := 1.0
	for k := 1; k < b.size; k++ {
		for i := max(0, k-b.width); i < k; i++ {
			p[k] += p[i] * *b.at(i, k)
		}
		sum += p[k]
		if sum > 1e200 || math.IsInf(sum, 0) {
			scale(p[:k+1], sum)
			sum = 1
		}
	}
	scale(p, sum)
	return p
}

func scale(p []float64, by float64) {
	for i := range p {
		p[i] /= by
	}
}
