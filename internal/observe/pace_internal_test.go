package observe

import (
	"strings"
	"testing"
	"time"
)

func TestTheRateFallsUntilLooksCostNoMoreThanTheirShareAndSaysSo(t *testing.T) {
	p := newPace(Config{Every: 100 * time.Millisecond, CostRatio: 0.01})
	if note := p.observe(time.Millisecond); note != "" || p.every != 100*time.Millisecond {
		t.Errorf("1 ms every 100 ms is within 1 %%: every %v, note %q", p.every, note)
	}
	var notes []string
	for range 50 {
		if note := p.observe(10 * time.Millisecond); note != "" {
			notes = append(notes, note)
		}
	}
	if p.every < 900*time.Millisecond || p.every > 1100*time.Millisecond {
		t.Errorf("10 ms a look at 1 %% need 1 s between looks, found %v", p.every)
	}
	if len(notes) == 0 || !strings.Contains(notes[0], "instead of 100ms") {
		t.Errorf("notes %q", notes)
	}
	for range 50 {
		p.observe(100 * time.Microsecond)
	}
	if p.every != 100*time.Millisecond {
		t.Errorf("cheap looks return to the wanted period, found %v", p.every)
	}
}

func TestWithoutABoundTheRateNeverFalls(t *testing.T) {
	p := newPace(Config{Every: 100 * time.Millisecond, CostRatio: -1})
	if note := p.observe(time.Second); note != "" || p.every != 100*time.Millisecond {
		t.Errorf("every %v, note %q", p.every, note)
	}
}
