package codegen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
)

// NXVK_DUMP is a comma-separated list of dumps, which go to the standard error:
// "graph" the straight-line code of programs before and after its passes, "plan" the
// fusions of programs with their steps, "kernels" the text of every kernel that is
// compiled, which then are all, whatever the archive has. "spirv" writes their code to
// HASH.spv in the folder NXVK_DUMP_DIR, or that for temporary files.
var dumps = strings.Split(os.Getenv("NXVK_DUMP"), ",")

var (
	dumpGraphs  = slices.Contains(dumps, "graph")
	dumpPlans   = slices.Contains(dumps, "plan")
	dumpKernels = slices.Contains(dumps, "kernels")
	dumpSPIRV   = slices.Contains(dumps, "spirv")
)

// Verify has every kernel verified before it becomes code, and compiles programs again whose kernel is in the cache, to see that
// programs that share a key share their code. Tests set it.
var Verify bool

// VerifyKernel panics if Verify is set and a kernel is not valid.
func VerifyKernel(k *kernel.Kernel) {
	if !Verify {
		return
	}
	if err := kernel.Verify(k); err != nil {
		panic(fmt.Sprintf("BUG: %v\n%s", err, k))
	}
}

// oftenVerified is how many hits of a key are all verified. Of later ones, the eighth, the sixteenth and so on are.
const oftenVerified = 4

// VerifyHit panics if Verify is set and a program compiles to another code than the kernel that the cache has by its key.
func VerifyHit(key string, k *lowering.Kernel, compile func() ([]uint32, error)) {
	if !Verify {
		return
	}
	if n := CompiledKernels.hit(key); n > oftenVerified && n&(n-1) != 0 {
		return
	}
	code, err := compile()
	if err != nil {
		panic(fmt.Sprintf("BUG: a program whose key has a kernel has none: %v\n%s", err, key))
	}
	if !slices.Equal(code, k.Code) {
		panic(fmt.Sprintf("BUG: programs of different code share a key:\n%s", key))
	}
}

// DumpGraph prints a region if NXVK_DUMP asks for graphs.
func DumpGraph(what string, r *ops.Region) {
	if dumpGraphs {
		fmt.Fprintf(os.Stderr, "# %s\n%s", what, notation.Print(r))
	}
}

// DumpPlan prints a fusion and its plan if NXVK_DUMP asks for plans.
func DumpPlan(u fmt.Stringer, p *lowering.Plan) {
	if dumpPlans {
		fmt.Fprintf(os.Stderr, "%s%s", u, p)
	}
}

// Dump shows a compiled kernel. irs are its code: one kernel, or the functions that
// replace those of a kernel of package shaders.
func Dump(k *lowering.Kernel, irs ...*kernel.Kernel) {
	if dumpKernels {
		fmt.Fprintf(os.Stderr, "# %s\n", k.Name)
		for _, ir := range irs {
			fmt.Fprint(os.Stderr, ir)
		}
	}
	if !dumpSPIRV {
		return
	}
	dir := os.Getenv("NXVK_DUMP_DIR")
	if dir == "" {
		dir = os.TempDir()
	}
	path := filepath.Join(dir, HashName(k.Code)+".spv")
	if err := os.WriteFile(path, CodeBytes(k.Code), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "dump %s: %v\n", path, err)
	}
}
