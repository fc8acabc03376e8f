package ops

import (
	"fmt"
	"slices"
)

// InferShape computes the shapes of an instruction's results. The number of operands and the
// forms of attributes have been checked before.
type InferShape func(in *Instr, types []Type) ([]Shape, error)

func one(s Shape) ([]Shape, error) { return []Shape{s}, nil }

// sameShape is the shape of the first operand.
func sameShape(_ *Instr, t []Type) ([]Shape, error) { return one(t[0].Shape) }

// broadcastAll is the shape to which all operands are broadcast.
func broadcastAll(_ *Instr, t []Type) ([]Shape, error) {
	s := t[0].Shape
	for _, o := range t[1:] {
		var err error
		if s, err = Broadcast(s, o.Shape); err != nil {
			return nil, err
		}
	}
	return one(s)
}

// firstWithScalars is the shape of the first operand; the others are scalars.
func firstWithScalars(in *Instr, t []Type) ([]Shape, error) {
	for i, o := range t[1:] {
		if len(o.Shape) != 0 {
			return nil, fmt.Errorf("operand %d must be a scalar, %w is %v", i+1, ErrShape, o.Shape)
		}
	}
	return sameShape(in, t)
}

// sameCount accepts any shape with as many elements as the operand has.
func sameCount(in *Instr, t []Type) ([]Shape, error) {
	out := in.Outs[0].Type
	if out.Size() != t[0].Size() {
		return nil, fmt.Errorf("%w %v has %d elements, %v has %d", ErrShape,
			t[0].Shape, t[0].Size(), out.Shape, out.Size())
	}
	return one(out.Shape)
}

// sameBits accepts a type whose elements are as wide as the operand's.
func sameBits(in *Instr, t []Type) ([]Shape, error) {
	if a, b := t[0].DType.Bits(), in.Outs[0].Type.DType.Bits(); a != b {
		return nil, fmt.Errorf("elements of %d bits cannot be read as %d bits", a, b)
	}
	return one(t[0].Shape)
}

// checkAxes reports whether axes are distinct dimensions of a shape.
func checkAxes(axes []int, s Shape) error {
	for i, a := range axes {
		if a < 0 || a >= len(s) {
			return fmt.Errorf("axis %d is outside of %w %v", a, ErrShape, s)
		}
		if slices.Contains(axes[:i], a) {
			return fmt.Errorf("axis %d is given twice", a)
		}
	}
	return nil
}

// reduced returns a shape without axes, or with 1 in their place if keep is set.
func reduced(s Shape, axes []int, keep bool) Shape {
	out := Shape{}
	for i, d := range s {
		switch {
		case !slices.Contains(axes, i):
			out = append(out, d)
		case keep:
			out = append(out, 1)
		}
	}
	return out
}

func reduceShape(in *Instr, t []Type) ([]Shape, error) {
	if err := checkAxes(in.Attrs[0], t[0].Shape); err != nil {
		return nil, err
	}
	return one(reduced(t[0].Shape, in.Attrs[0], in.Attrs[1][0] != 0))
}

// argShape is that of argmax and argmin: axis -1 is the flat index.
func argShape(in *Instr, t []Type) ([]Shape, error) {
	axis, keep := in.Attrs[0][0], in.Attrs[1][0] != 0
	axes := []int{axis}
	if axis < 0 {
		axes = AllAxes(len(t[0].Shape))
	}
	if err := checkAxes(axes, t[0].Shape); err != nil {
		return nil, err
	}
	return one(reduced(t[0].Shape, axes, keep))
}

// AllAxes lists the axes of a tensor of the given rank.
func AllAxes(rank int) []int {
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	return axes
}

func iotaShape(in *Instr, _ []Type) ([]Shape, error) {
	s, axis := in.Outs[0].Type.Shape, in.Attrs[0][0]
	if axis < -1 || axis >= len(s) {
		return nil, fmt.Errorf("axis %d is outside of %w %v", axis, ErrShape, s)
	}
	return one(s)
}

func eyeShape(in *Instr, _ []Type) ([]Shape, error) {
	s := in.Outs[0].Type.Shape
	if len(s) < 2 {
		return nil, fmt.Errorf("%w %v has fewer than two dimensions", ErrShape, s)
	}
	return one(s)
}

