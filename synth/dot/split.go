package dot

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// A number of f32 is the sum of three of bf16: its first 8 bits, the next 8, and the last 8. So matrix
// hardware for bf16 multiplies an operand of f32 by one of bf16, as in gradients of models of bf16, which Nx
// keeps in f32: the operand of f32 is three times as long along k, and the other one is there three times.
// Products of parts are exact in f32, as those of bf16 are. The sum has three times the terms, all but a third of
// which are small (Henry, Tang and Heinecke 2019).

// splitParts is how many numbers of bf16 are one of f32.
const splitParts = 3

// splits reports whether a product of f32 and bf16 is sooner carried out in parts: 2mnk operations at some
// 45 Tflop/s become 6mnk at 250 and more, after 12 bytes for each element of the operands have been moved.
func (d *Builder) splits(types []ops.Type, left, right *Axes, k int) bool {
	m, n, in := left.free(), right.free(), d.Instr
	mixed := types[0].DType == ops.F32 && types[1].DType == ops.BF16 || types[0].DType == ops.BF16 && types[1].DType == ops.F32
	if !mixed || d.Wide != ops.F32 || in.Outs[0].Type.DType != ops.F32 || in.Ins[0].Lit != nil || in.Ins[1].Lit != nil {
		return false
	}
	if min(m, n, k) < 64 || m*n < 256*(m+n) {
		return false
	}
	_, ok := GEMMTarget(d.Target).MatrixProduct(ops.BF16, m, n, splitParts*k, left.batches())
	return ok
}

// lowerSplit plans a product of f32 and bf16 as one of bf16.
func (d *Builder) lowerSplit(types []ops.Type, left, right *Axes, k int) error {
	d.Operands, d.Matrix = ops.BF16, true
	var refs [2]lowering.Ref
	var ms [2]matrix
	for i, ax := range []*Axes{left, right} {
		ref := lowering.Ref{Kind: lowering.Operand, Index: i}
		m, ok := ax.collapse()
		if !ok || !ax.contiguous(m) {
			to := d.NewTemp(types[i].Bytes())
			if err := d.AddTranspose(types[i], ax.order(), ref, to); err != nil {
				return err
			}
			ref, m = to, ax.ordered()
		}
		m.Ref = ref
		var err error
		if ms[i], err = d.addParts(types[i].DType, m, ax.free(), k, ax.batches()); err != nil {
			return err
		}
		refs[i] = ms[i].Ref
	}
	p := problem(d.Wide, left, right, splitParts*k, ms[0], ms[1])
	p.Operands = d.Operands
	if err := d.AlignRows(&p, &refs[0], &refs[1]); err != nil {
		return err
	}
	plan, err := gemm.New(p, GEMMTarget(d.Target))
	return d.AddResult(plan, err, refs[0], refs[1])
}

// addParts appends the step that makes the parts of an operand, one after the other along k.
func (d *Builder) addParts(typ ops.DType, m matrix, free, k, batches int) (matrix, error) {
	j := partsJob{from: m.Ref, typ: typ, lines: free, length: k, lead: m.Free, batch: m.Batch, matrices: batches, pitch: splitParts * k, next: k}
	if m.Contract != 1 {
		j.lines, j.length, j.lead, j.pitch, j.next = k, free, m.Contract, free, k*free
	}
	if m.Batch == 0 {
		j.matrices = 1
	}
	whole := splitParts * free * k
	j.to = d.NewTemp(j.matrices * whole * ops.BF16.Size())
	if err := d.AddPrograms(j.program(d.Target)); err != nil {
		return matrix{}, err
	}
	out := matrix{Ref: j.to, Free: 1, Contract: free, Batch: whole}
	if m.Contract == 1 {
		out.Free, out.Contract = splitParts*k, 1
	}
	if j.matrices == 1 {
		out.Batch = 0
	}
	return out, nil
}

// width is how many neighbours an invocation splits.
func (j *partsJob) width() int {
	if j.length%together == 0 {
		return together
	}
	return 1
}

