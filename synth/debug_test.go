package synth_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/spirv"
	"nxvk/synth/synthtest"
)

// dumping is set in the process that TestDump starts.
const dumping = "NXVK_TEST_DUMPING"

// A kernel that is not valid does not become code where it is looked at before.
func TestVerify(t *testing.T) {
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "empty workgroup") {
			t.Errorf("a kernel of no invocations: %s", said)
		}
	}()
	codegen.VerifyKernel(&kernel.Kernel{Name: "none"})
}

// NXVK_DUMP shows the code before and after the passes, the fusions with their steps,
// and every kernel that is compiled, also where the archive has it and where it is put
// into a product; SPIR-V comes in files that have all of it.
func TestDump(t *testing.T) {
	if os.Getenv(dumping) != "" {
		dumped(t)
		return
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestDump$")
	c.Env = append(os.Environ(), dumping+"=1", "NXVK_DUMP=graph,plan,kernels,spirv", "NXVK_DUMP_DIR="+dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"# straight-line code\n", "# simplified\n", " = max %", "fusion %", "  kernel ", " result 0 write", "gemm_",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the dump has no %q", want)
		}
	}
	// Twice each, since the second life compiles again.
	named := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^# ([0-9a-f]{32})( .*)?$`).FindAllStringSubmatch(string(out), -1) {
		named[m[1]]++
	}
	for name, n := range named {
		if n != 2 {
			t.Errorf("kernel %s is shown %d times, want 2", name, n)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.spv"))
	if err != nil || len(files) != len(named) || len(files) < 2 {
		t.Fatalf("%d files of %d kernels, %v", len(files), len(named), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code, err := spirv.Words(data)
		if err != nil || codegen.HashName(code)+".spv" != filepath.Base(file) {
			t.Errorf("%s has other code: %v", filepath.Base(file), err)
		}
	}
}

// dumped compiles a layer of a network, and what does not come into it, in two lives.
func dumped(t *testing.T) {
	target := *synthtest.GPU
	target.Archive = &drawer{byKey: map[string][]byte{}}
	for range 2 {
		forget()
		g := synthtest.NewSketch(t)
		_, out := g.Layer(64, 24, 32)
		g.Return(out, g.Softmax(out))
		simple := fusion.Simplify(&g.Graph, &target, nil)
		for _, u := range synth.Fuse(simple, &target) {
			g.Planned(t, &u, &target)
		}
	}
}
