package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

var errBroke = errors.New("another task of the batch panicked")

// Batch runs tasks of one kind on a pool and waits for all of them. It is made by NewBatch; Go may be called from any goroutine, also from the
// batch's own tasks; Wait once, after the last Go that is not called from a task.
type Batch[T any] struct {
	pool   *Pool
	ctx    context.Context
	cancel context.CancelCauseFunc
	first  bool

	mu      sync.Mutex // guards futures and errs
	futures []*Future[T]
	errs    []error // of those that the pool did not take, at their place in futures
}

// BatchMode is what a batch does when a task fails.
type BatchMode uint8

const (
	// All lets the others go on.
	All BatchMode = iota
	// StopAtFirst ends the context of the others: those that have not begun never will.
	StopAtFirst
)

// TaskError is the error of one task of a batch.
type TaskError struct {
	Index int // in the order of Go, from 0
	Err   error
}

// Error names the task.
func (e *TaskError) Error() string { return fmt.Sprintf("task %d: %v", e.Index, e.Err) }

// Unwrap is the task's error.
func (e *TaskError) Unwrap() error { return e.Err }

// NewBatch returns an empty batch. Its tasks end when ctx does.
func NewBatch[T any](ctx context.Context, p *Pool, mode BatchMode) *Batch[T] {
	b := &Batch[T]{pool: p, first: mode == StopAtFirst}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	return b
}

// Go gives the pool a task. What the pool answers if it does not take it becomes the task's error.
func (b *Batch[T]) Go(fn func(context.Context) (T, error)) {
	f, err := Submit(b.ctx, b.pool, func(ctx context.Context) (T, error) {
		err := errBroke // stays if fn panics
		defer func() { b.fail(err) }()
		var value T
		value, err = fn(ctx)
		return value, err
	})
	b.fail(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.futures = append(b.futures, f)
	b.errs = append(b.errs, err)
}

func (b *Batch[T]) fail(err error) {
	if b.first && err != nil {
		b.cancel(err)
	}
}

// Wait returns the results in the order of Go, zero values for tasks that failed, and their errors, joined, each a *TaskError. When the batch's
// context ends, Wait returns without waiting for tasks that still run; they count as zombies.
func (b *Batch[T]) Wait() ([]T, error) {
	defer b.cancel(context.Canceled)
	from := Of(b.ctx)
	from.beginWait(b.pool)
	defer from.endWait(b.pool)
	var values []T
	var errs []error
	for i := 0; ; i++ {
		f, err, ok := b.task(i)
		if !ok {
			return values, errors.Join(errs...)
		}
		var value T
		if err == nil {
			value, err = b.outcome(f)
		}
		values = append(values, value)
		if err != nil {
			errs = append(errs, &TaskError{i, err})
		}
	}
}

func (b *Batch[T]) task(i int) (f *Future[T], err error, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i == len(b.futures) {
		return nil, nil, false
	}
	return b.futures[i], b.errs[i], true
}

// outcome waits for one task, and gives it up when the batch's context ends.
func (b *Batch[T]) outcome(f *Future[T]) (T, error) {
	select {
	case <-f.Done():
	case <-b.ctx.Done():
		f.abandonWith(context.Cause(b.ctx))
		<-f.Done()
	}
	return f.result()
}

// Map runs fn over items on p and returns the results in their order; see Batch for the error.
func Map[In, Out any](ctx context.Context, p *Pool, mode BatchMode, items []In, fn func(context.Context, In) (Out, error)) ([]Out, error) {
	b := NewBatch[Out](ctx, p, mode)
	for _, item := range items {
		b.Go(func(ctx context.Context) (Out, error) { return fn(ctx, item) })
	}
	return b.Wait()
}