// partsJob copies lines of numbers into lines of bf16, each as three parts.
type partsJob struct {
	from, to      lowering.Ref
	typ           ops.DType
	lines, length int
	lead, batch   int // strides of lines and of matrices
	matrices      int
	pitch, next   int // from line to line of the result, and from part to part
}

func (j *partsJob) program(t *lowering.Target) *codegen.Program {
	w := j.width()
	units := j.matrices * j.lines * j.length / w
	local, steps := elementwise.Workgroup(t, w)
	n := int64(units * w)
	p := &codegen.Program{Local: uint32(local), Groups: (units + local*steps - 1) / (local * steps),
		Key:   fmt.Sprintf("parts of %v width=%d steps=%d", j.typ, w, steps),
		Index: codegen.IndexType(max(splitParts*units*w, j.matrices*j.batch+j.lines*j.lead)),
		Bytes: n * int64(j.typ.Size()+splitParts*ops.BF16.Size()),
		Body:  func(e *codegen.Emitter) error { j.write(e, steps); return nil }}
	p.Buffers = []codegen.Buffer{
		{Ref: j.from, Elem: lowering.ElemOf[j.typ], Access: lowering.Read, Bytes: n * int64(j.typ.Size())},
		{Ref: j.to, Elem: lowering.ElemOf[ops.BF16], Access: lowering.Write, Bytes: splitParts * n * int64(ops.BF16.Size())}}
	p.Numbers = []int{units, j.length / w, j.lines, j.lead, j.batch, j.pitch / w, j.next / w, splitParts * j.lines * j.length / w}
	return p
}

// write is the body of the kernel.
func (j *partsJob) write(e *codegen.Emitter, steps int) {
	units, quads, lines := e.NextNumber(), e.NextNumber(), e.NextNumber()
	lead, batch, pitch, next, whole := e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber(), e.NextNumber()
	e.ForUnits(units, steps, func(u kernel.Value) {
		line, quad := e.DivMod(u, quads)
		z, row := e.DivMod(line, lines)
		from := e.Add(e.Add(e.Mul(z, batch), e.Mul(row, lead)), e.Mul(quad, e.Index(j.width())))
		to := e.Add(e.Add(e.Mul(z, whole), e.Mul(row, pitch)), quad)
		xs := e.FetchSpan(0, from, j.width())
		var parts [splitParts][]kernel.Value
		for _, x := range xs {
			for i, part := range j.partsOf(e, x) {
				parts[i] = append(parts[i], part)
			}
		}
		for i := range parts {
			if i > 0 {
				to = e.Add(to, next)
			}
			e.Store(1, to, parts[i]...)
		}
	})
}

// partsOf gives the words of the parts of a number, or three times one of bf16. Those of one that is not
// finite are itself and zeros: infinity times the later parts of a number, which may be 0, is no number.
func (j *partsJob) partsOf(e *codegen.Emitter, x kernel.Value) (words [splitParts]kernel.Value) {
	if j.typ == ops.BF16 {
		const infinite = 0x7f80
		wide := e.Convert(x, scalar.U32)
		finite := e.Compare(scalar.Ne, e.And(wide, infinite), e.Const(scalar.U32, infinite))
		again := e.Select(finite, x, e.Const(e.Type(x), 0))
		return [splitParts]kernel.Value{x, again, again}
	}
	const infinite = 0x7f800000
	zero := e.Const(scalar.F32, 0)
	bits := e.Bitcast(x, scalar.U32)
	finite := e.Compare(scalar.Ne, e.And(bits, infinite), e.Const(scalar.U32, infinite))
	nan := e.Compare(scalar.Ne, x, x)
	bits = e.Select(nan, e.Const(scalar.U32, infinite|1<<22), bits)
	for i := range words {
		words[i] = e.Convert(e.Shr(bits, 16), lowering.ElemOf[ops.BF16].Type())
		first := e.Bitcast(e.And(bits, 0xffff0000), scalar.F32)
		x = e.Select(finite, e.Sub(x, first), zero)
		bits = e.Bitcast(x, scalar.U32)
	}
	return words
}
