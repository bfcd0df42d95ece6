package cli

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// benchEnd is when a bench ends: after a time or a number of requests.
type benchEnd struct {
	after    time.Duration
	requests int64
}

// benchView shows a bench while it runs: a live view on a terminal, a plain line every five seconds elsewhere.
type benchView struct {
	env     Env
	state   benchState
	program *tea.Program  // nil: not on a terminal
	over    chan struct{} // closed when the program has given the terminal back
	quiet   bool
	last    time.Duration
}

// benchState is what has been seen so far.
type benchState struct {
	title    string
	end      benchEnd
	at       time.Duration
	planned  int64
	counts   [record.NumOutcomes]int64
	latency  *hist.Histogram // of successes
	rates    []float64       // completed/s of the last intervals
	inFlight int64
	lag      *hist.Histogram
}

// plainEvery is how often a line is written where there is no terminal.
const plainEvery = 5 * time.Second

func newBenchView(env Env, title string, end benchEnd, stop func(), quiet bool) *benchView {
	v := &benchView{env: env, quiet: quiet, state: benchState{title: title, end: end, latency: hist.New(), lag: hist.New()}}
	in, inOK := env.Stdin.(*os.File)
	out, outOK := env.Stderr.(*os.File)
	if quiet || !inOK || !outOK || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) || env.variable("TERM") == "dumb" {
		return v
	}
	v.program = tea.NewProgram(benchModel{state: v.state, stop: stop}, tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(env.Environ),
		tea.WithoutSignalHandler())
	v.over = make(chan struct{})
	go func() {
		defer close(v.over)
		// A view that cannot be shown must not end the measurement: the summary still comes.
		_, _ = v.program.Run()
	}()
	return v
}

// interval takes what happened in a second.
func (v *benchView) interval(iv record.Interval) {
	v.state = v.state.with(iv)
	if v.program != nil {
		v.program.Send(v.state)
		return
	}
	if v.quiet || v.state.at-v.last < plainEvery {
		return
	}
	v.last = v.state.at
	fmt.Fprintf(v.env.Stderr, "%4.0f s: %s\n", v.state.at.Seconds(), v.state.line())
}

// end gives the terminal back.
func (v *benchView) end() {
	if v.program == nil {
		return
	}
	v.program.Quit()
	<-v.over
}

// with is the state after one more interval. Histograms are copied, since the view reads them on its own goroutine.
func (s benchState) with(iv record.Interval) benchState {
	s.at, s.inFlight = iv.End, iv.InFlight
	s.planned += iv.Planned
	latency, lag := hist.New(), hist.New()
	latency.Merge(s.latency)
	lag.Merge(s.lag)
	lag.Merge(iv.Lag)
	var answered int64
	for _, c := range iv.Classes {
		s.counts[c.Outcome] += c.Count
		if c.Answered {
			answered += c.Count
		}
		if c.Outcome == record.Success {
			latency.Merge(c.Latency)
		}
	}
	s.latency, s.lag = latency, lag
	if seconds := (iv.End - iv.Start).Seconds(); seconds > 0 {
		s.rates = append(s.rates[max(0, len(s.rates)-59):len(s.rates):len(s.rates)], float64(answered)/seconds)
	}
	return s
}

func (s benchState) line() string {
	now := 0.0
	if len(s.rates) > 0 {
		now = s.rates[len(s.rates)-1]
	}
	return fmt.Sprintf("%.0f completed/s, p50 %s, p99 %s, %d in flight, %s", now, s.quantile(0.5), s.quantile(0.99), s.inFlight, s.outcomes())
}

func (s benchState) quantile(q float64) string {
	if s.latency.Count() == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g ms", float64(s.latency.Quantile(q))/1e6)
}

