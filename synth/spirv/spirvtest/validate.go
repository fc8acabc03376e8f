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
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("Invalid capability operand")) && usesMatrices(code) {
		t.Log("not checked: a module for matrix hardware, which this spirv-val does not know")
		return
	}
	if err != nil {
		t.Errorf("spirv-val: %v\n%s\n%s", err, out, disassemble(code))
	}
}

// capMatrix is the capability CooperativeMatrixKHR, which spirv-val knows since 2023.
const capMatrix = 6022

// usesMatrices reports whether a module asks for matrix hardware.
func usesMatrices(code []uint32) bool {
	const opCapability, header = 17, 5
	for at := header; at < len(code) && code[at]&0xffff == opCapability; at += int(code[at] >> 16) {
		if code[at+1] == capMatrix {
			return true
		}
	}
	return false
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
