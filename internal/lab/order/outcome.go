package order

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/loadline-dev/loadline/bulkhead"
	"github.com/loadline-dev/loadline/pool"
)

// outcome is the class of an answer.
type outcome uint8

const (
	success outcome = iota
	failure
	timeout
	rejected
	cancelled // the user had gone
	numOutcomes
)

var outcomeNames = [numOutcomes]string{"success", "failure", "timeout", "rejected", "cancelled"}

// outcomeValues are header values, made once.
var outcomeValues = [numOutcomes][]string{{"success"}, {"failure"}, {"timeout"}, {"rejected"}, {"failure"}}

var outcomeStatus = [numOutcomes]int{http.StatusOK, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusServiceUnavailable,
	http.StatusBadGateway}

func (o outcome) String() string { return outcomeNames[o] }

// classify reads the class off the error of a call.
func classify(err error) outcome {
	switch {
	case err == nil:
		return success
	case errors.Is(err, pool.ErrRejected), errors.Is(err, bulkhead.ErrRejected):
		return rejected
	case errors.Is(err, context.DeadlineExceeded):
		return timeout
	case errors.Is(err, context.Canceled):
		return cancelled
	default:
		return failure
	}
}

// outcomes counts answers by class.
type outcomes [numOutcomes]atomic.Uint64

func (o *outcomes) add(class outcome) { o[class].Add(1) }
