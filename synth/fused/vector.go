package fused

import (
	"fmt"
	"slices"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/dot"
	"nxvk/synth/elementwise"
	"nxvk/synth/fusion"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// vectorJob is a product of a vector and a matrix, and its epilogue, as a program: another one may give it the vector
// in shared memory (see codegen.Chain). It has the bits of shaders/gemm_wide.comp, which carries out the same product by
// itself. Slot s of a workgroup adds the products of k = s, s + Slots, … in order; sums are added by halves of the
// slots.
type vectorJob struct {
	dot.Vector
	epilogue *Epilogue
	after    *elementwise.Job
	afterP   *codegen.Program
}

// Buffers of the program: the vector, the matrix, and then those of the epilogue.
const (
	vectorMatrix  = 1
	vectorBuffers = 2
)

// vectorProgram is the program of a fusion of a product and elementwise operations on its results; nil where gemm
// carries the product out in another way.
func vectorProgram(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) *codegen.Program {
	in := u.Contraction()
	ts, places := u.Operands(in, types)
	v, ok := dot.VectorOf(in, ts, t)
	if !ok {
		return nil
	}
	v.Unroll = unrolled(v.K/v.Slots, v.Unroll)
	j := &vectorJob{Vector: v, epilogue: Rounding(in)}
	if len(u.Body) > 1 {
		dag, err := fusion.NewDAG(u, types)
		if err != nil {
			return nil
		}
		j.epilogue = &Epilogue{Fusion: u, DAG: dag, Typ: in.Outs[0].Type.DType}
	}
	j.afterP, j.after, _ = j.epilogue.program(t, ops.F32, 0)
	if j.afterP.Index != scalar.U32 || !j.epilogue.placed(j.after, 0, 1, 1, ops.F32, t) {
		return nil
	}
	p := &codegen.Program{Local: uint32(v.Threads()), Index: scalar.U32, Body: func(e *codegen.Emitter) error { return j.write(e)() }, Early: j.write, Halves: j.halves, Flops: 2 * int64(v.Results) * int64(v.K),
		Groups: ceil(v.Results, v.Blocks*v.Block), Span: func(int) int { return v.Blocks * v.Block },
		Numbers: append([]int{v.Results, v.K, v.Lead, v.Stride}, j.afterP.Numbers...),
		Key:     fmt.Sprintf("vector %v %+v early=%v rounds=%d %s", v.Operands, v.Wide, j.early(), j.rounds(), j.afterP.Key)}
	vector := codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: places[v.Of]}, v.Operands)
	matrix := codegen.BufferOf(lowering.Ref{Kind: lowering.Operand, Index: places[1-v.Of]}, v.Operands)
	p.AddBuffer(vector, (v.K-1)*v.Stride+1, v.K)
	p.AddBuffer(matrix, (v.K-1)*v.Lead+v.Results, v.K*v.Results)
	j.own(p)
	return p
}

// vectorPlan plans a fusion of a product of one vector and elementwise operations on its results as one kernel. It is not
// ok where gemm carries the product out in another way. Its sums take fewer barriers than those of gemm_wide.comp, which
// is made for several vectors, too.
func vectorPlan(u *fusion.Fusion, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, bool) {
	p := vectorProgram(u, types, t)
	if p == nil || !fits(p, t) {
		return nil, false
	}
	plan, err := codegen.NewPlan(t, nil, p)
	return plan, err == nil
}

// alone is the fusion of one instruction, whose operands are those of the fusion.
func alone(in *ops.Instr) *fusion.Fusion {
	one := *in
	one.Ins = slices.Clone(in.Ins)
	one.Outs = []ops.Result{{ID: ops.ID(len(in.Ins)), Type: in.Outs[0].Type}}
	u := &fusion.Fusion{Outs: one.Outs}
	for i := range one.Ins {
		one.Ins[i].ID = ops.ID(i)
		u.Ins = append(u.Ins, ops.ID(i))
	}
	u.Body = []ops.Instr{one}
	return u
}

// own gives a program the buffers and the literals of the epilogue, with the numbers that they have as operands of the
// fusion.
func (j *vectorJob) own(p *codegen.Program) {
	for _, b := range j.afterP.Buffers {
		if b.Ref.Kind == lowering.Operand {
			b.Ref.Index -= Contracted
		}
		p.Buffers, p.Bytes = append(p.Buffers, b), p.Bytes+b.Bytes
	}
	for _, l := range j.afterP.Literals {
		l.Operand -= Contracted
		p.Literals = append(p.Literals, l)
	}
}

// vectorWriter writes the kernel.
type vectorWriter struct {
	*codegen.Emitter
	job                    *vectorJob
	results, k, lead, step kernel.Value
	column, slot, block    kernel.Value // of the invocation; its block of results
	first                  kernel.Value // result of the workgroup
	shared                 int          // sums: element j of each invocation, in the order of j
}

// write begins the kernel with the first loads of the matrix, which need no vector, and returns the rest.
func (j *vectorJob) write(e *codegen.Emitter) func() error {
	multiply := j.halves(e, true)
	return func() error { return multiply()() }
}

