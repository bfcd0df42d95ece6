package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/audit"
	"github.com/loadline-dev/loadline/internal/record"
	"github.com/loadline-dev/loadline/internal/report"
)

func terminal(t *testing.T, run record.Run, style report.Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Terminal(&b, analysis.Of(run), style); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func html(t *testing.T, run record.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(&b, run, analysis.Of(run)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheTerminalShowsTheStudysTableWithItsFigures(t *testing.T) {
	got := terminal(t, sampleRun(), report.Style{})
	head, _, _ := strings.Cut(got, "\n")
	for _, column := range []string{"isolation slots", "users", "completed/s", "success/s", "p50 ms", "p99 ms", "p99 95 %", "n", "rejected %", "active", "queue",
		"switches/s", "CPU", "host %", "SLO"} {
		if !strings.Contains(head, column) {
			t.Errorf("no column %q in %q", column, head)
		}
	}
	rows := regexp.MustCompile(`(?m)^(none|thread|semaphore) \d+ +\d+ +\d+`).FindAllString(got, -1)
	if len(rows) != 24 {
		t.Errorf("%d rows, want 24", len(rows))
	}
	// The thread pool of 10 at 50 users: 10 slots of 20.5 ms carry 488/s, 34 users are refused every 4 ms: 8500/s, 94.6 % of all.
	row := regexp.MustCompile(`(?m)^thread 10 +50 .*$`).FindString(got)
	fields := strings.Fields(row)
	if success, err := strconv.Atoi(fields[4]); err != nil || success < 478 || success > 498 {
		t.Errorf("success/s of %q, want 488 ± 2 %%", row)
	}
	if !strings.Contains(row, " 94.") || !strings.Contains(row, "6.00/6") {
		t.Errorf("%q: want 94 %% rejected and a queue of 6", row)
	}
	for _, want := range []string{"completed/s: answers of any kind", "retry-storm  14 cells", "slot-ceiling  14 cells", "thread 10 at 50, 100, 200, 400 users",
		"isolation=thread slots=200: load line 200 users"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b[") {
		t.Error("colours where none were asked")
	}
}

func TestANarrowTerminalLosesColumnsAndSaysWhich(t *testing.T) {
	for _, width := range []int{60, 80, 100, 130, 160} {
		got := terminal(t, sampleRun(), report.Style{Width: width, Color: true})
		plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(got, "")
		for line := range strings.Lines(plain) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > width && width >= 80 {
				t.Errorf("width %d: a line of %d: %q", width, n, line)
			}
		}
		if narrow := strings.Contains(plain, "too narrow for"); narrow != (width < 160) {
			t.Errorf("width %d: says it is too narrow: %v", width, narrow)
		}
		for _, kept := range []string{"users", "completed/s", "success/s", "p99 ms", "rejected %"} {
			if !strings.Contains(plain, kept) {
				t.Errorf("width %d: %s is lost", width, kept)
			}
		}
	}
}

func TestColoursFollowTheEnvironment(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if !report.ColorWanted(env(), true) || report.ColorWanted(env(), false) || report.ColorWanted(env("NO_COLOR", "1"), true) ||
		report.ColorWanted(env("TERM", "dumb"), true) {
		t.Error("colours only on a terminal without NO_COLOR that is not dumb")
	}
}

func TestUnknownFiguresAreShownAsUnknown(t *testing.T) {
	run := record.Run{ID: "x", Name: "little", Cells: []record.Cell{{Load: record.Load{Model: record.Closed, Concurrency: 5}}}}
	got := terminal(t, run, report.Style{})
	if row := strings.Split(got, "\n")[1]; strings.Count(row, "–") < 5 {
		t.Errorf("row %q", row)
	}
	if page := html(t, run); strings.Contains(page, "NaN") || strings.Contains(page, "%!") {
		t.Error("the page shows a number that is none")
	}
	if got := terminal(t, record.Run{}, report.Style{}); !strings.Contains(got, "No cell was run") {
		t.Errorf("an empty run: %q", got)
	}
	html(t, record.Run{})
}

func TestThePageNeedsNothingFromElsewhereAndStaysSmall(t *testing.T) {
	page := html(t, sampleRun())
	if len(page) > 3<<20 {
		t.Errorf("%d bytes for 24 cells, at most 3 MiB", len(page))
	}
	for _, m := range regexp.MustCompile(`(?i)(src|href)\s*=\s*["']?([^"'\s>]+)|url\(([^)]*)\)|@import`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[2], "#") {
			t.Errorf("the page reaches out: %q", m[0])
		}
	}
	if !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
		t.Error("the page is cut off")
	}
	for what, want := range map[string]int{`<details id="cell-`: 24, `class="chart"`: 3 + 4*5 + 20*7} {
		if got := strings.Count(page, what); got != want {
			t.Errorf("%d × %s, want %d", got, what, want)
		}
	}
	for _, title := range []string{"Throughput", "Response time of successes", "Rejections", "Active workers or permits", "Queue depth", "CPU", "Context switches"} {
		if !strings.Contains(page, "<strong>"+title+"</strong>") {
			t.Errorf("no chart %q", title)
		}
	}
}

func TestAStudyOfAMinuteACellStaysBelowThreeMebibytes(t *testing.T) {
	run := sampleRun()
	for i := range run.Cells {
		c := &run.Cells[i]
		last := c.Intervals[len(c.Intervals)-1]
		for len(c.Intervals) < 95 {
			next := last
			next.Start, next.End = last.End, last.End+time.Second
			c.Intervals = append(c.Intervals, next)
			last = next
		}
		pools, processes := c.Pools, c.Processes
		for shift := 25 * time.Second; shift < 95*time.Second; shift += 25 * time.Second {
			for _, s := range pools {
				s.At += shift
				c.Pools = append(c.Pools, s)
			}
			for _, s := range processes {
				s.At += shift
				c.Processes = append(c.Processes, s)
			}
		}
	}
	if page := html(t, run); len(page) > 3<<20 {
		t.Errorf("%d bytes", len(page))
	}
}

func TestNothingAUserWroteBecomesMarkup(t *testing.T) {
	page := html(t, hostileRun())
	if strings.Contains(page, "<script>alert") || strings.Contains(page, `"><script`) {
		t.Error("a script got into the page")
	}
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts, want the page's own", n)
	}
	if !strings.Contains(page, "&lt;script&gt;alert") {
		t.Error("the text is not shown either")
	}
	var md bytes.Buffer
	if err := report.Markdown(&md, analysis.Of(hostileRun())); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(md.String(), "<script>") {
		t.Error("a script got into the Markdown")
	}
}

