package model

import (
	"slices"

	"nxvk/ops"
	"nxvk/test/draw"
)

// trainTransformer is a step of training of a transformer, whose table of embeddings may also be its last matrix.
func (m *Model) trainTransformer() {
	tokens := m.input([]ops.DType{ops.S32, ops.S64, ops.U32}[m.r.IntN(3)], m.classes, m.batch, m.length)
	if m.r.IntN(2) == 0 {
		m.keys = m.input(ops.U8, 2, m.batch, m.length)
	}
	from := len(m.Body)
	x, table, positions := m.stem(tokens)
	for range m.layers {
		x = m.transformer(x, positions)
		if m.mingled {
			x = m.medley(x)
		}
	}
	x = m.norm(x)
	var logits ops.Operand
	if m.r.IntN(2) == 0 { // tied
		logits = m.dot(x, []int{2}, nil, table, []int{1}, nil)
	} else {
		logits = m.dense(x, m.classes)
	}
	rows := m.length
	if m.length > 1 && m.r.IntN(2) == 0 { // the last predicts nothing
		rows--
		logits = m.part(logits, 1, 0, rows)
	}
	m.finish(m.crossEntropy(m.reshape(logits, m.batch*rows, m.classes)), from)
}

// trainConvolutional is a step of training of a residual network.
func (m *Model) trainConvolutional() {
	side := min(3+m.r.IntN(m.length+3), 32)
	s := []int{m.batch, side, side + m.r.IntN(3), 1 + m.r.IntN(3)}
	if !m.channelsLast {
		s = []int{s[0], s[3], s[1], s[2]}
	}
	x := m.Param(ops.Type{DType: m.d, Shape: s})
	m.scale[x.ID] = 0.5
	from := len(m.Body)
	n := m.heads * min(m.size, 16)
	x = m.activation(m.batchNorm(m.convolution(x, n, 3, 1)))
	x = m.pool(x, 1+m.r.IntN(3), 1+m.r.IntN(2))
	for range min(m.layers, 5) {
		if m.r.IntN(3) == 0 {
			n++
		}
		x = m.residual(x, n)
		if m.mingled {
			x = m.medley(x)
		}
	}
	space := without(4, []int{0, m.channelAxis()})
	if m.r.IntN(2) == 0 {
		x = m.mean(x, space, 0)
	} else {
		flat := m.shape(x).Size() / m.batch
		x = m.reshape(x, m.batch, flat)
	}
	m.finish(m.crossEntropy(m.dense(m.dropout(x), m.classes)), from)
}

// trainRecurrent is a step of training of a recurrent network that is unrolled.
func (m *Model) trainRecurrent() {
	m.length = min(m.length, 8)
	tokens := m.input(ops.S32, m.classes, m.batch, m.length)
	from := len(m.Body)
	x := m.embedded(m.weight(0.5, m.classes, m.width()), tokens)
	for range min(m.layers, 4) {
		x = m.recurrent(x)
		if m.mingled {
			x = m.medley(x)
		}
	}
	if m.r.IntN(2) == 0 {
		x = m.at(x, 1, m.length-1)
		m.finish(m.squaredError(m.dense(x, m.classes)), from)
		return
	}
	logits := m.dense(x, m.classes)
	m.finish(m.crossEntropy(m.reshape(logits, m.batch*m.length, m.classes)), from)
}

// recur is a recurrent network whose layers are loops.
func (m *Model) recur() {
	m.length = max(m.length, 8)
	x := m.embedded(m.weight(0.5, m.classes, m.width()), m.input(ops.S32, m.classes, m.batch, m.length))
	for range min(m.layers, 3) {
		x = m.looped(x)
	}
	m.values = append(m.values, m.dense(m.at(x, 1, m.length-1), m.classes))
}

// trainMedley is layers of other operations, of a tensor of one to four axes, and their gradient.
func (m *Model) trainMedley() {
	s := []int{m.batch, m.length, m.heads, m.size}[m.r.IntN(4):]
	x := m.Param(ops.Type{DType: m.d, Shape: append(ops.Shape{}, s...)})
	m.scale[x.ID] = 1
	from := len(m.Body)
	for range m.layers {
		x = m.e(ops.Multiply, x, m.weight(1, s[len(s)-1]))
		x = m.dropout(m.medley(x))
		if m.r.IntN(2) == 0 {
			x = m.activation(x)
		}
	}
	if m.r.IntN(2) == 0 {
		x = m.noisy(x)
	}
	m.finish(m.squaredError(x), from)
}

// noisy adds noise, and reports a few statistics.
func (m *Model) noisy(x ops.Operand) ops.Operand {
	noise := m.normal(m.split(), m.dtype(x), m.shape(x)...)
	last := m.rank(x) - 1
	top := m.all(ops.TopK, []ops.DType{m.dtype(x), ops.S32}, nil, [][]int{{min(2, m.shape(x)[last])}}, x)
	m.values = append(m.values, top[0], top[1], noise)
	return m.e(ops.Add, x, m.e(ops.Multiply, noise, m.num(x, 0.1)))
}

