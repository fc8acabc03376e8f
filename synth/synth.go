package synth

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/dot"
	"nxvk/synth/elementwise"
	"nxvk/synth/fft"
	"nxvk/synth/fused"
	"nxvk/synth/gemm"
	"nxvk/synth/indexing"
	"nxvk/synth/linalg"
	"nxvk/synth/lowering"
	"nxvk/synth/movement"
	"nxvk/synth/reduction"
	"nxvk/synth/scan"
	"nxvk/synth/sorting"
	"nxvk/synth/windowing"
)

// The part of the contract of package lowering that an executor needs.
type (
	Target   = lowering.Target
	Plan     = lowering.Plan
	Step     = lowering.Step
	Typed    = lowering.Typed
	Routine  = lowering.Routine
	Kernel   = lowering.Kernel
	Ref      = lowering.Ref
	RefKind  = lowering.RefKind
	Access   = lowering.Access
	Arg      = lowering.Arg
	Lit      = lowering.Lit
	Archive  = lowering.Archive
	Host     = lowering.Host
	Rounding = lowering.Rounding
	Rules    = lowering.Rules
	Check    = lowering.Check
	Matrix   = gemm.Matrix
)

// The places of buffers, the accesses, and the ways in which a processor rounds; see
// package lowering.
const (
	Operand = lowering.Operand
	Result  = lowering.Result
	Temp    = lowering.Temp

	CheckWord = lowering.CheckWord

	Read  = lowering.Read
	Write = lowering.Write

	Unlike = lowering.Unlike
	Twice  = lowering.Twice
	Once   = lowering.Once
)

// ErrUnsupported is wrapped by every error that says that a device cannot carry out
// an instruction.
var ErrUnsupported = lowering.ErrUnsupported

// byKind has the lowerings of kinds that are carried out in one way.
var byKind = map[ops.Kind]lowering.Func{
	ops.Pointwise: elementwise.Lower,
	ops.Reduce:    reduction.Lower,
	ops.ArgReduce: reduction.LowerArg,
	ops.Contract:  fused.LowerContraction,
	ops.Scan:      scan.Lower,
	ops.LinAlg:    linalg.Lower,
}

// byOp has the lowerings of single operations, before those of their kinds.
var byOp = map[ops.Op]lowering.Func{
	ops.AsType:      elementwise.LowerAsType,
	ops.Constant:    elementwise.LowerConstant,
	ops.Iota:        elementwise.LowerIota,
	ops.Eye:         elementwise.LowerEye,
	ops.Bitcast:     movement.LowerBitcast,
	ops.Reshape:     movement.LowerAlias,
	ops.Squeeze:     movement.LowerAlias,
	ops.BroadcastTo: movement.LowerBroadcast,
	ops.Transpose:   movement.LowerTranspose,
	ops.Slice:       movement.LowerSlice,
	ops.Reverse:     movement.LowerReverse,
	ops.Pad:         movement.LowerPad,
	ops.Concatenate: movement.LowerConcatenate,
	ops.Stack:       movement.LowerStack,
	ops.PutSlice:    movement.LowerPutSlice,
	ops.Conv:        fused.LowerContraction,

	ops.Sort:    sorting.Lower,
	ops.Argsort: sorting.Lower,
	ops.TopK:    sorting.LowerTopK,

	ops.FFT:   fft.Lower,
	ops.IFFT:  fft.Lower,
	ops.RFFT:  fft.Lower,
	ops.IRFFT: fft.Lower,
	ops.FFT2:  fft.Lower2,
	ops.IFFT2: fft.Lower2,

	ops.Take:          indexing.LowerGather,
	ops.TakeAlongAxis: indexing.LowerGather,
	ops.Gather:        indexing.LowerGather,
	ops.IndexedAdd:    dot.ByParts(indexing.LowerUpdate),
	ops.IndexedPut:    dot.ByParts(indexing.LowerUpdate),
	ops.CumulativeSum: dot.ByParts(scan.Lower),

	ops.CumulativeProduct: scan.LowerProducts,

	ops.WindowSum:        windowing.Lower,
	ops.WindowProduct:    windowing.Lower,
	ops.WindowMax:        windowing.Lower,
	ops.WindowMin:        windowing.Lower,
	ops.ReduceFun:        windowing.LowerReduction,
	ops.WindowReduce:     windowing.LowerFunction,
	ops.WindowScatterMax: windowing.LowerScatter,
	ops.WindowScatterMin: windowing.LowerScatter,

	ops.Attention: attention.Lower,
}

// Lower plans an instruction that has passed Check, on operands of the given
// types. The error wraps ErrUnsupported where the device cannot carry it out.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	buffers := slices.Clone(types)
	for _, o := range in.Outs {
		buffers = append(buffers, o.Type)
	}
	return t.WithBindings(func(t *lowering.Target) (*lowering.Plan, error) { return lowerWithin(in, types, t) }, buffers...)
}

// lowerWithin is Lower for buffers that the target's kernels reach.
func lowerWithin(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	lower, ok := byOp[in.Op]
	if !ok {
		lower, ok = byKind[in.Op.Info().Kind]
	}
	if !ok {
		return nil, fmt.Errorf("%w: %v has no kernel", lowering.ErrUnsupported, in.Op)
	}
	p, err := lower(in, types, t)
	if err != nil {
		return nil, fmt.Errorf("lower %v: %w", in.Op, err)
	}
	together(p, t)
	return p, nil
}
