// Package test holds what needs more than one package: the rules that keep
// packages apart, here; clusters, demonstrations and counts in its folders.
package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rules say what a package may reach, directly or through others, besides the
// standard library. A package's own path counts, or else the longest pattern that
// matches it; a pattern ending in /... matches a folder.
var rules = map[string][]string{
	"nxvk/ops":                  {},
	"nxvk/ops/...":              {"nxvk/ops"},
	"nxvk/ops/opgen":            {"nxvk/ops/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "gonum.org/..."},
	"nxvk/shaders/...":          {"nxvk/shaders/..."},
	"nxvk/synth/...":            {"nxvk/synth/...", "nxvk/ops/...", "nxvk/shaders", "nxvk/fallback/sched", "golang.org/x/sys/...", "gonum.org/..."},
	"nxvk/synth/scalar/...":     {"nxvk/synth/scalar/..."},
	"nxvk/synth/kernel/...":     {"nxvk/synth/scalar/...", "nxvk/synth/kernel/..."},
	"nxvk/synth/spirv/...":      {"nxvk/synth/scalar/...", "nxvk/synth/kernel", "nxvk/synth/spirv/..."},
	"nxvk/synth/simt":           {"nxvk/synth/scalar/...", "nxvk/synth/kernel", "nxvk/synth/simt", "nxvk/fallback/sched", "golang.org/x/sys/..."},
	"nxvk/synth/gemm/tiles":     {"nxvk/synth/gemm/tiles", "golang.org/x/sys/..."},
	"nxvk/synth/stored":         {"nxvk/synth/stored", "nxvk/synth/kernel", "nxvk/synth/scalar/...", "nxvk/ops"},
	"nxvk/synth/gemm":           {"nxvk/synth/gemm/...", "nxvk/fallback/sched", "nxvk/ops", "golang.org/x/sys/...", "gonum.org/..."},
	"nxvk/synth/graph/notation": {"nxvk/synth/graph/notation", "nxvk/ops"},
	"nxvk/synth/graph":          {"nxvk/synth/graph", "nxvk/ops"},
	"nxvk/synth/spmd":           {"nxvk/synth/spmd", "nxvk/ops/..."},
	"nxvk/synth/lowering":       kernels,
	"nxvk/synth/strided":        slices.Concat(kernels, []string{"nxvk/synth/lowering", "nxvk/synth/strided"}),
	"nxvk/synth/codegen":        emitter,
	"nxvk/synth/fusion":         slices.Concat(emitter, []string{"nxvk/synth/fusion", "nxvk/synth/graph"}),
	"nxvk/synth/partition":      slices.Concat(emitter, []string{"nxvk/synth/fusion", "nxvk/synth/partition", "nxvk/synth/graph"}),
	"nxvk/synth/elementwise":    slices.Concat(emitter, []string{"nxvk/synth/elementwise"}),
	"nxvk/synth/reduction":      slices.Concat(emitter, []string{"nxvk/synth/reduction"}),
	"nxvk/synth/movement":       slices.Concat(emitter, []string{"nxvk/synth/elementwise", "nxvk/synth/movement"}),
	"nxvk/synth/dot":            products,
	"nxvk/synth/conv":           slices.Concat(products, []string{"nxvk/synth/conv"}),
	"nxvk/synth/fft":            slices.Concat(emitter, []string{"nxvk/synth/fft"}),
	"nxvk/synth/sorting":        slices.Concat(emitter, []string{"nxvk/synth/sorting"}),
	"nxvk/synth/leapfrog":       slices.Concat(emitter, []string{"nxvk/synth/leapfrog"}),
	"nxvk/synth/windowing":      slices.Concat(emitter, []string{"nxvk/synth/reduction", "nxvk/synth/windowing"}),
	"nxvk/synth/scan": slices.Concat(emitter, []string{"nxvk/synth/elementwise", "nxvk/synth/reduction", "nxvk/synth/windowing",
		"nxvk/synth/scan"}),
	"nxvk/synth/indexing": slices.Concat(emitter, []string{"nxvk/synth/elementwise", "nxvk/synth/movement", "nxvk/synth/sorting",
		"nxvk/synth/indexing"}),
	"nxvk/synth/linalg/...":         slices.Concat(products, []string{"nxvk/synth/linalg/..."}),
	"nxvk/synth/linalg/factor":      slices.Concat(products, []string{"nxvk/synth/linalg/factor"}),
	"nxvk/synth/linalg/cholesky":    slices.Concat(products, []string{"nxvk/synth/linalg/factor", "nxvk/synth/linalg/cholesky"}),
	"nxvk/synth/linalg/triangular":  slices.Concat(products, []string{"nxvk/synth/linalg/factor", "nxvk/synth/linalg/triangular"}),
	"nxvk/synth/linalg/qr":          slices.Concat(products, []string{"nxvk/synth/linalg/factor", "nxvk/synth/linalg/qr"}),
	"nxvk/synth/fused":              fusedCode,
	"nxvk/synth/attention/...":      slices.Concat(fusedCode, []string{"nxvk/synth/attention/..."}),
	"nxvk/synth/attention/tile":     slices.Concat(fusedCode, []string{"nxvk/synth/attention/tile"}),
	"nxvk/synth/attention/gradient": slices.Concat(fusedCode, []string{"nxvk/synth/attention/tile", "nxvk/synth/attention/gradient"}),
	"nxvk/fallback/...":             {"nxvk/fallback/...", "nxvk/ops/...", "golang.org/x/sys/...", "gonum.org/..."},
	"nxvk/fallback/sched":           {"nxvk/fallback/sched", "golang.org/x/sys/..."},
	"nxvk/fallback/hostmath":        {"nxvk/fallback/hostmath"},
	"nxvk/fallback/dense":           hostCore,

	"nxvk/fallback/elementwise": slices.Concat(hostCore, []string{"nxvk/fallback/hostmath", "nxvk/fallback/elementwise"}),
	"nxvk/fallback/movement":    slices.Concat(hostCore, []string{"nxvk/fallback/movement"}),
	"nxvk/fallback/fft":         slices.Concat(hostCore, []string{"nxvk/fallback/fft", "gonum.org/..."}),
	"nxvk/fallback/reduction":   slices.Concat(hostCore, []string{"nxvk/fallback/hostmath", "nxvk/fallback/elementwise", "nxvk/fallback/reduction"}),
	"nxvk/fallback/matmul":      slices.Concat(hostCore, []string{"nxvk/fallback/movement", "nxvk/fallback/matmul", "gonum.org/..."}),
	"nxvk/fallback/linalg": slices.Concat(hostCore, []string{"nxvk/fallback/movement", "nxvk/fallback/matmul", "nxvk/fallback/linalg",
		"gonum.org/..."}),

	"nxvk/vulkan/...":         {"nxvk/vulkan/...", loader, purego},
	"nxvk/gen/etf":            {"nxvk/gen/etf"},
	"nxvk/gen/nuts":           {"nxvk/gen/nuts"},
	"nxvk/gen/store":          {"nxvk/gen/store", "nxvk/gen/wire", "nxvk/gen/etf", "nxvk/gen/nuts", "nxvk/vulkan/...", "nxvk/ops/...", ergo, "github.com/..."},
	"nxvk/gen/wire":           {"nxvk/gen/wire", "nxvk/gen/etf", "nxvk/gen/nuts", "nxvk/ops/..."},
	"nxvk/node/archive":       {"nxvk/node/archive"},
	"nxvk/node/bench/sweep":   {"nxvk/node/bench/sweep", "nxvk/node/dist/...", "nxvk/node/epmd", "nxvk/gen/...", "nxvk/vulkan/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "nxvk/ops/...", ergo, "github.com/...", "gonum.org/..."},
	"nxvk/node/bench/program": {"nxvk/node/bench/program", "nxvk/synth/graph/notation", "nxvk/ops/..."},
	"nxvk/node/bench/mesh":    {"nxvk/node/bench/mesh", "nxvk/node/dist/...", "nxvk/node/epmd", "nxvk/gen/...", "nxvk/vulkan/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "nxvk/ops/...", ergo, "github.com/...", "gonum.org/...", "golang.org/x/sys/..."},
	"nxvk/node/epmd":          {"nxvk/node/epmd"},
	"nxvk/node/dist":          {"nxvk/node/dist/...", "nxvk/node/epmd", "nxvk/gen/etf", ergo, "github.com/rs/..."},
	"nxvk/node/dist/...":      {"nxvk/gen/etf"},
	"nxvk/node/dist/adapt":    {ergo},
	"nxvk/node/dist/inbox":    {ergo},
	"nxvk/node/dist/socket":   {"nxvk/node/dist/socket", "nxvk/gen/etf", "golang.org/x/sys/..."},
	"nxvk/node/dist/signals":  {"nxvk/gen/etf", ergo},
	"nxvk/node/dist/packet":   {"nxvk/node/dist/inbox", "nxvk/node/dist/quota", "nxvk/node/dist/socket", "nxvk/gen/etf", ergo},
	"nxvk/gen/...":            {"nxvk/gen/...", "nxvk/node/dist/...", "nxvk/node/epmd", "nxvk/vulkan/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "nxvk/ops/...", ergo, "github.com/...", "gonum.org/..."},
	"nxvk/node/...":           {"nxvk/...", ergo, "github.com/...", "gonum.org/..."},
	"nxvk/cmd/...":            {"nxvk/...", ergo, "github.com/...", "gonum.org/..."},
	"nxvk/test/...":           {"nxvk/...", ergo, "github.com/...", "gonum.org/..."},
	"nxvk/packaging/version":  {},
	"nxvk/packaging/release":  {"nxvk/packaging/version", "github.com/..."},

	"nxvk/vulkan/vk":       {"nxvk/vulkan/vk/abi", loader, purego},
	"nxvk/vulkan/vk/abi":   {},
	"nxvk/vulkan/adapter":  {"nxvk/vulkan/vk/...", loader, purego},
	"nxvk/vulkan/devfile":  {},
	"nxvk/vulkan/hazard":   {},
	"nxvk/vulkan/logical":  {"nxvk/vulkan/adapter", "nxvk/vulkan/vk/...", loader, purego},
	"nxvk/vulkan/pipeline": {"nxvk/vulkan/logical", "nxvk/vulkan/adapter", "nxvk/vulkan/vk/...", loader, purego},
	"nxvk/vulkan/submit":   {"nxvk/vulkan/pipeline", "nxvk/vulkan/logical", "nxvk/vulkan/adapter", "nxvk/vulkan/vk/...", loader, purego},
	"nxvk/vulkan/memory": {"nxvk/vulkan/submit", "nxvk/vulkan/hazard", "nxvk/vulkan/pipeline", "nxvk/vulkan/logical",
		"nxvk/vulkan/adapter", "nxvk/vulkan/vk/...", loader, purego},
	"nxvk/vulkan/logical/logicaltest": {"nxvk/vulkan/logical", "nxvk/vulkan/adapter", "nxvk/vulkan/vk/...", loader, purego},

	"nxvk/gen/server/mailbox": {"nxvk/gen/server/mailbox", "nxvk/node/dist/...", "nxvk/node/epmd", "nxvk/gen/etf", ergo, "github.com/rs/..."},
	"nxvk/gen/server/report":  {"nxvk/gen/server/mailbox", "nxvk/gen/server/report", "nxvk/gen/exec/...", "nxvk/gen/sample", "nxvk/gen/store", "nxvk/gen/wire", "nxvk/gen/etf", "nxvk/gen/nuts", "nxvk/node/dist/...", "nxvk/node/epmd", "nxvk/vulkan/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "nxvk/ops/...", ergo, "github.com/...", "gonum.org/...", "golang.org/x/sys/..."},

	"nxvk/gen/exec/...":           {"nxvk/gen/exec/...", "nxvk/gen/store", "nxvk/gen/wire", "nxvk/gen/etf", "nxvk/gen/nuts", "nxvk/vulkan/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "nxvk/ops/...", ergo, "github.com/...", "gonum.org/...", "golang.org/x/sys/..."},
	"nxvk/gen/exec/exectest/...":  {"nxvk/gen/exec/...", "nxvk/gen/store", "nxvk/gen/wire", "nxvk/gen/etf", "nxvk/gen/nuts", "nxvk/gen/sample", "nxvk/vulkan/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "nxvk/ops/...", ergo, "github.com/...", "gonum.org/...", "golang.org/x/sys/..."},
	"nxvk/gen/exec/queue":         {"nxvk/gen/exec/queue"},
	"nxvk/gen/exec/memory":        {"nxvk/gen/exec/memory", "nxvk/gen/exec/queue", "nxvk/gen/store", "nxvk/gen/etf", "nxvk/gen/wire", "nxvk/gen/nuts", "nxvk/vulkan/...", "nxvk/ops/...", ergo, "github.com/..."},
	"nxvk/gen/exec/loop":          {"nxvk/gen/exec/loop"},
	"nxvk/gen/exec/mesh/schedule": {"nxvk/gen/exec/mesh/schedule", "nxvk/ops/..."},
	"nxvk/gen/exec/mesh/relay":    {"nxvk/gen/exec/mesh/relay"},
	"nxvk/gen/exec/exchange":      slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/memory", "nxvk/gen/exec/feed", "nxvk/gen/exec/mesh/schedule", "nxvk/gen/exec/mesh/relay", "nxvk/gen/exec/exchange", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/lru":           {"nxvk/gen/exec/lru"},
	"nxvk/gen/exec/target":        {"nxvk/gen/exec/target", "nxvk/vulkan/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "nxvk/ops/...", "gonum.org/...", "golang.org/x/sys/...", "github.com/..."},
	"nxvk/gen/exec/kernels":       compiled,
	"nxvk/gen/exec/program":       slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/program"}),
	"nxvk/gen/exec/placement":     slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/program", "nxvk/gen/exec/placement", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/trace":         slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/program", "nxvk/gen/exec/placement", "nxvk/gen/exec/trace", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/feed":          slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/memory", "nxvk/gen/exec/feed", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/hostjob":       slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/program", "nxvk/gen/exec/placement", "nxvk/gen/exec/hostjob", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/checks":        slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/program", "nxvk/gen/exec/placement", "nxvk/gen/exec/memory", "nxvk/gen/exec/feed", "nxvk/gen/exec/hostjob", "nxvk/gen/exec/checks", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/transfer":      slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/program", "nxvk/gen/exec/placement", "nxvk/gen/exec/memory", "nxvk/gen/exec/feed", "nxvk/gen/exec/hostjob", "nxvk/gen/exec/transfer", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/dispatch":      slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/program", "nxvk/gen/exec/placement", "nxvk/gen/exec/memory", "nxvk/gen/exec/feed", "nxvk/gen/exec/hostjob", "nxvk/gen/exec/checks", "nxvk/gen/exec/transfer", "nxvk/gen/exec/dispatch", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/spans":         slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/memory", "nxvk/gen/exec/feed", "nxvk/gen/store", ergo}),
	"nxvk/gen/exec/explain":       slices.Concat(compiled, []string{"nxvk/gen/exec/queue", "nxvk/gen/exec/program", "nxvk/gen/exec/feed", "nxvk/gen/exec/memory", "nxvk/gen/exec/explain", "nxvk/gen/store", ergo}),
}

// compiled is what knows compiled code, and no session.
var compiled = []string{"nxvk/gen/exec/kernels", "nxvk/gen/exec/lru", "nxvk/gen/exec/target", "nxvk/gen/wire", "nxvk/gen/etf",
	"nxvk/gen/nuts", "nxvk/vulkan/...", "nxvk/synth/...", "nxvk/fallback/...", "nxvk/shaders", "nxvk/ops/...", "gonum.org/...",
	"golang.org/x/sys/...", "github.com/..."}

// hostCore is what every family of host kernels stands on.
var hostCore = []string{"nxvk/fallback/dense", "nxvk/fallback/sched", "nxvk/ops/...", "golang.org/x/sys/..."}

// loader has the headers of Vulkan, and purego calls Vulkan in builds without cgo.
const (
	loader = "github.com/vulkan-go/..."
	purego = "github.com/ebitengine/..."
)

// kernels are the languages of kernels, which know no tensors; emitter are the packages
// that every lowering stands on; products are those of matrices; fusedCode is what makes the
// kernels of fusions.
var (
	kernels = []string{"nxvk/synth/lowering", "nxvk/synth/kernel", "nxvk/synth/scalar/...", "nxvk/synth/spirv", "nxvk/synth/gemm/...",
		"nxvk/synth/simt", "nxvk/ops/...", "nxvk/shaders", "nxvk/fallback/sched", "golang.org/x/sys/...", "gonum.org/..."}
	emitter = slices.Concat(kernels, []string{"nxvk/synth/strided", "nxvk/synth/codegen", "nxvk/synth/graph", "nxvk/synth/graph/notation", "nxvk/synth/stored"})

	products  = slices.Concat(emitter, []string{"nxvk/synth/elementwise", "nxvk/synth/movement", "nxvk/synth/dot"})
	fusedCode = slices.Concat(products, []string{"nxvk/synth/conv", "nxvk/synth/reduction", "nxvk/synth/fusion",
		"nxvk/synth/partition", "nxvk/synth/fused"})
)

const ergo = "ergo.services/..."

type listed struct {
	ImportPath string
	Name       string
	Standard   bool
	Deps       []string
}

// list asks the Go tool for the packages of the module and all that they
// reach. It looks at each source, too, so that `go test` does not take an
// earlier outcome for this one's.
//
// cgo is CGO_ENABLED of the build.
func list(t *testing.T, cgo string) map[string]listed {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		_, err = os.Stat(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Name,Standard,Deps", "nxvk/...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("%v: %v\n%s", cmd, err, exit.Stderr)
	}
	packages := make(map[string]listed)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
}

func matches(pattern, path string) bool {
	folder, whole := strings.CutSuffix(pattern, "/...")
	return path == folder || whole && strings.HasPrefix(path, folder+"/")
}

// ruleOf returns the most particular rule for a package.
func ruleOf(path string) (allowed []string, found bool) {
	if allowed, found = rules[path]; found {
		return allowed, true
	}
	best := ""
	for pattern := range rules {
		if matches(pattern, path) && len(pattern) > len(best) {
			best = pattern
		}
	}
	return rules[best], best != ""
}

// TestImports holds the direction of imports: cmd, node, gen, then vulkan,
// synth and fallback, then ops. Within synth: the entries, fused code, families of
// operations, the emitter, views, and the contract; fusion knows no family.
func TestImports(t *testing.T) {
	for _, cgo := range []string{"0", "1"} {
		t.Run("CGO_ENABLED="+cgo, func(t *testing.T) { checkImports(t, list(t, cgo)) })
	}
}

func checkImports(t *testing.T, packages map[string]listed) {
	t.Helper()
	for path, p := range packages {
		if !strings.HasPrefix(path, "nxvk/") {
			continue
		}
		if p.Name == "gen" {
			t.Errorf("package %s is named gen, as is Ergo's, which every actor imports", path)
		}
		allowed, found := ruleOf(path)
		if !found {
			t.Errorf("package %s is in no folder of the design", path)
		}
		for _, dep := range p.Deps {
			if packages[dep].Standard || dep == "C" {
				continue
			}
			if !permitted(allowed, dep) {
				t.Errorf("%s reaches %s, which is above it or outside of it", path, dep)
			}
		}
	}
}

// TestOracles keeps packages that only tests use, whose names end in test, out of the
// node. The benchmarks of the node use exectest, too.
func TestOracles(t *testing.T) {
	const node = "nxvk/cmd/nxvk-node"
	packages, oracles := list(t, "1"), 0
	for path, p := range packages {
		if !strings.HasPrefix(path, "nxvk/") || !strings.HasSuffix(p.Name, "test") || p.Name == "exectest" {
			continue
		}
		oracles++
		if slices.Contains(packages[node].Deps, path) {
			t.Errorf("%s reaches %s, which is for tests", node, path)
		}
	}
	if oracles == 0 {
		t.Error("there are no packages for tests")
	}
}

func permitted(allowed []string, dep string) bool {
	for _, pattern := range allowed {
		if matches(pattern, dep) {
			return true
		}
	}
	// What Ergo, zerolog, Prometheus and the like stand on themselves.
	for _, prefix := range []string{"golang.org/x/", "google.golang.org/protobuf/", "go.yaml.in/"} {
		if strings.HasPrefix(dep, prefix) {
			return permittedModule(allowed)
		}
	}
	return false
}

// permittedModule reports whether a rule lets any module in.
func permittedModule(allowed []string) bool {
	for _, pattern := range allowed {
		if !strings.HasPrefix(pattern, "nxvk/") {
			return true
		}
	}
	return false
}
