package load

import (
	"context"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// Function is a target within this process: it does the work of one request and says what came of it. It should return soon after ctx has
// ended, which is two timeouts after it was called; what it returns after the first is late. It is called from many goroutines.
type Function func(ctx context.Context) record.Outcome

// functionExchanger calls a function.
type functionExchanger struct{ call Function }

// openFunction takes of the target the timeout only.
func openFunction(f Function) func(context.Context, Config, Job) (exchanger, *work, error) {
	return func(_ context.Context, _ Config, job Job) (exchanger, *work, error) {
		m := &message{timeout: int64(job.Target.Request.Timeout)}
		if m.timeout <= 0 {
			m.timeout = int64(plan.DefaultTimeout)
		}
		return &functionExchanger{f}, &work{message: m, timeout: m.timeout}, nil
	}
}

func (x *functionExchanger) exchange(ctx context.Context, _ *message, l *ledger) reply {
	l.connected()
	outcome := x.call(ctx)
	if ctx.Err() != nil {
		return reply{outcome: record.Timeout}
	}
	r := reply{outcome: outcome, answered: outcome.Answered() || outcome == record.Timeout}
	if outcome != record.Success {
		r.code = "function: " + outcome.String()
	}
	return r
}

func (x *functionExchanger) background(context.Context) {}

func (x *functionExchanger) close() {}
