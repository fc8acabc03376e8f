package synth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nxvk/synth/kernel"
)

// NXVK_DUMP is a comma-separated list of what to show of every kernel that is
// compiled: "kernels" prints its text on the standard error, "spirv" writes its
// code to NAME.spv in the folder NXVK_DUMP_DIR, or that for temporary files.
var dumpKernels, dumpSPIRV = func() (k, s bool) {
	for _, what := range strings.Split(os.Getenv("NXVK_DUMP"), ",") {
		k = k || what == "kernels"
		s = s || what == "spirv"
	}
	return k, s
}()

func dump(name string, ir *kernel.Kernel, code []uint32) {
	if dumpKernels {
		fmt.Fprintf(os.Stderr, "# %s\n%s", name, ir)
	}
	if !dumpSPIRV {
		return
	}
	dir := os.Getenv("NXVK_DUMP_DIR")
	if dir == "" {
		dir = os.TempDir()
	}
	path := filepath.Join(dir, name+".spv")
	if err := os.WriteFile(path, codeBytes(code), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "dump %s: %v\n", path, err)
	}
}
