package load

// entry is something to do at an instant.
type entry struct {
	at      int64 // ns
	user    int32
	session *session // open model: whose next step is due
}

// agenda holds users who wait for an instant: think times, back-offs, starts. It is a binary heap; instants that come in rising order,
// as constant think times do, cost one comparison to put in.
type agenda []entry

func (a *agenda) push(e entry) {
	h := append(*a, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].at <= e.at {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*a = h
}

// next is the earliest instant.
func (a agenda) next() (int64, bool) {
	if len(a) == 0 {
		return 0, false
	}
	return a[0].at, true
}

// pop takes the earliest entry; there must be one.
func (a *agenda) pop() entry {
	h := *a
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*a = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].at < h[child].at {
			child++
		}
		if last.at <= h[child].at {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return first
}