// generate is the prompt of a text, and a loop that adds tokens to it: each round writes keys and values of one position
// into caches, and draws the next token or takes the likeliest.
func (m *Model) generate() {
	m.drops, m.keys = false, ops.Operand{}
	more := 1 + m.r.IntN(4)
	room := m.length + more
	tokens := m.input(ops.S32, m.classes, m.batch, m.length)
	table := m.weight(0.5, m.classes, m.width())
	m.layers = min(m.layers, 6)
	layers := make([]*decoder, m.layers)
	for i := range layers {
		layers[i] = m.newDecoder()
	}
	end := m.weight(1, m.width())
	text := m.do(ops.Pad, ops.S32, nil, [][]int{{0, 0, 0, 0, more, 0}}, tokens, draw.Number(ops.S32, 0))
	state := []ops.Operand{draw.Number(ops.S32, 0), text, m.key}
	fixed := len(state)
	for range layers {
		for range 2 {
			state = append(state, m.full(m.d, 0, ops.Shape{m.batch, room, m.heads, m.size}))
		}
	}
	last := draw.Number(ops.S32, float64(room-1))
	if m.r.IntN(2) == 0 {
		last = m.input(ops.S32, room, []int{}...)
		m.scalars[last.ID] = true
	}
	draws, whole := m.r.IntN(2) == 0, m.r.IntN(2) == 0
	out := m.while(state, func(s []ops.Operand) ops.Operand { return m.is(ops.Less, s[0], last) }, func(s []ops.Operand) []ops.Operand {
		next := slices.Clone(s)
		one, zero := draw.Number(ops.S32, 1), draw.Number(ops.S32, 0)
		now := m.do(ops.Slice, ops.S32, nil, [][]int{{}, {m.batch, 1}, {1, 1}}, s[1], zero, s[0])
		x := m.embedded(table, now)
		for i, l := range layers {
			x = l.step(x, s[0], &next[fixed+2*i], &next[fixed+2*i+1])
		}
		logits := m.cast(m.reshape(m.dot(m.scaled(x, end), []int{2}, nil, table, []int{1}, nil), m.batch, m.classes), ops.F32)
		if draws { // Gumbel's trick
			m.key = s[2]
			u := m.uniform(m.split(), ops.F32, m.batch, m.classes)
			u = m.e(ops.Negate, m.e(ops.Log, m.e(ops.Add, u, draw.Number(ops.F32, 1e-3))))
			logits = m.e(ops.Subtract, logits, m.e(ops.Log, m.e(ops.Add, m.e(ops.Max, u, draw.Number(ops.F32, 0)), draw.Number(ops.F32, 1e-3))))
			next[2] = m.key
		}
		best := m.do(ops.ArgMax, ops.S32, nil, [][]int{{1}, {1}, {0}}, logits)
		at := m.e(ops.Add, s[0], one)
		old := m.do(ops.Slice, ops.S32, nil, [][]int{{}, {m.batch, 1}, {1, 1}}, s[1], zero, at)
		if whole {
			old = m.e(ops.Select, m.is(ops.Less, at, draw.Number(ops.S32, float64(m.length))), old, best)
		} else {
			old = best
		}
		next[0], next[1] = at, m.do(ops.PutSlice, ops.S32, nil, [][]int{{}}, s[1], old, zero, at)
		return next
	})
	m.values = append(m.values, out[1], out[0])
	for range m.r.IntN(3) {
		m.values = append(m.values, out[fixed+m.r.IntN(len(out)-fixed)])
	}
}

// decoder is a layer of a transformer that sees one position at a time.
type decoder struct {
	m              *Model
	q, k, v, o     ops.Operand
	up, gate, down ops.Operand
	before, middle ops.Operand // scales of norms
}

func (m *Model) newDecoder() *decoder {
	w := m.width()
	matrix := func(in, out int) ops.Operand { return m.weight(0.5, in, out) }
	return &decoder{m: m, q: matrix(w, w), k: matrix(w, w), v: matrix(w, w), o: matrix(w, w),
		up: matrix(w, m.inner), gate: matrix(w, m.inner), down: matrix(m.inner, w), before: m.weight(1, w), middle: m.weight(1, w)}
}

// step is the layer at a position. It writes the position's keys and values into the caches.
func (l *decoder) step(x, at ops.Operand, keys, values *ops.Operand) ops.Operand {
	m := l.m
	product := func(a, w ops.Operand) ops.Operand { return m.dot(a, []int{2}, nil, w, []int{0}, nil) }
	y := m.scaled(x, l.before)
	q, k, v := m.divide(product(y, l.q), m.heads), m.divide(product(y, l.k), m.heads), m.divide(product(y, l.v), m.heads)
	if m.rotates {
		one := m.reshape(at, 1)
		q, k = m.rotary(q, one), m.rotary(k, one)
	}
	zero := draw.Number(ops.S32, 0)
	*keys = m.do(ops.PutSlice, m.d, nil, [][]int{{}}, *keys, k, zero, at, zero, zero)
	*values = m.do(ops.PutSlice, m.d, nil, [][]int{{}}, *values, v, zero, at, zero, zero)
	room := m.shape(*keys)[1]
	mask := m.is(ops.LessEqual, m.iota(ops.S32, 3, 1, 1, 1, room), at)
	y = m.reshape(m.attend(q, *keys, *values, mask), m.batch, 1, m.width())
	x = m.e(ops.Add, x, product(y, l.o))
	y = m.scaled(x, l.middle)
	up := m.activation(product(y, l.up))
	if m.gated {
		up = m.e(ops.Multiply, up, product(y, l.gate))
	}
	return m.e(ops.Add, x, product(up, l.down))
}

// scaled is a norm of the root of the mean square, with a scale.
func (m *Model) scaled(x, by ops.Operand) ops.Operand {
	y := m.cast(x, ops.F32)
	last := []int{m.rank(x) - 1}
	y = m.e(ops.Multiply, y, m.e(ops.Rsqrt, m.e(ops.Add, m.mean(m.e(ops.Multiply, y, y), last, 1), draw.Number(ops.F32, 1e-3))))
	return m.e(ops.Multiply, m.cast(y, m.d), by)
}
