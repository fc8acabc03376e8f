package synthtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel/kerneltest"
	"nxvk/synth/lowering"
	"nxvk/synth/simt"
	"nxvk/synth/spirv/spirvtest"
)

// Lower plans an instruction on values that are not there.
func Lower(t *testing.T, target *lowering.Target, in *ops.Instr, types ...ops.Type) (*lowering.Plan, error) {
	t.Helper()
	for i := range types {
		in.Ins = append(in.Ins, ops.Operand{ID: ops.ID(i + 1)})
	}
	if err := in.Check(types); err != nil {
		t.Fatal(err)
	}
	return synth.Lower(in, types, target)
}

// Targets of both profiles, and of both ways to reach memory.
var (
	GPU = &lowering.Target{Addresses: true, Float64: true, Int64: true, Int16: true, Int8: true, Storage16: true,
		Storage8: true, Preserve32: true, PreciseDiv: true, Subnormals: true, SharedMemory: 48 << 10, MaxInvocations: 1024,
		SubgroupSize: 32, SubgroupOps: true, Halves: true, RoundHalf: true, MaxPush: 128, MaxBinding: 1 << 27}
	CPU = &lowering.Target{CPU: true, Float64: true, Int64: true, Storage16: true, Storage8: true, PreciseDiv: true,
		Subnormals: true, SharedMemory: 32 << 10, MaxInvocations: 1024, SubgroupSize: 8, MaxBinding: 1 << 27}
	Targets = map[string]*lowering.Target{"gpu": GPU, "cpu": CPU}
)

func init() { codegen.Verify = true }

// Without is a target with a rule disabled.
func Without(t *lowering.Target, r lowering.Rules) *lowering.Target {
	off := *t
	off.Off |= r
	return &off
}

var Validated sync.Map

// Run carries out an instruction on the interpreter.
func Run(t *testing.T, target *lowering.Target, in *ops.Instr, args ...Tensor) Tensor {
	t.Helper()
	out, _ := RunChecked(t, target, in, args...)
	return out
}

// RunChecked is Run, and reports which checks of the plan fail.
func RunChecked(t *testing.T, target *lowering.Target, in *ops.Instr, args ...Tensor) (out Tensor, failed []bool) {
	t.Helper()
	var types []ops.Type
	for i, a := range args {
		types = append(types, a.Typ)
		if len(in.Ins) <= i {
			in.Ins = append(in.Ins, ops.Operand{ID: ops.ID(i + 1)})
		}
		if a.Lit {
			in.Ins[i].Lit = &ops.Literal{Type: a.Typ, Data: a.Bytes()}
		}
	}
	if err := in.Check(types); err != nil {
		t.Fatalf("%v%v: %v", in.Op, types, err)
	}
	p, err := synth.Lower(in, types, target)
	if err != nil {
		t.Fatalf("%v%v: %v", in.Op, types, err)
	}
	var operands [][]byte
	for _, a := range args {
		operands = append(operands, padded4(a.Bytes()))
	}
	memory := memories{lowering.Operand: operands}
	results := executeIn(t, p, []int{in.Outs[0].Type.Bytes()}, memory, args)
	return FromBytes(in.Outs[0].Type, results[0]), memory.failed()
}

// failed says which checks of a plan that has run failed.
func (m memories) failed() (list []bool) {
	for _, word := range m[lowering.CheckWord] {
		list = append(list, binary.LittleEndian.Uint32(word) != 0)
	}
	return list
}

// Execute runs the steps of a plan and gives its results, of so many bytes each.
// Memory that nobody has written has a pattern.
func Execute(t testing.TB, p *lowering.Plan, sizes []int, operands [][]byte, lits []Tensor) [][]byte {
	t.Helper()
	return executeIn(t, p, sizes, memories{lowering.Operand: operands}, lits)
}

// executeIn is Execute in memory that has the operands.
func executeIn(t testing.TB, p *lowering.Plan, sizes []int, memory memories, lits []Tensor) [][]byte {
	t.Helper()
	if p.Alias >= 0 {
		return [][]byte{memory[lowering.Operand][p.Alias]}
	}
	for _, n := range sizes {
		memory[lowering.Result] = append(memory[lowering.Result], padded4(bytes.Repeat([]byte{0xa5}, n)))
	}
	Interpret(t, p, memory, lits)
	if p.InPlace != nil {
		checkInPlace(t, p, sizes, memory, lits)
	}
	return memory[lowering.Result]
}

