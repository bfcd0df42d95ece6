package registry_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A user's module that imports the library must not inherit any other module.
func TestAModuleThatImportsTheLibraryHasNoThirdPartyModuleInItsGoSum(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/user\n\ngo 1.26.0\n\nrequire github.com/loadline-dev/loadline v0.0.0\n\nreplace github.com/loadline-dev/loadline => "+root+"\n")
	write("user.go", `package user

import (
	_ "github.com/loadline-dev/loadline/breaker"
	_ "github.com/loadline-dev/loadline/bulkhead"
	_ "github.com/loadline-dev/loadline/command"
	_ "github.com/loadline-dev/loadline/pool"
	_ "github.com/loadline-dev/loadline/registry"
)
`)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("build", "./...")
	if sum, err := os.ReadFile(filepath.Join(dir, "go.sum")); err == nil && len(sum) > 0 {
		t.Errorf("go.sum names other modules:\n%s", sum)
	}
	for _, line := range strings.Fields(run("list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...")) {
		if !strings.HasPrefix(line, "github.com/loadline-dev/loadline/") && line != "example.org/user" {
			t.Errorf("the library brings %s", line)
		}
	}
}
