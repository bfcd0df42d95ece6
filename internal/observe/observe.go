// Package observe samples services and the host while load runs. A Collector looks once; Run looks again and again, all collectors on
// one clock, each on its own goroutine, so that one that hangs delays no other. What a look yields, errors included, is a Batch.
package observe

import (
	"context"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// Collector looks at one source. Collect is called by one goroutine at a time.
type Collector interface {
	// Source names what is looked at, for messages: «process order», «http://127.0.0.1:8081/metrics».
	Source() string
	// Collect looks once. It returns when ctx ends. What it could read comes back beside the error: a batch may be partial.
	Collect(ctx context.Context, clock Clock) (Batch, error)
}

// Clock is the time since the run's or cell's origin, monotonic.
type Clock func() time.Duration

// Since is the clock that began at an instant. The instant must carry a monotonic reading, as time.Now gives it.
func Since(origin time.Time) Clock { return func() time.Duration { return time.Since(origin) } }

// Batch is what one look yielded. The zero value holds nothing.
type Batch struct {
	Source    string        // filled in by Run
	At        time.Duration // when the look began; filled in by Run
	Took      time.Duration // wall time; filled in by Run
	CPU       time.Duration // CPU time of the thread that looked; filled in by Run, 0 where the system does not tell
	Processes []record.ProcessSample
	Pools     []record.PoolSample
	Series    []record.SeriesSample
	Notes     []string // what the user should know once, such as a rate that fell
	Err       error    // what went wrong; the rest holds what could be read
}

// Closer is a Collector that holds descriptors or connections. Run closes it at its end.
type Closer interface{ Close() error }
