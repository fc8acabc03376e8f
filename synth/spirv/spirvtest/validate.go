// Package spirvtest checks SPIR-V modules with spirv-val, for the tests of the
// packages that write them.
package spirvtest

import (
	"bytes"
	"encoding/binary"
	"os/exec"
	"testing"
)

// Bytes returns the module as a file has it.
func Bytes(code []uint32) []byte {
	b := make([]byte, 0, 4*len(code))
	for _, w := range code {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// Validate fails the test where spirv-val finds fault with the module. Without
// the tool the test is skipped.
func Validate(t testing.TB, code []uint32) {
	t.Helper()
	tool, err := exec.LookPath("spirv-val")
	if err != nil {
		t.Skip("spirv-val is not installed")
	}
	cmd := exec.Command(tool, "--target-env", "vulkan1.2", "-")
	cmd.Stdin = bytes.NewReader(Bytes(code))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("spirv-val: %v\n%s\n%s", err, out, disassemble(code))
	}
}

func disassemble(code []uint32) []byte {
	cmd := exec.Command("spirv-dis", "--no-color", "-")
	cmd.Stdin = bytes.NewReader(Bytes(code))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return []byte(err.Error())
	}
	return out
}