func TestABrowserRunsThePageWithoutAnError(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil || testing.Short() {
		t.Skip("needs chromium")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	// The page tells by its title what its script did when every chart is pointed at and every setting is switched off.
	probe := `<script>
addEventListener("error", (e) => { document.title = "error: " + e.message; });
addEventListener("load", () => {
  let shown = 0;
  for (const svg of document.querySelectorAll("#ladder svg.chart")) {
    svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    if (document.getElementById("readout").textContent.startsWith("50 users")) shown++;
  }
  for (const b of document.querySelectorAll("button.key")) b.click();
  const off = document.querySelectorAll("#ladder g.off").length;
  if (!document.title.startsWith("error")) document.title = "shown " + shown + " off " + off + " wide " + (document.documentElement.scrollWidth > innerWidth);
});
</script></body>`
	page := strings.Replace(html(t, sampleRun()), "</body>", probe, 1)
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+dir, "--window-size=1200,800",
		"--dump-dom", "file://"+path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	title := regexp.MustCompile(`<title>(.*?)</title>`).FindSubmatch(out)
	if want := "shown 3 off 18 wide false"; title == nil || string(title[1]) != want {
		t.Errorf("title %q, want %q: 3 charts read, 6 settings off in each", title, want)
	}
}

func TestMarkdownIsATableOfAllCells(t *testing.T) {
	var b bytes.Buffer
	if err := report.Markdown(&b, analysis.Of(sampleRun())); err != nil {
		t.Fatal(err)
	}
	columns := 0
	rows := 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		rows++
		if columns == 0 {
			columns = strings.Count(line, "|")
		}
		if strings.Count(line, "|") != columns {
			t.Errorf("a row of another width: %q", line)
		}
	}
	if rows != 24+2 {
		t.Errorf("%d table lines, want 26", rows)
	}
}

