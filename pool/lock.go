package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// lock is a mutex for sections of a few dozen instructions. It tries for about as long as such a section takes, and then lets others run
// before it queues up: queueing up in sync.Mutex costs many times what the section does, and tasks so short that workers meet at the
// lock are run faster by fewer workers at once.
type lock struct {
	mu    sync.Mutex
	crowd atomic.Int32 // callers that wait for room
}

const (
	spins  = 60 // tries, about 100 ns
	yields = 4
	// crowded is from how many waiting callers on it queues up at once: whoever yields then waits for all of them.
	crowded = 8
)

// Lock takes the lock.
func (l *lock) Lock() {
	if !l.mu.TryLock() {
		l.wait()
	}
}

//go:noinline
func (l *lock) wait() {
	if l.crowd.Load() < crowded {
		for range yields {
			if spin(&l.mu) {
				return
			}
			runtime.Gosched()
		}
	}
	l.mu.Lock()
}

// Unlock gives the lock back.
func (l *lock) Unlock() { l.mu.Unlock() }

//go:noinline
func spin(mu *sync.Mutex) bool {
	for range spins {
		if mu.TryLock() {
			return true
		}
	}
	return false
}

// lockInbox takes the inbox' lock. Its sections are shorter still, and nobody yields there: submitters may be many.
func lockInbox(mu *sync.Mutex) {
	if !mu.TryLock() && !spin(mu) {
		mu.Lock()
	}
}
