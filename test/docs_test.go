package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared is what a package declares at its top: names, and methods and fields as
// Type.Name. An embedded field has the name of its type.
type declared map[string]bool

// has reports whether a package declares a name, itself or by an embedded type of the package.
func (d declared) has(name string) bool {
	if d[name] {
		return true
	}
	owner, member, ok := strings.Cut(name, ".")
	for key := range d {
		of, embedded, nested := strings.Cut(key, "."+embeds)
		if ok && nested && of == owner && d.has(embedded+"."+member) {
			return true
		}
	}
	return false
}

// embeds stands before the names of embedded types.
const embeds = "^"

// declarations reads the packages of the module, by the last part of their path, and its tests, which are under
// the name "_test".
func declarations(t *testing.T) map[string]declared {
	t.Helper()
	all := make(map[string]declared)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.Base(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") {
			name = "_test"
		}
		if all[name] == nil {
			all[name] = make(declared)
		}
		for _, decl := range file.Decls {
			all[name].add(decl)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (d declared) add(decl ast.Decl) {
	switch x := decl.(type) {
	case *ast.FuncDecl:
		name := x.Name.Name
		if x.Recv != nil {
			name = receiver(x.Recv.List[0].Type) + "." + name
		}
		d[name] = true
	case *ast.GenDecl:
		for _, spec := range x.Specs {
			d.addSpec(spec)
		}
	}
}

func (d declared) addSpec(spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			d[n.Name] = true
		}
	case *ast.TypeSpec:
		d[s.Name.Name] = true
		fields := &ast.FieldList{}
		switch body := s.Type.(type) {
		case *ast.StructType:
			fields = body.Fields
		case *ast.InterfaceType:
			fields = body.Methods
		}
		for _, f := range fields.List {
			for _, n := range f.Names {
				d[s.Name.Name+"."+n.Name] = true
			}
			if len(f.Names) == 0 {
				d[s.Name.Name+"."+embeds+receiver(f.Type)] = true
			}
		}
	}
}

// receiver is the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

var (
	// What the pages name that is not in the tree: files of a release, of a user's project, of TLS; functions; keys of maps.
	elsewhere = regexp.MustCompile(`^priv/checksums\.txt$|^config/\w+\.exs$|\.(pem|key)$|^\w+/\d$|^device\.kind$`)
	quoted    = regexp.MustCompile("`([^`\n]+)`")
	goName    = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*)\.([A-Za-z]\w*(?:\.[A-Za-z]\w*)?)$`)
	fileName  = regexp.MustCompile(`\.(go|exs)$`)
	testName  = regexp.MustCompile(`\b(?:Test|Benchmark)[A-Z]\w*`)
	pathName  = regexp.MustCompile(`^[a-z][\w-]*(/[\w-]+)+(\.[a-z]+)?$|^[a-z_]+\.go$`)
	module    = regexp.MustCompile(`^(NxVulkanGo(?:\.[A-Z]\w*)*)(?:\.[a-z_]\w*/\d)?$`)
)

// documents are pages for readers, with how many names of the tree each has at least.
var documents = map[string]int{
	"../ARCHITECTURE.md":                   80,
	"../CONTRIBUTING.md":                   15,
	"../README.md":                         0,
	"../SECURITY.md":                       1,
	"../gen/README.md":                     1,
	"../elixir/nx_vulkan_go/README.md":     1,
	"../elixir/nx_vulkan_go/guides/*.md":   10,
	"../elixir/nx_vulkan_go/guides/*/*.md": 0,
}

// TestDocuments looks for what documents name: packages and files, what Go packages
// declare, members of their types, tests, and modules of Elixir.
func TestDocuments(t *testing.T) {
	packages, modules := declarations(t), elixirModules(t)
	for pattern, least := range documents {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
				known, fault := named(m[1], packages, modules)
				if fault != "" {
					t.Errorf("%s: %s", path, fault)
				}
				if known {
					found++
				}
			}
		}
		if found < least {
			t.Errorf("%s: only %d names are found in the text", pattern, found)
		}
	}
}

// named looks for a name in the tree. known says that it is of a kind that the tree has; fault is why it is not there.
func named(name string, packages map[string]declared, modules map[string]bool) (known bool, fault string) {
	switch {
	case elsewhere.MatchString(name):
	case module.MatchString(name):
		if part := module.FindStringSubmatch(name)[1]; !modules[part] {
			return true, part + " is no module"
		}
		return true, ""
	case pathName.MatchString(name) && strings.Contains(name, "/"):
		if !exists(name) {
			return true, name + " is no file or folder"
		}
		return true, ""
	case modules["NxVulkanGo."+name]:
		return true, ""
	case goName.MatchString(name) && !fileName.MatchString(name):
		part := goName.FindStringSubmatch(name)
		return namedGo(part[1], part[2], packages)
	case testName.MatchString(name):
		for _, test := range testName.FindAllString(name, -1) {
			if !beginsTest(test, packages["_test"]) {
				return true, "there is no test " + test
			}
		}
		return true, ""
	}
	return false, ""
}

// namedGo looks for what a package declares, or for a member of a type of any package.
func namedGo(owner, name string, packages map[string]declared) (known bool, fault string) {
	if names, ok := packages[owner]; ok {
		if !names.has(name) {
			return true, "package " + owner + " declares no " + name
		}
		return true, ""
	}
	for _, names := range packages {
		if names[owner] {
			if known = true; names.has(owner + "." + name) {
				return true, ""
			}
		}
	}
	if known {
		return true, "no type " + owner + " has a " + name
	}
	return false, "" // a term of Erlang, a file
}

// beginsTest reports whether a pattern of -run, such as TestSort, finds a test.
func beginsTest(pattern string, tests declared) bool {
	for name := range tests {
		if strings.HasPrefix(name, pattern) {
			return true
		}
	}
	return false
}

// Names that are not in the tree are found.
func TestNamed(t *testing.T) {
	packages := map[string]declared{
		"synth": {"Lower": true, "Plan": true, "Plan.Steps": true},
		"exec":  {"Executor": true, "Executor.Read": true},
		"_test": {"TestSortedRows": true},
	}
	modules := map[string]bool{"NxVulkanGo.Compiler": true, "NxVulkanGo.Compiler.Scope": true}
	for name, want := range map[string]struct{ known, fault bool }{
		"synth.Lower": {true, false}, "synth.Plan.Steps": {true, false}, "synth.Raise": {true, true},
		"Executor.Read": {true, false}, "Executor.Write": {true, true}, "atom.name": {false, false},
		"go test ./test -run TestSort": {true, false}, "TestSorts": {true, true},
		"NxVulkanGo.Compiler.compile/4": {true, false}, "NxVulkanGo.Parser": {true, true}, "Compiler.Scope": {true, false},
		"test/docs_test.go": {true, false}, "test/no_such_file.go": {true, true}, "table.go": {false, false},
		"{add, A, B}": {false, false},
	} {
		if known, fault := named(name, packages, modules); known != want.known || (fault != "") != want.fault {
			t.Errorf("%s: known is %v, the fault is %q", name, known, fault)
		}
	}
}

// exists reports whether a path is one of the repository or of its Elixir package.
func exists(path string) bool {
	for _, root := range []string{"..", "../elixir/nx_vulkan_go"} {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil {
			return true
		}
	}
	return false
}

func elixirModules(t *testing.T) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	define := regexp.MustCompile(`(?m)^ *defmodule ([\w.]+) do`)
	err := filepath.WalkDir("../elixir", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".ex" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range define.FindAllSubmatch(text, -1) {
			all[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
