package observe

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// Dumper takes thread dumps of one service.
type Dumper interface {
	// Source names what is dumped, for messages.
	Source() string
	// Dump takes one. It returns when ctx ends.
	Dump(ctx context.Context) (format string, data []byte, err error)
}

// Take takes a dump, with the instant at which it began and how long it took: a JVM stands still for much of that time.
func Take(ctx context.Context, d Dumper, service, why string, clock Clock) (record.Dump, error) {
	out := record.Dump{Service: service, At: clock(), Why: why}
	began := time.Now()
	var err error
	out.Format, out.Data, err = d.Dump(ctx)
	out.Cost = time.Since(began)
	if err != nil {
		return record.Dump{}, fmt.Errorf("%s: %w", d.Source(), err)
	}
	return out, nil
}