// halves is write in two: the products, and then their sums and the epilogue.
func (j *vectorJob) halves(e *codegen.Emitter, ahead bool) (multiply func() (addUp func() error)) {
	w := &vectorWriter{Emitter: e, job: j, results: e.NextNumber(), k: e.NextNumber(), lead: e.NextNumber(), step: e.NextNumber()}
	w.slot, w.column = e.DivMod(e.Invocation(), e.Index(j.Blocks))
	w.first = e.Mul(e.Group(), e.Index(j.Blocks*j.Block))
	row := e.Add(w.first, e.Mul(w.column, e.Index(j.Block)))
	w.block = e.Div(e.Select(e.IsLess(row, w.results), row, e.Index(0)), e.Index(j.Block)) // those beyond the end repeat the first
	w.lead = e.Div(w.lead, e.Index(j.Block))
	after := j.after.Writer(e.Behind(vectorBuffers))
	var early [][]kernel.Value
	if ahead && j.early() {
		early = w.load(w.slot, j.Unroll)
	}
	return func() func() error {
		sums := w.multiply(early)
		return func() error {
			w.shared = e.Shared(scalar.F32, j.Block*j.Threads())
			for i, x := range sums {
				e.StoreShared(w.shared, e.Add(e.Index(i*j.Threads()), e.Invocation()), x)
			}
			return w.addUp(after)
		}
	}
}

// early reports whether each slot has a whole round of k, so that the first one is loaded unasked.
func (j *vectorJob) early() bool { return j.K >= j.Slots*j.Unroll }

// rounds tells kernels apart: 1 where k is one whole round, 2 where it is several, and 0 where some k are left. Code for
// what is never there would take a driver time, and there may be three such products in one kernel.
func (j *vectorJob) rounds() int {
	n := j.K / (j.Slots * j.Unroll)
	if j.K%(j.Slots*j.Unroll) > 0 {
		return 0
	}
	return min(n, 2)
}

// unrolled is how many k of a slot are in flight: n or somewhat less, or up to twice as many, if these are a number of rounds
// without a rest.
func unrolled(steps, n int) int {
	for u := n; u > n/2; u-- {
		if steps%u == 0 {
			return u
		}
	}
	for u := 2 * n; u > n; u-- {
		if steps%u == 0 {
			return u
		}
	}
	return n
}

// load loads blocks of the matrix for n steps of a slot.
func (w *vectorWriter) load(k kernel.Value, n int) (blocks [][]kernel.Value) {
	for i := range n {
		at := w.Add(k, w.Index(i*w.job.Slots))
		blocks = append(blocks, w.Fetch(vectorMatrix, w.Add(w.Mul(at, w.lead), w.block), w.job.Block))
	}
	return blocks
}

// add adds the products of blocks that load has loaded.
func (w *vectorWriter) add(k kernel.Value, blocks [][]kernel.Value, sums []kernel.Value) []kernel.Value {
	d := w.job.Operands
	sums = append([]kernel.Value(nil), sums...)
	var xs []kernel.Value
	for i := range blocks {
		at := w.Add(k, w.Index(i*w.job.Slots))
		xs = append(xs, w.Decode(d, w.Fetch(0, w.Mul(at, w.step), 1)[0]))
	}
	for i, x := range xs {
		for c := range sums {
			sums[c] = w.Prim(scalar.Fma, scalar.F32, w.Decode(d, blocks[i][c]), x, sums[c])
		}
	}
	return sums
}

// multiply adds the products of a slot, for a block of results. early are the blocks of the first round, if there are
// any.
func (w *vectorWriter) multiply(early [][]kernel.Value) []kernel.Value {
	j := w.job
	round := w.Index(j.Slots * j.Unroll)
	whole := w.Mul(w.Div(w.k, round), round)
	sums := make([]kernel.Value, j.Block)
	for i := range sums {
		sums[i] = w.Float(scalar.F32, 0)
	}
	first := w.slot
	if early != nil {
		sums, first = w.add(w.slot, early, sums), w.Add(w.slot, round)
	}
	if j.rounds() != 1 || early == nil {
		sums = w.Loop(first, whole, round, sums, func(k kernel.Value, sums []kernel.Value) []kernel.Value {
			return w.add(k, w.load(k, j.Unroll), sums)
		})
	}
	if j.rounds() > 0 {
		return sums
	}
	return w.Loop(w.Add(whole, w.slot), w.k, w.Index(j.Slots), sums, func(k kernel.Value, sums []kernel.Value) []kernel.Value {
		return w.add(k, w.load(k, 1), sums)
	})
}

// addUp adds up the sums of the slots, and carries out the epilogue on the results.
func (w *vectorWriter) addUp(after *elementwise.Writer) (err error) {
	j := w.job
	const ways = 8
	for slots := j.Slots; ; {
		part := max(1, slots/ways)
		w.Barrier()
		each := j.Blocks * part // invocations that have the same element of blocks
		w.For(w.Invocation(), w.Index(each*j.Block), w.Index(w.Local), func(u kernel.Value) {
			c, within := w.DivMod(u, w.Index(each))
			at := w.Add(w.Mul(c, w.Index(j.Threads())), within)
			var held []kernel.Value
			for i := range slots / part {
				held = append(held, w.LoadShared(w.shared, w.Add(at, w.Index(i*each))))
			}
			for half := len(held) / 2; half > 0; half /= 2 {
				for i := range half {
					held[i] = w.Add(held[i], held[half+i])
				}
			}
			if part > 1 {
				w.StoreShared(w.shared, at, held[0])
				return
			}
			result := w.Add(w.first, w.Add(w.Mul(within, w.Index(j.Block)), c))
			w.IfThen(w.IsLess(result, w.results), func() {
				x := w.RoundTrip(j.epilogue.Typ, ops.F32, held[0])
				if failed := after.Several([]kernel.Value{result}, [][]kernel.Value{{x}}); failed != nil {
					err = failed
				}
			})
		})
		if slots = part; slots == 1 {
			return err
		}
	}
}
