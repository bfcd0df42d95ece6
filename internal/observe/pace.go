package observe

import (
	"fmt"
	"slices"
	"time"
)

// pace decides when the next look falls and lengthens the time between looks while they cost too much.
type pace struct {
	wanted    time.Duration
	every     time.Duration
	costRatio float64
	instants  []time.Duration // rising; still to come
	cost      time.Duration   // smoothed CPU time of a look
	told      time.Duration   // the period of the last note
}

func newPace(c Config) pace {
	instants := slices.Clone(c.Instants)
	slices.Sort(instants)
	return pace{wanted: c.Every, every: c.Every, costRatio: c.CostRatio, instants: instants, told: c.Every}
}

// next is the instant of the look after now: a multiple of the period, or one of the instants asked for. Looks missed are not made up.
func (p *pace) next(now time.Duration) time.Duration {
	for len(p.instants) > 0 && p.instants[0] <= now {
		p.instants = p.instants[1:]
	}
	at := (now/p.every + 1) * p.every
	if now < 0 {
		at = 0
	}
	if len(p.instants) > 0 && p.instants[0] < at {
		return p.instants[0]
	}
	return at
}

// observe takes the cost of a look. The period is the shortest multiple of the one wanted that keeps the cost within its bound; it
// shortens again when looks become cheap. A note comes back when the period changes.
func (p *pace) observe(cost time.Duration) string {
	const weight = 4 // Of the past: a single dear look, such as the first, does not slow the rest.
	if p.costRatio < 0 {
		return ""
	}
	if p.cost == 0 {
		p.cost = cost
	}
	p.cost = (weight*p.cost + cost) / (weight + 1)
	needed := time.Duration(float64(p.cost) / p.costRatio)
	factor := max(1, (needed+p.wanted-1)/p.wanted)
	p.every = max(p.wanted, min(factor*p.wanted, slowest))
	if p.every == p.told || p.every < p.told && p.every > p.told*3/4 {
		return ""
	}
	p.told = p.every
	if p.every == p.wanted {
		return fmt.Sprintf("sampled every %v again", p.wanted)
	}
	return fmt.Sprintf("sampled every %v instead of %v: a look costs %v of CPU time, and more than %.3g %% of a core is not spent on it",
		p.every, p.wanted, p.cost.Round(10*time.Microsecond), p.costRatio*100)
}
