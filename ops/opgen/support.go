package main

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/fallback"
	"nxvk/ops"
	"nxvk/ops/example"
	"nxvk/synth"
)

// gpu is a device with all features.
var gpu = &synth.Target{
	Addresses: true, Float64: true, Int64: true, Int16: true, Int8: true, Float16: true,
	Storage16: true, Storage8: true, Preserve32: true, Preserve64: true, RoundEven32: true, RoundEven64: true,
	Denorm32: true, Denorm64: true, PreciseDiv: true, Subnormals: true,
	SharedMemory: 48 << 10, MaxInvocations: 1024, SubgroupSize: 32, SubgroupOps: true,
}

const supportIntro = `
## Types

This table says who computes an operation on operands of a type: the device, the host, or nobody. The
device is one with 64-bit floats and integers and narrow storage. The host computes the types that a
device lacks; ` + "`nxvk-node doctor`" + ` and the request ` + "`support`" + ` list them for the devices of a machine.
*Integers* are all types of 2 to 64 bits, *floats* f8, f8_e4m3fn, bf16, f16, f32 and f64, *complex* c64
and c128. Small values that are on the host already are computed there, whatever their type.

| operation | device | host | refused |
|---|---|---|---|
`

// support is the second table of the README: the answers of the compiler and of the host.
func support() string {
	var b strings.Builder
	b.WriteString(supportIntro)
	for op := ops.Op(0); op < ops.Count; op++ {
		if _, _, ok := example.Of(op, ops.F32); ok {
			fmt.Fprintf(&b, "| %v | %s |\n", op, places(op))
		}
	}
	return b.String()
}

// places returns the cells of an operation: the types, and the reasons of those left out.
func places(op ops.Op) string {
	var types [3][]ops.DType
	var reasons [3][]string
	for _, d := range ops.DTypes() {
		p, reason := synth.Support(op, d, gpu, fallback.Computes)
		types[p] = append(types[p], d)
		if reason != "" && !slices.Contains(reasons[p], reason) {
			reasons[p] = append(reasons[p], reason)
		}
	}
	var cells []string
	for p := range types {
		cell := ops.TypeNames(types[p])
		if len(reasons[p]) > 0 {
			cell += ": " + strings.ReplaceAll(strings.Join(reasons[p], "; "), "|", `\|`)
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, " | ")
}
