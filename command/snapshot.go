package command

import (
	"time"

	"github.com/loadline-dev/loadline/internal/buckets"
)

// Histogram is a distribution of durations in log-linear buckets, good to 1.6 %. Histograms merge.
type Histogram = buckets.Snapshot

// Snapshot is what a command shows of itself. Counters count since it was made; they are read one after the other while calls go on.
// When none is under way, Calls is the sum of Outcomes.
type Snapshot struct {
	Name, Group string
	Settings    Settings // in force, defaults filled in
	Version     uint64   // of the settings: 1, and one more with each change

	Calls    uint64        // made, those under way among them; those that wait for a permit come in later
	Active   int           // under way and in time; with a pool those in its queue too
	Zombies  int           // over time and still running, their permit or worker taken
	Overtime time.Duration // of the oldest of them
	Late     uint64        // calls over time that came back with success after all; they were counted as Timeout

	// Aborted of the calls with outcome Failure or Timeout panicked, or ended their goroutine, on their caller's goroutine, so that no fallback
	// could answer.
	Aborted uint64

	Outcomes [NumOutcomes]uint64
	Events   [NumEvents]uint64

	FallingBack int // fallbacks under way

	// Wait is how long executions waited for a permit or in the queue, 0 for those that did not; Execution how long those took that
	// succeeded, Unsuccessful the others that began. Total is Wait and execution together, whatever the outcome. A call over time is in
	// these from when it came back.
	Wait, Execution, Unsuccessful, Total Histogram
}

// Snapshot shows the command as it is now.
func (c *Control) Snapshot() Snapshot {
	c.mu.Lock()
	s := Snapshot{Name: c.name, Group: c.group, Settings: c.gear.Load().settings, Version: c.version}
	c.mu.Unlock()
	m := &c.meters
	quick, quickBad := m.quick[succeeded].snapshot(), m.quick[unsuccessful].snapshot()
	s.Execution, s.Unsuccessful = m.waited[succeeded].snapshot(), m.waited[unsuccessful].snapshot()
	s.Wait, s.Total = m.waits.snapshot(), m.totals.snapshot()
	s.Wait.RecordN(0, quick.N()+quickBad.N())
	s.Total.Merge(quick)
	s.Total.Merge(quickBad)
	s.Execution.Merge(quick)
	s.Unsuccessful.Merge(quickBad)
	c.count(&s)
	c.look(&s)
	for _, n := range s.Outcomes {
		s.Calls += n
	}
	s.Calls += uint64(s.Active)
	return s
}

// count fills in outcomes and events.
func (c *Control) count(s *Snapshot) {
	m := &c.meters
	for i := range s.Outcomes {
		s.Outcomes[i] = m.outcomes[i].Load()
	}
	s.Outcomes[Success] = s.Execution.N()
	s.Late, s.Aborted, s.FallingBack = m.late.Load(), m.aborted.Load(), int(m.fallingBack.Load())
	e := &s.Events
	e[EventSuccess], e[EventFailure], e[EventTimeout] = s.Outcomes[Success], s.Outcomes[Failure], s.Outcomes[Timeout]
	e[EventBadRequest], e[EventShortCircuited], e[EventCancelled] = s.Outcomes[BadRequest], s.Outcomes[ShortCircuited], s.Outcomes[Cancelled]
	e[EventSemaphoreRejected], e[EventThreadPoolRejected] = m.refusals[byBulkhead].Load(), m.refusals[byPool].Load()
	for i, event := range [numFallbacks]Event{EventFallbackSuccess, EventFallbackFailure, EventFallbackRejection, EventFallbackDisabled, EventFallbackMissing} {
		e[event] = m.fallbacks[i].Load()
	}
	e[EventExceptionThrown] = e[EventBadRequest] + e[EventFallbackFailure] + e[EventFallbackRejection] + e[EventFallbackDisabled] + e[EventFallbackMissing]
}

// look fills in what is under way.
func (c *Control) look(s *Snapshot) {
	now := c.clock.Exact()
	c.slots.Load().each(func(slot *slot) {
		word := slot.word.Load()
		switch {
		case free(word):
		case word&overtime == 0:
			s.Active++
		default:
			s.Zombies++
			s.Overtime = max(s.Overtime, -left(word, now))
		}
	})
}
