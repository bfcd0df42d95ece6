package registry

import (
	"context"
	"slices"
	"time"
)

// Run puts tiers in force as the document's schedule says, until ctx ends, whose cause it returns. It looks at the schedule whenever a
// shift begins and at least once a minute, so that a changed document or clock is followed. A tier set by hand stays until the next
// shift. Without a schedule it only waits. One Run at a time is enough.
func (r *Registry) Run(ctx context.Context) error {
	seen := ""
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		now := r.config.Now()
		d, _ := r.Document()
		shift, ok := d.shiftAt(now)
		if mark := shift.mark(); ok && mark != seen {
			// A refused tier stays out; the next shift, or a document that changes this one, tries again.
			if _, err := r.SetTier(shift.Tier, By("schedule")); err != nil {
				r.refused(shift.Tier, err)
			}
			seen = mark
		}
		timer.Reset(min(d.untilNext(now), time.Minute))
	}
}

// refused writes a change that the schedule wanted and did not get into the history.
func (r *Registry) refused(tier string, err error) {
	r.mu.Lock()
	done := Change{Version: r.version, At: r.config.Now(), By: "schedule", Reason: "refused: tier " + tier + ": " + err.Error(), Tier: r.tier, Edits: []Edit{}}
	r.rememberLocked(done)
	r.mu.Unlock()
	r.deliver()
}

// begun is a shift with the instant at which it began.
type begun struct {
	Shift
	at time.Time
}

func (b begun) mark() string { return b.Tier + "@" + b.at.UTC().Format(time.RFC3339) }

// shiftAt is the shift that has begun last at an instant, within the last week.
func (d Document) shiftAt(now time.Time) (begun, bool) {
	var last begun
	for _, s := range d.Schedule {
		for back := range 8 {
			at, ok := d.start(s, now, -back)
			if ok && !at.After(now) && (last.Tier == "" || at.After(last.at)) {
				last = begun{s, at}
			}
		}
	}
	return last, last.Tier != ""
}

// untilNext is how long it is until any shift begins; a week where there is none.
func (d Document) untilNext(now time.Time) time.Duration {
	next := 7 * 24 * time.Hour
	for _, s := range d.Schedule {
		for ahead := range 8 {
			if at, ok := d.start(s, now, ahead); ok && at.After(now) {
				next = min(next, at.Sub(now))
			}
		}
	}
	return next
}

// start is when a shift begins on the day that is so many days off, and false where it does not on that weekday.
func (d Document) start(s Shift, now time.Time, days int) (time.Time, bool) {
	where, err := d.location()
	if err != nil {
		return time.Time{}, false
	}
	of, err := time.Parse("15:04", s.From)
	if err != nil {
		return time.Time{}, false
	}
	local := now.In(where)
	at := time.Date(local.Year(), local.Month(), local.Day()+days, of.Hour(), of.Minute(), 0, 0, where)
	return at, len(s.Days) == 0 || slices.Contains(s.Days, weekdays[at.Weekday()])
}
