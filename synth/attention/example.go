package attention

import (
	"encoding/binary"
	"fmt"
	"math"

	"nxvk/ops"
	"nxvk/synth/lowering"
)

// Example is an attention whose kernel others look at.
type Example struct {
	Name  string
	Instr *ops.Instr
	Types []ops.Type
}

// exampleSizes are the columns of queries, keys and values of models.
var exampleSizes = []int{64, 80, 96, 128, 256}

// ExampleMasks are the masks of models: none, a causal one, one with a mask of keys, and additive biases
// that all heads share.
var ExampleMasks = []string{"no mask", "causal", "causal and keys", "biases"}

// The sizes of an example: {heads, length, size}.
const (
	exampleHeads  = 64
	exampleLength = 1000
)

// Examples are attentions of narrow types, with the masks of models.
func Examples() (list []Example) {
	for _, d := range matrixTypes {
		for _, size := range exampleSizes {
			for _, mask := range ExampleMasks {
				list = append(list, NewExample(d, exampleHeads, exampleLength, size, mask))
			}
		}
	}
	return list
}

// NewExample is an attention of so many heads and positions, with a mask of ExampleMasks.
func NewExample(d ops.DType, heads, length, size int, mask string) Example {
	b := &exampleBuilder{typ: d, heads: heads, length: length, region: &ops.Region{}}
	in := b.build(size, mask)
	return Example{fmt.Sprintf("%v of %d columns, %s", d, size, mask), in, b.types}
}

// exampleBuilder makes the region of an attention.
type exampleBuilder struct {
	typ           ops.DType
	heads, length int
	region        *ops.Region
	ins           []ops.Operand
	types         []ops.Type // of the parameters
	last          ops.ID
}

func (b *exampleBuilder) build(size int, mask string) *ops.Instr {
	scores := ops.Shape{b.heads, b.length, b.length}
	row := ops.Shape{b.heads, b.length, 1}
	matrix := ops.Shape{b.heads, b.length, size}
	q, k, v := b.param(b.typ, matrix), b.param(b.typ, matrix), b.param(b.typ, matrix)
	x := b.do(ops.Dot, b.typ, scores, [][]int{{2}, {0}, {2}, {0}}, q, k)
	x = b.do(ops.Multiply, b.typ, scores, nil, x, b.scalar(1/math.Sqrt(float64(size))))
	switch mask {
	case "biases":
		x = b.do(ops.Add, b.typ, scores, nil, x, b.param(b.typ, ops.Shape{1, b.length, b.length}))
	case "causal":
		x = b.do(ops.Select, b.typ, scores, nil, b.causal(scores), x, b.scalar(-1e9))
	case "causal and keys":
		keys := b.do(ops.BroadcastTo, ops.U8, scores, [][]int{{0, 1, 2}}, b.param(ops.U8, ops.Shape{b.heads, 1, b.length}))
		seen := b.do(ops.LogicalAnd, ops.U8, scores, nil, b.causal(scores), keys)
		x = b.do(ops.Add, b.typ, scores, nil, x, b.do(ops.Select, b.typ, scores, nil, seen, b.scalar(0), b.scalar(-1e38)))
	}
	axes := [][]int{{2}, {1}}
	e := b.do(ops.Exp, b.typ, scores, nil, b.do(ops.Subtract, b.typ, scores, nil, x, b.do(ops.ReduceMax, b.typ, row, axes, x)))
	w := b.do(ops.Divide, b.typ, scores, nil, e, b.do(ops.Sum, b.typ, row, axes, e))
	out := b.do(ops.Dot, b.typ, matrix, [][]int{{2}, {0}, {1}, {0}}, w, v)
	b.region.Values = []ops.Operand{out}
	return &ops.Instr{Op: ops.Attention, Ins: b.ins, Attrs: [][]int{nil}, Regions: []*ops.Region{b.region},
		Outs: []ops.Result{{ID: b.last + 1, Type: ops.Type{DType: b.typ, Shape: matrix}}}}
}

// causal is whether the key is not behind the query.
func (b *exampleBuilder) causal(scores ops.Shape) ops.Operand {
	square := ops.Shape{1, b.length, b.length}
	row := b.do(ops.Iota, ops.S32, square, [][]int{{1}})
	seen := b.do(ops.GreaterEqual, ops.U8, square, nil, row, b.do(ops.Iota, ops.S32, square, [][]int{{2}}))
	return b.do(ops.BroadcastTo, ops.U8, scores, [][]int{{0, 1, 2}}, seen)
}

func (b *exampleBuilder) param(d ops.DType, s ops.Shape) ops.Operand {
	b.last++
	t := ops.Type{DType: d, Shape: s}
	b.region.Params = append(b.region.Params, ops.Result{ID: b.last, Type: t})
	b.types = append(b.types, t)
	b.ins = append(b.ins, ops.Operand{ID: b.last})
	return ops.Operand{ID: b.last}
}

// scalar is a number that the attention takes.
func (b *exampleBuilder) scalar(x float64) ops.Operand {
	o := b.param(ops.F32, ops.Shape{})
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	b.ins[len(b.ins)-1] = ops.Operand{Lit: &ops.Literal{Type: ops.Type{DType: ops.F32, Shape: ops.Shape{}}, Data: data}}
	return o
}

func (b *exampleBuilder) do(op ops.Op, d ops.DType, s ops.Shape, attrs [][]int, ins ...ops.Operand) ops.Operand {
	b.last++
	b.region.Body = append(b.region.Body, ops.Instr{Op: op, Ins: ins, Attrs: attrs, Outs: []ops.Result{{ID: b.last, Type: ops.Type{DType: d, Shape: s}}}})
	return ops.Operand{ID: b.last}
}

// Kernels are the kernels for matrix hardware that examples have on a device, and what for.
func Kernels(t *lowering.Target) (list []*lowering.Kernel, names []string, err error) {
	for _, x := range Examples() {
		j, err := newJob(x.Instr, t)
		if err != nil || j.matrix == nil {
			continue // the device has no such kernel
		}
		s, err := j.matrix.step()
		if err != nil {
			return nil, nil, err
		}
		list, names = append(list, s.Kernel), append(names, x.Name)
	}
	return list, names, nil
}
