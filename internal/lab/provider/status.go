package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/loadline-dev/loadline/pool"
)

// Status is how a call ended; the numbers are those of the binary protocol.
type Status uint8

// The states of a reply.
const (
	OK       Status = iota
	Failed          // Redis failed, or there is no such user
	Timeout         // the call's time was over
	Rejected        // workers busy and queue full
	BadCall         // a frame that is no call
	numStatus
)

var statusNames = [numStatus]string{"success", "failure", "timeout", "rejected", "bad call"}

// String is the name in metrics and messages.
func (s Status) String() string {
	if s < numStatus {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// outcome is the value of the header X-Loadline-Outcome.
func (s Status) outcome() string {
	if s == BadCall {
		return Failed.String()
	}
	return s.String()
}

// statusOf reads the status off the error of a call.
func statusOf(err error) Status {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, pool.ErrRejected):
		return Rejected
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded): // The latter where a read from Redis ran into it.
		return Timeout
	default:
		return Failed
	}
}

// outcomes counts replies by status.
type outcomes [numStatus]atomic.Uint64

func (o *outcomes) add(s Status) { o[s].Add(1) }
