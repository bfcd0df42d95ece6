package lint

import (
	"strconv"
	"time"
)

// ms shows a duration in milliseconds, as the settings themselves do.
func ms(d time.Duration) string {
	return strconv.FormatFloat(millis(d), 'f', -1, 64) + " ms"
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func number(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// countOf shows a number that may be without bound.
func countOf(n int) string {
	if n < 0 {
		return "unbounded"
	}
	return strconv.Itoa(n)
}
