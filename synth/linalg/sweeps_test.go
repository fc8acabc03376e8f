package linalg_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth/lowering"
	"nxvk/synth/synthtest"
	"nxvk/test/fewtest"
)

// The columns of hard matrices of one pair of blocks are orthogonal some sweeps before the last: graded ones, whose
// columns and rows are powers of a ratio down to a thousandth, ones of almost dependent columns, and clusters.
func TestSweepsOfSmallMatrices(t *testing.T) {
	for seed := range uint64(fewtest.Of(16, 6)) {
		r := rand.New(rand.NewPCG(14, 20+seed))
		d, n := []ops.DType{ops.F32, ops.F64}[r.IntN(2)], 2+r.IntN(31)
		x := gauss(synthtest.Type(d, 3, n+r.IntN(3), n), seed)
		m := x.Typ.Shape[1]
		rows, cols, close := math.Exp(-r.Float64()*7/float64(n)), math.Exp(-r.Float64()*7/float64(n)), math.Exp(-r.Float64()*20)
		for i := range x.F {
			v, row, col := &x.F[i], i/n%m, i%n
			switch i / n / m {
			case 0: // graded
				*v *= math.Pow(rows, float64(row)) * math.Pow(cols, float64(col))
			case 1: // almost dependent
				*v = x.F[(i/n/m*m+row)*n] + close**v
			case 2: // clusters
				*v *= close
				if row == col {
					*v += float64(1 + col%3)
				}
			}
		}
		x = rounded(x)
		t.Run(fmt.Sprint(x.Typ, seed), func(t *testing.T) {
			most := uint32(0)
			for _, sweeps := range svdSweeps(t, x) {
				if most = max(most, sweeps); sweeps < 1 || sweeps > 6 {
					t.Errorf("%d sweeps", sweeps)
				}
			}
			t.Log(most, "sweeps")
			checkSVD(t, synthtest.GPU, x, 0)
		})
	}
}

// svdSweeps is how many sweeps each matrix took.
func svdSweeps(t *testing.T, x synthtest.Tensor) []uint32 {
	t.Helper()
	s := x.Typ.Shape
	of := func(dims ...int) ops.Type {
		return ops.Type{DType: x.Typ.DType, Shape: append(ops.Shape{s[0]}, dims...)}
	}
	outs := []ops.Type{of(s[1], s[2]), of(s[2]), of(s[2], s[2])}
	in := synthtest.Instr(ops.SVD, outs[0], []int{0})
	memory := map[lowering.RefKind][][]byte{lowering.Operand: {x.Bytes()}}
	for i, o := range outs {
		memory[lowering.Result] = append(memory[lowering.Result], make([]byte, o.Bytes()))
		if i > 0 {
			in.Outs = append(in.Outs, ops.Result{ID: ops.ID(100 + i), Type: o})
		}
	}
	p, err := synthtest.Lower(t, synthtest.GPU, in, x.Typ)
	if err != nil {
		t.Fatal(err)
	}
	synthtest.Interpret(t, p, memory, nil)
	sums := make([]uint32, s[0])
	judged := 0
	for _, step := range p.Steps {
		if !strings.HasPrefix(step.Kernel.IR.Name, "judge") {
			continue
		}
		words := memory[lowering.Temp][step.Args[0].Ref.Index]
		for i := range sums {
			sums[i] += binary.LittleEndian.Uint32(words[4*(judged*s[0]+i):])
		}
		judged++
	}
	return sums
}
