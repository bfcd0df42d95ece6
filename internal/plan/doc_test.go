package plan_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/plan"
)

func document(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/formats/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheDocumentsPlansAreRight(t *testing.T) {
	parts := strings.Split(document(t), "```yaml\n")
	if len(parts) < 3 {
		t.Fatalf("%d plans in the document", len(parts)-1)
	}
	for _, part := range parts[1:] {
		text, _, _ := strings.Cut(part, "```")
		parse(t, text)
	}
}

// TestTheDocumentNamesEveryKey asks the parser itself which keys it allows, in every kind of mapping.
func TestTheDocumentNamesEveryKey(t *testing.T) {
	doc := document(t)
	for _, text := range []string{
		"zzz: 1",
		"target: {zzz: 1}", "target: {request: {zzz: 1}}", "target: {outcomes: [{zzz: 1}]}",
		"services: {a: {zzz: 1}}", "services: {a: {ready: {zzz: 1}}}", "services: {a: {stop: {zzz: 1}}}",
		"apply: {zzz: 1}", "apply: {http: {zzz: 1}}",
		"target: {client: {zzz: 1}}", "target: {client: {tls: {zzz: 1}}}", "load: {profile: [{zzz: 1}]}",
		"load: {zzz: 1}", "load: {concurrency: {zzz: 1}}", "load: {think: {zzz: 1}, concurrency: 1}",
		"observe: [{zzz: 1}]",
	} {
		_, err := plan.Parse("x", []byte(text))
		if err == nil {
			t.Fatal(text)
		}
		lines := strings.Split(err.Error(), "\n")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "zzz: found an unknown key; allowed: ") })
		if at < 0 {
			t.Fatalf("%s: %v", text, err)
		}
		_, list, _ := strings.Cut(lines[at], "allowed: ")
		list, _, _ = strings.Cut(list, ";")
		for _, key := range strings.Split(list, ", ") {
			if !strings.Contains(doc, "`"+key+"`") && !strings.Contains(doc, key+":") {
				t.Errorf("%s: the document does not name %s", text, key)
			}
		}
	}
}
