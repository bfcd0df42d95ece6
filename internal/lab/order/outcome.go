package order

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// outcome is the class of an answer.
type outcome uint8

const (
	success outcome = iota
	failure
	timeout
	rejected
	shortCircuited
	cancelled // the user had gone
	numOutcomes
)

var outcomeNames = [numOutcomes]string{"success", "failure", "timeout", "rejected", "short_circuited", "cancelled"}

// outcomeValues are header values, made once.
var outcomeValues = [numOutcomes][]string{{"success"}, {"failure"}, {"timeout"}, {"rejected"}, {"short_circuited"}, {"failure"}}

var outcomeStatus = [numOutcomes]int{http.StatusOK, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusServiceUnavailable,
	http.StatusServiceUnavailable, http.StatusBadGateway}

func (o outcome) String() string { return outcomeNames[o] }

// What a guard refuses with.
var (
	errRejected       = errors.New("no slot is free")
	errShortCircuited = errors.New("the breaker is open")
)

// classify reads the class off the error of a call.
func classify(err error) outcome {
	switch {
	case err == nil:
		return success
	case errors.Is(err, errRejected):
		return rejected
	case errors.Is(err, errShortCircuited):
		return shortCircuited
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
