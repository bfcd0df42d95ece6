package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/loadline-dev/loadline/internal/experiment"
	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// progress tells people how a run goes: a line that is rewritten every second on a terminal, a plain line a cell elsewhere.
type progress struct {
	out      io.Writer
	live     bool
	width    int
	now      func() time.Time
	done     int
	total    int
	began    time.Time
	at       time.Duration // in the cell
	pending  bool          // a live line is on the screen
	answered float64
	success  float64
	window   time.Duration
	latency  *hist.Histogram
	trial    int // of a search, the last told of: its cell's index, from 1
}

func newProgress(env Env) *progress {
	p := &progress{out: env.Stderr, now: env.Now, width: 100}
	if f, ok := env.Stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) && env.variable("TERM") != "dumb" {
		p.live = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			p.width = w
		}
	}
	return p
}

func (p *progress) event(e experiment.Event) {
	switch e.Kind {
	case experiment.CellBegins:
		p.done, p.total = e.Done, e.Total
		if p.began.IsZero() {
			p.began = p.now()
		}
		p.at, p.answered, p.success, p.window, p.latency = 0, 0, 0, 0, hist.New()
	case experiment.Preparing:
		p.rewrite(fmt.Sprintf("%s %s: starting services", p.place(), label(e)))
	case experiment.Second:
		p.second(e)
	case experiment.CellEnds:
		p.line(fmt.Sprintf("[%d/%d] %s: %s", e.Done, e.Total, label(e), p.figures()))
		p.done = e.Done
	case experiment.Resting:
		p.rewrite(fmt.Sprintf("%s resting for %v", p.place(), e.For))
	case experiment.Searched:
		p.searched(e)
	case experiment.Trouble:
		p.line(fmt.Sprintf("note: %v", e.Err))
	}
}

func (p *progress) second(e experiment.Event) {
	iv := e.Interval
	p.at = iv.End
	if iv.Phase == record.Window {
		p.window += iv.End - iv.Start
		for _, c := range iv.Classes {
			if c.Answered {
				p.answered += float64(c.Count)
			}
			if c.Outcome == record.Success {
				p.success += float64(c.Count)
				p.latency.Merge(c.Latency)
			}
		}
	}
	p.rewrite(fmt.Sprintf("%s %s %s %3.0f %%: %s", p.place(), label(e), iv.Phase, 100*min(1, iv.End.Seconds()/max(e.Of.Seconds(), 1e-9)), p.figures()))
}

// figures are those of the window so far.
func (p *progress) figures() string {
	if p.window <= 0 || p.answered == 0 {
		return "no figures yet"
	}
	s := p.window.Seconds()
	return fmt.Sprintf("%.0f completed/s, %.0f success/s, p50 %.1f ms, p99 %.1f ms", p.answered/s, p.success/s,
		float64(p.latency.Quantile(0.5))/1e6, float64(p.latency.Quantile(0.99))/1e6)
}

func label(e experiment.Event) string {
	load := fmt.Sprintf("%d users", e.Cell.Load.Concurrency)
	if e.Cell.Load.Model == record.Open {
		load = fmt.Sprintf("%g/s", e.Cell.Load.RatePerSec)
	}
	repeat := ""
	if e.Cell.Repeat > 1 {
		repeat = fmt.Sprintf(" repeat %d", e.Cell.Repeat)
	}
	return fmt.Sprintf("%s, %s%s", e.Cell.Setting, load, repeat)
}

// place is a bar with the time that is left, estimated from the cells behind.
func (p *progress) place() string {
	const cells = 16
	if p.total == 0 {
		return ""
	}
	full := cells * p.done / p.total
	left := ""
	if p.done > 0 {
		per := p.now().Sub(p.began) / time.Duration(p.done)
		left = fmt.Sprintf(" %v left", (per * time.Duration(p.total-p.done)).Round(time.Second))
	}
	return fmt.Sprintf("[%s%s] %d/%d%s", strings.Repeat("=", full), strings.Repeat(" ", cells-full), p.done, p.total, left)
}

// line writes what stays.
func (p *progress) line(text string) {
	p.wipe()
	fmt.Fprintln(p.out, text)
}

// rewrite replaces the live line; elsewhere than on a terminal it says nothing.
func (p *progress) rewrite(text string) {
	if !p.live {
		return
	}
	if r := []rune(text); len(r) >= p.width {
		text = string(r[:p.width-1])
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", text)
	p.pending = true
}

func (p *progress) wipe() {
	if p.pending {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.pending = false
	}
}

// end takes the live line away.
func (p *progress) end() { p.wipe() }
