package shaders

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// Variant is one binary: a source compiled with some macros defined.
type Variant struct {
	Name    string // of the binary, without suffix
	Source  string // of the file
	Defines []string
}

// Flags are those of every compilation. Debug names are left out.
var Flags = []string{"-V", "--target-env", "vulkan1.2", "-S", "comp", "-g0"}

var sources = []string{"gemm_single", "gemm_double", "gemm_block", "gemm_narrow", "gemm_wide", "gemm_slim", "gemm_small", "gemm_plain", "gemm_chunks"}

var elements = []struct{ suffix, define string }{
	{"f32", "F32"}, {"f64", "F64"}, {"u32", "U32"}, {"u64", "U64"},
}

var modes = []struct{ suffix, define string }{
	{"addresses", "ADDRESSES"}, {"bindings", "BINDINGS"},
}

// convolutions are the tiles that take patches, and the elements that they have.
var convolutions = []struct{ tile, suffix, define string }{
	{"single", "f32", "F32"}, {"single", "f64", "F64"}, {"double", "f64", "F64"},
}

// starters are the tiles of gemm_single.comp, and with patches, that stand for others until these are compiled. Convolutions are
// of floats.
var starters = []struct {
	name, patches string
	floats        bool
}{{"gemm", "", false}, {"conv2", "PATCHES=2", true}, {"conv3", "PATCHES=3", true}}

// matrices are the kernels for matrix hardware, and the elements of their operands. They
// reach buffers by address.
var matrices = []struct{ source, suffix, define string }{
	{"single", "bf16", "BF16"}, {"single", "f16", "F16"}, {"single", "s8", "S8"}, {"single", "u8", "U8"},
	{"double", "bf16", "BF16"}, {"double", "f16", "F16"}, {"double", "s8", "S8"}, {"double", "u8", "U8"},
	{"sliced", "bf16", "BF16"}, {"sliced", "f16", "F16"}, {"sliced", "s8", "S8"}, {"sliced", "u8", "U8"},
}

// vectors are the kernels that also load narrower types than that of their sums, by address.
var vectors = []string{"gemm_narrow", "gemm_wide"}

var stored = []struct{ suffix, define string }{{"bf16", "BF16"}, {"f16", "F16"}, {"s8", "S8"}, {"u8", "U8"}}

// Variants lists every binary of the package.
func Variants() []Variant {
	var all []Variant
	for _, s := range sources {
		for _, e := range elements {
			for _, m := range modes {
				all = append(all, Variant{
					Name:    s + "." + e.suffix + "." + m.suffix,
					Source:  s + ".comp",
					Defines: []string{e.define, m.define},
				})
			}
		}
	}
	for _, e := range stored {
		for _, v := range vectors {
			all = append(all, Variant{Name: v + "." + e.suffix + ".addresses", Source: v + ".comp", Defines: []string{e.define, "ADDRESSES"}})
		}
		if e.define == "BF16" || e.define == "F16" { // more sums of integers than registers
			all = append(all, Variant{Name: "gemm_slim." + e.suffix + ".addresses", Source: "gemm_slim.comp", Defines: []string{e.define, "ADDRESSES"}})
		}
		for _, m := range modes {
			all = append(all, Variant{Name: "gemm_block." + e.suffix + "." + m.suffix, Source: "gemm_block.comp", Defines: []string{e.define, m.define}})
		}
	}
	for _, c := range convolutions {
		for _, axes := range []string{"2", "3"} {
			for _, m := range modes {
				all = append(all, Variant{
					Name:    "conv" + axes + "_" + c.tile + "." + c.suffix + "." + m.suffix,
					Source:  "gemm_" + c.tile + ".comp",
					Defines: []string{c.define, m.define, "PATCHES=" + axes},
				})
			}
		}
	}
	all = append(all, starterVariants()...)
	for _, e := range elements {
		if e.define == "F32" || e.define == "U32" { // of the sums on matrix hardware
			all = append(all, Variant{Name: "matrix_rest." + e.suffix + ".addresses", Source: "matrix_rest.comp",
				Defines: []string{e.define, "ADDRESSES"}})
		}
	}
	for _, m := range modes {
		all = append(all, Variant{Name: "relay." + m.suffix, Source: "relay.comp", Defines: []string{m.define}})
	}
	return append(all, matrixVariants()...)
}

// matrixVariants lists the kernels for matrix hardware.
func matrixVariants() (list []Variant) {
	for _, m := range matrices {
		list = append(list, Variant{
			Name:    "matrix_" + m.source + "." + m.suffix + ".addresses",
			Source:  "matrix_" + m.source + ".comp",
			Defines: []string{m.define, "ADDRESSES"},
		})
		if m.source == "sliced" {
			list = append(list, Variant{Name: "matrix_sliced_starter." + m.suffix + ".addresses", Source: "matrix_sliced.comp", Defines: []string{m.define, "ADDRESSES", "STARTER"}})
		}
		if m.source == "single" && m.define != "S8" && m.define != "U8" { // convolutions and attention are of floats
			list = append(list, Variant{
				Name:    "conv_matrix." + m.suffix + ".addresses",
				Source:  "matrix_single.comp",
				Defines: []string{m.define, "ADDRESSES", "PLACES"},
			}, Variant{Name: "attention_matrix." + m.suffix + ".addresses", Source: "attention_matrix.comp", Defines: []string{m.define}},
				Variant{Name: "attention_matrix_gradient." + m.suffix + ".addresses", Source: "attention_matrix_gradient.comp", Defines: []string{m.define}},
				Variant{Name: "matrix_alike." + m.suffix + ".addresses", Source: "matrix_alike.comp", Defines: []string{m.define}})
		}
	}
	return list
}

// starterVariants lists the starters.
func starterVariants() (list []Variant) {
	for _, s := range starters {
		for _, e := range elements {
			for _, m := range modes {
				if s.floats && !strings.HasPrefix(e.suffix, "f") {
					continue
				}
				v := Variant{Name: s.name + "_starter." + e.suffix + "." + m.suffix, Source: "gemm_single.comp", Defines: []string{e.define, m.define, "STARTER"}}
				if s.patches != "" {
					v.Defines = append(v.Defines, s.patches)
				}
				list = append(list, v)
			}
		}
	}
	return list
}

var includeLine = regexp.MustCompile(`(?m)^#include "(?:lib/)?([^"]+)"`)

// Hash identifies what v is compiled from: the source, all that it includes,
// and the flags.
func (v Variant) Hash(dir fs.FS) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, Flags, v.Defines)
	seen := make(map[string]bool)
	var add func(path string) error
	add = func(path string) error {
		if seen[path] {
			return nil
		}
		seen[path] = true
		text, err := fs.ReadFile(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintln(h, path, len(text))
		h.Write(text)
		for _, m := range includeLine.FindAllSubmatch(text, -1) {
			if err := add("lib/" + string(m[1])); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(v.Source); err != nil {
		return "", fmt.Errorf("hash kernel %s: %w", v.Name, err)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16]), nil
}
