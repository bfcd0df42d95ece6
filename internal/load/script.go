package load

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// script is what users do: flows of steps. It is not changed once made and may be shared; what changes is in sessions and feeders.
type script struct {
	flows     []flow
	weights   float64
	feeders   []*feeder
	values    int // of a session
	user      int // slots of the values that every session has
	iteration int
	cookie    int // header that the classifier keeps for cookies, -1: none
	sessions  atomic.Int64
}

type flow struct {
	upTo  float64 // weights of this flow and those before
	steps []step
}

// session is one user's way through the script.
type session struct {
	flow      *flow // nil between two flows
	at        int   // step
	number    int64 // of the session, 0…
	iteration int64
	values    []string
	jar       *cookiejar.Jar
	failed    bool // the last step was no success
}

// scriptOf compiles a target's flows; nil where there are none.
func scriptOf(t plan.Target, folder string, classes *classifier) (*script, error) {
	if len(t.Flows) == 0 {
		return nil, nil
	}
	s := &script{cookie: -1}
	if t.Client.Cookies {
		s.cookie = classes.header("Set-Cookie")
	}
	n := newNames()
	s.user, s.iteration = n.declare("user"), n.declare("iteration")
	for _, f := range t.Feeders {
		opened, err := openFeeder(f, folder)
		if err != nil {
			return nil, err
		}
		for _, column := range opened.columns {
			opened.slots = append(opened.slots, n.declare(f.Name+"."+column))
		}
		s.feeders = append(s.feeders, opened)
	}
	for _, f := range t.Flows {
		compiled, err := s.compile(f, n, t.Client, folder, classes)
		if err != nil {
			return nil, fmt.Errorf("flow %s: %w", f.Name, err)
		}
		s.flows = append(s.flows, compiled)
	}
	s.values = len(n.slots)
	return s, nil
}

func (s *script) compile(f plan.Flow, n *names, client plan.Client, folder string, classes *classifier) (flow, error) {
	weight := f.Weight
	if weight == 0 {
		weight = 1
	}
	if !(weight > 0) {
		return flow{}, fmt.Errorf("weight: found %v, allowed: more than 0", f.Weight)
	}
	if len(f.Steps) == 0 {
		return flow{}, errors.New("steps: found none, allowed: one and more")
	}
	s.weights += weight
	out := flow{upTo: s.weights}
	for i, from := range f.Steps {
		compiled, err := stepOf(from, n, client, folder, classes, s.cookie >= 0)
		if err != nil {
			return flow{}, fmt.Errorf("step %s: %w", cmpOr(from.Name, strconv.Itoa(i+1)), err)
		}
		out.steps = append(out.steps, compiled)
	}
	return out, nil
}

func cmpOr(name, other string) string {
	if name != "" {
		return name
	}
	return other
}

// newSession begins a user's way.
func (s *script) newSession() *session {
	out := &session{number: s.sessions.Add(1) - 1, values: make([]string, s.values)}
	out.values[s.user] = strconv.FormatInt(out.number, 10)
	return out
}

// begin chooses a flow and its values, unless the session is within one; false when a feeder has no more rows.
func (s *script) begin(x *session, rng *rand.Rand) bool {
	if x.flow != nil {
		return true
	}
	for _, f := range s.feeders {
		row, ok := f.row(rng)
		if !ok {
			return false
		}
		for i, value := range row {
			x.values[f.slots[i]] = value
		}
	}
	at := rng.Float64() * s.weights
	for i := range s.flows {
		if at < s.flows[i].upTo || i == len(s.flows)-1 {
			x.flow = &s.flows[i]
			break
		}
	}
	x.at = 0
	x.values[s.iteration] = strconv.FormatInt(x.iteration, 10)
	x.iteration++
	if s.cookie >= 0 {
		x.jar, _ = cookiejar.New(nil) // It fails on options only, of which there are none.
	}
	return true
}

// message is the request of the session's step.
func (x *session) message() *message { return x.flow.steps[x.at].message(x) }

// settle takes an answer: cookies, checks, extraction. It returns what the answer is after that and a sub-code where a check failed.
func (s *script) settle(x *session, a answer, outcome record.Outcome) (record.Outcome, string) {
	st := &x.flow.steps[x.at]
	if s.cookie >= 0 {
		x.keepCookies(st.base, a, s.cookie)
	}
	if outcome != record.Success {
		return outcome, ""
	}
	for i := range st.checks {
		if !st.checks[i].holds(a) {
			return record.Failure, "check: " + st.checks[i].name
		}
	}
	for i := range st.extract {
		e := &st.extract[i]
		value, ok := e.from(a)
		if !ok {
			return record.Failure, "extract: " + e.name
		}
		x.values[e.slot] = value
	}
	return record.Success, ""
}

func (x *session) keepCookies(base *url.URL, a answer, header int) {
	lines, ok := a.Value(header)
	if !ok {
		return
	}
	var cookies []*http.Cookie
	for line := range strings.SplitSeq(string(lines), "\n") {
		if c, err := http.ParseSetCookie(line); err == nil {
			cookies = append(cookies, c)
		}
	}
	x.jar.SetCookies(base, cookies)
}

// advance moves to the next step. It returns how long the step has the user think, in ns, and whether the flow goes on.
func (x *session) advance() (think int64, more bool) {
	st := &x.flow.steps[x.at]
	x.at++
	if x.at == len(x.flow.steps) || x.failed && !st.goOn {
		x.flow = nil
	}
	return st.think, x.flow != nil
}

// longest is the largest timeout of all steps, in ns.
func (s *script) longest() int64 {
	var most int64
	for _, f := range s.flows {
		for _, st := range f.steps {
			most = max(most, st.timeout)
		}
	}
	return most
}