func literalShape(in *Instr, t []Type) ([]Shape, error) {
	if in.Ins[0].Lit == nil {
		return nil, fmt.Errorf("the operand must be a literal")
	}
	return one(t[0].Shape)
}

func constantShape(in *Instr, t []Type) ([]Shape, error) {
	if in.Ins[0].Lit == nil || len(t[0].Shape) != 0 {
		return nil, fmt.Errorf("the operand must be a scalar literal")
	}
	return one(in.Outs[0].Type.Shape)
}

// squeezeShape drops axes of size 1.
func squeezeShape(in *Instr, t []Type) ([]Shape, error) {
	if err := checkAxes(in.Attrs[0], t[0].Shape); err != nil {
		return nil, err
	}
	for _, a := range in.Attrs[0] {
		if t[0].Shape[a] != 1 {
			return nil, fmt.Errorf("axis %d of %w %v must be 1", a, ErrShape, t[0].Shape)
		}
	}
	return one(reduced(t[0].Shape, in.Attrs[0], false))
}

// broadcastShape checks that dimension i of the operand becomes dimension
// axes[i] of the stated shape.
func broadcastShape(in *Instr, t []Type) ([]Shape, error) {
	out, axes, s := in.Outs[0].Type.Shape, in.Attrs[0], t[0].Shape
	if len(axes) != len(s) {
		return nil, fmt.Errorf("%d axes are given for %w %v", len(axes), ErrShape, s)
	}
	if err := checkAxes(axes, out); err != nil {
		return nil, err
	}
	for i, a := range axes {
		if s[i] != 1 && s[i] != out[a] {
			return nil, fmt.Errorf("%w: dimension %d of %v cannot become dimension %d of %v", ErrShape, i, s, a, out)
		}
	}
	return one(out)
}

func transposeShape(in *Instr, t []Type) ([]Shape, error) {
	axes, s := in.Attrs[0], t[0].Shape
	if len(axes) != len(s) {
		return nil, fmt.Errorf("%d axes are given for %w %v", len(axes), ErrShape, s)
	}
	if err := checkAxes(axes, s); err != nil {
		return nil, err
	}
	out := make(Shape, len(s))
	for i, a := range axes {
		out[i] = s[a]
	}
	return one(out)
}

func reverseShape(in *Instr, t []Type) ([]Shape, error) {
	if err := checkAxes(in.Attrs[0], t[0].Shape); err != nil {
		return nil, err
	}
	return one(t[0].Shape)
}

// padShape is n + low + high + (n-1)*interior along each dimension.
func padShape(in *Instr, t []Type) ([]Shape, error) {
	s, cfg := t[0].Shape, in.Attrs[0]
	if len(t[1].Shape) != 0 {
		return nil, fmt.Errorf("the padding value must be a scalar, %w is %v", ErrShape, t[1].Shape)
	}
	if len(cfg) != 3*len(s) {
		return nil, fmt.Errorf("%d paddings are given for %w %v", len(cfg)/3, ErrShape, s)
	}
	out := make(Shape, len(s))
	for i, n := range s {
		lo, hi, interior := cfg[3*i], cfg[3*i+1], cfg[3*i+2]
		if interior < 0 || max(lo, -lo, hi, -hi, interior) > MaxElements {
			return nil, fmt.Errorf("padding {%d, %d, %d} is out of range", lo, hi, interior)
		}
		if interior > 0 && n-1 > MaxElements/interior {
			return nil, fmt.Errorf("%w: padding makes more than 2^48 elements", ErrShape)
		}
		out[i] = n + lo + hi + (n-1)*interior
	}
	return one(out)
}

// concatShape joins along an axis; stackShape along a new one.
func concatShape(in *Instr, t []Type) ([]Shape, error) {
	axis := in.Attrs[0][0]
	if err := checkAxes([]int{axis}, t[0].Shape); err != nil {
		return nil, err
	}
	out := slices.Clone(t[0].Shape)
	for i, o := range t[1:] {
		if len(o.Shape) != len(out) {
			return nil, fmt.Errorf("%w of operand %d is %v, the first is %v", ErrShape, i+1, o.Shape, t[0].Shape)
		}
		for j, d := range o.Shape {
			if j != axis && d != out[j] {
				return nil, fmt.Errorf("%w of operand %d is %v, the first is %v", ErrShape, i+1, o.Shape, t[0].Shape)
			}
		}
		out[axis] += o.Shape[axis]
	}
	return one(out)
}

