// Package synth turns instructions into plans: lists of kernels with their
// buffers, parameters and grids, which any device that can run SPIR-V carries
// out. A plan depends on the operation, its attributes, types and shapes and on
// which operands are literals, never on values. Units cuts a graph into parts that
// one plan carries out each, with the bits that its instructions give one by one.
//
// The package refuses to know Vulkan handles, sessions and Erlang terms; a
// device is a Target to it. Start reading at Lower, then at program, which is
// what every lowering makes, and at mapJob, which most of them use. Of graphs
// start at fuser, which has the rules, and at trace.
package synth

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/kernel"
)

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

	Off     Rules   // what Units must not do
	Archive Archive // of kernels; nil keeps none
}

// Kernel is compiled code. Kernels with one Name are the same code.
type Kernel struct {
	Name      string // hash of the code: the key of caches in memory and on disk
	Code      []uint32
	Buffers   int
	PushBytes int
	Addresses bool     // the push constants begin with the addresses of the buffers
	Spec      []uint32 // specialisation constants of hand-written code
	Local     [3]uint32
	Lanes     int            // of a subgroup, where the code counts on it
	IR        *kernel.Kernel // what it was made of; nil for hand-written and archived code

	host *hosted // see OnHost; nil for archived code
}

// RefKind says where a buffer of a step comes from.
type RefKind uint8

// The places of buffers.
const (
	Operand RefKind = iota // of the instruction
	Result                 // of the instruction
	Temp                   // of the plan
)

// Ref names a buffer of a plan.
type Ref struct {
	Kind  RefKind
	Index int
}

// Access says what a kernel does with a buffer.
type Access uint8

// The accesses.
const (
	Read Access = 1 << iota
	Write
)

// Arg is one buffer of a step. Its memory begins at a multiple of 16 bytes and
// ends at a whole word.
type Arg struct {
	Ref    Ref
	Access Access
	Offset int // of a part of a result
	Bytes  int // of the part; 0 stands for the whole
}

// Lit is a literal operand that is a push constant: its value, converted to As,
// goes at Offset of Push.
type Lit struct {
	Operand, Offset int
	As              ops.DType
}

// Step is one dispatch.
type Step struct {
	Kernel *Kernel
	Args   []Arg
	Push   []byte // room for the addresses, parameters, room for the literals
	Lits   []Lit
	Grid   [3]uint32
	Bytes  int64 // memory traffic
	Flops  int64 // operations of the table that are applied
}

// Plan carries out an instruction. Steps run one after the other.
type Plan struct {
	Steps []Step
	Temps []int64 // bytes
	Alias int     // where it is not negative, the result is that operand, unchanged

	// Status is a word that the steps leave in a temporary where the values can
	// make the instruction an error: 0, or that of a singular matrix, as 1 more than
	// its number in the batch (solve) or than the row without a pivot
	// (triangular_solve). The results are to be used only where it is 0.
	Status *Ref
}

// lowering plans the instructions of one operation or kind.
type lowering func(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error)

// byKind has the lowerings of kinds that are carried out in one way, byOp those
// of single operations. They are filled in by init because some of the lowerings
// call Lower for a part of their work.
var (
	byKind map[ops.Kind]lowering
	byOp   map[ops.Op]lowering
)

func init() {
	byKind = map[ops.Kind]lowering{
		ops.Pointwise: lowerPointwise,
		ops.Reduce:    lowerReduce,
		ops.ArgReduce: lowerArgReduce,
		ops.Contract:  lowerProduct,
		ops.Scan:      lowerScan,
		ops.LinAlg:    lowerLinAlg,
	}
	byOp = map[ops.Op]lowering{
		ops.AsType:      lowerAsType,
		ops.Constant:    lowerConstant,
		ops.Iota:        lowerIota,
		ops.Eye:         lowerEye,
		ops.Bitcast:     lowerBitcast,
		ops.Reshape:     lowerAlias,
		ops.Squeeze:     lowerAlias,
		ops.BroadcastTo: lowerBroadcast,
		ops.Transpose:   lowerTranspose,
		ops.Slice:       lowerSlice,
		ops.Reverse:     lowerReverse,
		ops.Pad:         lowerPad,
		ops.Concatenate: lowerConcatenate,
		ops.Stack:       lowerStack,
		ops.PutSlice:    lowerPutSlice,
		ops.Conv:        lowerProduct,

		ops.Sort:    lowerSort,
		ops.Argsort: lowerSort,
		ops.TopK:    lowerTopK,

		ops.FFT:   lowerFFT,
		ops.IFFT:  lowerFFT,
		ops.RFFT:  lowerFFT,
		ops.IRFFT: lowerFFT,
		ops.FFT2:  lowerFFT2,
		ops.IFFT2: lowerFFT2,

		ops.Take:          lowerTake,
		ops.TakeAlongAxis: lowerTakeAlong,
		ops.Gather:        lowerGather,
		ops.IndexedAdd:    partwise(lowerIndexed),
		ops.IndexedPut:    partwise(lowerIndexed),
		ops.CumulativeSum: partwise(lowerScan),

		ops.CumulativeProduct: lowerProducts,

		ops.WindowSum:        lowerWindow,
		ops.WindowProduct:    lowerWindow,
		ops.WindowMax:        lowerWindow,
		ops.WindowMin:        lowerWindow,
		ops.ReduceFun:        lowerReduceFun,
		ops.WindowReduce:     lowerWindowFun,
		ops.WindowScatterMax: lowerWindowScatter,
		ops.WindowScatterMin: lowerWindowScatter,
	}
}

// Lower plans an instruction that has passed Check, on operands of the given
// types. The error wraps ErrUnsupported where the device cannot carry it out.
func Lower(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	buffers := slices.Clone(types)
	for _, o := range in.Outs {
		buffers = append(buffers, o.Type)
	}
	return t.reach(func(t *Target) (*Plan, error) { return lowerWithin(in, types, t) }, buffers...)
}

// lowerWithin is Lower for buffers that the target's kernels reach.
func lowerWithin(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	lower, ok := byOp[in.Op]
	if !ok {
		lower, ok = byKind[in.Op.Info().Kind]
	}
	if !ok {
		return nil, fmt.Errorf("%w: %v has no kernel", ErrUnsupported, in.Op)
	}
	p, err := lower(in, types, t)
	if err != nil {
		return nil, fmt.Errorf("lower %v: %w", in.Op, err)
	}
	return p, nil
}

// alias is the plan whose result is operand i.
func alias(i int) *Plan { return &Plan{Alias: i} }

// plan is the plan of programs that run one after the other.
func (t *Target) plan(temps []int64, programs ...*program) (*Plan, error) {
	p := &Plan{Alias: -1, Temps: temps}
	for _, g := range programs {
		s, err := t.step(g)
		if err != nil {
			return nil, err
		}
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}
