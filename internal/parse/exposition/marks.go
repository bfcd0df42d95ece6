package exposition

// marks are the highest figures since a service began.
type marks struct{ active, queue *float64 }

// Marks turns highest figures since the service began into highest figures since the last reading: a mark that rose was set in between,
// one that did not tells nothing about that time. The zero value has seen no reading. It is for one goroutine at a time.
type Marks struct{ last map[string]marks }

// Apply fills in ActiveMax and QueueMax of a reading's pools where the exporter did not tell them.
func (m *Marks) Apply(r *Reading) {
	for i := range r.Pools {
		p := &r.Pools[i]
		before, now := m.last[p.Pool], r.marks[p.Pool]
		if p.ActiveMax == nil {
			p.ActiveMax = risen(before.active, now.active)
		}
		if p.QueueMax == nil {
			p.QueueMax = risen(before.queue, now.queue)
		}
	}
	m.last = r.marks
}

func risen(before, now *float64) *float64 {
	if before == nil || now == nil || *now <= *before {
		return nil
	}
	return now
}
