package command

import "fmt"

// Outcome is the one class in which a call ends.
type Outcome uint8

// The outcomes.
const (
	Success        Outcome = iota // the function returned no error in time
	Failure                       // it returned an error, or panicked
	Timeout                       // it did not return in time, whatever it returned later
	Rejected                      // not run: no permit, no worker, no place in the queue
	ShortCircuited                // not run: the breaker refused
	BadRequest                    // it found the request bad: no failure of the dependency, and no fallback
	Cancelled                     // the caller went away first
	NumOutcomes    int     = iota
)

var outcomeNames = [NumOutcomes]string{"success", "failure", "timeout", "rejected", "short_circuited", "bad_request", "cancelled"}

// String is the name used in metrics and in the header X-Loadline-Outcome.
func (o Outcome) String() string {
	if int(o) >= NumOutcomes {
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
	return outcomeNames[o]
}

// Event is what Hystrix would have told of a call. A call causes one execution event, and where a fallback was wanted one of the
// fallback's.
type Event uint8

// The events, by Hystrix' names. Those of caches, collapsers and streams do not occur here and are left out.
const (
	EventSuccess            Event = iota
	EventFailure                  // the function returned an error or panicked
	EventTimeout                  //
	EventBadRequest               //
	EventShortCircuited           //
	EventThreadPoolRejected       // refused by the pool
	EventSemaphoreRejected        // refused by the bulkhead
	EventCancelled                //
	EventFallbackSuccess          //
	EventFallbackFailure          // the fallback returned an error or panicked
	EventFallbackRejection        // no permit for the fallback
	EventFallbackDisabled         // wanted, but switched off
	EventFallbackMissing          // wanted, but there is none
	EventExceptionThrown          // an error reached the caller, of a bad request or after the fallback did not help
	NumEvents               int   = iota
)

var eventNames = [NumEvents]string{"SUCCESS", "FAILURE", "TIMEOUT", "BAD_REQUEST", "SHORT_CIRCUITED", "THREAD_POOL_REJECTED",
	"SEMAPHORE_REJECTED", "CANCELLED", "FALLBACK_SUCCESS", "FALLBACK_FAILURE", "FALLBACK_REJECTION", "FALLBACK_DISABLED",
	"FALLBACK_MISSING", "EXCEPTION_THROWN"}

// String is Hystrix' name of the event.
func (e Event) String() string {
	if int(e) >= NumEvents {
		return fmt.Sprintf("EVENT(%d)", uint8(e))
	}
	return eventNames[e]
}
