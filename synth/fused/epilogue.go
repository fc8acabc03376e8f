package fused

import (
	"slices"

	"nxvk/ops"
	"nxvk/shaders"
	"nxvk/synth/codegen"
	"nxvk/synth/conv"
	"nxvk/synth/dot"
	"nxvk/synth/elementwise"
	"nxvk/synth/fusion"
	"nxvk/synth/gemm"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
)

// Epilogue is what becomes of the results of a product of matrices, or of a
// convolution, before they are stored: operations on elements, in the kernel that
// has the sums, where other code takes the place of the function that stores one
// (see spirv.Splice). Where that kernel has no room for it, it is a kernel of its
// own. The bits are the same.
type Epilogue struct {
	Fusion *fusion.Fusion
	Trace  *fusion.Trace // of fusion, in which the product is a source
	Typ    ops.DType
	taken  bool // by the kernels of the product
}

// Contracted is the number of operands of the product. They come first among those of
// a plan with an epilogue, whose own follow.
const Contracted = 2

// lowerContraction plans a fusion that is a product and operations on its elements.
func lowerContraction(u *fusion.Fusion, tr *fusion.Trace, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	in := u.Contraction()
	ts, places := u.Operands(in, types)
	for i := range len(u.Ins) + len(u.Lits) {
		places = append(places, i)
	}
	e := &Epilogue{Fusion: u, Trace: tr, Typ: in.Outs[0].Type.DType}
	p, err := lowerProductThen(in, ts, t, e)
	if err != nil {
		return nil, err
	}
	if !e.taken {
		if p, err = e.apart(p, in.Outs[0].Type, t); err != nil {
			return nil, err
		}
	}
	return p.Renumber(places), nil
}

// lowerProductThen plans a product whose results go through an epilogue, if that is not
// nil and the kernels take it.
func lowerProductThen(in *ops.Instr, types []ops.Type, t *lowering.Target, after dot.Epilogue) (*lowering.Plan, error) {
	if in.Op == ops.Conv {
		return conv.Lower(in, types, t, after)
	}
	return dot.Lower(in, types, t, after)
}

// LowerContraction plans a product by itself. Where its sums are of another type than its
// results, a GPU rounds them in the kernel that has them.
func LowerContraction(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if d := in.Outs[0].Type.DType; d != d.Wide() && !t.CPU {
		return lowerProductThen(in, types, t, Rounding(in))
	}
	return lowerProductThen(in, types, t, nil)
}

// Applied is told whether the kernels of the product have the epilogue.
func (e *Epilogue) Applied(all bool) { e.taken = all }

// Rounding is the epilogue of a product by itself, whose sums are of another type.
func Rounding(in *ops.Instr) *Epilogue {
	out := in.Outs[0]
	u := &fusion.Fusion{Body: []ops.Instr{*in}, Outs: []ops.Result{out}}
	tr, err := fusion.NewTrace(u, func(ops.ID) ops.Type { return out.Type })
	if err != nil {
		panic("BUG: a result that is not where it lies: " + err.Error())
	}
	return &Epilogue{Fusion: u, Trace: tr, Typ: out.Type.DType}
}

// apart is the plan of a product with its epilogue as a kernel that reads the
// results.
func (e *Epilogue) apart(p *lowering.Plan, typ ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	d := &dot.Builder{Plan: &lowering.Plan{Alias: -1}, Target: t}
	ins := make([]lowering.Ref, Contracted+len(e.Fusion.Ins)+len(e.Fusion.Lits))
	for i := range ins {
		ins[i] = lowering.Ref{Kind: lowering.Operand, Index: i}
	}
	product := d.NewTemp(typ.Bytes())
	d.AddPlan(p, ins, product)
	j := e.job(t)
	for i := range j.Sources {
		if s := &j.Sources[i]; s.Kind == codegen.FromContraction {
			s.Kind, s.Buffer = codegen.FromBuffer, codegen.BufferOf(product, e.Typ)
		}
	}
	return d.Plan, d.AddPrograms(j.Programs(t)...)
}

// job is the map of the epilogue, on operands as a plan with an epilogue has them.
func (e *Epilogue) job(t *lowering.Target) *elementwise.Job {
	j := ElementwiseJob(e.Trace, e.Fusion, t)
	j.Sources = slices.Clone(j.Sources)
	for i := range j.Sources {
		switch s := &j.Sources[i]; s.Kind {
		case codegen.FromBuffer:
			s.Buffer.Ref.Index += Contracted
		case codegen.FromLiteral:
			s.Lit.Operand += Contracted
		}
	}
	return j
}

