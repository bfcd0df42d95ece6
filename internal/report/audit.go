package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/loadline-dev/loadline/internal/analysis/audit"
)

// AuditTerminal writes the verdict on every row of a table with the arithmetic of each check, the broken ones first, and the sum of
// verdicts at the end.
func AuditTerminal(w io.Writer, r audit.Report, style Style) error {
	p := &printer{style: style}
	counts := map[audit.Verdict]int{}
	widest := 0
	for _, row := range r.Rows {
		widest = max(widest, utf8.RuneCountInString(rowName(row)))
	}
	for _, row := range r.Rows {
		counts[row.Verdict]++
		name := rowName(row)
		p.line(name + strings.Repeat(" ", widest-utf8.RuneCountInString(name)) + "  " + p.paint(verdictColor(row.Verdict), row.Verdict.String()))
		for _, v := range []audit.Verdict{audit.Impossible, audit.Suspicious, audit.Consistent} {
			p.checks(row.Checks, v)
		}
		if len(row.Checks) == 0 {
			p.wrapped("    ", "nothing in this row can be checked", dim)
		}
	}
	p.line("")
	p.line(fmt.Sprintf("%d rows: %d impossible, %d suspicious, %d consistent", len(r.Rows), counts[audit.Impossible], counts[audit.Suspicious],
		counts[audit.Consistent]))
	if len(r.IgnoredColumns) > 0 {
		p.wrapped("", "Columns not used: "+strings.Join(r.IgnoredColumns, ", "), dim)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

func rowName(row audit.RowVerdict) string {
	return fmt.Sprintf("%3d  %s", row.Row, Plain(row.Scenario))
}

func (p *printer) checks(checks []audit.Check, only audit.Verdict) {
	for _, c := range checks {
		if c.Verdict != only {
			continue
		}
		color := verdictColor(only)
		if only == audit.Consistent {
			color = dim
		}
		p.wrapped("    ", c.Law+", "+c.Verdict.String()+": "+c.Text, color)
	}
}

func verdictColor(v audit.Verdict) string {
	switch v {
	case audit.Impossible:
		return red
	case audit.Suspicious:
		return yellow
	default:
		return ""
	}
}
