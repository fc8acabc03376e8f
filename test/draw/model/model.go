package model

import (
	"fmt"
	"math"
	"math/rand/v2"

	"nxvk/ops"
	"nxvk/test/draw"
)

// Model is a drawn program.
type Model struct {
	*draw.Builder
	Title string // the kind and the sizes that were drawn

	r       *rand.Rand
	values  []ops.Operand
	weights []ops.Operand // that are trained

	// What is known of parameters: the scale of floats, and integers from 0 up to a bound.
	scale    map[ops.ID]float64
	bound    map[ops.ID]int
	positive map[ops.ID]bool
	scalars  map[ops.ID]bool // may be literals of a run

	// The type in which the model computes, and that of its weights.
	d, stored ops.DType

	sizes
	forms

	key      ops.Operand // of random numbers; what is taken from it makes it another
	keys     ops.Operand // the mask of keys; none if it has no id
	position ops.Operand // a number that the program is given
	count    ops.Operand // of steps
	unscale  ops.Operand // by which the loss is multiplied; none if it has no id
}

// sizes are dimensions.
type sizes struct {
	batch, length, heads, keyHeads, size, inner, classes, layers int
}

// forms are the ways in which a model is written. Blocks draw from them, so that all layers are alike.
type forms struct {
	form, act, rounds                             int
	bias, wide, squares, after, gated, joined     bool
	rotates, drops, rolled, channelsLast, mingled bool
}

// Size bounds what is drawn.
type Size int

// The sizes: Small is for interpreters of kernels, Large has dimensions that whole tiles have.
const (
	Small Size = iota
	Medium
	Large
)

// kinds draw the program, by how often.
var kinds = []struct {
	name  string
	often int
	draw  func(*Model)
}{
	{"training of a transformer", 5, (*Model).trainTransformer},
	{"generation", 3, (*Model).generate},
	{"training of a convolutional network", 2, (*Model).trainConvolutional},
	{"training of a recurrent network", 2, (*Model).trainRecurrent},
	{"medley with its gradient", 3, (*Model).trainMedley},
	{"recurrent network in loops", 1, (*Model).recur},
}

// Draw draws the model of a seed, with at most so many layers.
func Draw(seed uint64, s Size, layers int) *Model {
	m := &Model{Builder: draw.NewBuilder(), r: rand.New(rand.NewPCG(seed, 29)), scale: make(map[ops.ID]float64),
		bound: make(map[ops.ID]int), positive: make(map[ops.ID]bool), scalars: make(map[ops.ID]bool)}
	m.drawSizes(s, layers)
	m.drawForms()
	m.key = m.Param(ops.Type{DType: ops.U32, Shape: ops.Shape{2}})
	m.position, m.count = m.scalar(ops.S32, 0), m.scalar(ops.S32, 0)
	m.bound[m.position.ID], m.bound[m.count.ID] = m.length, 100
	n, all := 0, 0
	for _, k := range kinds {
		all += k.often
	}
	n = m.r.IntN(all)
	for _, k := range kinds {
		if n -= k.often; n < 0 {
			m.Title = k.name
			k.draw(m)
			break
		}
	}
	m.Title += fmt.Sprintf(" %v of %v %+v %+v", m.d, m.stored, m.sizes, m.forms)
	return m
}

func (m *Model) drawSizes(s Size, layers int) {
	n := func(list ...int) int { return list[m.r.IntN(len(list))] }
	m.layers = 1 + m.r.IntN(layers)
	switch s {
	case Small:
		m.batch, m.length, m.heads, m.size = n(1, 1, 2, 3), n(1, 2, 3, 4, 5, 8), n(1, 1, 2, 3), n(1, 2, 3, 4, 8)
		m.inner, m.classes = n(1, 3, 4, 7, 8, 16), n(2, 3, 5, 8, 17)
	case Medium:
		m.batch, m.length, m.heads, m.size = n(1, 2, 3, 4), n(1, 2, 5, 8, 13, 16), n(1, 2, 3, 4), n(1, 3, 4, 8, 16)
		m.inner, m.classes = n(1, 7, 16, 33, 64), n(2, 11, 32, 97)
	default:
		m.batch, m.length, m.heads, m.size = n(1, 2, 4, 7), n(1, 7, 32, 63, 64, 128), n(1, 2, 4, 6), n(5, 16, 32, 64)
		m.inner, m.classes = n(31, 128, 200, 512), n(10, 100, 513, 1024)
	}
	m.keyHeads = m.heads
	if m.r.IntN(3) == 0 {
		m.keyHeads = 1
	}
}