func (s benchState) outcomes() string {
	var parts []string
	for _, o := range record.Outcomes() {
		if n := s.counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(parts) == 0 {
		return "nothing ended yet"
	}
	return strings.Join(parts, ", ")
}

// done is the share of the bench that is behind, 0…1.
func (s benchState) done() float64 {
	if s.end.requests > 0 {
		return min(1, float64(s.planned)/float64(s.end.requests))
	}
	return min(1, s.at.Seconds()/max(s.end.after.Seconds(), 1e-9))
}

// benchModel is the live view.
type benchModel struct {
	state  benchState
	stop   func()
	width  int
	ending bool
}

// Init implements tea.Model.
func (m benchModel) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m benchModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case benchState:
		m.state = msg
	case tea.WindowSizeMsg:
		m.width = msg.Width
	case tea.KeyPressMsg:
		if key := msg.String(); key == "q" || key == "ctrl+c" {
			m.ending = true
			m.stop()
		}
	}
	return m, nil
}

// View implements tea.Model.
func (m benchModel) View() tea.View {
	const bar = 40
	s := m.state
	var b strings.Builder
	full := int(math.Round(bar * s.done()))
	fmt.Fprintf(&b, "%s\n[%s%s] %3.0f %%  %.0f s", s.title, strings.Repeat("=", full), strings.Repeat(" ", bar-full), 100*s.done(), s.at.Seconds())
	if m.ending {
		b.WriteString("  ending…")
	}
	fmt.Fprintf(&b, "\n\nlast second  %s\n", lastRate(s.rates))
	fmt.Fprintf(&b, "completed/s  %s\n", sparkline(s.rates, 60))
	fmt.Fprintf(&b, "latency      p50 %s  p90 %s  p99 %s  p99.9 %s  max %s\n", s.quantile(0.5), s.quantile(0.9), s.quantile(0.99), s.quantile(0.999), s.quantile(1))
	fmt.Fprintf(&b, "in flight    %d\n", s.inFlight)
	fmt.Fprintf(&b, "outcomes     %s\n", s.outcomes())
	if s.lag.Count() > 0 {
		fmt.Fprintf(&b, "lag          p50 %.3g ms  p99 %.3g ms\n", float64(s.lag.Quantile(0.5))/1e6, float64(s.lag.Quantile(0.99))/1e6)
	}
	b.WriteString("\n" + miniHistogram(s.latency) + "\nq ends and shows the summary\n")
	return tea.NewView(clipLines(b.String(), m.width))
}

func lastRate(rates []float64) string {
	if len(rates) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f completed/s", rates[len(rates)-1])
}

// sparkline draws values as blocks between 0 and the largest.
func sparkline(values []float64, width int) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	values = values[max(0, len(values)-width):]
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if most > 0 {
			i = int(v / most * float64(len(blocks)-1))
		}
		b.WriteRune(blocks[i])
	}
	return b.String()
}

// miniHistogram draws the latencies of successes in eight rows.
func miniHistogram(h *hist.Histogram) string {
	if h.Count() == 0 {
		return ""
	}
	const rows, width = 8, 40
	bounds := ratioBounds(h.Min(), max(h.Quantile(0.999), h.Min()+1), rows)
	counts := make([]int64, len(bounds))
	for b := range h.All() {
		for i, upper := range bounds {
			if b.To <= upper || i == len(bounds)-1 {
				counts[i] += b.Count
				break
			}
		}
	}
	var most int64 = 1
	for _, n := range counts {
		most = max(most, n)
	}
	var b strings.Builder
	for i, n := range counts {
		fmt.Fprintf(&b, "%10.3g ms  %s\n", float64(bounds[i])/1e6, strings.Repeat("█", int(n*width/most)))
	}
	return b.String()
}

// clipLines keeps lines within the terminal, so that none wraps.
func clipLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if r := []rune(l); len(r) > width {
			lines[i] = string(r[:width])
		}
	}
	return strings.Join(lines, "\n")
}

// root is the n-th root of a ratio of at least 1.
func root(ratio float64, n int) float64 { return math.Pow(max(ratio, 1), 1/float64(n)) }
