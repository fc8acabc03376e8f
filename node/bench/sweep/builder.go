package sweep

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"nxvk/ops"
)

// builder draws one case. Its methods panic with an error of draw, which begins anew with
// smaller operands.
type builder struct {
	*rand.Rand
	c     Case
	types []ops.Type
	label string   // stands for the operations in the name
	note  []string // what the name says besides operations and operands
	limit float64  // bytes of operands and results
	scale float64  // of the magnitude, in (0, 1]
}

// opsPerByte bounds the arithmetic of a case by its limit of bytes: 2^39 for 1 GiB.
const opsPerByte = 512

// errTooLarge marks a case beyond its limits.
var errTooLarge = errors.New("the case is too large")

func typed(d ops.DType, shape ...int) ops.Type { return ops.Type{DType: d, Shape: shape} }

func (b *builder) value(t ops.Type) int {
	b.types = append(b.types, t)
	return len(b.types) - 1
}

func (b *builder) param(f Fill, t ops.Type) int {
	if len(b.c.Steps) > 0 {
		panic("BUG: a param after a step")
	}
	b.c.Params = append(b.c.Params, Param{Type: typeOf(t), Fill: f})
	return b.value(t)
}

// rectify has zeros among the floats of one case in four, as activations, masks and gradients have.
func (b *builder) rectify() {
	if b.Float64() > 0.25 {
		return
	}
	zeros := false
	for i := range b.c.Params {
		p := &b.c.Params[i]
		if t, err := p.of(); err == nil && t.DType.IsFloat() && (p.Fill == Uniform || p.Fill == Fraction) {
			p.Fill = Rectified
			zeros = true
		}
	}
	if zeros {
		b.note = append(b.note, "half zeros")
	}
}

// indices is a param of integers below n.
func (b *builder) indices(n int, t ops.Type) int {
	i := b.param(Indices, t)
	b.c.Params[i].Bound = n
	return i
}

// number is a literal: of an integer type for integers, else f32, or f64 beside such.
func (b *builder) number(d ops.DType, x float64) int {
	switch {
	case d.IsInteger():
		d = ops.S32
	case d != ops.F64:
		d = ops.F32
	}
	i := b.param(Literal, typed(d))
	b.c.Params[i].Number = x
	return i
}

// do adds a step whose result has the type d and the shape that the operation infers.
func (b *builder) do(op ops.Op, d ops.DType, attrs [][]int, ins ...int) int {
	return b.all(op, []ops.Type{{DType: d}}, attrs, ins...)
}

// shaped adds a step whose result type the client states.
func (b *builder) shaped(op ops.Op, t ops.Type, attrs [][]int, ins ...int) int {
	return b.all(op, []ops.Type{t}, attrs, ins...)
}

// all adds a step of several results and returns the first.
func (b *builder) all(op ops.Op, outs []ops.Type, attrs [][]int, ins ...int) int {
	f := op.Info()
	in := &ops.Instr{Op: op, Attrs: attrs}
	step := Step{Op: op.String(), Ins: append([]int{}, ins...), Attrs: attrs}
	var types []ops.Type
	for _, i := range ins {
		types = append(types, b.types[i])
		operand := ops.Operand{ID: ops.ID(i + 1)}
		if i < len(b.c.Params) && b.c.Params[i].Fill == Literal {
			operand.Lit = &ops.Literal{Type: b.types[i]}
		}
		in.Ins = append(in.Ins, operand)
	}
	for _, t := range outs {
		in.Outs = append(in.Outs, ops.Result{Type: t})
	}
	if f.Infer != nil {
		shapes, err := f.Infer(in, types)
		if err != nil {
			panic(fmt.Errorf("BUG: %v of %v with %v: %w", op, types, attrs, err))
		}
		for k, s := range shapes {
			outs[k].Shape = s
		}
	}
	first := len(b.types)
	for _, t := range outs {
		b.value(t)
		step.Outs = append(step.Outs, typeOf(t))
	}
	b.c.Steps = append(b.c.Steps, step)
	return first
}

// finish ends the case with its values.
func (b *builder) finish(values ...int) {
	b.c.Values = values
	b.c.count(b.types)
}

// check fails where the case is beyond its limits.
func (b *builder) check() {
	all := 0.0
	for _, t := range b.types {
		all += float64(t.Bytes())
	}
	given := 0.0
	for i := range b.c.Params {
		given = max(given, float64(b.types[i].Bytes()))
	}
	if given > b.limit || all > 4*b.limit || b.c.Bytes > 3*b.limit || b.c.Ops > opsPerByte*b.limit {
		panic(errTooLarge)
	}
}

// name describes the case: operations, operands that are not literals, and notes.
func (b *builder) name() string {
	words := []string{b.label}
	if b.label == "" {
		words = nil
		for _, s := range b.c.Steps {
			words = append(words, s.Op)
		}
		words = []string{strings.Join(words, "+")}
	}
	for i, p := range b.c.Params {
		if t := b.types[i]; p.Fill != Literal && (len(t.Shape) > 0 || len(b.c.Params) < 4) {
			words = append(words, t.String())
		}
	}
	if len(words) == 1 {
		words = append(words, "to "+b.types[b.c.Values[0]].String())
	}
	return strings.Join(append(words, b.note...), " ")
}

