package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
	"github.com/loadline-dev/loadline/internal/analysis/dump"
	"github.com/loadline-dev/loadline/internal/report"
)

// deadlocked is the diagnosis of a dump of JDK 8 with a deadlock and a hot formatter.
func deadlocked(t *testing.T) report.Diagnosis {
	t.Helper()
	f, err := os.Open("../parse/threaddump/testdata/jdk8.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := dump.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	scene := diagnose.Scene{Dumps: map[string][]*dump.Summary{"": list}}
	return report.Diagnosis{Report: diagnose.NewReport(scene), Dumps: []report.DumpView{{Name: "jdk8.txt", Summary: list[0]}}}
}

func TestADiagnosisIsWrittenAsItsSchemaSays(t *testing.T) {
	s := schema(t, "findings")
	several := diagnose.Scene{Where: "slots=10 at 200 users"}
	for what, r := range map[string]diagnose.Report{"dump": deadlocked(t).Report, "nothing": diagnose.NewReport(), "steps": diagnose.NewReport(several, several)} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v\n%s", what, err, text)
		}
	}
}

func TestADiagnosisSaysLimitPoolsLocksAndStacks(t *testing.T) {
	var text, page bytes.Buffer
	d := deadlocked(t)
	if err := report.DiagnosisTerminal(&text, d, report.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"critical  deadlock", "left → right → left", "refuted if", "binding limit: a deadlock", "http-nio-8080-exec", "held by http-nio-8080-exec-2"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if err := report.DiagnosisHTML(&page, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h3>deadlock <small>critical</small></h3>", "a deadlock", "http-nio-8080-exec-2", "Signal &#34;quoted&#34; name", "</html>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(page.String(), "http://") || strings.Contains(page.String(), "https://") {
		t.Error("the page asks for something elsewhere")
	}
}

func TestAnUndeterminedDiagnosisSaysWhatIsMissing(t *testing.T) {
	var text bytes.Buffer
	if err := report.DiagnosisTerminal(&text, report.Diagnosis{Report: diagnose.NewReport(diagnose.Scene{})}, report.Style{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "nothing found") || !strings.Contains(text.String(), "not determined") || !strings.Contains(text.String(), "missing: thread dumps under load") {
		t.Errorf("%s", text.String())
	}
}
