package lowering

import (
	"nxvk/ops"
	"nxvk/synth/kernel"
)

// Computes reports whether a device loads, computes and stores a type.
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

// Allows reports whether a rule is not switched off.
func (t *Target) Allows(r Rules) bool { return t.Off&r == 0 }

func (t *Target) PushBytes() int {
	if t.MaxPush == 0 {
		return 128
	}
	return t.MaxPush
}

// Narrow reports whether buffers may have elements of a narrow type. Where they
// may not, elements are cut out of words, which serves reading alone.
func (t *Target) Narrow(e kernel.Elem) bool {
	switch e.Size() {
	case 1:
		return t.Storage8 && (t.Int8 || !t.Addresses)
	case 2:
		return t.Storage16 && (t.Int16 || !t.Addresses)
	}
	return true
}

// Target is what a device can do, and which of the two profiles of kernels it
// runs well.
type Target struct {
	CPU       bool // a processor: no shared memory, many outputs an invocation
	Addresses bool // buffers by address; else by binding
	// Addressable: kernels can take addresses although others take bindings. Plans do
	// where a buffer is longer than MaxBinding.
	Addressable bool

	Float64, Int64, Int16, Int8, Float16 bool
	Storage16, Storage8                  bool // narrow elements in buffers

	Preserve32, Preserve64   bool // float controls, see spirv.Options
	RoundEven32, RoundEven64 bool
	Denorm32, Denorm64       bool
	PreciseDiv, Subnormals   bool // see scalar.Env
	Exp2                     bool // likewise
	Rounds                   Rounding

	SharedMemory   int // bytes of a workgroup
	MaxInvocations int // of a workgroup
	SubgroupSize   int
	Lanes          bool      // subgroups have ballots and sums
	MaxPush        int       // bytes of push constants; 0 stands for 128
	MaxGroups      [3]uint32 // 0 stands for 65,535
	MaxBinding     int64     // bytes that a binding may cover; 0 is any

	Off     Rules   // what synth.Fuse must not do
	Archive Archive // of kernels; nil keeps none
}
