package exec

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"nxvk/ops"
	"nxvk/synth/graph/notation"
)

// cacheLoop is a program that runs a loop on a tensor of n rows of width elements: round i puts
// a row of i+1 at row i. state says whether a parameter is the tensor or the program makes it.
func cacheLoop(rows, width int, own bool) *ops.Region {
	cache, row, s, i := f32(rows, width), f32(1, width), f32(), ops.Type{DType: ops.S32}
	u8 := ops.Type{DType: ops.U8}
	r := &ops.Region{Params: []ops.Result{res(1, cache), res(2, i)}, Values: uses(5, 6)}
	first := ref(1)
	if own {
		zeros := ops.Instr{Op: ops.Constant, Outs: []ops.Result{res(3, cache)}, Ins: []ops.Operand{scalar(0)}}
		r.Body = append(r.Body, zeros)
		first = ref(3)
	}
	put := ops.Instr{Op: ops.PutSlice, Outs: []ops.Result{res(25, cache)}, Ins: append(uses(20, 24, 21), word(0)), Attrs: [][]int{{}}}
	wide := ops.Instr{Op: ops.BroadcastTo, Outs: []ops.Result{res(24, row)}, Ins: uses(23), Attrs: [][]int{{}}}
	r.Body = append(r.Body, ops.Instr{Op: ops.While, Outs: []ops.Result{res(5, cache), res(6, i)}, Ins: []ops.Operand{first, word(0)},
		Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
			{Params: []ops.Result{res(10, cache), res(11, i)}, Values: uses(12), Body: []ops.Instr{op(ops.Less, res(12, u8), ref(11), ref(2))}},
			{Params: []ops.Result{res(20, cache), res(21, i)}, Values: uses(25, 22), Body: []ops.Instr{
				op(ops.Add, res(22, i), ref(21), word(1)),
				{Op: ops.AsType, Outs: []ops.Result{res(23, s)}, Ins: uses(22)},
				wide, put,
			}},
		}})
	return r
}

// word is a literal of s32.
func word(n int32) ops.Operand {
	return ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.S32}, Data: binary.LittleEndian.AppendUint32(nil, uint32(n))}}
}

// TestLoopUpdatesInPlace: a tensor that a loop carries is copied in no round where the program
// made it, and once where the session holds it, whose tensor stays as it is.
func TestLoopUpdatesInPlace(t *testing.T) {
	const rows, width = 6, 50000 // too large for a run to keep it while a condition is not known
	if rows*width*4 <= aheadBytes {
		t.Fatal("the tensor is too small")
	}
	for _, own := range []bool{true, false} {
		rigs(t, func(r *rig) {
			q := r.session()
			r.Define(q, "cache", cacheLoop(rows, width, own))
			r.Do(q, ops.Constant, 1, f32(rows, width), nil, scalar(-1))
			r.Want(q, 1, slices.Repeat([]float32{-1}, rows*width)...)
			for round := range 3 {
				n := rows - round
				before := r.exec.Counters().InPlace
				r.run(q, "cache", []ops.Result{res(2, f32(rows, width)), res(3, ops.Type{DType: ops.S32})}, ref(1), word(int32(n)))
				var want []float32
				for i := range rows {
					x := float32(i + 1)
					if i >= n {
						if x = -1; own {
							x = 0
						}
					}
					want = append(want, slices.Repeat([]float32{x}, width)...)
				}
				r.Want(q, 2, want...)
				r.Want(q, 1, slices.Repeat([]float32{-1}, rows*width)...)
				expected := n
				if !own {
					expected--
				}
				if got := int(r.exec.Counters().InPlace - before); r.exec.core.dev != nil && !r.exec.dispatcher.Stead && got != expected {
					t.Errorf("own %v, %d rounds: %d updates in place, want %d", own, n, got, expected)
				}
				r.Built()
			}
		})
	}
}

// TestUpdatesOfAnything: random loops of updates, in which values that are updated are read
// again, carried on, swapped or captured, give on a device what they give on the host.
func TestUpdatesOfAnything(t *testing.T) {
	for seed := range uint64(12) {
		var want [][]float32
		rigs(t, func(r *rig) { want = updatesAnything(r, seed, want) })
	}
}

// TestInterpretedUpdates: so they do where the host interprets the kernels of a processor, and updates in place.
func TestInterpretedUpdates(t *testing.T) {
	warmingUp(t, -1, func(r, _ *rig) {
		host := newRig(r.T, nil)
		for seed := range uint64(12) {
			updatesAnything(r, seed, updatesAnything(host, seed, nil))
		}
		if c := r.exec.Counters(); c.InPlace == 0 || c.Dispatches != 0 {
			r.Errorf("%d updates in place, %d dispatches", c.InPlace, c.Dispatches)
		}
	})
}

// updatesAnything runs the program of a seed three times, and returns what its tensors become: want, unless that is nil.
func updatesAnything(r *rig, seed uint64, want [][]float32) [][]float32 {
	q := r.session()
	r.Define(q, "updates", updatesProgram(rand.New(rand.NewPCG(seed, 15))))
	v := f32(updatedRows, updatedWidth)
	for k := range updated {
		x := make([]float32, updatedRows*updatedWidth)
		for i := range x {
			x[i] = float32((i*7 + k) % 13)
		}
		r.Do(q, ops.Tensor, ops.ID(k+1), v, nil, ops.Operand{Lit: &ops.Literal{Type: v, Data: floats(x...)}})
	}
	for run := range 3 {
		var outs []ops.Result
		for k := range updated {
			outs = append(outs, res(ops.ID(20+k), v))
		}
		r.run(q, "updates", append(outs, res(30, ops.Type{DType: ops.S32})), ref(1), ref(2), ref(3))
		for k := range updated {
			got, err := r.Read(q, ops.ID(20+k), 0, 1<<20)
			if err != nil {
				r.Fatal(err)
			}
			if len(want) <= k {
				want = append(want, got)
			}
			if !slices.Equal(got, want[k]) {
				r.Fatalf("seed %d, run %d: state %d differs from that of the host\n%v\n%v", seed, run, k, got, want[k])
			}
		}
		r.Built()
	}
	return want
}

