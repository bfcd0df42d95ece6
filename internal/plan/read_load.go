package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// Defaults of a load. Warm-up and measured time are short enough to try a plan and long enough for a percentile at some hundred
// requests a second; studies state theirs.
const (
	DefaultWarmup  = 10 * time.Second
	DefaultMeasure = 30 * time.Second
	DefaultRest    = 2 * time.Second
	DefaultSeed    = 1
)

// The bounds of a load.
const (
	maxUsers   = 1_000_000
	maxRate    = 10_000_000
	maxSteps   = 1000
	maxRepeats = 1000
	longest    = 24 * time.Hour
)

func (r *reader) load(n *node) Load {
	f := r.mapping(n, "load", "model", "concurrency", "rate", "profile", "recorded", "arrivals", "max_in_flight", "connections", "think", "warmup", "measure", "discard", "rest", "repeats",
		"order", "seed")
	f.fixed("model", "repeats", "order", "seed")
	within := span{0, longest}
	out := Load{
		Model:   f.model(),
		Warmup:  f.duration("warmup", DefaultWarmup, within),
		Measure: f.duration("measure", DefaultMeasure, span{100 * time.Millisecond, longest}),
		Discard: f.duration("discard", 0, within),
		Rest:    f.duration("rest", DefaultRest, within),
		Repeats: f.whole("repeats", 1, 1, maxRepeats),
		Order:   Order(f.word("order", string(Listed), string(Listed), string(Shuffled), string(Interleaved))),
		Seed:    int64(f.whole("seed", DefaultSeed, 0, math.MaxInt32)),
	}
	if out.Discard >= out.Measure {
		f.fail("discard", out.Discard.String(), fmt.Sprintf("less than measure, which is %v", out.Measure), "the window is measure without discard")
	}
	if out.Model == record.Open {
		f.open(&out)
		return out
	}
	f.closed(&out)
	return out
}

// model is the model given, or the one that the steps belong to.
func (f fields) model() record.Model {
	fallback := record.Closed
	if !f.has("concurrency") && (f.has("rate") || f.has("profile") || f.has("recorded")) {
		fallback = record.Open
	}
	return record.Model(f.word("model", string(fallback), string(record.Closed), string(record.Open)))
}

func (f fields) closed(out *Load) {
	f.foreign("closed", "rate", "profile", "recorded", "arrivals", "max_in_flight", "connections")
	out.ThinkKind = ThinkConstant
	for _, v := range f.steps("concurrency", bounds{min: 1, max: maxUsers, whole: true}) {
		out.Concurrency = append(out.Concurrency, int(v))
	}
	think := f.find("think")
	if think == nil {
		return
	}
	within := span{0, time.Hour}
	if think.kind != mapping {
		out.Think = f.duration("think", 0, within)
		return
	}
	t := f.r.mapping(think, join(f.key, "think"), "mean", "distribution")
	t.need("mean", within.String())
	out.Think = t.duration("mean", 0, within)
	out.ThinkKind = t.word("distribution", ThinkConstant, ThinkConstant, ThinkExponential)
}

func (f fields) open(out *Load) {
	f.foreign("open", "concurrency", "think")
	f.arrivalsOf(out)
	out.Arrivals = f.word("arrivals", ArrivalsPoisson, ArrivalsPoisson, ArrivalsConstant)
	out.MaxInFlight = f.whole("max_in_flight", 0, 0, maxUsers)
	out.Connections = f.whole("connections", 0, 0, maxUsers)
}

// foreign refuses keys of the other model.
func (f fields) foreign(model string, names ...string) {
	for _, name := range names {
		if f.has(name) {
			f.fail(name, "a key of the other load model", "the keys of the "+model+" model", "remove it, or change load.model")
		}
	}
}

// steps reads the load levels: a number, a list, or {from, to, step}, which takes every step that does not pass to.
func (f fields) steps(name string, within bounds) []float64 {
	key := join(f.key, name)
	n := f.need(name, within.String()+", a list of them, or {from, to, step}")
	if n == nil {
		return nil
	}
	switch n.kind {
	case mapping:
		return f.r.ladder(n, key, within)
	case sequence:
		return f.r.list(n, key, within)
	}
	if v, ok := f.r.number(n, key, within); ok {
		return []float64{v}
	}
	return nil
}

func (r *reader) list(n *node, key string, within bounds) []float64 {
	if len(n.items) == 0 || len(n.items) > maxSteps {
		r.add(Fault{Line: n.line, Key: key, Found: listOf(len(n.items)), Allowed: fmt.Sprintf("1 to %d steps", maxSteps)})
		return nil
	}
	var out []float64
	seen := map[float64]bool{}
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", key, i)
		v, ok := r.number(item, at, within)
		if !ok {
			continue
		}
		if seen[v] {
			r.add(Fault{Line: item.line, Key: at, Found: valueText(v) + " a second time", Allowed: "each step once", Do: "use load.repeats to measure a step several times"})
		}
		seen[v] = true
		out = append(out, v)
	}
	return out
}

func (r *reader) ladder(n *node, key string, within bounds) []float64 {
	f := r.mapping(n, key, "from", "to", "step")
	var bound [3]float64
	for i, name := range []string{"from", "to", "step"} {
		v := f.need(name, within.String())
		if v == nil {
			return nil
		}
		b, ok := r.number(v, join(key, name), within)
		if !ok {
			return nil
		}
		bound[i] = b
	}
	from, to, step := bound[0], bound[1], bound[2]
	if from > to {
		f.fail("to", valueText(to), "at least from, which is "+valueText(from), "write a list for steps that fall")
		return nil
	}
	count := math.Floor((to-from)/step*(1+1e-12)+1e-9) + 1 // Thirds of a step must not lose the last one to rounding.
	if count > maxSteps {
		f.fail("step", valueText(step), fmt.Sprintf("at most %d steps", maxSteps), "take larger steps")
		return nil
	}
	out := make([]float64, int(count))
	for i := range out {
		out[i] = from + float64(i)*step
	}
	return out
}
