package fanout

import (
	"context"
	"sync"
)

// latch opens when it was counted down as often as it was told.
type latch struct {
	open chan struct{}
	mu   sync.Mutex // guards what follows
	left int
	err  error // the first
}

func newLatch(n int) *latch { return &latch{open: make(chan struct{}), left: n} }

func (l *latch) countDown(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.left--
	if l.left == 0 {
		close(l.open)
	}
}

// await returns the first error of those who counted down, or the context's.
func (l *latch) await(ctx context.Context) error {
	select {
	case <-l.open:
		return l.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
