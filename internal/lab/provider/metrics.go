package provider

import (
	"fmt"

	"github.com/loadline-dev/loadline/internal/lab/expose"
)

// metrics are the replies by status, the business pool named business, and the connections to Redis named redis, by the names of go-redis'
// exporters.
func (s *Service) metrics() []byte {
	var t expose.Text
	t.Family("lab_provider_replies_total", "counter", "Replies of both protocols by how the call ended.")
	for status := range numStatus {
		t.Sample("lab_provider_replies_total", fmt.Sprintf("outcome=%q", status), float64(s.outcomes[status].Load()))
	}
	t.Pools(s.pool.Snapshot())
	c := s.store.client.PoolStats()
	for _, f := range []struct {
		name, kind, help string
		value            float64
	}{
		{"lab_redis_pool_conn_max", "gauge", "Most connections.", float64(s.config.Connections)},
		{"lab_redis_pool_conn_total_current", "gauge", "Connections open.", float64(c.TotalConns)},
		{"lab_redis_pool_conn_idle_current", "gauge", "Connections that nobody uses.", float64(c.IdleConns)},
		{"lab_redis_pool_timeout_total", "counter", "Calls that got no connection in time.", float64(c.Timeouts)},
	} {
		t.Family(f.name, f.kind, f.help)
		t.Sample(f.name, `name="redis"`, f.value)
	}
	return t.Bytes()
}
