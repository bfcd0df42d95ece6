// Package record holds the facts of a run: what was planned, what each request came to, and what was sampled meanwhile. It holds no
// verdicts; those are computed from it, any time and again. Values are plain data; a Run or Cell is for one goroutine at a time.
package record

import "fmt"

// Outcome is the one class in which a planned request ends.
type Outcome uint8

// The outcomes. Every request planned ends in exactly one.
const (
	Success        Outcome = iota // answered as wished
	Failure                       // answered, but wrong
	Timeout                       // no answer within the timeout, nor in the one after it; or answered 504
	Late                          // the answer came after the timeout, within one more
	Rejected                      // the service refused for capacity: pool or queue full, no permit
	ShortCircuited                // the service refused because a breaker was open
	Refused                       // connection refused
	Reset                         // connection reset or closed in the middle
	DNS                           // name not resolved
	TLS                           // TLS handshake failed
	ClientLimit                   // the generator ran out of ports or descriptors
	Cut                           // still in flight when the cell ended
	Dropped                       // planned, never sent
	NumOutcomes    int     = iota
)

var outcomeNames = [NumOutcomes]string{"success", "failure", "timeout", "late", "rejected", "short_circuited", "refused", "reset", "dns",
	"tls", "client_limit", "cut", "dropped"}

// Outcomes lists all classes in the order in which they are shown.
func Outcomes() [NumOutcomes]Outcome {
	var out [NumOutcomes]Outcome
	for i := range out {
		out[i] = Outcome(i)
	}
	return out
}

// String is the name used in plans and results.
func (o Outcome) String() string {
	if int(o) >= NumOutcomes {
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
	return outcomeNames[o]
}

// ParseOutcome reads a name as String gives it.
func ParseOutcome(name string) (Outcome, error) {
	for i, n := range outcomeNames {
		if n == name {
			return Outcome(i), nil
		}
	}
	return 0, fmt.Errorf("unknown outcome %q: one of %v", name, outcomeNames)
}

// Answered tells whether a request of this class got an answer from the service. A timeout did so only where the answer was a 504,
// which Class.Answered tells.
func (o Outcome) Answered() bool {
	switch o {
	case Success, Failure, Late, Rejected, ShortCircuited:
		return true
	default:
		return false
	}
}

// OutcomeOfStatus is the class of an HTTP answer where neither a plan's rule nor the service itself says otherwise: 429 and 503 are refusals for
// capacity, 504 a timeout, 2xx and 3xx successes, anything else a failure.
func OutcomeOfStatus(status int) Outcome {
	switch {
	case status == 429 || status == 503:
		return Rejected
	case status == 504:
		return Timeout
	case status >= 200 && status < 400:
		return Success
	default:
		return Failure
	}
}
