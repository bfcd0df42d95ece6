package floors_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/floors"
)

const module = "github.com/loadline-dev/loadline/"

// unit is one package's files without tests.
type unit struct {
	path  string // relative to the module
	files []*ast.File
}

func TestImportsPointDownOnly(t *testing.T) {
	plan := floors.Plan()
	for _, u := range units(t) {
		from, ok := find(plan, u.path)
		if !ok {
			t.Errorf("package %s is not in the table: add it on the floor where it belongs", u.path)
			continue
		}
		for _, imported := range imports(u) {
			rel, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			to, ok := find(plan, rel)
			if !ok || to.Floor < from.Floor {
				continue // An unlisted package is reported where it is read itself.
			}
			if to.Floor > from.Floor {
				t.Errorf("%s (floor %d) imports %s (floor %d): imports point down only", u.path, from.Floor, rel, to.Floor)
				continue
			}
			if !slices.ContainsFunc(from.Sideways, func(p string) bool { return matches(p, rel) }) {
				t.Errorf("%s imports %s on the same floor, which is not listed", u.path, rel)
			}
		}
	}
}

func TestPureFloorsReadNoClockStartNoGoroutineAndDoNoIO(t *testing.T) {
	plan := floors.Plan()
	for _, u := range units(t) {
		p, ok := find(plan, u.path)
		if !ok || p.Floor > floors.Questions {
			continue
		}
		for _, imported := range imports(u) {
			if slices.Contains(impureImports, imported) {
				t.Errorf("%s imports %s: pure floors do no I/O", u.path, imported)
			}
		}
		for _, f := range u.files {
			for _, fault := range impurities(f) {
				t.Errorf("%s: %s", u.path, fault)
			}
		}
	}
}

func TestPublicLibraryStandsOnTheStandardLibrary(t *testing.T) {
	all := units(t)
	byPath := map[string]unit{}
	for _, u := range all {
		byPath[u.path] = u
	}
	seen := map[string]bool{}
	var check func(from, rel string)
	check = func(from, rel string) {
		if seen[rel] {
			return
		}
		seen[rel] = true
		for _, imported := range imports(byPath[rel]) {
			if next, ours := strings.CutPrefix(imported, module); ours {
				check(rel, next)
			} else if strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
				t.Errorf("%s (reached from %s) imports %s: users of the library would inherit it", rel, from, imported)
			}
		}
	}
	for _, public := range []string{"pool", "bulkhead", "breaker", "command", "registry"} {
		check("the library", public)
	}
}

func TestImpuritiesAreSeen(t *testing.T) {
	const source = `package p
import ("time"; "math/rand/v2"; "net")
func f() { go f(); _ = time.Now(); time.Sleep(1); _ = rand.IntN(3); net.Listen("", ""); net.SplitHostPort("") }`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := impurities(f); len(got) != 5 {
		t.Errorf("impurities: got %d (%v), want 5", len(got), got)
	}
}

var impureImports = []string{"os", "os/exec", "os/signal", "net/http", "io/ioutil", "log", "log/slog", "database/sql", "syscall",
	"golang.org/x/sys/unix"}

var impureTime = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// pureNet is what of net only takes text apart.
var pureNet = []string{"SplitHostPort", "JoinHostPort"}

var seededRand = []string{"New", "NewPCG", "NewChaCha8", "NewSource", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

func impurities(f *ast.File) []string {
	names := map[string]string{}
	for _, imp := range f.Imports {
		p, _ := strconv.Unquote(imp.Path.Value)
		name := path.Base(p)
		if name == "v2" {
			name = path.Base(path.Dir(p))
		}
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = p
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, "starts a goroutine")
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			switch p := names[x.Name]; {
			case p == "time" && slices.Contains(impureTime, n.Sel.Name):
				out = append(out, "reads the clock: time."+n.Sel.Name)
			case p == "net" && !slices.Contains(pureNet, n.Sel.Name):
				out = append(out, "does I/O: net."+n.Sel.Name)
			case (p == "math/rand" || p == "math/rand/v2") && !slices.Contains(seededRand, n.Sel.Name):
				out = append(out, "draws from global randomness: rand."+n.Sel.Name)
			}
		}
		return true
	})
	return out
}

func units(t *testing.T) []unit {
	t.Helper()
	root := filepath.Join("..", "..")
	byDir := map[string]*unit{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		if d.IsDir() {
			if skipped(rel, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("read %s: %w", rel, err)
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		if byDir[dir] == nil {
			byDir[dir] = &unit{path: dir}
		}
		byDir[dir].files = append(byDir[dir].files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []unit
	for _, u := range byDir {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b unit) int { return strings.Compare(a.path, b.path) })
	if len(out) < 10 {
		t.Fatalf("found only %d packages below %s", len(out), root)
	}
	return out
}

// skipped leaves out hidden folders, test data, and the modules of their own.
func skipped(rel, base string) bool {
	if rel == "." {
		return false
	}
	return strings.HasPrefix(base, ".") || base == "testdata" || rel == "bench" || rel == "tools"
}

func imports(u unit) []string {
	var out []string
	for _, f := range u.files {
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value)
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// find prefers an exact line over one that covers a tree.
func find(plan []floors.Package, rel string) (floors.Package, bool) {
	for _, p := range plan {
		if p.Path == rel {
			return p, true
		}
	}
	for _, p := range plan {
		if matches(p.Path, rel) {
			return p, true
		}
	}
	return floors.Package{}, false
}

func matches(pattern, rel string) bool {
	tree, ok := strings.CutSuffix(pattern, "/...")
	if !ok {
		return pattern == rel
	}
	return rel == tree || strings.HasPrefix(rel, tree+"/")
}

func TestEveryDirectDependencyIsExplained(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	explained, err := os.ReadFile(filepath.Join("..", "..", "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") || strings.Contains(line, "// indirect") || fields[0] == "module" {
			continue
		}
		found++
		if !strings.Contains(string(explained), fields[0]) {
			t.Errorf("%s has no line in docs/dependencies.md: why it is here, what else was considered, how to leave it", fields[0])
		}
	}
	if found == 0 {
		t.Error("go.mod names no direct dependency")
	}
}
