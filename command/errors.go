package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/loadline-dev/loadline/breaker"
)

// What a command's own errors match; an error that the function returned reaches the caller as it is, where no fallback was wanted.
var (
	// ErrTimeout means that the call did not end in time. Such an error matches context.DeadlineExceeded too.
	ErrTimeout = errors.New("timeout")
	// ErrRejected means that the call was refused for want of capacity; the cause, from package bulkhead or pool, says which.
	ErrRejected = errors.New("rejected")
	// ErrShortCircuited means that the breaker refused the call. Such an error matches breaker.ErrOpen too.
	ErrShortCircuited = errors.New("short-circuited")
	// ErrFallbackRejected means that a fallback was wanted and had no permit.
	ErrFallbackRejected = errors.New("fallback rejected")
	// ErrClosed means that the command was closed.
	ErrClosed = errors.New("command closed")
)

// Error is a call that did not succeed and was not helped by a fallback.
type Error struct {
	Command  string
	Outcome  Outcome // of the execution
	Cause    error   // of the outcome: the function's error, the bulkhead's, the breaker's; nil for a timeout
	Fallback error   // why the fallback did not help; nil where there was none to try
}

// Error names the command, the outcome and both causes.
func (e *Error) Error() string {
	text := fmt.Sprintf("command %q: %s", e.Command, e.Outcome)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	if e.Fallback != nil {
		text += "; fallback: " + e.Fallback.Error()
	}
	return text
}

// Unwrap gives the causes to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var causes []error
	for _, cause := range []error{e.Cause, e.Fallback} {
		if cause != nil {
			causes = append(causes, cause)
		}
	}
	return causes
}

// Is matches the sentinel of the outcome.
func (e *Error) Is(target error) bool {
	switch e.Outcome {
	case Timeout:
		return target == ErrTimeout || target == context.DeadlineExceeded
	case Rejected:
		return target == ErrRejected
	case ShortCircuited:
		return target == ErrShortCircuited || target == breaker.ErrOpen
	default:
		return false
	}
}

// badRequest marks an error as the request's fault.
type badRequest struct{ err error }

func (b *badRequest) Error() string { return b.err.Error() }
func (b *badRequest) Unwrap() error { return b.err }

// AsBadRequest marks an error as the request's own fault: it says nothing against the dependency, so the breaker does not count it, and it
// reaches the caller without a fallback. errors.Is and As see through the mark. A nil error stays nil.
func AsBadRequest(err error) error {
	if err == nil {
		return nil
	}
	return &badRequest{err: err}
}

// IsBadRequest tells whether an error carries the mark of AsBadRequest.
func IsBadRequest(err error) bool {
	var mark *badRequest
	return errors.As(err, &mark)
}

// Classify is the default of Config.Classify. It is given the caller's context and what the function returned in time: nil is a success, a
// bad request one, an error after the caller went away Cancelled, and any other error a failure.
func Classify(ctx context.Context, err error) Outcome {
	switch {
	case err == nil:
		return Success
	case IsBadRequest(err):
		return BadRequest
	case ctx.Err() != nil:
		return Cancelled
	default:
		return Failure
	}
}

// errAborted stands for a panic that goes on, or a goroutine that ends.
var errAborted = errors.New("panicked or ended its goroutine")

// errLeft stands for a caller who does not wait for a worker any longer.
var errLeft = errors.New("caller left")
