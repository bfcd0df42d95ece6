package experiment_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/experiment"
	"github.com/loadline-dev/loadline/internal/plan"
)

func parse(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFilesThatAPlanNamesMustBeThereBeforeAnythingStarts(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"right": "{}", "arrivals": "0.1\n0.2\n", "letters": "soon\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(folder, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(big.Truncate(64<<20+1), big.Close()); err != nil {
		t.Fatal(err)
	}
	const target = `target: {request: {url: "http://127.0.0.1:8080/", body_file: FILE}}`
	const closed = "load: {concurrency: 1}"
	for _, c := range []struct{ why, text, says string }{
		{"a body", strings.Replace(target, "FILE", "right", 1) + "\n" + closed, ""},
		{"a body that is missing", strings.Replace(target, "FILE", "nowhere", 1) + "\n" + closed, "target.request.body_file: found nowhere, no such file"},
		{"a folder as body", strings.Replace(target, "FILE", "folder", 1) + "\n" + closed, "found folder, which is no file"},
		{"a body without end", strings.Replace(target, "FILE", "/dev/zero", 1) + "\n" + closed, "found /dev/zero, which is no file"},
		{"a body too large", strings.Replace(target, "FILE", "big", 1) + "\n" + closed, "big of 67108865 bytes; allowed: at most 67108864 bytes"},
		{"a body of the second setting", strings.Replace(target, "FILE", `"${b}"`, 1) + "\nvary: {b: [right, nowhere]}\n" + closed, "found nowhere"},
		{"a body of an apply step", `target: {request: {url: "http://127.0.0.1:8080/"}}` + "\napply: {http: {url: \"http://127.0.0.1/\", body_file: nowhere}}\n" + closed,
			"apply[0].http.body_file: found nowhere"},
		{"certificates", `target: {request: {url: "https://127.0.0.1:8080/"}, client: {tls: {ca_file: nowhere}}}` + "\n" + closed, "target.client.tls.ca_file: found nowhere"},
		{"arrivals", `target: {request: {url: "http://127.0.0.1:8080/"}}` + "\nload: {model: open, recorded: arrivals}", ""},
		{"arrivals in words", `target: {request: {url: "http://127.0.0.1:8080/"}}` + "\nload: {model: open, recorded: letters}", "load.recorded: found letters, recorded arrivals: line 1"},
	} {
		t.Run(c.why, func(t *testing.T) {
			err := experiment.CheckFiles(parse(t, "name: files\n"+c.text+"\n"), folder)
			if c.says == "" {
				if err != nil {
					t.Errorf("found %v", err)
				}
				return
			}
			var invalid *plan.InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "plan.yaml: ") {
				t.Errorf("found %v, want %q", err, c.says)
			}
		})
	}
}