func (m *Model) drawForms() {
	coin := func() bool { return m.r.IntN(2) == 0 }
	m.d, m.stored = ops.F32, ops.F32
	switch m.r.IntN(6) {
	case 0:
		m.d, m.stored = ops.BF16, ops.BF16
	case 1:
		m.d, m.stored = ops.F16, ops.F16
	case 2:
		m.d = []ops.DType{ops.BF16, ops.F16}[m.r.IntN(2)]
	}
	m.form, m.act, m.rounds = m.r.IntN(6), m.r.IntN(6), 1+m.r.IntN(2)
	if m.r.IntN(8) == 0 {
		m.rounds = 5 // as Nx has it
	}
	m.bias, m.wide, m.squares, m.after = coin(), coin(), coin(), m.r.IntN(3) == 0
	m.gated, m.joined, m.rotates, m.drops = coin(), coin(), coin(), m.r.IntN(3) > 0
	m.rolled, m.channelsLast, m.mingled = m.r.IntN(5) == 0, coin(), m.r.IntN(4) == 0
}

// scalar is a parameter that runs may give as a literal.
func (m *Model) scalar(d ops.DType, x float64) ops.Operand {
	p := m.Param(ops.Type{DType: d})
	m.scale[p.ID], m.scalars[p.ID] = x, true
	return p
}

// Scalar reports whether clients give a parameter as a number, such as a learning rate.
func (m *Model) Scalar(p ops.Result) bool { return m.scalars[p.ID] }

// input is a parameter of whole numbers from 0 up to a bound.
func (m *Model) input(d ops.DType, bound int, dims ...int) ops.Operand {
	p := m.Param(ops.Type{DType: d, Shape: append(ops.Shape{}, dims...)})
	m.bound[p.ID] = bound
	return p
}

// Program is the model as a program.
func (m *Model) Program() *ops.Region { return m.Region(m.values...) }

// Data draws the operands.
func (m *Model) Data() (list [][]byte) {
	for _, p := range m.Params {
		v := make([]float64, p.Type.Size())
		scale, known := m.scale[p.ID]
		for i := range v {
			switch bound := m.bound[p.ID]; {
			case bound > 0:
				v[i] = float64(m.r.IntN(bound))
			case p.Type.DType.IsInteger():
				v[i] = float64(m.r.Uint32())
			case m.scalars[p.ID]:
				v[i] = scale
			case m.positive[p.ID]:
				v[i] = 0.01 * m.r.Float64()
			case known:
				v[i] = scale * m.r.NormFloat64()
			default:
				v[i] = 0.1 * m.r.NormFloat64()
			}
		}
		if known && scale == 1 && len(p.Type.Shape) == 1 { // the scale of a norm
			for i := range v {
				v[i] = 1 + 0.1*v[i]
			}
		}
		list = append(list, draw.Encode(v, p.Type))
	}
	return list
}

