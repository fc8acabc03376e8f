package test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What CONTRIBUTING says of sizes. A file may have some lines more than 400 where it is cut nowhere better, and a
// test some more than a function has, for its table of cases.
const (
	mostLines    = 420
	mostFunction = 60
	mostTest     = 120
	mostFiles    = 20
)

// TestSizes: a file, a function and a folder of Go have a size that a reader keeps in mind.
func TestSizes(t *testing.T) {
	folders := make(map[string]int)
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		most := mostFunction
		if strings.HasSuffix(path, "_test.go") {
			most = mostTest
		} else {
			folders[filepath.Dir(path)]++
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(text, []byte("\n")); n > mostLines {
			t.Errorf("%s has %d lines, at most %d are wanted: cut it where a reader would", path, n, mostLines)
		}
		for name, n := range functions(t, path, text) {
			if n > most {
				t.Errorf("%s: %s has %d lines, at most %d are wanted", path, name, n, most)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, n := range folders {
		if n > mostFiles {
			t.Errorf("%s has %d files that are not tests, at most %d are wanted: packages are hidden in it", folder, n, mostFiles)
		}
	}
	if files < 500 {
		t.Errorf("only %d files were found", files)
	}
}

// functions has the lines of each function of a file, its comment left out.
func functions(t *testing.T, path string, text []byte) map[string]int {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[string]int)
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			name := f.Name.Name
			if f.Recv != nil {
				name = receiver(f.Recv.List[0].Type) + "." + name
			}
			lines[name] = set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1
		}
	}
	return lines
}