func stackShape(in *Instr, t []Type) ([]Shape, error) {
	axis := in.Attrs[0][0]
	if axis < 0 || axis > len(t[0].Shape) {
		return nil, fmt.Errorf("axis %d is outside of %w %v", axis, ErrShape, t[0].Shape)
	}
	for i, o := range t[1:] {
		if !o.Shape.Equal(t[0].Shape) {
			return nil, fmt.Errorf("%w of operand %d is %v, the first is %v", ErrShape, i+1, o.Shape, t[0].Shape)
		}
	}
	return one(slices.Insert(slices.Clone(t[0].Shape), axis, len(t)))
}

// checkStarts checks the starts of a slice: those of attribute 0, or scalar operands from
// operand first on, one for each dimension.
func checkStarts(in *Instr, t []Type, first int) error {
	rank, given, dynamic := len(t[0].Shape), len(in.Attrs[0]), len(t)-first
	if dynamic < 0 {
		return fmt.Errorf("takes at least %d operands, has %d", first, len(t))
	}
	if given+dynamic != rank || (given > 0 && dynamic > 0) {
		return fmt.Errorf("%d starts are given for %w %v", given+dynamic, ErrShape, t[0].Shape)
	}
	for i, o := range t[first:] {
		if o.Size() != 1 || !o.DType.IsInteger() {
			return fmt.Errorf("start %d must be an integer scalar, is %v", i, o)
		}
	}
	return nil
}

func sliceShape(in *Instr, t []Type) ([]Shape, error) {
	s, lengths, strides := t[0].Shape, in.Attrs[1], in.Attrs[2]
	if err := checkStarts(in, t, 1); err != nil {
		return nil, err
	}
	if len(lengths) != len(s) || len(strides) != len(s) {
		return nil, fmt.Errorf("lengths %v and strides %v do not fit %w %v", lengths, strides, ErrShape, s)
	}
	out := make(Shape, len(s))
	for i, n := range lengths {
		if n < 1 || n > s[i] || strides[i] < 1 {
			return nil, fmt.Errorf("length %d and stride %d of dimension %d do not fit %w %v", n, strides[i], i, ErrShape, s)
		}
		out[i] = (n-1)/strides[i] + 1
	}
	return one(out)
}

func putSliceShape(in *Instr, t []Type) ([]Shape, error) {
	if err := checkStarts(in, t, 2); err != nil {
		return nil, err
	}
	s, u := t[0].Shape, t[1].Shape
	if len(s) != len(u) {
		return nil, fmt.Errorf("%w of the slice %v does not fit %v", ErrShape, u, s)
	}
	for i := range s {
		if u[i] > s[i] {
			return nil, fmt.Errorf("%w of the slice %v does not fit %v", ErrShape, u, s)
		}
	}
	return one(s)
}

// dotShape is batch ++ free left ++ free right. The axes of the batch may be anywhere among those of an operand.
func dotShape(in *Instr, t []Type) ([]Shape, error) {
	l, r := t[0].Shape, t[1].Shape
	cl, bl, cr, br := in.Attrs[0], in.Attrs[1], in.Attrs[2], in.Attrs[3]
	if len(cl) != len(cr) || len(bl) != len(br) {
		return nil, fmt.Errorf("contracts axes %v with %v and batches %v with %v: the counts differ", cl, cr, bl, br)
	}
	if err := checkAxes(slices.Concat(bl, cl), l); err != nil {
		return nil, err
	}
	if err := checkAxes(slices.Concat(br, cr), r); err != nil {
		return nil, err
	}
	for i := range cl {
		if l[cl[i]] != r[cr[i]] {
			return nil, fmt.Errorf("%w: axis %d of %v is contracted with axis %d of %v", ErrShape, cl[i], l, cr[i], r)
		}
	}
	out := Shape{}
	for i := range bl {
		if l[bl[i]] != r[br[i]] {
			return nil, fmt.Errorf("%w: batch axis %d of %v differs from axis %d of %v", ErrShape, bl[i], l, br[i], r)
		}
		out = append(out, l[bl[i]])
	}
	out = append(out, reduced(l, slices.Concat(bl, cl), false)...)
	return one(append(out, reduced(r, slices.Concat(br, cr), false)...))
}
