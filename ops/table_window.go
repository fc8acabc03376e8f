package ops

import (
	"fmt"
	"slices"
)

// A window is placed on the padded operand at each multiple of the strides. Negative padding
// crops; other padding is the identity of the reduction.
var windowRows = map[Op]Info{
	WindowSum:     window("window_sum", "Sum of each window."),
	WindowProduct: window("window_product", "Product of each window."),
	WindowMax:     window("window_max", "Largest element of each window; NaN if there is one."),
	WindowMin:     window("window_min", "Smallest element of each window; NaN if there is one."),

	WindowScatterMax: scatter("window_scatter_max",
		"A tensor of the third operand. Each window of the first operand then adds one element of the second, at the position of the window's largest element (the last one of equals)."),
	WindowScatterMin: scatter("window_scatter_min",
		"A tensor of the third operand. Each window of the first operand then adds one element of the second, at the position of the window's smallest element (the last one of equals)."),

	Conv: {Name: "conv", Kind: Window, Arity: 2, Result: FloatType, Infer: convShape,
		Attrs: []Attr{{Name: "strides", Kind: Ints}, {Name: "padding", Kind: Pairs},
			{Name: "input_dilation", Kind: Ints}, {Name: "kernel_dilation", Kind: Ints},
			{Name: "feature_group_size", Kind: Int}, {Name: "batch_group_size", Kind: Int},
			{Name: "input_permutation", Kind: Ints}, {Name: "kernel_permutation", Kind: Ints},
			{Name: "output_permutation", Kind: Ints}},
		Doc: "Convolution of a batch of inputs with a set of kernels. The permutations give the places of the batch, channel and spatial axes."},
}

func window(name, doc string) Info {
	return Info{Name: name, Kind: Window, Arity: 1, Result: SameType, Infer: windowShape, Doc: doc,
		Attrs: []Attr{{Name: "window", Kind: Ints}, {Name: "padding", Kind: Pairs},
			{Name: "strides", Kind: Ints}, {Name: "window_dilations", Kind: Ints}}}
}

func scatter(name, doc string) Info {
	return Info{Name: name, Kind: Window, Arity: 3, Infer: scatterShape, Doc: doc,
		Attrs: []Attr{{Name: "window", Kind: Ints}, {Name: "padding", Kind: Pairs}, {Name: "strides", Kind: Ints}}}
}

// windows counts the windows along each dimension of a shape. dilations are of
// the window.
func windows(s Shape, window, padding, strides, dilations []int) (Shape, error) {
	if n := len(s); len(window) != n || len(padding) != 2*n || len(strides) != n || len(dilations) != n {
		return nil, fmt.Errorf("window %v, padding %v, strides %v and dilations %v do not fit %w %v",
			window, padding, strides, dilations, ErrShape, s)
	}
	out := make(Shape, len(s))
	for i, n := range s {
		lo, hi := padding[2*i], padding[2*i+1]
		if max(lo, -lo, hi, -hi, window[i], strides[i], dilations[i]) > MaxElements {
			return nil, fmt.Errorf("window, padding, stride or dilation of dimension %d is out of range", i)
		}
		if window[i] < 1 || strides[i] < 1 || dilations[i] < 1 || window[i] > MaxElements/dilations[i] {
			return nil, fmt.Errorf("window %d, stride %d and dilation %d of dimension %d must be at least 1",
				window[i], strides[i], dilations[i], i)
		}
		room := n + lo + hi - ((window[i]-1)*dilations[i] + 1)
		if room < 0 {
			return nil, fmt.Errorf("window %d of dimension %d does not fit %w %v", window[i], i, ErrShape, s)
		}
		out[i] = room/strides[i] + 1
	}
	return out, nil
}

func windowShape(in *Instr, t []Type) ([]Shape, error) {
	s, err := windows(t[0].Shape, in.Attrs[0], in.Attrs[1], in.Attrs[2], in.Attrs[3])
	if err != nil {
		return nil, err
	}
	return one(s)
}