// The tensors of updatesProgram: how many there are, and their shape.
const updated, updatedRows, updatedWidth = 3, 5, 140

// updatesProgram is a loop of four rounds, whose state is a few tensors and a counter.
func updatesProgram(r *rand.Rand) *ops.Region {
	v, i, u8 := f32(updatedRows, updatedWidth), ops.Type{DType: ops.S32}, ops.Type{DType: ops.U8}
	next := ops.ID(200)
	var body []ops.Instr
	add := func(in ops.Instr, t ops.Type) ops.ID {
		next++
		in.Outs = []ops.Result{res(next, t)}
		body = append(body, in)
		return next
	}
	vals := []ops.ID{101, 102, 103} // 1 to 3 are captured
	pick := func() ops.ID {
		if r.IntN(6) == 0 {
			return ops.ID(1 + r.IntN(updated))
		}
		return vals[r.IntN(len(vals))]
	}
	for range 4 + r.IntN(5) {
		switch r.IntN(5) {
		case 0, 1:
			part := add(ops.Instr{Op: ops.Slice, Ins: uses(pick()), Attrs: [][]int{{r.IntN(3), 0}, {2, updatedWidth / 2}, {1, 1}}}, f32(2, updatedWidth/2))
			vals = append(vals, add(ops.Instr{Op: ops.PutSlice, Ins: append(uses(pick(), part, 104), word(int32(r.IntN(20)))), Attrs: [][]int{{}}}, v))
		case 2:
			at := add(ops.Instr{Op: ops.BroadcastTo, Ins: uses(104), Attrs: [][]int{{}}}, ops.Type{DType: ops.S32, Shape: ops.Shape{1, 1}})
			row := add(ops.Instr{Op: ops.Slice, Ins: uses(pick()), Attrs: [][]int{{r.IntN(updatedRows), 0}, {1, updatedWidth}, {1, 1}}}, f32(1, updatedWidth))
			vals = append(vals, add(ops.Instr{Op: []ops.Op{ops.IndexedPut, ops.IndexedAdd}[r.IntN(2)], Ins: uses(pick(), at, row), Attrs: [][]int{{0}}}, v))
		case 3:
			vals = append(vals, add(op(ops.Max, ops.Result{}, ref(pick()), ref(pick())), v))
		default:
			x := pick()
			vals = append(vals, add(ops.Instr{Op: ops.PutSlice, Ins: append(uses(x, x), word(0), word(0)), Attrs: [][]int{{}}}, v))
		}
	}
	count := add(op(ops.Add, ops.Result{}, ref(104), word(1)), i)
	state := func(first ops.ID) []ops.Result {
		return []ops.Result{res(first, v), res(first+1, v), res(first+2, v), res(first+3, i)}
	}
	return &ops.Region{Params: state(1)[:3], Values: uses(11, 12, 13, 14), Body: []ops.Instr{{
		Op: ops.While, Outs: state(11), Ins: append(uses(1, 2, 3), word(0)), Attrs: [][]int{nil, nil}, Regions: []*ops.Region{
			{Params: state(51), Values: uses(55), Body: []ops.Instr{op(ops.Less, res(55, u8), ref(54), word(4))}},
			{Params: state(101), Values: append(uses(vals[len(vals)-1], pick(), pick()), ref(count)), Body: body},
		}}}}
}

// TestLongUpdate: a kernel that takes long on the host, and updates a tensor in place there, is not begun again on the device once it
// is compiled.
func TestLongUpdate(t *testing.T) {
	const rows, width = 16, 1 << 17
	text := fmt.Sprintf(`(%%1:f32[%[1]d,%[2]d], %%2:s32) {
  %%5:f32[%[1]d,%[2]d], %%6:s32 = while %%1, s32(0) condition(%%10:f32[%[1]d,%[2]d], %%11:s32) {
    %%12:u8 = less %%11, %%2
    give %%12
  } body(%%20:f32[%[1]d,%[2]d], %%21:s32) {
    %%22:s32 = add %%21, s32(1)
    %%23:f32 = as_type %%22
    %%24:f32[1,%[2]d] = iota axis=-1
    %%25:f32[1,%[2]d] = multiply %%24, %%23
    %%26:f32[1,%[2]d] = sin %%25
    %%27:f32[1,%[2]d] = exp %%26
    %%28:f32[1,%[2]d] = tanh %%27
    %%29:f32[%[1]d,%[2]d] = put_slice %%20, %%28, %%21, s32(0) starts=[]
    give %%29, %%22
  }
  give %%5
}
`, rows, width)
	region, err := notation.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	inPlace := uint64(0)
	warmingUp(t, -1, func(r, plain *rig) {
		var want []float32
		for _, x := range []*rig{plain, r} {
			q := x.session()
			x.Define(q, "long", region)
			for run := range 4 {
				x.Do(q, ops.Constant, 1, f32(rows, width), nil, scalar(-1))
				x.run(q, "long", []ops.Result{res(2, f32(rows, width))}, ref(1), word(rows))
				got, err := x.Read(q, 2, 0, rows*width)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Fatalf("run %d gives something else", run)
				}
				if run != 1 { // kernels of the fusions are compiled while these run
					x.Built()
				}
			}
		}
		inPlace += r.exec.Counters().InPlace
	})
	if inPlace == 0 && !t.Failed() {
		t.Error("nothing is updated in place")
	}
}
