package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// Config says how load is sent, apart from what it is.
type Config struct {
	// Loops is the number of threads that send, for the fast engine. 0: 1.
	Loops int
	// Folder is where the names of body files begin. Empty: the working folder.
	Folder string
}

// Validate joins all faults.
func (c Config) Validate() error {
	const most = 64
	if c.Loops < 0 || c.Loops > most {
		return fmt.Errorf("load: loops: found %d, allowed: 0 to %d", c.Loops, most)
	}
	return nil
}

// New returns the engine that fits a target.
func New(c Config) (Engine, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &fast{config: c}, nil
}

func (j Job) validate() error {
	faults := []error{j.Phases.validate()}
	switch {
	case j.Load.Model != record.Closed:
		faults = append(faults, fmt.Errorf("load: model: found %q, allowed: %s", j.Load.Model, record.Closed))
	case j.Load.Concurrency < 1:
		faults = append(faults, fmt.Errorf("load: concurrency: found %d, allowed: 1 and more", j.Load.Concurrency))
	}
	if j.Load.Think < 0 {
		faults = append(faults, fmt.Errorf("load: think: found %v, allowed: 0 and more", j.Load.Think))
	}
	return errors.Join(faults...)
}

// begin is the instant from which times count, and how long after it the first phase begins.
func (j Job) begin() (origin time.Time, start time.Duration) {
	now := time.Now()
	if j.Origin.IsZero() {
		return now, 0
	}
	return j.Origin, max(0, now.Sub(j.Origin))
}
