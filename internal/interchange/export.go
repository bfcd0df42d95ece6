package interchange

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/loadline-dev/loadline/internal/hist"
	"github.com/loadline-dev/loadline/internal/record"
)

// outcomesOf merges the histograms of what was planned in a cell's window, by outcome, and counts.
func outcomesOf(c record.Cell) (merged [record.NumOutcomes]*hist.Histogram, counts [record.NumOutcomes]int64) {
	for _, iv := range c.Intervals {
		for _, class := range iv.Classes {
			if !class.Inside {
				continue
			}
			counts[class.Outcome] += class.Count
			if merged[class.Outcome] == nil {
				merged[class.Outcome] = hist.New()
			}
			merged[class.Outcome].Merge(class.Latency)
		}
	}
	return merged, counts
}

// measured is the length of the window that was really measured.
func measured(c record.Cell) time.Duration {
	var d time.Duration
	for _, iv := range c.Intervals {
		if iv.Phase == record.Window {
			d += iv.End - iv.Start
		}
	}
	return d
}

// WriteHlog writes a cell's answered requests as an HdrHistogram interval log, version 1.3: one line an interval, values in ns, the maximum
// in ms. HdrHistogram's own tools read it. Only the window is written.
func WriteHlog(w io.Writer, c record.Cell) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "#[Histogram log format version 1.3]\n#[StartTime: %.3f (seconds since epoch), %s]\n",
		float64(c.Started.UnixNano())/1e9, c.Started.UTC().Format(time.RFC3339))
	fmt.Fprintln(out, `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`)
	for _, iv := range c.Intervals {
		if iv.Phase != record.Window {
			continue
		}
		h := hist.New()
		for _, class := range iv.Classes {
			if class.Answered {
				h.Merge(class.Latency)
			}
		}
		data, err := h.Encode()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%.3f,%.3f,%.3f,%s\n", iv.Start.Seconds(), (iv.End - iv.Start).Seconds(), float64(h.Max())/1e6, data)
	}
	return out.Flush()
}

// AbTarget is what ab's report says of the target; a record does not know it.
type AbTarget struct {
	URL          string
	Server       string // the Server header; empty: unknown
	DocumentSize int64  // of one answer's body in bytes
}

// WriteAb writes a cell in the form of ApacheBench 2.3's report, for scripts that read it. What ab calls failed are requests that got no
// answer; answers that are no success stand under «Non-2xx responses», as ab counts them.
func WriteAb(w io.Writer, c record.Cell, target AbTarget) error {
	u, err := url.Parse(target.URL)
	if err != nil {
		return fmt.Errorf("write ab's form: %w", err)
	}
	merged, counts := outcomesOf(c)
	all := hist.New()
	var complete, failed, bad, read int64
	for o, n := range counts {
		outcome := record.Outcome(o)
		switch {
		case outcome.Answered():
			complete += n
			all.Merge(merged[o])
			if outcome != record.Success {
				bad += n
			}
		case outcome != record.Cut && outcome != record.Dropped:
			failed += n
		}
	}
	for _, iv := range c.Intervals {
		read += iv.BytesRead
	}
	out := bufio.NewWriter(w)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-24s%s\n", name, fmt.Sprintf(format, args...))
	}
	seconds := measured(c).Seconds()
	row("Server Software:", "%s", target.Server)
	row("Server Hostname:", "%s", u.Hostname())
	row("Server Port:", "%s", portOf(u))
	fmt.Fprintln(out)
	row("Document Path:", "%s", u.RequestURI())
	row("Document Length:", "%d bytes", target.DocumentSize)
	fmt.Fprintln(out)
	row("Concurrency Level:", "%d", c.Load.Concurrency)
	row("Time taken for tests:", "%.3f seconds", seconds)
	row("Complete requests:", "%d", complete)
	row("Failed requests:", "%d", failed)
	if bad > 0 {
		row("Non-2xx responses:", "%d", bad)
	}
	row("Total transferred:", "%d bytes", read)
	if seconds > 0 && complete > 0 {
		rate := float64(complete) / seconds
		row("Requests per second:", "%.2f [#/sec] (mean)", rate)
		row("Time per request:", "%.3f [ms] (mean)", 1000*float64(c.Load.Concurrency)/rate)
		row("Time per request:", "%.3f [ms] (mean, across all concurrent requests)", 1000/rate)
		row("Transfer rate:", "%.2f [Kbytes/sec] received", float64(read)/1024/seconds)
	}
	if all.Count() > 0 {
		abPercentages(out, all)
	}
	return out.Flush()
}

func abPercentages(out io.Writer, h *hist.Histogram) {
	ms := func(d time.Duration) int64 { return (d + time.Millisecond/2).Milliseconds() }
	fmt.Fprintf(out, "\nPercentage of the requests served within a certain time (ms)\n")
	for _, p := range []int{50, 66, 75, 80, 90, 95, 98, 99} {
		fmt.Fprintf(out, "  %d%%  %5d\n", p, ms(h.Quantile(float64(p)/100)))
	}
	fmt.Fprintf(out, " 100%%  %5d (longest request)\n", ms(h.Max()))
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}
