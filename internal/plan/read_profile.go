package plan

import (
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/schedule"
)

// maxStages bounds a profile.
const maxStages = 1000

// arrivalsOf reads where the arrivals of the open model come from: rate, profile or recorded, one of the three.
func (f fields) arrivalsOf(out *Load) {
	given := 0
	for _, name := range []string{"rate", "profile", "recorded"} {
		if f.has(name) {
			if given++; given > 1 {
				f.fail(name, "a second source of arrivals", "one of rate, profile and recorded", "remove it")
			}
		}
	}
	switch {
	case f.has("profile"):
		f.fixed("profile", "measure")
		f.profile(out)
	case f.has("recorded"):
		out.Recorded = f.textOr("recorded", "the path of a file, from the plan's folder", "")
		if out.Recorded == "" {
			f.fail("recorded", "no name", "the path of a file of arrivals", "")
		}
		out.Rate = []float64{0}
	default:
		out.Rate = f.steps("rate", bounds{min: 0, max: maxRate, above: true})
	}
}

// profile reads a rate that changes. Without measure the measured time is as long as the profile.
func (f fields) profile(out *Load) {
	n := f.find("profile")
	key := join(f.key, "profile")
	if n.kind != sequence || len(n.items) == 0 || len(n.items) > maxStages {
		f.r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: fmt.Sprintf("a list of 1 to %d stages", maxStages), Do: "write [{rate: 100, for: 10s}, {from: 100, to: 500, for: 20s}]"})
		return
	}
	for i, item := range n.items {
		out.Profile = append(out.Profile, f.r.stage(item, fmt.Sprintf("%s[%d]", key, i)))
	}
	length := schedule.Length(out.Profile)
	if !f.has("measure") {
		out.Measure = length
	}
	if out.Measure > length {
		f.fail("measure", out.Measure.String(), "at most the profile's length, which is "+length.String(), "lengthen the profile, or leave measure out")
	}
	var arrivals float64
	for _, s := range out.Profile {
		arrivals += (s.From + s.To) / 2 * s.Length.Seconds()
	}
	if arrivals <= 0 && length > 0 {
		f.r.add(Fault{Line: n.line, Key: key, Found: "no arrivals at all", Allowed: "a rate above 0 in some stage"})
	}
	out.Rate = []float64{arrivals / max(length.Seconds(), 1e-9)}
}

// stage reads {rate, for}, or {from, to, for}, which rises or falls in a straight line.
func (r *reader) stage(n *node, key string) schedule.Stage {
	f := r.mapping(n, key, "rate", "from", "to", "for")
	within := bounds{min: 0, max: maxRate}
	number := func(name string) float64 {
		v := f.need(name, within.String())
		if v == nil {
			return 0
		}
		out, _ := r.number(v, join(key, name), within)
		return out
	}
	var out schedule.Stage
	if f.has("rate") {
		out.From = number("rate")
		out.To = out.From
		for _, name := range []string{"from", "to"} {
			if f.has(name) {
				f.fail(name, "rate and "+name, "rate, or from and to", "remove one")
			}
		}
	} else {
		out.From, out.To = number("from"), number("to")
	}
	f.need("for", "a duration")
	out.Length = f.duration("for", time.Second, span{time.Millisecond, longest})
	return out
}