// checkInPlace runs a plan without the copies that it begins with, where results are the tensors, and
// compares the results. None of its steps may read these tensors beside.
func checkInPlace(t testing.TB, p *lowering.Plan, sizes []int, memory memories, lits []Tensor) {
	t.Helper()
	q := p.WithoutCopies()
	for _, u := range p.InPlace {
		tensor := lowering.Ref{Kind: lowering.Operand, Index: u.Operand}
		for i := range q.Steps {
			if slices.ContainsFunc(q.Steps[i].Args, func(a lowering.Arg) bool { return a.Ref == tensor }) {
				t.Fatalf("step %d reads the tensor that is updated in place", i)
			}
		}
	}
	again := memories{lowering.Operand: memory[lowering.Operand]}
	for _, n := range sizes {
		again[lowering.Result] = append(again[lowering.Result], padded4(bytes.Repeat([]byte{0xa5}, n)))
	}
	for _, u := range p.InPlace {
		copy(again[lowering.Result][u.Result], memory[lowering.Operand][u.Operand])
	}
	Interpret(t, q, again, lits)
	for i, n := range sizes {
		if !bytes.Equal(again[lowering.Result][i][:n], memory[lowering.Result][i][:n]) {
			t.Fatalf("result %d of an update in place differs from that of a copy", i)
		}
	}
}

// Interpret runs the steps of a plan on operands and results, and leaves the
// temporaries in memory.
func Interpret(t testing.TB, p *lowering.Plan, memory map[lowering.RefKind][][]byte, lits []Tensor) {
	t.Helper()
	memory[lowering.CheckWord] = make([][]byte, len(p.Checks))
	for i := range p.Checks {
		memory[lowering.CheckWord][i] = make([]byte, 4)
	}
	for _, n := range p.Temps {
		memory[lowering.Temp] = append(memory[lowering.Temp], padded4(bytes.Repeat([]byte{0xa5}, int(n))))
	}
	for _, s := range p.Steps {
		if _, done := Validated.LoadOrStore(s.Kernel.Name, true); !done {
			spirvtest.Validate(t, s.Kernel.Code)
		}
		push := slices.Clone(s.Push)
		for _, l := range s.Lits {
			putLit(push[l.Offset:], l.As, lits[l.Operand])
		}
		if s.Kernel.Addresses {
			push = push[8*len(s.Args):]
		}
		carryOut(t, &s, memory, push)
	}
}

// memories are the buffers of a plan, by where they come from.
type memories map[lowering.RefKind][][]byte

func (m memories) of(s *lowering.Step) (bufs [][]byte) {
	for _, a := range s.Args {
		bufs = append(bufs, m[a.Ref.Kind][a.Ref.Index][a.Offset:])
	}
	return bufs
}

// carryOut carries out a step in both ways of the host, which give the same bits.
func carryOut(t testing.TB, s *lowering.Step, memory memories, push []byte) {
	t.Helper()
	other := memories{}
	for kind, bufs := range memory {
		for _, b := range bufs {
			other[kind] = append(other[kind], bytes.Clone(b))
		}
	}
	kerneltest.Run(s.Kernel.IR, memory.of(s), push, s.Grid)
	code := simt.Compile(s.Kernel.IR, true)
	if code == nil {
		return // its invocations talk to each other
	}
	code.Run(nil, other.of(s), push, s.Grid)
	for kind, bufs := range memory {
		for i := range bufs {
			if !bytes.Equal(bufs[i], other[kind][i]) {
				t.Errorf("buffer %d of kind %d differs when invocations run side by side:\n%s", i, kind, s.Kernel.IR)
			}
		}
	}
}

// padded4 ends memory at a whole word, as kernels may assume.
func padded4(b []byte) []byte { return append(b, 0, 0, 0)[:(len(b)+3)/4*4] }

// putLit writes a literal in the type that its parameter has.
func putLit(b []byte, as ops.DType, x Tensor) {
	switch {
	case as.IsInteger() && x.N != nil:
		putInt(b, as.Size(), 0, x.N[0])
	case as.IsInteger():
		putInt(b, as.Size(), 0, int64(x.F[0]))
	default:
		PutFloat(b, as, 0, x.At(0))
		if as.IsComplex() {
			im := 0.0
			if x.Typ.DType.IsComplex() {
				im = x.F[1]
			}
			PutFloat(b, as, 1, im)
		}
	}
}

// Instr makes an instruction with one result.
func Instr(op ops.Op, out ops.Type, attrs ...[]int) *ops.Instr {
	return &ops.Instr{Op: op, Outs: []ops.Result{{ID: 99, Type: out}}, Attrs: attrs}
}

func Type(d ops.DType, dims ...int) ops.Type { return ops.Type{DType: d, Shape: dims} }

func ForTargets(t *testing.T, f func(t *testing.T, target *lowering.Target)) {
	for name, target := range Targets {
		t.Run(name, func(t *testing.T) { f(t, target) })
	}
}

func Describe(op ops.Op, ts ...ops.Type) string { return fmt.Sprint(op, ts) }
