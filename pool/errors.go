package pool

import (
	"errors"
	"fmt"
)

// What errors.Is finds in the errors of a pool.
var (
	// ErrRejected: there was no room for the task. The error is a *RejectedError.
	ErrRejected = errors.New("rejected")
	// ErrClosed: the pool takes no more tasks. The error is a *RejectedError too, so that ErrRejected is found as well.
	ErrClosed = errors.New("pool closed")
	// ErrDiscarded: the task was dropped before it began, by the policy or by ShutdownNow.
	ErrDiscarded = errors.New("discarded")
	// ErrQueueBudget: the task waited for longer than Settings.QueueBudget and was dropped.
	ErrQueueBudget = errors.New("queue budget exceeded")
	// ErrRunBudget: the task ran for longer than Settings.RunBudget. It may still run.
	ErrRunBudget = errors.New("run budget exceeded")
	// ErrCancelled: Future.Cancel came before the task had ended.
	ErrCancelled = errors.New("cancelled")
	// ErrGoexit: the task ended its goroutine by runtime.Goexit. The pool has replaced the worker.
	ErrGoexit = errors.New("task called runtime.Goexit")
)

// Reason says why a task was refused.
type Reason uint8

// The reasons.
const (
	Full      Reason = iota + 1 // workers at max and queue at capacity
	Threshold                   // as many tasks wait as Settings.Threshold allows
	TimedOut                    // no room within Settings.BlockFor
	Closed                      // the pool takes no more tasks
)

// String is the reason's name.
func (r Reason) String() string {
	return nameOf([]string{"none", "full", "threshold", "timed out", "closed"}, int(r), "reason")
}

// RejectedError says that a pool refused a task and how the pool stood at that moment. It is shared and must not be changed.
type RejectedError struct {
	Pool    string
	Reason  Reason
	Active  int // workers busy
	Workers int
	Max     int
	Waiting int // tasks in the queue
	Queue   int // what may wait: Settings.EffectiveQueue
	Cause   error
}

// Error names the pool, the reason and the figures.
func (e *RejectedError) Error() string {
	capacity := fmt.Sprint(e.Queue)
	if e.Queue == Unbounded {
		capacity = "unbounded"
	}
	text := fmt.Sprintf("pool %q: rejected: %v: %d of %d workers busy (max %d), %d of %s waiting",
		e.Pool, e.Reason, e.Active, e.Workers, e.Max, e.Waiting, capacity)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Is finds ErrRejected, and ErrClosed if the pool is closed.
func (e *RejectedError) Is(target error) bool {
	return target == ErrRejected || target == ErrClosed && e.Reason == Closed
}

// Unwrap is the cause that a user's own policy gave.
func (e *RejectedError) Unwrap() error { return e.Cause }

// PanicError says that a task panicked.
type PanicError struct {
	Pool   string
	Worker string // the worker's name, empty if the task ran on its caller
	Value  any    // what was given to panic
	Stack  []byte // of the task, as by debug.Stack
}

// Error is the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("pool %q: task panicked: %v\n%s", e.Pool, e.Value, e.Stack)
}

// Unwrap is the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func wrapNew(name string, err error) error { return fmt.Errorf("new pool %q: %w", name, err) }
func wrapApply(name string, err error) error {
	return fmt.Errorf("apply settings to pool %q: %w", name, err)
}