func TestCSVHasOneLineACellWithFullFigures(t *testing.T) {
	run := sampleRun()
	r := analysis.Of(run)
	var b bytes.Buffer
	if err := report.CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 25 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	at := func(row int, name string) string {
		t.Helper()
		for k, head := range rows[0] {
			if head == name {
				return rows[row][k]
			}
		}
		t.Fatalf("no column %s in %v", name, rows[0])
		return ""
	}
	if at(1, "setting_isolation") != "none" || at(5, "setting_slots") != "10" || at(5, "concurrency") != "50" || at(5, "rate_per_s") != "" {
		t.Errorf("settings and loads: %v", rows[5])
	}
	v, err := strconv.ParseFloat(at(5, "success_per_s"), 64)
	if err != nil || v != *r.Cells[4].Rates.Success {
		t.Errorf("success %v (%v), want %v", v, err, *r.Cells[4].Rates.Success)
	}
	if at(1, "order_price_active_mean") != "" || at(5, "order_price_active_mean") == "" {
		t.Error("a pool's figure where there is none, or none where there is one")
	}
	if !strings.Contains(at(5, "findings"), "retry-storm") {
		t.Errorf("findings %q", at(5, "findings"))
	}
}

func TestJSONIsTheResultItself(t *testing.T) {
	r := analysis.Of(sampleRun())
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var back analysis.Result
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Schema != "loadline.run/1" || len(back.Cells) != 24 || *back.Cells[3].Rates.Success != *r.Cells[3].Rates.Success {
		t.Errorf("%s with %d cells", back.Schema, len(back.Cells))
	}
}

func TestTheAuditIsShownWithItsArithmetic(t *testing.T) {
	expected, found := 1500.0, 2744.0
	r := audit.Report{Schema: audit.Schema, IgnoredColumns: []string{"colour"}, Rows: []audit.RowVerdict{
		{Row: 1, Scenario: "none", Verdict: audit.Consistent, Checks: []audit.Check{}},
		{Row: 2, Scenario: "thread core=30", Verdict: audit.Impossible, Checks: []audit.Check{
			{Law: audit.LawLittle, Verdict: audit.Consistent, Text: "fine"},
			{Law: audit.LawSlotCeiling, Verdict: audit.Impossible, Expected: &expected, Found: &found, Unit: "per second", Text: "2744/s above 1500/s"}}}}}
	var b bytes.Buffer
	if err := report.AuditTerminal(&b, r, report.Style{Width: 80}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"thread core=30  impossible", "slot-ceiling, impossible: 2744/s above 1500/s", "2 rows: 1 impossible, 0 suspicious, 1 consistent", "colour"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Index(got, "slot-ceiling") > strings.Index(got, "little") {
		t.Error("the broken law does not stand first")
	}
	b.Reset()
	if err := report.AuditJSON(&b, r); err != nil || !strings.Contains(b.String(), `"schema": "loadline.audit/1"`) {
		t.Errorf("%v: %s", err, b.String())
	}
}

// steered lists the control characters in a text, line ends apart: on a terminal they move, colour, clear and rename.
func steered(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' {
			return c
		}
		return -1
	}, text)
}

func TestNothingAUserWroteSteersTheTerminal(t *testing.T) {
	const evil = "a\x1b[2J\x1b]0;owned\x07\rb\nc\u009b31m\xff"
	run := sampleRun()
	run.Partial, run.Interrupted = true, evil
	for i := range run.Cells {
		run.Cells[i].Setting = record.Setting{{Name: "isolation", Value: evil}, {Name: "slots", Value: int64(i)}}
	}
	var b bytes.Buffer
	if err := report.Terminal(&b, analysis.Of(run), report.Style{}); err != nil {
		t.Fatal(err)
	}
	if got := steered(b.String()); got != "" || !utf8.ValidString(b.String()) || !strings.Contains(b.String(), "owned") {
		t.Errorf("control characters %q in\n%q", got, b.String())
	}
	if rows := strings.Count(b.String(), " b c"); rows < len(run.Cells) {
		t.Errorf("%d of %d rows stand on one line", rows, len(run.Cells))
	}
	b.Reset()
	if err := report.AuditTerminal(&b, audit.Report{Rows: []audit.RowVerdict{{Row: 1, Scenario: evil}}, IgnoredColumns: []string{evil}}, report.Style{}); err != nil {
		t.Fatal(err)
	}
	if got := steered(b.String()); got != "" || !utf8.ValidString(b.String()) {
		t.Errorf("control characters %q in\n%q", got, b.String())
	}
}
