// Package shaders has the kernels that are written by hand in GLSL, and their SPIR-V: attention, tiled
// matrix products, convolutions as products of gathered patches (implicit GEMM), and a rank's part in a small collective. Package
// synth makes all other kernels from the expressions of the op table.
//
// `make shaders` compiles the SPIR-V, which is committed and embedded, so building the program
// needs no shader compiler. The manifest has a hash of the sources of each binary; a test
// fails if a binary is older than its source.
//
// The package does not know how its kernels are used: synth/gemm chooses the kernel, the sizes
// of tiles and the parameters, gen/exec/exchange those of relay.comp. Each .comp file says what it computes; start with
// lib/tile.glsl.
package shaders

//go:generate go run ./build

import (
	"embed"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
)

//go:embed spv/*.spv
var binaries embed.FS

//go:embed manifest
var manifest string

var loaded sync.Map // name → []uint32

// Code returns the SPIR-V of a variant. The words are shared and must not be changed.
func Code(name string) ([]uint32, error) {
	if code, ok := loaded.Load(name); ok {
		return code.([]uint32), nil
	}
	data, err := binaries.ReadFile("spv/" + name + ".spv")
	if err != nil {
		return nil, fmt.Errorf("no kernel is named %q: run make shaders", name)
	}
	code := make([]uint32, len(data)/4)
	for i := range code {
		code[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	loaded.Store(name, code)
	return code, nil
}

// Manifest returns the recorded source hash of every variant.
func Manifest() map[string]string { return hashes() }

// Hash returns the recorded source hash of a variant, which identifies its code.
func Hash(name string) string { return hashes()[name] }

var hashes = sync.OnceValue(func() map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(manifest) {
		if f := strings.Fields(line); len(f) == 2 && f[0] != "#" {
			m[f[1]] = f[0]
		}
	}
	return m
})
