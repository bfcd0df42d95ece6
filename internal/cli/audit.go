package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline-dev/loadline/internal/analysis/audit"
	"github.com/loadline-dev/loadline/internal/report"
)

func auditVerb(env Env) *cobra.Command {
	var jsonFile, failOn string
	cmd := &cobra.Command{
		Use:   "audit FILE.csv",
		Short: "Check figures, published or your own, against physics",
		Long: fmt.Sprintf(`Reads a table of results and says of every row whether its figures can be true together: Little's law, the slot ceiling,
percentiles against the mean, what a queue can explain, sums and ratios. Each verdict shows its arithmetic.

Verdicts: impossible (no reading saves it), suspicious (only an unusual reading does, which is named), consistent.
Figures are taken as rounded: tolerance 5 %%.

Columns read, in any order: %s. A known name with another unit is refused; other columns are ignored and listed.`,
			strings.Join(audit.KnownColumns(), ", ")),
		Example: `  loadline audit published.csv
  loadline audit published.csv --json verdicts.json
  loadline audit results.csv --fail-on impossible`,
		Args: exactly("FILE.csv"),
		RunE: func(_ *cobra.Command, args []string) error { return auditFile(env, args[0], jsonFile, failOn) },
	}
	cmd.Flags().StringVar(&jsonFile, "json", "", "write loadline.audit/1 to this `FILE` (- for stdout)")
	cmd.Flags().StringVar(&failOn, "fail-on", "", "exit 5 where a row is at least this `VERDICT`: suspicious or impossible")
	return cmd
}

func auditFile(env Env, file, jsonFile, failOn string) error {
	fatal, err := fatalVerdicts(failOn)
	if err != nil {
		return err
	}
	f, err := os.Open(env.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return fail(Usage, fmt.Errorf("%s does not exist", file), "name a CSV file with one row per result")
	}
	if err != nil {
		return fail(Usage, err, "")
	}
	defer f.Close()
	table, err := readTable(f)
	if err != nil {
		return fail(Invalid, fmt.Errorf("%s: %w", file, err), "'loadline audit --help' lists the columns that are read")
	}
	verdicts := audit.NewReport(table, audit.PublishedTolerance)
	if jsonFile != "" {
		if err := writeJSON(env, jsonFile, verdicts); err != nil {
			return err
		}
	}
	if jsonFile != "-" {
		if err := report.AuditTerminal(env.Stdout, verdicts, env.style()); err != nil {
			return err
		}
	}
	for _, row := range verdicts.Rows {
		if slices.Contains(fatal, row.Verdict.String()) {
			return exitWith(Missed)
		}
	}
	return nil
}

// maxTable bounds a table of figures; what is longer is a device, or a log of single requests.
const maxTable = 64 << 20

func readTable(in io.Reader) (audit.Table, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxTable+1))
	if err != nil {
		return audit.Table{}, err
	}
	if len(data) > maxTable {
		return audit.Table{}, fmt.Errorf("found more than %d bytes, allowed a table with one row per result", maxTable)
	}
	table, err := audit.ParseCSV(strings.NewReader(string(data)))
	if err == nil && len(table.Rows) == 0 {
		err = errors.New("found a head without rows, want one row per result")
	}
	return table, err
}

func fatalVerdicts(failOn string) ([]string, error) {
	switch failOn {
	case "":
		return nil, nil
	case "impossible":
		return []string{"impossible"}, nil
	case "suspicious":
		return []string{"suspicious", "impossible"}, nil
	default:
		return nil, usagef("use --fail-on impossible", "--fail-on: found %q, allowed suspicious or impossible", failOn)
	}
}
