package loop

import "time"

// answer is what is due for a connection.
type answer struct {
	at, read time.Duration // since the server's origin
	conn     *conn
	response *Response
}

// schedule is a binary heap of answers, the earliest in front. Note: container/heap would box every answer.
type schedule []answer

func (s *schedule) push(a answer) {
	*s = append(*s, a)
	h := *s
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent].at <= h[i].at {
			return
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
}

func (s *schedule) pop() answer {
	h := *s
	first := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h[last] = answer{} // Lets go of the connection.
	*s = h[:last]
	s.sink()
	return first
}

func (s schedule) sink() {
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(s) && s[child].at < s[least].at {
				least = child
			}
		}
		if least == i {
			return
		}
		s[least], s[i] = s[i], s[least]
		i = least
	}
}
