package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/finding"
)

// Style says what the terminal can do.
type Style struct {
	Width int  // columns; 0: not a terminal, nothing is left out
	Color bool // ANSI colours
}

// ColorWanted tells whether colours are welcome: on a terminal, unless NO_COLOR is set to anything (https://no-color.org) or TERM is
// dumb.
func ColorWanted(getenv func(string) string, terminal bool) bool {
	return terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// minWidth is the narrowest page that text is folded to.
const minWidth = 40

// foldWidth is the page width where there is no terminal.
const foldWidth = 120

// Terminal writes the study's table with its definitions, then conclusions, findings and caveats.
func Terminal(w io.Writer, r analysis.Result, style Style) error {
	p := &printer{style: style}
	t := studyTable(&r)
	p.table(t)
	p.section("Conclusions", conclusions(&r))
	p.notes("Findings", findings(&r))
	p.notes("Caveats", caveats(&r))
	_, err := io.WriteString(w, p.out.String())
	return err
}

// printer gathers what is written.
type printer struct {
	out   strings.Builder
	style Style
}

func (p *printer) line(text string) { p.out.WriteString(strings.TrimRight(text, " ") + "\n") }

func (p *printer) width() int {
	if p.style.Width == 0 {
		return foldWidth
	}
	return max(p.style.Width, minWidth)
}

// ANSI codes.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	yellow = "33"
	cyan   = "36"
)

func (p *printer) paint(code, text string) string {
	if !p.style.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// table prints what fits and says what does not.
func (p *printer) table(t table) {
	if len(t.rows) == 0 {
		p.line("No cell was run.")
		return
	}
	widths := columnWidths(t)
	kept, left := fit(t, widths, p.style.Width)
	p.row(t, widths, kept, func(k int) string { return t.columns[k].head }, bold)
	for i, row := range t.rows {
		if i > 0 && row[0] != t.rows[i-1][0] && len(t.rows) > 6 {
			p.line("")
		}
		p.row(t, widths, kept, func(k int) string { return row[k] }, "")
	}
	if len(left) > 0 {
		p.wrapped("", "The terminal is too narrow for: "+strings.Join(left, ", ")+".", dim)
	}
	p.line("")
	for _, d := range definitions(t) {
		p.wrapped("  ", d, dim)
	}
}

func (p *printer) row(t table, widths []int, kept []int, text func(int) string, color string) {
	parts := make([]string, len(kept))
	for i, k := range kept {
		pad := strings.Repeat(" ", widths[k]-utf8.RuneCountInString(text(k)))
		parts[i] = pad + text(k)
		if t.columns[k].left {
			parts[i] = text(k) + pad
		}
	}
	p.line(p.paint(color, strings.TrimRight(strings.Join(parts, "  "), " ")))
}

func columnWidths(t table) []int {
	widths := make([]int, len(t.columns))
	for k, c := range t.columns {
		widths[k] = utf8.RuneCountInString(c.head)
		for _, row := range t.rows {
			widths[k] = max(widths[k], utf8.RuneCountInString(row[k]))
		}
	}
	return widths
}

// fit chooses the columns that a page of the width holds; the least important go first.
func fit(t table, widths []int, page int) (kept []int, left []string) {
	for k := range t.columns {
		kept = append(kept, k)
	}
	for page > 0 && total(widths, kept) > page {
		victim := -1
		for i, k := range kept {
			keep := t.columns[k].keep
			if keep > 0 && (victim < 0 || keep < t.columns[kept[victim]].keep) {
				victim = i
			}
		}
		if victim < 0 {
			break
		}
		left = append(left, t.columns[kept[victim]].head)
		kept = slices.Delete(kept, victim, victim+1)
	}
	return kept, left
}

func total(widths []int, kept []int) int {
	sum := 2 * (len(kept) - 1)
	for _, k := range kept {
		sum += widths[k]
	}
	return sum
}

func (p *printer) section(head string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.line("")
	p.line(p.paint(bold, head))
	for _, l := range lines {
		p.wrapped("  ", l, "")
	}
}

func (p *printer) notes(head string, notes []note) {
	if len(notes) == 0 {
		return
	}
	p.line("")
	p.line(p.paint(bold, head))
	for _, n := range notes {
		p.line("  " + p.paint(noteColor(n), n.Code) + countText(n))
		if n.Where != "" {
			p.wrapped("      ", n.Where, dim)
		}
		p.wrapped("    ", exampleText(n), "")
		if n.Next != "" {
			p.wrapped("    ", "→ "+n.Next, cyan)
		}
	}
}

func noteColor(n note) string {
	switch n.Severity {
	case finding.Critical:
		return red
	case finding.Info:
		return cyan
	default:
		return yellow
	}
}

func countText(n note) string {
	switch {
	case n.Count > 1:
		return fmt.Sprintf("  %d cells", n.Count)
	default:
		return ""
	}
}

// exampleText says that the sentence is one cell's where it stands for several.
func exampleText(n note) string {
	if n.Count > 1 {
		return "at the highest load: " + n.Text
	}
	return n.Text
}

// wrapped prints a text folded at spaces, every line indented.
func (p *printer) wrapped(indent, text, color string) {
	width := p.width() - utf8.RuneCountInString(indent)
	for _, l := range fold(Plain(text), width) {
		p.line(indent + p.paint(color, l))
	}
}

// fold breaks a text at spaces into lines of at most width runes; a longer word stays whole.
func fold(text string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(text) {
		joined := word
		if current != "" {
			joined = current + " " + word
		}
		if current != "" && utf8.RuneCountInString(joined) > width {
			lines = append(lines, current)
			joined = word
		}
		current = joined
	}
	if current != "" {
		lines = append(lines, current)
	}
	return lines
}
