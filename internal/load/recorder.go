package load

import (
	"fmt"
	"strconv"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// tally is one class under way.
type tally struct {
	count    int64
	held     int64
	latency  *hist.Histogram
	response *hist.Histogram
}

// recorder gathers what one loop sees in one interval. It is for one goroutine at a time; after it was handed over it belongs to the
// collector.
type recorder struct {
	loop       int
	index      int
	phase      record.Phase
	start, end int64
	last       bool // of this loop

	planned  int64
	inFlight int64
	classes  [record.NumOutcomes][2][2]*tally // by outcome, inside, answered
	lag      *hist.Histogram
	connect  *hist.Histogram
	tls      *hist.Histogram
	byAddr   []int64          // by the number in the book
	byName   map[string]int64 // where there is no book
	sent     int64
	read     int64
	samples  []record.Sample
	status   map[int]int64 // of what was not a success
	codes    map[string]int64

	loopCPU []time.Duration // by loop, of its thread
	runWait time.Duration
}

func newRecorder(t *timeline, loop, index int, start int64) *recorder {
	e := t.edge(index)
	return &recorder{loop: loop, index: index, phase: e.phase, start: start, end: e.at}
}

// to counts a request that is sent to an address, by the address's number.
func (r *recorder) to(addr int16) {
	for int(addr) >= len(r.byAddr) {
		r.byAddr = append(r.byAddr, 0)
	}
	r.byAddr[addr]++
}

// ending is how one request ended. Times are ns.
type ending struct {
	outcome  record.Outcome
	inside   bool
	answered bool
	latency  int64 // planned to done; negative: none
	response int64 // sent to done; negative: same as latency
	held     int64
}

func (r *recorder) add(e ending) {
	slot := &r.classes[e.outcome][index(e.inside)][index(e.answered)]
	c := *slot
	if c == nil {
		c = &tally{}
		*slot = c
	}
	c.count++
	c.held += e.held
	if e.latency >= 0 {
		if c.latency == nil {
			c.latency = hist.New()
		}
		c.latency.Record(time.Duration(e.latency))
	}
	if e.response >= 0 {
		if c.response == nil {
			c.response = hist.New()
		}
		c.response.Record(time.Duration(e.response))
	}
}

// sample keeps a request. planned and sent are ns since the origin.
func (r *recorder) sample(e ending, planned, sent int64, status int) {
	s := record.Sample{Planned: time.Duration(planned), Sent: time.Duration(sent), Outcome: e.outcome, Status: status, Inside: e.inside, Answered: e.answered}
	s.Done = s.Planned + time.Duration(max(e.latency, 0))
	r.samples = append(r.samples, s)
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// code counts a sub-code of what was not a success.
func (r *recorder) code(name string) {
	if r.codes == nil {
		r.codes = map[string]int64{}
	}
	r.codes[name]++
}

func (r *recorder) address(name string) {
	if r.byName == nil {
		r.byName = map[string]int64{}
	}
	r.byName[name]++
}

func (r *recorder) statusCode(status int) {
	if r.status == nil {
		r.status = map[int]int64{}
	}
	r.status[status]++
}

func observe(h **hist.Histogram, ns int64) {
	if *h == nil {
		*h = hist.New()
	}
	(*h).Record(time.Duration(max(ns, 0)))
}

// merge adds another loop's part of the same interval.
func (r *recorder) merge(o *recorder) {
	r.end = max(r.end, o.end)
	r.start = min(r.start, o.start)
	r.planned += o.planned
	r.inFlight += o.inFlight
	for i := range o.classes {
		for j := range o.classes[i] {
			for k, c := range o.classes[i][j] {
				mergeTally(&r.classes[i][j][k], c)
			}
		}
	}
	mergeHist(&r.lag, o.lag)
	mergeHist(&r.connect, o.connect)
	mergeHist(&r.tls, o.tls)
	for i, n := range o.byAddr {
		r.to(int16(i))
		r.byAddr[i] += n - 1
	}
	r.samples = append(r.samples, o.samples...)
	r.sent += o.sent
	r.read += o.read
	for i, d := range o.loopCPU {
		r.loopCPU[i] += d
	}
	r.runWait = max(r.runWait, o.runWait)
	for s, n := range o.status {
		if r.status == nil {
			r.status = map[int]int64{}
		}
		r.status[s] += n
	}
	for s, n := range o.codes {
		if r.codes == nil {
			r.codes = map[string]int64{}
		}
		r.codes[s] += n
	}
}

func mergeTally(into **tally, from *tally) {
	if from == nil {
		return
	}
	if *into == nil {
		*into = from
		return
	}
	(*into).count += from.count
	(*into).held += from.held
	mergeHist(&(*into).latency, from.latency)
	mergeHist(&(*into).response, from.response)
}

func mergeHist(into **hist.Histogram, from *hist.Histogram) {
	if from == nil {
		return
	}
	if *into == nil {
		*into = from
		return
	}
	(*into).Merge(from)
}

// interval turns the parts of all loops, merged, into the record's form.
func (r *recorder) interval(addr func(int) string) record.Interval {
	out := record.Interval{Phase: r.phase, Start: time.Duration(r.start), End: time.Duration(r.end), Planned: r.planned, InFlight: r.inFlight,
		Lag: r.lag, Connect: r.connect, TLS: r.tls, BytesSent: r.sent, BytesRead: r.read, Codes: r.codes}
	for o := range r.classes {
		for inside := range r.classes[o] {
			for answered, c := range r.classes[o][inside] {
				if c == nil {
					continue
				}
				out.Classes = append(out.Classes, record.Class{Outcome: record.Outcome(o), Inside: inside == 1, Answered: answered == 1,
					Count: c.count, Latency: c.latency, Response: c.response, Held: time.Duration(c.held)})
			}
		}
	}
	for s, n := range r.status {
		if out.Codes == nil {
			out.Codes = map[string]int64{}
		}
		out.Codes["status "+strconv.Itoa(s)] += n
	}
	out.Addresses = r.byName
	for i, n := range r.byAddr {
		if n == 0 {
			continue
		}
		if out.Addresses == nil {
			out.Addresses = map[string]int64{}
		}
		out.Addresses[addr(i)] += n
	}
	return out
}

// String is for messages of tests.
func (e edge) String() string { return fmt.Sprintf("%v until %v", e.phase, time.Duration(e.at)) }
