package finding_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const document = "../../../docs/findings.md"

var form = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func TestEveryCodeInTheProgramIsInTheDocumentAndTheOtherWayRound(t *testing.T) {
	documented := documentedCodes(t)
	used := usedCodes(t)
	if len(used) < 20 {
		t.Fatalf("found only %d codes in the program: the test looks in the wrong place", len(used))
	}
	for code, where := range used {
		if !form.MatchString(code) {
			t.Errorf("%s: code %q is not lower-case words with hyphens", where, code)
		}
		if !documented[code] {
			t.Errorf("%s: code %q is not in docs/findings.md: add its row", where, code)
		}
	}
	for code := range documented {
		if _, ok := used[code]; !ok {
			t.Errorf("docs/findings.md lists %q, which nothing gives", code)
		}
	}
}

func documentedCodes(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(text), -1) {
		out[row[1]] = true
	}
	return out
}

// usedCodes finds the constants of type Code, and the codes of caveats given as text, in all packages below internal.
func usedCodes(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if literal := codeLiteral(n, filepath.ToSlash(name)); literal != nil {
				code, _ := strconv.Unquote(literal.Value)
				out[code] = name
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// codeLiteral is the string of a constant «X Code = "…"», of «ImportCaveat{Code: "…"}», of «caveat("…", …)», or of the search's «add("…", …)».
func codeLiteral(n ast.Node, file string) *ast.BasicLit {
	switch n := n.(type) {
	case *ast.ValueSpec:
		if name(n.Type) == "Code" && len(n.Values) == 1 {
			return text(n.Values[0])
		}
	case *ast.CompositeLit:
		if name(n.Type) != "ImportCaveat" {
			return nil
		}
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && name(kv.Key) == "Code" {
				return text(kv.Value)
			}
		}
	case *ast.CallExpr:
		searched := name(n.Fun) == "add" && strings.Contains(file, "/search/")
		if (name(n.Fun) == "caveat" || searched) && len(n.Args) >= 2 {
			return text(n.Args[0])
		}
	}
	return nil
}

func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	default:
		return ""
	}
}

func text(e ast.Expr) *ast.BasicLit {
	if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		return literal
	}
	return nil
}
