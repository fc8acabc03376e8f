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
// Type.Name.
type declared map[string]bool

// declarations reads the packages of the module, by the last part of their path.
func declarations(t *testing.T) map[string]declared {
	t.Helper()
	all := make(map[string]declared)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.Base(filepath.Dir(path))
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
	quoted   = regexp.MustCompile("`([^`\n]+)`")
	goName   = regexp.MustCompile(`^([a-z][a-z0-9]*)\.([A-Za-z]\w*(?:\.[A-Za-z]\w*)?)$`)
	pathName = regexp.MustCompile(`^[a-z][\w-]*(/[\w-]+)+(\.[a-z]+)?$|^[a-z_]+\.go$`)
	module   = regexp.MustCompile(`^(NxVulkanGo(?:\.[A-Z]\w*)*)(?:\.[a-z_]\w*/\d)?$`)
)

// TestArchitecture looks for what ARCHITECTURE.md names: packages and files, what Go
// packages declare, and modules of Elixir.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, modules := declarations(t), elixirModules(t)
	found := 0
	for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		switch {
		case module.MatchString(name):
			found++
			if part := module.FindStringSubmatch(name)[1]; !modules[part] {
				t.Errorf("%s is no module", part)
			}
		case pathName.MatchString(name) && strings.Contains(name, "/"):
			found++
			if !exists(name) {
				t.Errorf("%s is no file or folder", name)
			}
		case goName.MatchString(name):
			part := goName.FindStringSubmatch(name)
			names, ok := packages[part[1]]
			if !ok {
				continue // a term of Erlang, a file
			}
			found++
			if !names[part[2]] {
				t.Errorf("package %s declares no %s", part[1], part[2])
			}
		}
	}
	if found < 80 {
		t.Errorf("only %d names are found in the text", found)
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
