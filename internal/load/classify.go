package load

import (
	"bytes"
	"slices"

	"github.com/loadline-dev/loadline/internal/load/wire"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// OutcomeHeader is how a service says what an answer is, whatever its status.
const OutcomeHeader = "X-Loadline-Outcome"

// maxBody is how much of a body is kept where a rule looks into it.
const maxBody = 1 << 20

// answer is what an outcome is decided from.
type answer interface {
	Status() int
	// Value is the i-th header that the classifier asked for.
	Value(i int) ([]byte, bool)
	Body() []byte
}

// classifier decides what an answer is: the plan's own rules first, then the header, then the status.
type classifier struct {
	rules   []rule
	headers []string // asked for; the first is OutcomeHeader
	body    int      // bytes of the body asked for
	named   map[string]record.Outcome
}

type rule struct {
	status   plan.StatusMatch
	header   []headerRule
	contains []byte
	is       record.Outcome
}

type headerRule struct {
	index int
	value []byte // empty: present
}

func newClassifier(rules []plan.OutcomeRule) *classifier {
	c := &classifier{headers: []string{OutcomeHeader}, named: map[string]record.Outcome{}}
	for _, o := range []record.Outcome{record.Success, record.Failure, record.Rejected, record.ShortCircuited, record.Timeout} {
		c.named[o.String()] = o
	}
	for _, r := range rules {
		c.rules = append(c.rules, c.rule(r))
	}
	return c
}

// rule compiles a rule and asks for what it looks at.
func (c *classifier) rule(from plan.OutcomeRule) rule {
	to := rule{status: from.Status, contains: []byte(from.Contains), is: from.Is}
	if from.Contains != "" {
		c.body = maxBody
	}
	for _, h := range from.Header {
		to.header = append(to.header, headerRule{index: c.header(h.Name), value: []byte(h.Value)})
	}
	return to
}

// header is the index of a header asked for.
func (c *classifier) header(name string) int {
	at := slices.IndexFunc(c.headers, func(h string) bool { return len(h) == len(name) && bytes.EqualFold([]byte(h), []byte(name)) })
	if at < 0 {
		at = len(c.headers)
		c.headers = append(c.headers, name)
	}
	return at
}

// wanted is what the parser must keep for the classifier.
func (c *classifier) wanted() (*wire.Wanted, error) { return wire.NewWanted(c.body, c.headers...) }

func (c *classifier) outcome(a answer) record.Outcome {
	if o, decided := c.decided(a); decided {
		return o
	}
	return record.OutcomeOfStatus(a.Status())
}

// decided is what the plan's rules or the outcome header say.
func (c *classifier) decided(a answer) (record.Outcome, bool) {
	for i := range c.rules {
		if c.rules[i].matches(a) {
			return c.rules[i].is, true
		}
	}
	if name, ok := a.Value(0); ok {
		o, known := c.named[string(name)]
		return o, known
	}
	return 0, false
}

func (r *rule) matches(a answer) bool {
	if !statusMatches(r.status, a.Status()) {
		return false
	}
	for _, h := range r.header {
		value, ok := a.Value(h.index)
		if !ok || len(h.value) > 0 && !bytes.Equal(value, h.value) {
			return false
		}
	}
	return len(r.contains) == 0 || bytes.Contains(a.Body(), r.contains)
}

func statusMatches(m plan.StatusMatch, status int) bool {
	if len(m.Codes) == 0 && len(m.Classes) == 0 {
		return true
	}
	return slices.Contains(m.Codes, status) || slices.Contains(m.Classes, status/100)
}
