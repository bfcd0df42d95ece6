package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/loadline-dev/loadline/internal/analysis"
	"github.com/loadline-dev/loadline/internal/analysis/audit"
)

// JSON writes a run as loadline.run/1 (docs/formats/run.md).
func JSON(w io.Writer, r analysis.Result) error { return indented(w, r) }

// AuditJSON writes verdicts as loadline.audit/1 (docs/formats/audit.md).
func AuditJSON(w io.Writer, r audit.Report) error { return indented(w, r) }

func indented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
