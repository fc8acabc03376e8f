package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSingle holds what test/all.sh says of the packages that it leaves out of the race detector and of the
// builds without cgo: none starts a goroutine, but for those that are raced by their names, and none
// reaches a driver, nor do its tests.
func TestSingle(t *testing.T) {
	script, err := os.ReadFile("all.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^single='(.*)'$`).FindSubmatch(script)
	if found == nil {
		t.Fatal("all.sh says nowhere which packages are single")
	}
	single, err := regexp.CompilePOSIX(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-test", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Dir}}\t{{join .Deps \" \"}}", "nxvk/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	count, concurrent := 0, 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		path, name := fields[0], fields[1]
		path, _, variant := strings.Cut(path, " ") // compiled again for its tests
		path, tests := strings.CutSuffix(path, ".test")
		if !single.MatchString(path) {
			continue
		}
		count++
		for dep := range strings.FieldsSeq(fields[3]) {
			if strings.HasPrefix(dep, "nxvk/vulkan") {
				t.Errorf("%s reaches %s: its tests need the parts of all.sh that have devices", fields[0], dep)
			}
		}
		if variant || tests || name == "main" { // a tool
			continue
		}
		if at := goroutines(t, fields[2]); at != "" {
			concurrent++
			if raced := "./" + strings.TrimPrefix(path, "nxvk/"); !strings.Contains(string(script), raced+" ") {
				t.Errorf("%s starts a goroutine, and part_race of all.sh does not name %s", at, raced)
			}
		}
	}
	if count < 20 || concurrent == 0 {
		t.Errorf("of %d packages %d start goroutines: the search finds nothing", count, concurrent)
	}
}

// goroutines is a place in the files of a package, but for its tests, where it starts a goroutine.
func goroutines(t *testing.T, dir string) (at string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				at = files.Position(n.Pos()).String()
			case *ast.SelectorExpr:
				if n.Sel.Name == "Go" {
					at = files.Position(n.Pos()).String()
				}
			}
			return true
		})
	}
	return at
}
