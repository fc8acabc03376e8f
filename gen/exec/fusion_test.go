package exec

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"nxvk/ops"
	"nxvk/synth"

	"github.com/rs/zerolog"
)

// softmax is exp(x - max) / sum over rows, times a scalar.
func softmax(rows, cols int) *ops.Region {
	m, k := f32(rows, cols), f32(rows, 1)
	fold := func(o ops.Op, out, in ops.ID) ops.Instr {
		i := op(o, res(out, k), ref(in))
		i.Attrs = [][]int{{1}, {1}}
		return i
	}
	return &ops.Region{Params: []ops.Result{res(1, m), res(2, f32())}, Values: uses(8, 5), Body: []ops.Instr{
		fold(ops.ReduceMax, 3, 1),
		op(ops.Subtract, res(4, m), ref(1), ref(3)),
		op(ops.Exp, res(5, m), ref(4)),
		fold(ops.Sum, 6, 5),
		op(ops.Divide, res(7, m), ref(5), ref(6)),
		op(ops.Multiply, res(8, m), ref(7), ref(2)),
	}}
}

// TestFusedSame: a program gives the same bits when its instructions are carried
// out one by one and when they are not, with fewer dispatches.
func TestFusedSame(t *testing.T) {
	rigs(t, func(r *rig) {
		const rows, cols = 7, 300
		q, m := r.session(), f32(rows, cols)
		r.Define(q, "softmax", softmax(rows, cols))
		x := make([]float32, rows*cols)
		for i := range x {
			x[i] = float32(math.Sin(float64(i))) * 5
		}
		in := ops.Operand{Lit: &ops.Literal{Type: m, Data: floats(x...)}}
		r.Do(q, ops.Tensor, 1, m, nil, in)
		var first, second []float32
		dispatches := make([]uint64, 4)
		for i := range dispatches {
			id := ops.ID(10 + 2*i)
			before := r.exec.Counters().Dispatches
			r.run(q, "softmax", []ops.Result{res(id, m), res(id+1, m)}, ref(1), scalar(3))
			got, err := r.Read(q, id, 0, math.MaxInt)
			if err != nil {
				t.Fatal(err)
			}
			exps, err := r.Read(q, id+1, 0, math.MaxInt)
			if err != nil {
				t.Fatal(err)
			}
			dispatches[i] = r.exec.Counters().Dispatches - before
			if i == 0 {
				first, second = got, exps
			}
			if !slices.Equal(got, first) || !slices.Equal(exps, second) {
				t.Fatalf("run %d differs from the first", i)
			}
			r.Built()
		}
		if r.Dev != nil && dispatches[3] >= dispatches[0] {
			t.Errorf("dispatches of the runs: %v; the last should have fewer", dispatches)
		}
		t.Logf("dispatches of the runs: %v", dispatches)
	})
}

// TestFusedLoop: fusions inside of a loop, with a parameter that is a literal in
// one run and a value in another.
func TestFusedLoop(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v, s := r.session(), f32(5000), f32()
		r.Define(q, "decay", &ops.Region{Params: []ops.Result{res(1, v), res(2, s)}, Values: uses(3), Body: []ops.Instr{{
			Op: ops.While, Outs: []ops.Result{res(3, v), res(4, s)}, Ins: append(uses(1), scalar(0)), Attrs: [][]int{nil, nil},
			Regions: []*ops.Region{
				{Params: []ops.Result{res(5, v), res(6, s)}, Values: uses(7),
					Body: []ops.Instr{op(ops.Less, res(7, u8), ref(6), scalar(3))}},
				{Params: []ops.Result{res(8, v), res(9, s)}, Values: uses(12, 13), Body: []ops.Instr{
					op(ops.Negate, res(10, v), ref(8)),
					op(ops.Add, res(11, v), ref(10), ref(2)),
					op(ops.Multiply, res(12, v), ref(11), ref(11)),
					op(ops.Add, res(13, s), ref(9), scalar(1)),
				}},
			}}}})
		x := make([]float32, 5000)
		want := make([]float32, len(x))
		for i := range x {
			x[i] = float32(i%7) / 8
			y := x[i]
			for range 3 {
				y = (-y + 0.5) * (-y + 0.5)
			}
			want[i] = y
		}
		r.Do(q, ops.Tensor, 1, v, nil, ops.Operand{Lit: &ops.Literal{Type: v, Data: floats(x...)}})
		r.Do(q, ops.Tensor, 2, s, nil, scalar(0.5))
		for i := range 4 {
			arg := ref(2)
			if i%2 == 0 {
				arg = scalar(0.5)
			}
			r.run(q, "decay", []ops.Result{res(ops.ID(10+i), v)}, ref(1), arg)
			r.Want(q, ops.ID(10+i), want...)
			r.Built()
		}
	})
}

// TestFusedScalars: parameters that are literals are told apart.
func TestFusedScalars(t *testing.T) {
	rigs(t, func(r *rig) {
		q, s := r.session(), f32()
		r.Define(q, "ab-c", &ops.Region{
			Params: []ops.Result{res(1, s), res(2, s), res(3, s)},
			Body:   []ops.Instr{op(ops.Multiply, res(4, s), ref(1), ref(2)), op(ops.Subtract, res(5, s), ref(4), ref(3))},
			Values: []ops.Operand{ref(5)},
		})
		for i := range 5 {
			id := ops.ID(10 + i)
			r.run(q, "ab-c", []ops.Result{res(id, s)}, scalar(float32(i)), scalar(100), scalar(3))
			got, err := r.Read(q, id, 0, math.MaxInt)
			if err != nil {
				t.Fatal(err)
			}
			if want := float32(100*i - 3); got[0] != want {
				t.Errorf("run %d gives %v, want %v", i, got[0], want)
			}
			r.Built()
		}
	})
}

