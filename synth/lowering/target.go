package lowering

import (
	"nxvk/ops"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
)

// Computes reports whether a device can load, compute with and store a type.
func (t *Target) Computes(d ops.DType) bool {
	switch elem := ElemOf[d]; elem {
	case kernel.U64, kernel.I64:
		return t.Int64
	case kernel.F64:
		return t.Float64
	default:
		return t.Narrow(elem)
	}
}

// Allows reports whether a rule is not disabled.
func (t *Target) Allows(r Rules) bool { return t.Off&r == 0 }

// PushBytes is the maximum size of the push constants.
func (t *Target) PushBytes() int {
	if t.MaxPush == 0 {
		return 128
	}
	return t.MaxPush
}

// FixedSubgroup is how many invocations a subgroup has, for kernels that count on it; 0 where there
// are no such kernels.
func (t *Target) FixedSubgroup() int {
	n := t.SubgroupSize
	if !t.SubgroupOps || t.CPU || n < 8 || n > 64 || n&(n-1) != 0 {
		return 0
	}
	return n
}

// Narrow reports whether buffers can have elements of 8 or 16 bits. If not, kernels extract
// such elements from 32-bit words, which is possible for reading only.
func (t *Target) Narrow(e kernel.Elem) bool {
	switch e.Size() {
	case 1:
		return t.Storage8 && (t.Int8 || !t.Addresses)
	case 2:
		return t.Storage16 && (t.Int16 || !t.Addresses)
	}
	return true
}

// Target says what a device can do, and which of the two profiles of kernels suits it: that of
// GPUs, or that of processors.
type Target struct {
	CPU       bool // a processor: no shared memory, many results for each invocation
	Addresses bool // buffers are reached by address, else by binding
	// Addressable: kernels can use addresses although the others use bindings. A plan with a
	// buffer longer than MaxBinding does.
	Addressable bool

	Float64, Int64, Int16, Int8, Float16 bool
	Storage16, Storage8                  bool // elements of 16 and 8 bits in buffers

	Preserve32, Preserve64   bool // float controls, see spirv.Options
	RoundEven32, RoundEven64 bool
	Denorm32, Denorm64       bool
	PreciseDiv, Subnormals   bool // see scalar.Env
	Exp2                     bool // see scalar.Env
	Halves                   bool // scalar.PackHalf and UnpackHalf are exact, also of subnormals
	RoundHalf                bool // so is scalar.RoundHalf
	Flushes64                bool // the conversion of f64 to f32 gives zero for subnormals
	Rounds                   Rounding

	SharedMemory   int // bytes for a workgroup
	MaxInvocations int // of a workgroup
	SubgroupSize   int
	SubgroupOps    bool      // subgroups have ballots and sums
	MaxPush        int       // bytes of push constants; 0 means 128
	MaxGroups      [3]uint32 // 0 means 65,535
	MaxBinding     int64     // maximum bytes of a binding; 0 means no limit

	// Matrices lists the shapes of matrix hardware that products of narrow types use. It is
	// empty if sums must have the order of k.
	Matrices []gemm.Matrix
	// Alike lists those of which an invocation has the same elements of an operand as of sums: target.Probe
	// tries it.
	Alike []gemm.Matrix

	Off     Rules   // disabled rules and passes
	Archive Archive // keeps kernels across restarts; may be nil
}
