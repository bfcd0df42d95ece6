package plan

import (
	"math/rand/v2"

	"github.com/loadline-dev/loadline/internal/record"
)

// Cell is one measurement of a plan: a setting at a step, once.
type Cell struct {
	Index   int // 0…, in listed order, whatever the order of execution
	Setting record.Setting
	Repeat  int // 1…
	Load    record.Load
}

// Cells are the measurements in the order in which they are to be made.
func (p *Plan) Cells() ([]Cell, error) {
	listed, err := p.listed()
	if err != nil {
		return nil, err
	}
	switch p.Load.Order {
	case Shuffled:
		shuffle(listed, p.Load.Seed)
	case Interleaved:
		return p.interleaved(listed), nil
	}
	return listed, nil
}

// listed is setting by setting, step by step, repeat by repeat.
func (p *Plan) listed() ([]Cell, error) {
	var out []Cell
	for _, s := range p.Settings() {
		filled, err := p.ForSetting(s)
		if err != nil {
			return nil, err
		}
		for _, step := range filled.Load.Steps() {
			for repeat := range max(1, p.Load.Repeats) {
				out = append(out, Cell{Index: len(out), Setting: s, Repeat: repeat + 1, Load: step})
			}
		}
	}
	return out, nil
}

// Steps are the load levels, in the plan's order.
func (l Load) Steps() []record.Load {
	var out []record.Load
	if l.Model == record.Open {
		for _, rate := range l.Rate {
			out = append(out, record.Load{Model: record.Open, RatePerSec: rate})
		}
		return out
	}
	for _, n := range l.Concurrency {
		out = append(out, record.Load{Model: record.Closed, Concurrency: n, Think: l.Think})
	}
	return out
}

// shuffle draws from the seed alone: the same plan runs in the same order.
func shuffle(cells []Cell, seed int64) {
	const stream = 0x6c6f61646c696e65 // Keeps this stream apart from others of the same seed.
	rng := rand.New(rand.NewPCG(uint64(seed), stream))
	rng.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
}

// interleaved measures every setting once at a step before the next repeat, so that what drifts on the machine meets all settings
// alike.
func (p *Plan) interleaved(listed []Cell) []Cell {
	bySetting := map[string][]Cell{}
	steps := 0
	repeats := max(1, p.Load.Repeats)
	for _, c := range listed {
		key := c.Setting.Key()
		bySetting[key] = append(bySetting[key], c)
		steps = max(steps, len(bySetting[key])/repeats)
	}
	out := make([]Cell, 0, len(listed))
	for step := range steps {
		for repeat := range repeats {
			for _, s := range p.Settings() {
				cells := bySetting[s.Key()]
				if at := step*repeats + repeat; at < len(cells) {
					out = append(out, cells[at])
				}
			}
		}
	}
	return out
}
