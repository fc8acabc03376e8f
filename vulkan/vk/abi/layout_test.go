package abi

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// targets are the systems for which structures are laid out in Go, by clang's names.
var targets = map[string]string{
	"linux/amd64":   "x86_64-unknown-linux-gnu",
	"linux/arm64":   "aarch64-unknown-linux-gnu",
	"freebsd/amd64": "x86_64-unknown-freebsd",
	"freebsd/arm64": "aarch64-unknown-freebsd",
	"darwin/amd64":  "x86_64-apple-macos",
	"darwin/arm64":  "arm64-apple-macos",
	"windows/amd64": "x86_64-pc-windows-msvc",
	"windows/arm64": "aarch64-pc-windows-msvc",
}

// TestTargets has the compiler for C of each system agree with Go's about every structure and number.
func TestTargets(t *testing.T) {
	clang := compiler(t, "clang", "clang-19", "clang-16", "clang-14")
	p := load(t)
	for target, triple := range targets {
		t.Run(target, func(t *testing.T) {
			_, arch, _ := strings.Cut(target, "/")
			source := p.assertions(t, arch)
			// Its own headers come before the system's, which may be another's.
			check(t, source, clang, "-target", triple, "-ffreestanding", "-idirafter", headers(t))
		})
	}
}

// TestHost has the C compiler of this machine agree.
func TestHost(t *testing.T) {
	cc := compiler(t, "cc")
	check(t, load(t).assertions(t, build.Default.GOARCH), cc)
}

// TestNoticesDifference has the compiler refuse a wrong offset, so that the other tests say something.
func TestNoticesDifference(t *testing.T) {
	cc := compiler(t, "cc")
	source := strings.Replace(load(t).assertions(t, build.Default.GOARCH), "offsetof(VkSubmitInfo, pNext) == 8", "offsetof(VkSubmitInfo, pNext) == 4", 1)
	if out, err := compile(t, source, cc); err == nil || !strings.Contains(out, "VkSubmitInfo") {
		t.Errorf("the compiler took a wrong offset: %v\n%s", err, out)
	}
}

// compiler returns the first of the programs that is installed.
func compiler(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no %s (Debian and Ubuntu: apt-get install %[1]s)", names[0])
	return ""
}

func check(t *testing.T, source string, command ...string) {
	t.Helper()
	if out, err := compile(t, source, command...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func compile(t *testing.T, source string, command ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(command[0], append(command[1:], "-std=c11", "-fsyntax-only", "-I..", "-x", "c", "-")...)
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// headers returns the folder that the headers of Vulkan are in.
func headers(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(compiler(t, "cc"), "-E", "-")
	cmd.Stdin = strings.NewReader("#include <vulkan/vulkan_core.h>\n")
	out, err := cmd.CombinedOutput()
	m := regexp.MustCompile(`"(\S+)/vulkan/vulkan_core\.h"`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Skipf("no headers of Vulkan (Debian and Ubuntu: apt-get install libvulkan-dev): %v", err)
	}
	return string(m[1])
}

// source is the package, parsed and checked.
type source struct {
	files []*ast.File
	pkg   *types.Package
}

func load(t *testing.T) source {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var s source
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, f)
	}
	s.pkg, err = (&types.Config{Importer: importer.ForCompiler(set, "source", nil)}).Check("nxvk/vulkan/vk/abi", set, s.files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// assertions returns C that compiles where sizes, offsets and numbers are those of Go.
func (s source) assertions(t *testing.T, arch string) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("#include <stddef.h>\n#define VK_NO_PROTOTYPES\n#define VK_ENABLE_BETA_EXTENSIONS\n" +
		"#include <vulkan/vulkan_core.h>\n#include \"matrix.h\"\n")
	assert := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(&b, "_Static_assert(%s, %q);\n", text, text)
	}
	sizes := types.SizesFor("gc", arch)
	structures := 0
	for _, name := range s.pkg.Scope().Names() {
		v, ok := s.pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		if !ok {
			continue
		}
		structures++
		assert("sizeof(Vk%s) == %d", name, sizes.Sizeof(v))
		var fields []*types.Var
		for i := range v.NumFields() {
			fields = append(fields, v.Field(i))
		}
		for i, offset := range sizes.Offsetsof(fields) {
			if fields[i].Name() != "_" {
				member := member(fields[i].Name(), v.Tag(i))
				assert("offsetof(Vk%s, %s) == %d", name, member, offset)
				assert("sizeof(((Vk%s *)0)->%s) == %d", name, member, sizes.Sizeof(fields[i].Type()))
			}
		}
	}
	numbers := s.numbers(t)
	for name, value := range numbers {
		assert("%s == %sull", name, value)
	}
	if structures < 60 || len(numbers) < 80 {
		t.Errorf("%d structures and %d numbers are compared: some are not seen", structures, len(numbers))
	}
	return b.String()
}

// member returns the name of a member in C.
func member(field, tag string) string {
	if name, ok := reflect.StructTag(tag).Lookup("vk"); ok {
		return name
	}
	r := []rune(field)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}

// numbers returns the constants by their names in C, which their comments are.
func (s source) numbers(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			name := strings.TrimSpace(v.Comment.Text())
			if !strings.HasPrefix(name, "VK_") {
				t.Errorf("the comment of %s is not its name in Vulkan", v.Names[0].Name)
				return true
			}
			all[name] = constant.ToInt(s.pkg.Scope().Lookup(v.Names[0].Name).(*types.Const).Val()).ExactString()
			return true
		})
	}
	return all
}
