package pool

import "time"

const (
	peakSlot  = time.Second
	peakSlots = 11 // the last 10 full seconds and the one under way
)

// peaks are high-water marks, ever and of late, so that a burst between two snapshots is seen. Guarded by the pool's lock.
type peaks struct {
	workers, active, waiting int
	slots                    [peakSlots]peak
	current                  int
	end                      time.Duration // of the current slot
}

type peak struct{ active, waiting int }

func (p *peaks) note(now time.Duration, active, waiting int) {
	if now >= p.end {
		p.turn(now)
	}
	slot := &p.slots[p.current]
	if active > slot.active {
		slot.active = active
		p.active = max(p.active, active)
	}
	if waiting > slot.waiting {
		slot.waiting = waiting
		p.waiting = max(p.waiting, waiting)
	}
}

// mark is the largest waiting of the current slot.
func (p *peaks) mark() int { return p.slots[p.current].waiting }

func (p *peaks) turn(now time.Duration) {
	for steps := 0; now >= p.end && steps < peakSlots; steps++ {
		p.current = (p.current + 1) % peakSlots
		p.slots[p.current] = peak{}
		p.end += peakSlot
	}
	if now >= p.end {
		p.end = now.Truncate(peakSlot) + peakSlot
	}
}

func (p *peaks) recent() (active, waiting int) {
	for _, s := range p.slots {
		active, waiting = max(active, s.active), max(waiting, s.waiting)
	}
	return active, waiting
}
