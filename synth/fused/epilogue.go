package fused

import (
	"slices"
	"sync"

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

// Epilogue is a list of elementwise operations on the results of a product of matrices,
// or of a convolution. The kernel of the product executes them before it stores a result:
// spirv.Splice replaces its function that stores. If that kernel has no room for the
// epilogue, a kernel of its own executes it, with the same bits.
type Epilogue struct {
	Fusion *fusion.Fusion
	DAG    *fusion.DAG // of fusion, in which the product is a source
	Typ    ops.DType
	taken  bool // by the kernels of the product
}

// Contracted is the number of operands of the product. In a plan with an epilogue they
// come first, and the operands of the epilogue follow.
const Contracted = 2

// lowerContraction plans a fusion of a product and elementwise operations on its results.
func lowerContraction(u *fusion.Fusion, dag *fusion.DAG, types func(ops.ID) ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if p, ok := vectorPlan(u, types, t); ok {
		return p, nil
	}
	in := u.Contraction()
	ts, places := u.Operands(in, types)
	for i := range len(u.Ins) + len(u.Lits) {
		places = append(places, i)
	}
	e := &Epilogue{Fusion: u, DAG: dag, Typ: in.Outs[0].Type.DType}
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

// lowerProductThen plans a product. Its kernels execute the epilogue, unless that is nil
// or has no room in them.
func lowerProductThen(in *ops.Instr, types []ops.Type, t *lowering.Target, after dot.Epilogue) (*lowering.Plan, error) {
	if in.Op == ops.Conv {
		return conv.Lower(in, types, t, after)
	}
	return dot.Lower(in, types, t, after)
}

// LowerContraction plans a product by itself. If its sums have another type than its
// results, a GPU rounds them in the same kernel.
func LowerContraction(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	if p, ok := vectorPlan(alone(in), func(id ops.ID) ops.Type { return types[id] }, t); ok {
		return p, nil
	}
	if d := in.Outs[0].Type.DType; d != d.Wide() && !t.CPU {
		return lowerProductThen(in, types, t, Rounding(in))
	}
	return lowerProductThen(in, types, t, nil)
}

// Applied is told whether the kernels of the product have the epilogue.
func (e *Epilogue) Applied(all bool) { e.taken = all }

// Rounding is the epilogue that rounds the sums of a product to the type of its results.
func Rounding(in *ops.Instr) *Epilogue {
	out := in.Outs[0]
	u := &fusion.Fusion{Body: []ops.Instr{*in}, Outs: []ops.Result{out}}
	dag, err := fusion.NewDAG(u, func(ops.ID) ops.Type { return out.Type })
	if err != nil {
		panic("BUG: a result that is not where it lies: " + err.Error())
	}
	return &Epilogue{Fusion: u, DAG: dag, Typ: out.Type.DType}
}

// apart adds to the plan of a product a kernel that reads its results and executes the
// epilogue.
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

// job is the epilogue as an elementwise job. Its operands are those of the plan with the
// epilogue.
func (e *Epilogue) job(t *lowering.Target) *elementwise.Job {
	j := ElementwiseJob(e.DAG, e.Fusion, t)
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

// Apply adds the epilogue to s, step i of a planned product. It reports false if the
// kernel has no room.
func (e *Epilogue) Apply(plan *gemm.Plan, i int, s *lowering.Step, d *dot.Builder) (bool, error) {
	g, t := plan.Steps[i], d.Target
	p, j, body := e.program(t, d.Wide, plan.Row)
	if !d.Matrix && d.Instr.Op == ops.Dot && e.reads(j) && short(plan, d.Instr.Outs[0].Type) {
		return false, nil
	}
	v := 16 / d.Wide.Size()
	fours, err := storesFours(g.Kernel.Shader, v)
	if err != nil {
		return false, err
	}
	if fours && (e.reads(j) || d.Matrix && loads(j)) && e.placed(j, plan.Row, placesOfFours, v, d.Wide, t) {
		g.Kernel = g.Kernel.InFours()
	} else if !e.placed(j, plan.Row, g.Kernel.Places(), v, d.Wide, t) {
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
	if len(e.Fusion.Body) > 1 {
		g.Kernel.Starter = nil // the first runs of a program are of single instructions
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

// shortSum is up to how many terms of many sums an epilogue that reads an element for each result has a kernel of its own.
// Tiles of multiply-adds keep few invocations of a multiprocessor busy, so their loads wait longer than those of an elementwise
// kernel, and such a product has little arithmetic meanwhile. On an H200, a product of 96 matrices of 512x64 by 64x512 in f32
// whose results are masked and multiplied took 450 us in one kernel; the product alone takes 90 and its epilogue moves 320 MB.
// Results of less than a dispatch's time stay in one.
const (
	shortSum    = 128
	manyResults = 1 << 22
)

// short reports whether a product has many results of few terms. k is not shared out then.
func short(p *gemm.Plan, out ops.Type) bool {
	return p.Partial == 0 && out.Size() >= manyResults && flopsOf(p) <= 2*shortSum*int64(out.Size())
}

// maxPlaced is the maximum of elementwise operations in the code of a kernel that stores
// results at many places.
const maxPlaced = 512

// placesOfFours is how many results count as stored by a kernel whose results leave in fours of vectors.
const placesOfFours = 16

// storesFours reports whether a kernel can have its results leave in fours of vectors of v. Where an
// epilogue reads operands, an invocation then waits once for those of all four.
func storesFours(shader string, v int) (bool, error) {
	list, ok := storesOf.Load(shader)
	if !ok {
		code, err := shaders.Code(shader)
		if err != nil {
			return false, err
		}
		list, _ = storesOf.LoadOrStore(shader, spirv.Stores(code))
	}
	return slices.Contains(list.([]spirv.Stored), spirv.Stored{Vectors: 4, Elements: v}), nil
}

// storesOf has what hand-written kernels store at once, by name: to read the code of one takes longer than to plan a product.
var storesOf sync.Map

// loads reports whether the epilogue reads an operand. What a cache has, such as a bias, takes longer than to store a result,
// too: on an H200, products on matrix hardware of 768 or 1,024 terms take 0.91 to 0.95 of the time in fours, but those of f32,
// which have more registers in use, 1.04 to 1.07 times as long.
func loads(j *elementwise.Job) bool {
	return slices.ContainsFunc(j.Sources, func(s codegen.Source) bool { return s.Kind == codegen.FromBuffer })
}

// reads reports whether the epilogue reads an operand with an element for each result, which comes from
// memory. Smaller ones, such as a bias, come from caches.
func (e *Epilogue) reads(j *elementwise.Job) bool {
	return slices.ContainsFunc(j.Sources, func(s codegen.Source) bool {
		return s.Kind == codegen.FromBuffer && !slices.Contains(s.Strides, 0)
	})
}

// placed reports whether an epilogue is short enough to be repeated at each place where
// the kernel stores v results, in rows of the product. A driver compiles dozens of stores of single elements for
// minutes.
func (e *Epilogue) placed(j *elementwise.Job, row, places, v int, wide ops.DType, t *lowering.Target) bool {
	cost := cost(e.DAG, t)
	if wide != e.Typ {
		cost += roundingCost
	}
	return places*cost <= maxPlaced && (j.Fits(v) || j.InRows(row))
}

// roundingCost is the approximate number of operations that round to a narrow type.
const roundingCost = 8

// spliced returns the kernel of a step of a product, in which the code of a program
// replaces the function that stores results. body writes the code for so many results.
func spliced(t *lowering.Target, g *gemm.Step, p *codegen.Program, body func(spirv.Stored) func(*codegen.Emitter) error, at, push int, fixed bool) (*lowering.Kernel, error) {
	name := dot.ShaderKey(&g.Kernel)
	key := name + " " + codegen.FullKey(t, p, fixed)
	var starter *lowering.Kernel
	if g.Kernel.Starter != nil {
		first := *g
		first.Kernel = *g.Kernel.Starter
		var err error
		if starter, err = spliced(t, &first, p, body, at, push, fixed); err != nil {
			return nil, err
		}
	}
	if k, ok := codegen.CompiledKernels.Get(key); ok {
		codegen.VerifyHit(key, k, func() ([]uint32, error) {
			code, _, err := splice(t, &g.Kernel, p, body, at, fixed)
			return code, err
		})
		return k, nil
	}
	if k := codegen.FromArchive(t, key); k != nil {
		k.Name += " " + name
		k.Starter = starter
		return codegen.CompiledKernels.Put(key, k), nil
	}
	code, irs, err := splice(t, &g.Kernel, p, body, at, fixed)
	if err != nil {
		return nil, err
	}
	k := &lowering.Kernel{Name: codegen.HashName(code) + " " + name, Code: code, Buffers: Contracted + len(p.Buffers), PushBytes: push,
		Addresses: t.Addresses, Spec: g.Kernel.Spec, Local: g.Kernel.Local, SubgroupSize: g.Kernel.SubgroupSize, Starter: starter}
	codegen.Dump(k, irs...)
	codegen.ToArchive(t, key, k)
	return codegen.CompiledKernels.Put(key, k), nil
}

// splice writes the code of spliced and returns the functions that it has replaced. Functions that the
// kernel never calls do nothing instead, since a driver takes longer for more code.
func splice(t *lowering.Target, g *gemm.Kernel, p *codegen.Program, body func(spirv.Stored) func(*codegen.Emitter) error, at int, fixed bool) (
	code []uint32, irs []*kernel.Kernel, err error) {
	if code, err = shaders.Code(g.Shader); err != nil {
		return nil, nil, err
	}
	byCount := map[spirv.Stored]*kernel.Kernel{}
	for _, n := range spirv.Stores(code) {
		if !g.Stores(n.Vectors, n.Elements) {
			continue
		}
		q := *p
		q.Body = body(n)
		if byCount[n], err = codegen.Build(t, &q, fixed); err != nil {
			return nil, nil, err
		}
		irs = append(irs, byCount[n])
	}
	return spirv.Splice(code, func(n spirv.Stored) *kernel.Kernel { return byCount[n] }, at, codegen.SPIRVOptions(t)), irs, nil
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
