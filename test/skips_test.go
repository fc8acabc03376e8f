package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSkipsSayWhy has every test that skips give a reason, which the report of `make test`
// prints: an error, or a text of at least two words.
func TestSkipsSayWhy(t *testing.T) {
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".." {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, call := range skips(file) {
			found++
			if !saysWhy(call) {
				t.Errorf("%s: a skip without a reason", files.Position(call.Pos()))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no test skips: the search finds nothing")
	}
}

// skips are the calls in a file that skip a test.
func skips(file *ast.File) (calls []*ast.CallExpr) {
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			method, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) {
				calls = append(calls, call)
			}
		}
		return true
	})
	return calls
}

// saysWhy reports whether a call that skips a test has a reason for the report.
func saysWhy(call *ast.CallExpr) bool {
	if len(call.Args) != 1 {
		return len(call.Args) > 1
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	return !ok || len(strings.Fields(strings.Trim(text.Value, "\"`"))) >= 2
}

func TestSaysWhy(t *testing.T) {
	for code, want := range map[string]bool{
		`t.SkipNow()`: false, `t.Skip()`: false, `t.Skip("SKIP")`: false, `t.Skip("no device")`: true, `b.Skip(err)`: true,
		`t.Skipf("%s", output)`: true,
	} {
		expr, err := parser.ParseExpr(code)
		if err != nil {
			t.Fatal(err)
		}
		if got := saysWhy(expr.(*ast.CallExpr)); got != want {
			t.Errorf("%s: got %v, want %v", code, got, want)
		}
	}
}
