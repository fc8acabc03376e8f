// Package shaders holds the kernels that are written by hand, in GLSL, and
// their SPIR-V. Kernels that follow from an expression are made by package
// synth; what is here is worth its own loops: matrix products.
//
// The package knows the names and sources of its kernels and nothing of their
// use: sizes of tiles, choice of kernel and parameters are in synth/gemm. Each
// .comp file says what it computes; start with lib/tile.glsl.
//
// SPIR-V is compiled by `go generate` (`make shaders`), committed, and
// embedded, so that building the program needs no shader compiler. The
// manifest binds each binary to its source: a test fails when they part.
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

// Code returns the SPIR-V of a variant. The words are shared: do not write.
func Code(name string) ([]uint32, error) {
	if code, ok := loaded.Load(name); ok {
		return code.([]uint32), nil
	}
	data, err := binaries.ReadFile("spv/" + name + ".spv")
	if err != nil {
		return nil, fmt.Errorf("no kernel is named %q", name)
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

// Hash returns the recorded source hash of a variant, a name of its content.
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