// TestFusedShifts: programs that differ in the distance of a shift, which their kernels contain, are told apart.
func TestFusedShifts(t *testing.T) {
	rigs(t, func(r *rig) {
		q, m, words := r.session(), f32(300), ops.Type{DType: ops.U32, Shape: ops.Shape{300}}
		ones := make([]float32, 300)
		for i := range ones {
			ones[i] = 1
		}
		r.Do(q, ops.Tensor, 1, m, nil, ops.Operand{Lit: &ops.Literal{Type: m, Data: floats(ones...)}})
		keys := []string{"by 3", "by 5", "by 8"}
		distances := []byte{3, 5, 8}
		for i, key := range keys {
			by := ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.U8}, Data: distances[i : i+1]}}
			r.Define(q, key, &ops.Region{Params: []ops.Result{res(1, m)}, Values: uses(5), Body: []ops.Instr{
				op(ops.AsType, res(2, words), ref(1)),
				op(ops.LeftShift, res(3, words), ref(2), by),
				op(ops.BitwiseXor, res(4, words), ref(3), ref(2)),
				op(ops.AsType, res(5, m), ref(4)),
			}})
		}
		for run := range 4 {
			for i, key := range keys {
				id := ops.ID(10 + run*len(keys) + i)
				r.run(q, key, []ops.Result{res(id, m)}, ref(1))
				got, err := r.Read(q, id, 0, math.MaxInt)
				if err != nil {
					t.Fatal(err)
				}
				if want := float32(int(1)<<distances[i] ^ 1); got[0] != want || got[299] != want {
					t.Errorf("run %d of the shift %s gives %v and %v, want %v", run, key, got[0], got[299], want)
				}
			}
			r.Built()
		}
	})
}

// TestSimplified: passes leave what a program gives as it is, though its values
// are one another's, a parameter's, or numbers; parameters are values in one run
// and literals in the next.
func TestSimplified(t *testing.T) {
	rigs(t, func(r *rig) {
		q, v, s := r.session(), ops.Type{DType: ops.S32, Shape: ops.Shape{6}}, ops.Type{DType: ops.S32}
		num := func(n byte) ops.Operand { return ops.Operand{Lit: &ops.Literal{Type: s, Data: []byte{n, 0, 0, 0}}} }
		r.Define(q, "same", &ops.Region{Params: []ops.Result{res(1, v), res(2, s)}, Values: uses(5, 6, 7, 8, 9, 2), Body: []ops.Instr{
			op(ops.Negate, res(3, v), ref(1)),
			op(ops.Negate, res(4, v), ref(3)),
			op(ops.Add, res(5, v), ref(4), ref(2)),
			op(ops.Add, res(6, v), ref(1), ref(2)),
			op(ops.Multiply, res(7, s), ref(2), num(1)),
			op(ops.Subtract, res(8, s), num(7), num(2)),
			op(ops.BitwiseOr, res(9, v), ref(1), num(0)),
		}})
		data := make([]byte, 24)
		for i := range 6 {
			data[4*i] = byte(i)
		}
		r.Do(q, ops.Tensor, 1, v, nil, ops.Operand{Lit: &ops.Literal{Type: v, Data: data}})
		r.Do(q, ops.Tensor, 2, s, nil, num(3))
		for i := range 6 {
			id := ops.ID(10 + 10*i)
			arg := ref(2)
			if i%2 == 0 {
				arg = num(3)
			}
			r.run(q, "same", []ops.Result{res(id, v), res(id+1, v), res(id+2, s), res(id+3, s), res(id+4, v), res(id+5, s)}, ref(1), arg)
			for k, want := range [][]uint32{{3, 4, 5, 6, 7, 8}, {3, 4, 5, 6, 7, 8}, {3}, {5}, {0, 1, 2, 3, 4, 5}, {3}} {
				got, err := r.Read(q, id+ops.ID(k), 0, math.MaxInt)
				if err != nil {
					t.Fatal(err)
				}
				for j, b := range want {
					if math.Float32bits(got[j]) != b {
						t.Fatalf("run %d, value %d: got %v, want %v", i, k, got, want)
					}
				}
			}
			r.Built()
		}
	})
}

// TestFaultOfPartition: where a partition misses a value, the program runs one instruction at a time. Its numbers are
// right, and the log has the operation.
func TestFaultOfPartition(t *testing.T) {
	rigs(t, func(r *rig) {
		if r.Dev == nil {
			return // the host has no fusions
		}
		var log bytes.Buffer
		cfg := r.exec.core.cfg
		cfg.Log = zerolog.New(&log)
		r.drive(New(cfg))
		r.exec.specializer.Enough = 2
		r.exec.specializer.Cutting.Fuse = func(g *synth.Graph, t *synth.Target) []synth.Fusion {
			list := synth.Fuse(g, t)
			return list[:len(list)-1]
		}
		q, m := r.session(), f32(3, 5)
		r.Define(q, "softmax", softmax(3, 5))
		r.Do(q, ops.Tensor, 1, m, nil, ops.Operand{Lit: &ops.Literal{Type: m, Data: floats(make([]float32, 15)...)}})
		for i := range 4 {
			id := ops.ID(10 + 2*i)
			r.run(q, "softmax", []ops.Result{res(id, m), res(id+1, m)}, ref(1), scalar(10))
			got, err := r.Read(q, id, 0, math.MaxInt)
			if err != nil || !slices.Equal(got, slices.Repeat([]float32{2}, 15)) {
				t.Errorf("run %d gives %v, %v", i, got, err)
			}
			r.Built()
		}
		if text := log.String(); strings.Count(text, "which is needed: %5:f32[3,5] = exp") != 1 {
			t.Errorf("the log says %q", text)
		}
	})
}
