package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/loadline-dev/loadline/internal/analysis"
)

// Markdown writes what Terminal writes as GitHub-flavoured Markdown, with the environment.
func Markdown(w io.Writer, r analysis.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escapeMarkdown(r.Name))
	fmt.Fprintf(&b, "Run `%s`, started %s.\n\n", r.ID, r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	for _, c := range conclusions(&r) {
		fmt.Fprintf(&b, "- %s\n", escapeMarkdown(c))
	}
	t := studyTable(&r)
	b.WriteString("\n" + markdownTable(t) + "\n")
	for _, d := range definitions(t) {
		fmt.Fprintf(&b, "- %s\n", escapeMarkdown(d))
	}
	markdownNotes(&b, "Findings", findings(&r))
	markdownNotes(&b, "Caveats", caveats(&r))
	b.WriteString("\n## Environment\n\n")
	for _, row := range environment(&r) {
		fmt.Fprintf(&b, "- %s: %s\n", escapeMarkdown(row.Name), escapeMarkdown(row.Value))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownTable(t table) string {
	var b strings.Builder
	heads, rules := make([]string, len(t.columns)), make([]string, len(t.columns))
	for k, c := range t.columns {
		heads[k], rules[k] = escapeMarkdown(c.head), "---:"
		if c.left {
			rules[k] = "---"
		}
	}
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(heads)
	line(rules)
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for k, text := range row {
			cells[k] = escapeMarkdown(text)
		}
		line(cells)
	}
	return b.String()
}

func markdownNotes(b *strings.Builder, head string, notes []note) {
	if len(notes) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", head)
	for _, n := range notes {
		fmt.Fprintf(b, "- **%s**%s: %s", n.Code, severityText(n), escapeMarkdown(exampleText(n)))
		if n.Next != "" {
			fmt.Fprintf(b, " → %s", escapeMarkdown(n.Next))
		}
		if n.Where != "" {
			fmt.Fprintf(b, " (%s)", escapeMarkdown(n.Where))
		}
		b.WriteByte('\n')
	}
}

func severityText(n note) string {
	if n.Severity == "" {
		return ""
	}
	return " (" + string(n.Severity) + ")"
}

// escapeMarkdown keeps a text from being read as markup or as the end of a table's cell.
func escapeMarkdown(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", ">", "&gt;", "[", "\\[", "]", "\\]",
		"\r", " ", "\n", " ").Replace(text)
}
