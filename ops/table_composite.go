package ops

import "fmt"

// compositeRows are the operations that are a region of others. The region defines the result;
// where a device has a kernel for the whole, that kernel computes it, within a bound that the
// package of the kernel states. Elsewhere the instructions of the region are carried out.
var compositeRows = map[Op]Info{
	Attention: {Name: "attention", Kind: Composite, Arity: Variadic, Results: Variadic, Infer: compositeShape, Closed: true,
		Attrs: []Attr{{Name: "decomposition", Kind: Block}},
		Doc:   "The region: scaled dot-product attention, as product, scores, softmax, product, or its gradients. Belongs in programs."},
}

// compositeShape checks the region of a composite, and takes the shapes of its values.
func compositeShape(in *Instr, types []Type) ([]Shape, error) {
	r := in.Regions[0]
	if len(r.Params) != len(types) {
		return nil, fmt.Errorf("%w: the region takes %d values, must take %d", ErrRegion, len(r.Params), len(types))
	}
	for i, p := range r.Params {
		if !p.Type.Equal(types[i]) {
			return nil, fmt.Errorf("%w: parameter %d of the region is %v, operand %d is %v", ErrRegion, i, p.Type, i, types[i])
		}
	}
	values, err := r.CheckProgram()
	if err != nil {
		return nil, fmt.Errorf("region: %w", err)
	}
	if err := sameTypes("the region gives", values, in.Outs); err != nil {
		return nil, err
	}
	return shapesOf(in.Outs), nil
}
