package shaders_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"nxvk/shaders"
)

func TestManifestMatchesSources(t *testing.T) {
	recorded := shaders.Manifest()
	variants := shaders.Variants()
	for _, v := range variants {
		hash, err := v.Hash(os.DirFS("."))
		if err != nil {
			t.Fatal(err)
		}
		if recorded[v.Name] != hash {
			t.Errorf("%s is not compiled from its present source; run go generate ./shaders", v.Name)
		}
	}
	if len(recorded) != len(variants) {
		t.Errorf("manifest has %d binaries, want %d", len(recorded), len(variants))
	}
}

func TestCode(t *testing.T) {
	for _, v := range shaders.Variants() {
		code, err := shaders.Code(v.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(code) < 5 || code[0] != 0x07230203 {
			t.Errorf("%s does not begin as SPIR-V does", v.Name)
		}
	}
	if _, err := shaders.Code("no such kernel"); err == nil {
		t.Error("an unknown name gives no error")
	}
}

func TestBinariesAreValid(t *testing.T) {
	tool, err := exec.LookPath("spirv-val")
	if err != nil {
		t.Skip("spirv-val is not installed")
	}
	for _, v := range shaders.Variants() {
		out, err := exec.Command(tool, "--target-env", "vulkan1.2", "spv/"+v.Name+".spv").CombinedOutput()
		if strings.Contains(v.Name, "matrix") && strings.Contains(string(out), "Invalid capability operand") {
			t.Logf("%s is not checked: this spirv-val does not know matrix hardware", v.Name)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", v.Name, err, out)
		}
	}
}
