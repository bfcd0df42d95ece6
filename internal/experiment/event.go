package experiment

import (
	"sync"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// EventKind is what an Event tells of.
type EventKind uint8

// The kinds of events.
const (
	Preparing  EventKind = iota // services are started or told of a setting
	CellBegins                  // Done cells of Total are behind
	Second                      // an interval ended: Interval holds it
	CellEnds
	Resting  // for the time For
	Trouble  // something could not be sampled: Err says what; the run goes on
	Searched // a batch of Trial was judged: Line is what is known so far
)

// Event is a piece of progress. Only the fields that its kind names are set besides Cell.
type Event struct {
	Kind        EventKind
	Cell        plan.Cell
	Done, Total int
	Interval    record.Interval // figures only: the histograms are shared and must not be changed
	Of          time.Duration   // the length of the cell's phases together
	For         time.Duration
	Err         error
	Trial       search.Trial
	Line        search.Result
}

// teller hands events to the listener one at a time.
type teller struct {
	mu       sync.Mutex // guards the call of listener
	listener func(Event)
}

func newTeller(listener func(Event)) *teller {
	if listener == nil {
		listener = func(Event) {}
	}
	return &teller{listener: listener}
}

func (t *teller) event(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listener(e)
}