// finish derives a loss by all weights, and adds a step of the optimizer. Some values on the way are also results.
func (m *Model) finish(loss ops.Operand, from int) {
	m.values = append(m.values, loss)
	scaled := loss
	if m.d == ops.F16 && m.r.IntN(2) == 0 { // as mixed precision has it
		m.unscale = m.scalar(ops.F32, 128)
		scaled = m.e(ops.Multiply, m.cast(loss, ops.F32), m.unscale)
	}
	forward := len(m.Body)
	grads := m.gradient(scaled, m.weights, from)
	m.optimize(grads)
	for range m.r.IntN(4) {
		in := m.Body[from+m.r.IntN(forward-from)]
		m.values = append(m.values, ops.Operand{ID: in.Outs[0].ID})
	}
	if m.r.IntN(3) == 0 {
		m.values = append(m.values, m.key)
	}
	if m.r.IntN(6) == 0 {
		m.values = append(m.values, m.weights[0], loss) // a parameter, and a value twice
	}
}

// crossEntropy is that of {rows, classes} with labels.
func (m *Model) crossEntropy(logits ops.Operand) ops.Operand {
	s := m.shape(logits)
	labels := m.input([]ops.DType{ops.S32, ops.S64, ops.U8}[m.r.IntN(3)], min(s[1], 200), s[0])
	logits = m.cast(logits, ops.F32)
	if m.r.IntN(3) == 0 { // without the softmax of logs
		p := m.e(ops.Add, m.softmax(logits), draw.Number(ops.F32, 1e-4))
		return m.picked(m.e(ops.Log, p), labels)
	}
	return m.picked(m.logSoftmax(logits), labels)
}

// picked is the mean of what labels pick of rows, with the other sign.
func (m *Model) picked(logs, labels ops.Operand) ops.Operand {
	s := m.shape(logs)
	if m.r.IntN(2) == 0 {
		x := m.do(ops.TakeAlongAxis, ops.F32, nil, [][]int{{1}}, logs, m.reshape(labels, s[0], 1))
		return m.e(ops.Negate, m.mean(x, []int{0, 1}, 0))
	}
	hot := m.is(ops.Equal, m.reshape(labels, s[0], 1), m.iota(ops.S64, 1, 1, s[1]))
	x := m.e(ops.Multiply, m.cast(hot, ops.F32), logs)
	return m.mean(m.e(ops.Negate, m.fold(ops.Sum, x, []int{1}, 0)), []int{0}, 0)
}

// squaredError is the mean square of the differences to what is wanted.
func (m *Model) squaredError(x ops.Operand) ops.Operand {
	x = m.cast(x, ops.F32)
	y := m.Param(m.TypeOf(x))
	d := m.e(ops.Subtract, x, y)
	if m.r.IntN(2) == 0 {
		d = m.e(ops.Multiply, d, d)
	} else { // Huber's
		a := m.e(ops.Abs, d)
		d = m.e(ops.Select, m.is(ops.Less, a, draw.Number(ops.F32, 1)), m.e(ops.Multiply, draw.Number(ops.F32, 0.5), m.e(ops.Multiply, d, d)), a)
	}
	return m.mean(d, axes(0, m.rank(d)), 0)
}

// embedded is the rows of a table that tokens name.
func (m *Model) embedded(table, tokens ops.Operand) ops.Operand {
	return m.do(ops.Take, m.dtype(table), nil, [][]int{{0}}, table, tokens)
}

// width is that of the layers of a transformer.
func (m *Model) width() int { return m.heads * m.size }

// stem is what a transformer begins with: embeddings of tokens, and of positions where nothing rotates.
func (m *Model) stem(tokens ops.Operand) (x, table, positions ops.Operand) {
	table = m.weight(math.Sqrt(1/float64(m.width())), m.classes, m.width())
	x = m.embedded(table, tokens)
	positions = m.iota(ops.S32, 0, m.length)
	if !m.rotates {
		x = m.e(ops.Add, x, m.embedded(m.weight(0.1, m.length, m.width()), positions))
	}
	return m.dropout(x), table, positions
}

// Tolerance is how far results may be from those of another device, as a part of their size: sums and functions round
// otherwise, and a training step follows the signs of small differences.
func (m *Model) Tolerance() float64 {
	if m.d == ops.F32 {
		return 0.02
	}
	return 0.3
}
