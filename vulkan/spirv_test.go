package vulkan

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "compile the kernels and rewrite testdata/spirv.sum")

// TestKernelsMatchSources fails where a GLSL source has changed and its SPIR-V has not:
// testdata/spirv.sum has the hashes of both.
func TestKernelsMatchSources(t *testing.T) {
	sources, err := filepath.Glob("testdata/*.comp")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, src := range append(sources, "copy.comp") {
		spv := strings.TrimSuffix(src, ".comp") + ".spv"
		if *update {
			out, err := exec.Command("glslangValidator", "-V", "--target-env", "vulkan1.2", "-o", spv, src).CombinedOutput()
			if err != nil {
				t.Fatalf("compile %s: %v\n%s", src, err, out)
			}
		}
		fmt.Fprintf(&text, "%s %x %x\n", filepath.ToSlash(src), sum(t, src), sum(t, spv))
	}
	const name = "testdata/spirv.sum"
	if *update {
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(must(os.ReadFile(name))(t)); text.String() != want {
		t.Errorf("kernels and sources differ from %s; run go test ./vulkan -run Kernels -update\ngot\n%swant\n%s", name, &text, want)
	}
}

func sum(t *testing.T, name string) [sha256.Size]byte {
	t.Helper()
	return sha256.Sum256(must(os.ReadFile(name))(t))
}
