package schedule

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxRecorded bounds a recording; its instants are kept in memory.
const MaxRecorded = 50_000_000

// Read reads recorded arrivals: one a line, in seconds (12.5) or as a duration (12.5s, 80ms), counted from whatever instant. Empty lines and
// lines that begin with # are passed over. The instants come back in rising order, counted from the first.
func Read(in io.Reader) ([]time.Duration, error) {
	var out []time.Duration
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		at, err := instant(text)
		if err != nil {
			return nil, fmt.Errorf("recorded arrivals: line %d: found %.40q, allowed: seconds such as 12.5 or a duration such as 80ms", n, text)
		}
		if len(out) == MaxRecorded {
			return nil, fmt.Errorf("recorded arrivals: line %d: found more than %d instants", n, MaxRecorded)
		}
		out = append(out, at)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("recorded arrivals: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("recorded arrivals: found none, allowed: one instant a line")
	}
	slices.Sort(out)
	first := out[0]
	for i := range out {
		out[i] -= first
	}
	return out, nil
}

func instant(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		const most = math.MaxInt64 / 4 / float64(time.Second) // Two of them have a difference that fits.
		if math.IsNaN(seconds) || math.Abs(seconds) > most {
			return 0, strconv.ErrRange
		}
		return time.Duration(math.Round(seconds * float64(time.Second))), nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && (d > math.MaxInt64/4 || d < -math.MaxInt64/4) {
		return 0, strconv.ErrRange
	}
	return d, err
}
