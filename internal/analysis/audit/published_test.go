package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The verdicts and the arithmetic below were worked out by hand from the laws, before there was a program.
func TestEveryPublishedRowGetsTheVerdictWorkedOutByHand(t *testing.T) {
	type want struct {
		verdict Verdict
		texts   []string // each must stand in the text of one check
	}
	files := map[string][]want{
		"order-detail.csv": {
			{Suspicious, []string{"47.6 ms above p99 = 45 ms", "paused at least 2.6 ms", "slowest 1 % average at least 307 ms"}},
			{Suspicious, []string{"522 successes/s (950 × 55 %)", "500/s", "4.5 % over, within the tolerance", "were all 950/s successes it would be impossible",
				"10 workers and a queue of 6 explain", "= 40 ms, p99 is 230 ms", "= 211 ms with 45 % instant refusals means 383 ms per success"}},
			{Impossible, []string{"2744 successes/s (2800 × 98 %)", "1500/s"}},
			{Impossible, []string{"3500 successes/s", "1500/s"}},
			{Consistent, nil},
			{Suspicious, []string{"1500/s", "3100 completed/s", "51.6 % or more"}},
		},
		"layered-tuning.csv": {
			{Impossible, []string{"100 users <= core + queue = 210, so 10 workers: 10 / 18 ms = 556/s", "1600"}},
			{Impossible, []string{"556/s", "1930", "77.7 ms above p95 = 46 ms"}},
			{Impossible, []string{"556/s", "1750", "114 ms above p95 = 82 ms"}},
			{Suspicious, []string{"84 ms above p95 = 58 ms", "slowest 5 % average at least 579 ms"}},
			{Suspicious, []string{"94.7 ms above p95 = 76 ms", "slowest 5 % average at least 450 ms"}},
			{Suspicious, []string{"50 / 24 ms = 2083/s", "2280", "8.6 % or more", "300 users exceed max + queue = 130"}},
			{Suspicious, []string{"18 × (1 + ceil(80 / 80)) = 36 ms, p95 is 88 ms"}},
			{Consistent, nil},
			{Suspicious, []string{"65.6 ms above p95 = 62 ms", "3050/s above 50 / 18 ms = 2778/s is possible only because callers run tasks too"}},
		},
		"nested-fanout.csv": {
			{Suspicious, []string{"760/s × 100 ms = 76 in flight, not 100", "24 users idle, 31.6 ms each"}},
		},
		"gateway-chain.csv": {
			{Consistent, []string{"200 in flight of 200 users"}},
			{Consistent, []string{"500 in flight of 500 users"}},
			{Consistent, []string{"500 in flight of 500 users"}},
			{Consistent, []string{"500 in flight of 500 users", "47082 failed of 50000"}},
			{Impossible, []string{"2200/s × 881 ms = 1938 in flight, not 500"}},
		},
	}
	for name, wants := range files {
		t.Run(name, func(t *testing.T) {
			verdicts := checkFile(t, name)
			if len(verdicts) != len(wants) {
				t.Fatalf("%d rows, want %d", len(verdicts), len(wants))
			}
			for i, w := range wants {
				requireVerdict(t, verdicts[i], w.verdict, w.texts)
			}
		})
	}
}

// With figures given to four digits, Little's law holds to four digits in ApacheBench's own rows.
func TestApacheBenchRowsHoldToFourDigits(t *testing.T) {
	for _, v := range CheckRows(parseFile(t, "gateway-chain.csv").Rows[:4], 1e-4) {
		requireVerdict(t, v, Consistent, nil)
	}
}

func TestColumnsOfOtherKindsAreIgnoredAndListed(t *testing.T) {
	got := parseFile(t, "nested-fanout.csv").Ignored
	if strings.Join(got, ",") != "common,select" {
		t.Errorf("ignored %v, want common and select", got)
	}
}

func checkFile(t *testing.T, name string) []RowVerdict {
	t.Helper()
	return CheckRows(parseFile(t, name).Rows, PublishedTolerance)
}

func parseFile(t *testing.T, name string) Table {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	table, err := ParseCSV(f)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func requireVerdict(t *testing.T, got RowVerdict, want Verdict, texts []string) {
	t.Helper()
	var all []string
	for _, c := range got.Checks {
		all = append(all, c.Law+" "+c.Verdict.String()+": "+c.Text)
	}
	joined := strings.Join(all, "\n")
	if got.Verdict != want {
		t.Errorf("row %d %s: %v, want %v\n%s", got.Row, got.Scenario, got.Verdict, want, joined)
	}
	for _, text := range texts {
		if !strings.Contains(joined, text) {
			t.Errorf("row %d %s: no check says %q:\n%s", got.Row, got.Scenario, text, joined)
		}
	}
}
