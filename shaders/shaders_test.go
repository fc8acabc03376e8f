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

// TestMatricesAreAligned looks at the memory that matrices are loaded from and stored to. VUIDs of
// OpCooperativeMatrixLoadKHR have it at multiples of 16 bytes, as vectors of four words are. An array of words in
// shared memory may begin anywhere: NVIDIA's driver then rounds the address down, and says nothing.
func TestMatricesAreAligned(t *testing.T) {
	const opTypeVector, opTypePointer, opVariable, opAccessChain, opLoad, opStore = 23, 32, 59, 65, 4457, 4458
	found := 0
	for _, v := range shaders.Variants() {
		code, err := shaders.Code(v.Name)
		if err != nil {
			t.Fatal(err)
		}
		vectors := map[uint32]bool{}   // types of four components
		pointers := map[uint32]bool{}  // types of pointers to these
		addresses := map[uint32]bool{} // values of such types
		check := func(pointer uint32) {
			found++
			if !addresses[pointer] {
				t.Errorf("%s: a matrix is at %%%d, which is no vector of four", v.Name, pointer)
			}
		}
		for at := 5; at < len(code); at += int(code[at] >> 16) {
			words := code[at+1 : at+int(code[at]>>16)]
			switch code[at] & 0xffff {
			case opTypeVector:
				vectors[words[0]] = words[2] == 4
			case opTypePointer:
				pointers[words[0]] = vectors[words[2]]
			case opVariable, opAccessChain:
				addresses[words[1]] = pointers[words[0]]
			case opLoad:
				check(words[2])
			case opStore:
				check(words[0])
			}
		}
	}
	if found == 0 {
		t.Error("no kernel loads a matrix")
	}
}
