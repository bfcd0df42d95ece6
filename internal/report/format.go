// Package report renders a run's view model: as a table with findings for the terminal, as Markdown, CSV and JSON, and as one
// self-contained HTML page; and the verdicts of an audit. It computes no figure of its own beyond the points of charts: rounding,
// percent and units of display live here and nowhere else.
//
// A figure that is unknown is shown as «–», never as 0.
package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loadline-dev/loadline/internal/record"
)

// unknown stands where a figure is not known or rests on too few samples.
const unknown = "–"

// number shows a figure with about three digits: whole from 100 up, one decimal from 10 up, two below.
func number(p *float64) string {
	if p == nil {
		return unknown
	}
	return numeral(*p)
}

func numeral(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 99.95 || a == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// whole shows a figure without decimals.
func whole(p *float64) string {
	if p == nil {
		return unknown
	}
	return strconv.FormatFloat(*p, 'f', 0, 64)
}

// percent shows a ratio with one decimal and without its sign, which stands in the column's head.
func percent(p *float64) string {
	if p == nil {
		return unknown
	}
	return strconv.FormatFloat(*p*100, 'f', 1, 64)
}

// pair shows a mean and a maximum.
func pair(mean, most *float64) string {
	if mean == nil && most == nil {
		return unknown
	}
	return number(mean) + "/" + whole(most)
}

// interval shows both ends of a confidence interval.
func interval(low, high *float64) string {
	if low == nil && high == nil {
		return unknown
	}
	return number(low) + "…" + number(high)
}

// values shows a setting without the names of its factors.
func values(s record.Setting) string {
	if len(s) == 0 {
		return s.String()
	}
	parts := make([]string, len(s))
	for i, f := range s {
		parts[i] = display(f.Value)
	}
	return strings.Join(parts, " ")
}

// Plain is a text as a terminal may show it on one line: control characters, which steer a terminal, and bytes that are no text are marked.
// What stands in a plan, a table or another tool's result is not Loadline's to trust.
func Plain(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\r' || c == '\t':
			return ' '
		case unicode.IsControl(c):
			return utf8.RuneError
		}
		return c
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

func display(v any) string {
	switch v := v.(type) {
	case string:
		return Plain(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case int64:
		return strconv.FormatInt(v, 10)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	default:
		return unknown
	}
}

// names shows the factors of a setting, as the head of the column of values.
func names(s record.Setting) string {
	if len(s) == 0 {
		return "setting"
	}
	parts := make([]string, len(s))
	for i, f := range s {
		parts[i] = f.Name
	}
	return strings.Join(parts, " ")
}
