package fused

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/elementwise"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/spirv"
	"nxvk/synth/strided"
)

// program is the code that stores results through the epilogue, and the epilogue's
// elementwise job. The body takes its arguments after all parameters.
//
// row is the number of results that lie one after the other in a row of the product, because the kernel stores some of
// them at once. It is 0 if that is not known.
func (e *Epilogue) program(t *lowering.Target, wide ops.DType, row int) (p *codegen.Program, j *elementwise.Job, body func(spirv.Stored) func(*codegen.Emitter) error) {
	j = e.job(t)
	views := []*strided.View{&j.Out}
	for i := range j.Sources {
		if j.Sources[i].HasView() {
			views = append(views, &j.Sources[i].View)
		}
	}
	j.Dims = strided.Collapse(j.Dims, views)
	j.Group = 1
	points := strided.Product(j.Dims)
	p = &codegen.Program{Index: codegen.IndexType(points), Local: 1, Flops: j.Flops * int64(points),
		Key: fmt.Sprintf("after %v pairs=%v fours=%v rows=%v %s", wide, j.Fits(2), j.Fits(4), j.InRows(row), j.Describe(1))}
	j.AddBuffers(p, points)
	p.Numbers = j.Numbers(points)
	return p, j, func(n spirv.Stored) func(*codegen.Emitter) error {
		return func(em *codegen.Emitter) error { return e.write(em, j, wide, row, n) }
	}
}

// write stores results. Their indices and they themselves are arguments.
func (e *Epilogue) write(em *codegen.Emitter, j *elementwise.Job, wideType ops.DType, row int, n spirv.Stored) error {
	w := j.Writer(em)
	ats := make([]kernel.Value, n.Vectors)
	for i := range ats {
		ats[i] = em.Param(scalar.U32)
	}
	xs := make([][]kernel.Value, n.Vectors)
	for i := range xs {
		for range n.Elements {
			xs[i] = append(xs[i], em.RoundTrip(e.Typ, wideType, em.Param(codegen.WideType(wideType))))
		}
	}
	if j.Fits(n.Elements) || j.InRows(row) {
		return w.Several(ats, xs)
	}
	for i, at := range ats {
		for k, x := range xs[i] {
			place := em.Add(em.Mul(at, em.Index(n.Elements)), em.Index(k))
			if err := w.Several([]kernel.Value{place}, [][]kernel.Value{{x}}); err != nil {
				return err
			}
		}
	}
	return nil
}
