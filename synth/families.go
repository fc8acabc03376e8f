package synth

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/attention"
	"nxvk/synth/dot"
	"nxvk/synth/fused"
	"nxvk/synth/gemm"
	"nxvk/synth/lowering"
)

// Family is the kernels that plans of one kind choose from, where these are known
// before there is a plan, since their code does not depend on shapes.
type Family struct {
	Name    string
	Kernels func(t *lowering.Target) ([]Listed, error)
}

// Listed is a kernel of a family.
type Listed struct {
	*lowering.Kernel
	For string // what it computes, and how
}

// Families lists all of them.
func Families() []Family {
	of := func(name string, kernels func(ops.DType, *gemm.Target) []gemm.Step, after string) Family {
		return Family{name, func(t *lowering.Target) ([]Listed, error) { return listed(t, kernels, after) }}
	}
	list := []Family{of("products", gemm.Kernels, ""), of("convolutions", gemm.GatherKernels, ""), of("matrix hardware", gemm.MatrixKernels, ""),
		of("convolutions on matrix hardware", gemm.PlacesKernels, ""), {"attention on matrix hardware", attentions}}
	for _, a := range afterwards {
		list = append(list, of("products, "+a.name, gemm.Kernels, a.name), of("convolutions, "+a.name, gemm.GatherKernels, a.name),
			of("matrix hardware, "+a.name, gemm.MatrixKernels, a.name), of("convolutions on matrix hardware, "+a.name, gemm.PlacesKernels, a.name))
	}
	return list
}

// attentions are the kernels for attentions of models.
func attentions(t *lowering.Target) (list []Listed, err error) {
	kernels, names, err := attention.Kernels(t)
	for i, k := range kernels {
		list = append(list, Listed{k, names[i]})
	}
	return list, err
}

// productTypes are those that products are summed in, one for each element of the
// kernels of package shaders.
var productTypes = []ops.DType{ops.F32, ops.F64, ops.U32, ops.U64}

// listed are the kernels that package gemm lists for the types that a device
// computes with, with something done to their results.
func listed(t *lowering.Target, kernels func(ops.DType, *gemm.Target) []gemm.Step, after string) ([]Listed, error) {
	var list []Listed
	seen := map[string]bool{}
	for _, d := range productTypes {
		if dot.Supported(d, []ops.Type{{DType: d}, {DType: d}}, t) != nil {
			continue
		}
		for _, g := range kernels(d, dot.GEMMTarget(t)) {
			k, err := listedKernel(t, g, d, after)
			if err != nil {
				return nil, fmt.Errorf("list the kernels of %v: %s: %w", d, g.Kernel.Shader, err)
			}
			if k != nil && !seen[k.Name] {
				seen[k.Name] = true
				list = append(list, Listed{k, fmt.Sprint(g.Kernel.Shader, " ", g.Kernel.Spec)})
			}
		}
	}
	return list, nil
}

// listedKernel is the kernel of a step whose results something is done to; nil where
// the device does not do that in the kernel.
func listedKernel(t *lowering.Target, g gemm.Step, d ops.DType, after string) (*lowering.Kernel, error) {
	if after == "" {
		return dot.ShaderKernel(t, &g.Kernel, len(g.Push))
	}
	e, err := exampleEpilogue(d, after, t)
	if e == nil || err != nil {
		return nil, err
	}
	s := &lowering.Step{Args: make([]lowering.Arg, fused.Contracted+1)}
	ok, err := e.Apply(&gemm.Plan{Steps: []gemm.Step{g}}, 0, s, &dot.Builder{Plan: &lowering.Plan{}, Target: t, Wide: d, Instr: e.Fusion.Contraction()})
	if !ok {
		return nil, err
	}
	return s.Kernel, err
}
