package order

import (
	"fmt"

	"github.com/loadline-dev/loadline/internal/lab/expose"
)

// metrics are the service's answers by class and, where there is one, the pool or bulkhead named price.
func (s *Service) metrics() []byte {
	var t expose.Text
	t.Family("lab_order_requests_total", "counter", "Answers by class.")
	for o := range numOutcomes {
		t.Sample("lab_order_requests_total", fmt.Sprintf("outcome=%q", o.String()), float64(s.outcomes[o].Load()))
	}
	s.guard.expose(&t)
	return t.Bytes()
}

func (w *workers) expose(t *expose.Text) { t.Pools(w.pool.Snapshot()) }

func (p *permits) expose(t *expose.Text) { t.Bulkheads(p.bulkhead.Snapshot()) }