// scatterShape is the shape of the first operand; the second has an element
// for each window.
func scatterShape(in *Instr, t []Type) ([]Shape, error) {
	ones := slices.Repeat([]int{1}, len(t[0].Shape))
	s, err := windows(t[0].Shape, in.Attrs[0], in.Attrs[1], in.Attrs[2], ones)
	switch {
	case err != nil:
		return nil, err
	case !t[1].Shape.Equal(s):
		return nil, fmt.Errorf("%w of the source must be %v, one element a window, is %v", ErrShape, s, t[1].Shape)
	case len(t[2].Shape) != 0:
		return nil, fmt.Errorf("the initial value must be a scalar, its %w is %v", ErrShape, t[2].Shape)
	}
	return one(t[0].Shape)
}

// permuted puts dimension axes[i] of a shape at i.
func permuted(s Shape, axes []int) (Shape, error) {
	if len(axes) != len(s) {
		return nil, fmt.Errorf("permutation %v does not fit %w %v", axes, ErrShape, s)
	}
	if err := checkAxes(axes, s); err != nil {
		return nil, err
	}
	out := make(Shape, len(s))
	for i, a := range axes {
		out[i] = s[a]
	}
	return out, nil
}

// The attributes of Conv, in order.
const (
	ConvStrides = iota
	ConvPadding
	ConvInputDilation
	ConvKernelDilation
	ConvFeatureGroups
	ConvBatchGroups
	ConvInputPermutation
	ConvKernelPermutation
	ConvOutputPermutation
)

// convShape permutes input and kernel to {batch, channels, space...} and
// {filters, channels, space...}; dimension axes[i] of the result is dimension i
// of {batch, filters, space...}.
func convShape(in *Instr, t []Type) ([]Shape, error) {
	input, err := permuted(t[0].Shape, in.Attrs[ConvInputPermutation])
	if err != nil {
		return nil, err
	}
	kernel, err := permuted(t[1].Shape, in.Attrs[ConvKernelPermutation])
	if err != nil {
		return nil, err
	}
	rank, features, batches := len(input), in.Attrs[ConvFeatureGroups][0], in.Attrs[ConvBatchGroups][0]
	if rank < 2 || len(kernel) != rank || len(in.Attrs[ConvOutputPermutation]) != rank {
		return nil, fmt.Errorf("input %v, kernel %v and output permutation %v differ in rank", input, kernel, in.Attrs[ConvOutputPermutation])
	}
	if features < 1 || batches < 1 || (features > 1 && batches > 1) ||
		kernel[0]%(features*batches) != 0 || input[0]%batches != 0 || input[1] != kernel[1]*features {
		return nil, fmt.Errorf("%w: %d feature groups and %d batch groups do not fit input %v and kernel %v",
			ErrShape, features, batches, input, kernel)
	}
	if len(in.Attrs[ConvInputDilation]) != rank-2 {
		return nil, fmt.Errorf("input dilation %v does not fit input %v", in.Attrs[ConvInputDilation], input)
	}
	space := slices.Clone(input[2:])
	for i, d := range in.Attrs[ConvInputDilation] {
		if d < 1 || (space[i] > 1 && d > MaxElements/space[i]) {
			return nil, fmt.Errorf("input dilation %d is out of range", d)
		}
		space[i] = (space[i]-1)*d + 1
	}
	if space, err = windows(space, kernel[2:], in.Attrs[ConvPadding], in.Attrs[ConvStrides], in.Attrs[ConvKernelDilation]); err != nil {
		return nil, err
	}
	plain := slices.Concat(Shape{input[0] / batches, kernel[0]}, space)
	if err := checkAxes(in.Attrs[ConvOutputPermutation], plain); err != nil {
		return nil, err
	}
	out := make(Shape, rank)
	for i, a := range in.Attrs[ConvOutputPermutation] {
		out[a] = plain[i]
	}
	return one(out)
}
