package linalg_test

import (
	"encoding/binary"
	"testing"

	"nxvk/ops"
	"nxvk/synth"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel/kerneltest"
	"nxvk/synth/lowering"
	"nxvk/synth/spirv/spirvtest"
	"nxvk/synth/synthtest"
)

// statusOf runs the steps of a plan on the interpreter and gives the word of its check.
func statusOf(t *testing.T, p *lowering.Plan, size int, operands ...synthtest.Tensor) int {
	t.Helper()
	memory := map[lowering.RefKind][][]byte{lowering.Result: {make([]byte, size)}}
	for _, x := range operands {
		memory[lowering.Operand] = append(memory[lowering.Operand], x.Bytes())
	}
	for _, n := range p.Temps {
		memory[lowering.Temp] = append(memory[lowering.Temp], make([]byte, n))
	}
	if len(p.Checks) != 1 || !p.Checks[0].Singular {
		t.Fatalf("got checks %v, want one of a singular matrix", p.Checks)
	}
	memory[lowering.CheckWord] = [][]byte{make([]byte, 4)}
	for _, s := range p.Steps {
		if _, done := synthtest.Validated.LoadOrStore(s.Kernel.Name, true); !done {
			spirvtest.Validate(t, s.Kernel.Code)
		}
		var bufs [][]byte
		for _, a := range s.Args {
			bufs = append(bufs, memory[a.Ref.Kind][a.Ref.Index])
		}
		push := s.Push
		if s.Kernel.Addresses {
			push = push[8*len(bufs):]
		}
		kerneltest.Run(s.Kernel.IR, bufs, push, s.Grid)
	}
	return int(binary.LittleEndian.Uint32(memory[lowering.CheckWord][0]))
}

// The status names the first zero on a diagonal, in one workgroup or many, and
// where there is none it is 0.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		op    ops.Op
		lower int
		n     int
		count int
		zeros []int // elements of the diagonals
		want  int
	}{
		{ops.TriangularSolve, 1, 5, 2, nil, 0},
		{ops.TriangularSolve, 1, 5, 2, []int{3, 1}, 2},
		{ops.TriangularSolve, 0, 5, 2, []int{3, 1}, 4},
		{ops.TriangularSolve, 1, 5, 2, []int{9, 7}, 3},
		{ops.TriangularSolve, 1, 2, 3000, []int{5999}, 2},
		{ops.TriangularSolve, 1, 2, 3000, []int{4, 4001}, 1},
		{ops.TriangularSolve, 0, 2, 3000, nil, 0},
		{ops.Solve, 0, 3, 4, nil, 0},
		{ops.Solve, 0, 3, 4, []int{10, 7}, 3},
		{ops.Solve, 0, 2, 3000, []int{5999, 5998}, 3000},
	} {
		a := synthtest.Tensor{Typ: synthtest.Type(ops.F32, c.count, c.n, c.n), F: make([]float64, c.count*c.n*c.n)}
		for u := range c.count * c.n {
			a.F[u*c.n+u%c.n] = 2
		}
		for _, u := range c.zeros {
			a.F[u*c.n+u%c.n] = 0
		}
		b := gauss(synthtest.Type(ops.F32, c.count, c.n, 1), 1)
		attrs := [][]int{{c.lower}, {1}, {0}}
		if c.op == ops.Solve {
			attrs = nil
		}
		p, err := synthtest.Lower(t, synthtest.GPU, synthtest.Instr(c.op, b.Typ, attrs...), a.Typ, b.Typ)
		if err != nil {
			t.Fatal(err)
		}
		if got := statusOf(t, p, b.Typ.Bytes(), a, b); got != c.want {
			t.Errorf("%v %v of %d matrices of %d with zeros %v: got status %d, want %d", c.op, attrs, c.count, c.n, c.zeros, got, c.want)
		}
	}
}

// A fusion of one instruction keeps the check of its plan.
func TestFusionStatus(t *testing.T) {
	a, b := synthtest.Type(ops.F32, 2, 2), synthtest.Type(ops.F32, 2)
	in := synthtest.Instr(ops.Solve, b)
	in.Ins = []ops.Operand{{ID: 1}, {ID: 2}}
	u := fusion.Fusion{Body: []ops.Instr{*in}, Ins: []ops.ID{2, 1}, Outs: in.Outs}
	p, err := synth.LowerFusion(&u, func(id ops.ID) ops.Type { return map[ops.ID]ops.Type{1: a, 2: b}[id] }, synthtest.GPU)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Checks) != 1 || !p.Checks[0].Singular || p.Checks[0].Instr != 0 {
		t.Errorf("got checks %v, want one of a singular matrix", p.Checks)
	}
}
