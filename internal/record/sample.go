package record

import "time"

// Sample is one request. Instants count from the cell's origin.
type Sample struct {
	Planned  time.Duration
	Sent     time.Duration // equal to Planned in the closed model; negative for what was never sent
	Done     time.Duration // of the answer; of the timeout where none came, of the cut for what was cut
	Outcome  Outcome
	Status   int  // of the answer, 0: none
	Inside   bool // planned inside the window
	Answered bool
}