// whole names the function that has all steps in PyTorch.
func (b *builder) whole(name string) { b.c.Torch, b.label = name, name }

func (b *builder) remark(format string, args ...any) {
	b.note = append(b.note, fmt.Sprintf(format, args...))
}

// one returns an element of a list.
func one[T any](b *builder, list ...T) T { return list[b.IntN(len(list))] }

// chance is true n times in a hundred.
func (b *builder) chance(n int) bool { return b.IntN(100) < n }

// weighted are types, each as often as its weight.
type weighted []struct {
	dtype  ops.DType
	weight int
}

func (b *builder) dtype(list weighted) ops.DType {
	sum := 0
	for _, w := range list {
		sum += w.weight
	}
	n := b.IntN(sum)
	for _, w := range list {
		if n -= w.weight; n < 0 {
			return w.dtype
		}
	}
	panic("BUG: no type")
}

// The types of real workloads: f32 most.
var (
	floats = weighted{{ops.F32, 60}, {ops.BF16, 15}, {ops.F16, 12}, {ops.F64, 13}}
	ints   = weighted{{ops.S32, 30}, {ops.S64, 35}, {ops.U8, 20}, {ops.S8, 10}, {ops.S16, 5}}
	reals  = weighted{{ops.F32, 50}, {ops.BF16, 12}, {ops.F16, 9}, {ops.F64, 8}, {ops.S32, 6}, {ops.S64, 7}, {ops.U8, 5}, {ops.S8, 2}, {ops.S16, 1}}
	index  = weighted{{ops.S32, 60}, {ops.S64, 40}}
)

// elements draws how many elements of a type an operand has, log-uniform up to the limit; n is
// the number of such operands, with the results.
func (b *builder) elements(d ops.DType, n int) float64 {
	return b.between(1<<11, b.limit/float64(d.Size())/float64(max(1, n-1)))
}

// between draws a number, log-uniform.
func (b *builder) between(low, high float64) float64 {
	high = max(low, high*b.scale)
	return math.Exp(math.Log(low) + b.Float64()*(math.Log(high)-math.Log(low)))
}

// int draws a dimension between two bounds, log-uniform.
func (b *builder) int(low, high int) int {
	return min(max(low, b.near(b.between(float64(low), float64(high)))), high)
}

// shape draws a shape of about n elements.
func (b *builder) shape(rank int, n float64) ops.Shape {
	cuts := make([]float64, rank+1)
	for i := 1; i < rank; i++ {
		cuts[i] = b.Float64()
	}
	cuts[rank] = 1
	slices.Sort(cuts)
	s := make(ops.Shape, rank)
	for i := range s {
		s[i] = b.near(math.Pow(n, cuts[i+1]-cuts[i]))
	}
	return s
}

// rank draws how many dimensions an operand has.
func (b *builder) rank() int { return one(b, 1, 1, 2, 2, 2, 3, 3, 4) }

var (
	vocabularies = []int{8192, 10000, 21128, 30522, 32000, 32768, 49408, 50257, 50304, 65024, 100277, 128256, 151936, 250002, 256000}
	sides        = []int{7, 14, 16, 27, 28, 32, 48, 55, 56, 64, 96, 112, 128, 192, 197, 224, 227, 256, 299, 320, 384, 416, 448, 480, 512, 576, 640, 720, 768, 800, 1024, 1080, 1280, 1920, 2160, 3840}
	widths       = []int{1, 2, 3, 4, 8, 12, 16, 24, 32, 40, 64, 80, 96, 100, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1000, 1024, 1152, 1280, 1536, 1600, 2048, 2560, 2816, 3072, 4096, 5120, 5632, 6144, 7168, 8192, 11008, 12288, 14336, 16384, 28672}
)

// near draws a dimension of about x, of one of the kinds that models and data have.
func (b *builder) near(x float64) int {
	if x < 1.5 {
		return 1
	}
	n := int(math.Round(x))
	two := int(math.Exp2(math.Round(math.Log2(x))))
	switch k := b.IntN(100); {
	case k < 30:
		return two
	case k < 40:
		return max(1, int(math.Exp2(math.Round(math.Log2(x/3))))) * 3
	case k < 52:
		return n | 1
	case k < 62:
		return prime(n)
	case k < 70:
		return max(1, two+one(b, -1, 1))
	case k < 78:
		return decimal(n)
	case k < 88 && n <= 32768:
		return nearest(widths, n)
	case k < 95 && n <= 4096:
		return nearest(sides, n)
	case n >= 8192 && n <= 300000:
		return nearest(vocabularies, n)
	}
	return n
}

// nearest returns the number of a list whose ratio to n is nearest to 1.
func nearest(list []int, n int) int {
	best := list[0]
	for _, x := range list {
		if math.Abs(math.Log(float64(x)/float64(n))) < math.Abs(math.Log(float64(best)/float64(n))) {
			best = x
		}
	}
	return best
}

// prime returns the least prime that is not below n.
func prime(n int) int {
	for n = max(2, n); ; n++ {
		p := true
		for d := 2; d*d <= n && p; d++ {
			p = n%d != 0
		}
		if p {
			return n
		}
	}
}

// decimal rounds n to one or two digits.
func decimal(n int) int {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}