// Apply makes s, step i of a planned product, one that has the epilogue. It reports
// false where the kernel has no room.
func (e *Epilogue) Apply(plan *gemm.Plan, i int, s *lowering.Step, d *dot.Builder) (bool, error) {
	g, t := plan.Steps[i], d.Target
	p, j, body := e.program(t, d.Wide)
	if !e.placed(j, g.Kernel.Places(), 16/d.Wide.Size(), d.Wide, t) {
		g.Kernel = g.Kernel.Staged()
	}
	if p.Index != scalar.U32 || codegen.Check(t, p) != nil || Contracted+len(p.Buffers) > fusion.MaxBuffers {
		return false, nil
	}
	head := len(g.Push)
	if t.Addresses {
		head += 8 * (Contracted + len(p.Buffers))
	}
	head = (head + 7) / 8 * 8
	fixed := false
	size := func() int { return head + codegen.PushSize(t, p, fixed) - codegen.ParamsAt(t, p) }
	if fixed = size() > t.PushBytes(); fixed && size() > t.PushBytes() {
		return false, nil
	}
	k, err := spliced(t, &g, p, body, head, size(), fixed)
	if err != nil {
		return false, err
	}
	s.Kernel, s.Push, s.Args = k, make([]byte, k.PushBytes), s.Args[:Contracted:Contracted]
	for _, b := range p.Buffers {
		s.Args = append(s.Args, lowering.Arg{Ref: b.Ref, Access: b.Access})
	}
	from := 0
	if t.Addresses {
		from = 8 * len(s.Args)
	}
	copy(s.Push[from:], g.Push)
	s.Lits = p.Fill(s.Push, head, fixed)
	of := float64(g.Flops) / float64(flopsOf(plan))
	s.Bytes, s.Flops = s.Bytes+int64(of*float64(p.Bytes-int64(d.Instr.Outs[0].Type.Bytes()))), s.Flops+int64(of*float64(p.Flops))
	return true, nil
}

// maxPlaced is how many operations on elements the code of a kernel has at most where it
// stores results at many places.
const maxPlaced = 512

// placed reports whether an epilogue is so short that a kernel may have it for each of
// some results, which it stores v at a time. Dozens of stores of single elements take a
// driver minutes.
func (e *Epilogue) placed(j *elementwise.Job, places, v int, wide ops.DType, t *lowering.Target) bool {
	cost := cost(e.Trace, t)
	if wide != e.Typ {
		cost += roundingCost
	}
	return places*cost <= maxPlaced && j.Fits(v)
}

// roundingCost is about how many operations it takes to round to a narrow type.
const roundingCost = 8

// spliced returns the kernel of a step of a product with a program, of which body
// writes the code for n results, in place of what stores them.
func spliced(t *lowering.Target, g *gemm.Step, p *codegen.Program, body func(n int) func(*codegen.Emitter) error, at, push int, fixed bool) (*lowering.Kernel, error) {
	name := dot.ShaderKey(&g.Kernel)
	key := name + " " + codegen.FullKey(t, p, fixed)
	if k, ok := codegen.CompiledKernels.Get(key); ok {
		return k, nil
	}
	if k := codegen.FromArchive(t, key); k != nil {
		k.Name += " " + name
		return codegen.CompiledKernels.Put(key, k), nil
	}
	code, irs, err := splice(t, g.Kernel.Shader, p, body, at, fixed)
	if err != nil {
		return nil, err
	}
	k := &lowering.Kernel{Name: codegen.HashName(code) + " " + name, Code: code, Buffers: Contracted + len(p.Buffers), PushBytes: push,
		Addresses: t.Addresses, Spec: g.Kernel.Spec, Local: g.Kernel.Local, Lanes: g.Kernel.Lanes}
	codegen.Dump(k, irs...)
	codegen.ToArchive(t, key, k)
	return codegen.CompiledKernels.Put(key, k), nil
}

// splice writes the code of spliced, and gives what it puts in the place of functions.
func splice(t *lowering.Target, shader string, p *codegen.Program, body func(n int) func(*codegen.Emitter) error, at int, fixed bool) (
	code []uint32, irs []*kernel.Kernel, err error) {
	if code, err = shaders.Code(shader); err != nil {
		return nil, nil, err
	}
	byCount := map[int]*kernel.Kernel{}
	for _, n := range spirv.Stores(code) {
		q := *p
		q.Body = body(n)
		if byCount[n], err = codegen.Build(t, &q, fixed); err != nil {
			return nil, nil, err
		}
		irs = append(irs, byCount[n])
	}
	return spirv.Splice(code, func(n int) *kernel.Kernel { return byCount[n] }, at, codegen.SPIRVOptions(t)), irs, nil
}

// flopsOf counts what the steps that store results compute.
func flopsOf(p *gemm.Plan) int64 {
	n := int64(0)
	for i := range p.Steps {
		if p.Steps[i].Out == gemm.C {
			n += p.Steps[i].Flops
		}
	}
	return n
}
