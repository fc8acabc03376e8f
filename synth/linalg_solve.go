package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// side is the number of rows of the first operand.
func (j *linalg) side() int {
	s := j.types[0].Shape
	return s[len(s)-2]
}

// eliminated appends the elimination of operand 0 with more columns beside it,
// which fill puts there.
func (j *linalg) eliminated(more int, fill func(beside strided)) *elimination {
	n := j.side()
	lines := (n + luLine - 1) / luLine * luLine
	a := j.fresh(n+more, lines).transposed()
	j.copy(a, j.operand(0, n, n), n, n)
	if more > 0 {
		fill(a.from(0, n))
	}
	return j.eliminate(a, n, n+more)
}

// lu plans the factors. A column of row numbers takes part in the exchanges: it
// says where each row was.
func (j *linalg) lu() {
	n := j.side()
	f := j.eliminated(1, func(beside strided) {
		j.each(elementwise{"row numbers", beside, nil, n, 1, rowNumber})
	})
	j.each(elementwise{"lower", j.result(1, n, n), []strided{f.a}, n, n, lowerUnit})
	j.each(elementwise{"upper", j.result(2, n, n), []strided{f.a}, n, n, upper})
	// Column k of the permutation has a 1 in the row where row k was.
	was := f.a.from(0, n).transposed()
	was.row = 0
	j.each(elementwise{"unit at", j.result(0, n, n), []strided{was}, n, n, unitAt})
}

// solve plans the x with a x = b, by elimination of a and b beside each other.
func (j *linalg) solve() {
	n := j.side()
	sides := j.types[1].Shape.Size() / (j.count * n)
	b, x := j.operand(1, n, sides), j.result(0, n, sides)
	f := j.eliminated(sides, func(beside strided) { j.copy(beside, b, n, sides) })
	j.solvable(f.a, n, theMatrix)
	right := f.a.from(0, n)
	j.substitute(triangle{f.a, n, true}, right, right, sides)
	right = right.upsideDown(n)
	j.substitute(triangle{f.a.backward(n, n), n, false}, right, right, sides)
	j.copy(x, f.a.from(0, n), n, sides)
}

// determinant plans the product of the pivots, or that of the expansion of small
// matrices, which is exact for small whole numbers.
func (j *linalg) determinant() {
	n := j.side()
	w := &determinantWriter{n: n, t: j.typ}
	a, signs := strided{}, strided{}
	if n <= 3 {
		a = j.operand(0, n, n)
		signs = a
	} else {
		w.n = 0
		f := j.eliminated(0, nil)
		a, signs = f.a, f.signs
	}
	p := &program{local: updateLocal, groups: (j.count + updateLocal - 1) / updateLocal, body: w.write,
		flops: int64(j.count * n),
		bufs:  []buffer{j.buffer(a, Read), j.buffer(signs, Read), j.buffer(j.result(0, 1, 1), Write)}}
	p.nums = append([]int{j.count, n}, places(a, signs)...)
	p.key = fmt.Sprintf("determinant %v n=%d", w.t, w.n)
	j.run(p)
}

type determinantWriter struct {
	n int // of small matrices; 0 for others
	t scalar.Type
}

func (w *determinantWriter) write(e *emitter) error {
	x := arith{e, w.t}
	count, n := e.num(), e.num()
	a, signs := e.grid(0), e.grid(1)
	b := e.Add(e.Mul(e.group(), e.int(e.local)), e.invocation())
	e.then(e.below(b, count), func() {
		a, signs := a.of(b), signs.of(b)
		if w.n == 0 {
			e.storeElement(2, b, w.pivots(x, a, signs, n))
			return
		}
		var m []kernel.Value
		for i := range w.n * w.n {
			m = append(m, a.load(e.int(i/w.n), e.int(i%w.n)))
		}
		e.storeElement(2, b, expansion(x, m, w.n))
	})
	return nil
}

// expansion is the determinant of a small matrix by its permutations.
func expansion(x arith, m []kernel.Value, n int) kernel.Value {
	mul := func(i, k int) kernel.Value { return x.Mul(m[i], m[k]) }
	switch n {
	case 1:
		return m[0]
	case 2:
		return x.Sub(mul(0, 3), mul(1, 2))
	}
	sum := x.Mul(mul(0, 4), m[8])
	sum = x.Add(sum, x.Mul(mul(1, 5), m[6]))
	sum = x.Add(sum, x.Mul(mul(2, 3), m[7]))
	sum = x.Sub(sum, x.Mul(mul(2, 4), m[6]))
	sum = x.Sub(sum, x.Mul(mul(1, 3), m[8]))
	return x.Sub(sum, x.Mul(mul(0, 5), m[7]))
}

// pivots is the product of the pivots and of the signs of the exchanges. Factors
// and product are kept near 1 by powers of a large number, since the product of
// some of the pivots may be out of range where that of all is not.
func (w *determinantWriter) pivots(x arith, a, signs grid, n kernel.Value) kernel.Value {
	step := 0x1p48
	if w.t.Part() == scalar.F64 {
		step = 0x1p400
	}
	up, down, one := x.real(step), x.real(1/step), x.int(1)
	c := x.Loop(x.int(0), n, one, []kernel.Value{x.number(1), x.int(0), x.int(0)},
		func(i kernel.Value, c []kernel.Value) []kernel.Value {
			ups, downs := c[1], c[2]
			near := func(v kernel.Value) kernel.Value {
				for range 2 {
					size := x.abs(v)
					over := x.Compare(scalar.Lt, up, size)
					under := x.both(x.Compare(scalar.Lt, size, down), x.not(x.zero(v)))
					v = x.Mul(v, x.Select(over, down, x.Select(under, up, x.real(1))))
					ups, downs = x.Select(over, x.Add(ups, one), ups), x.Select(under, x.Add(downs, one), downs)
				}
				return v
			}
			v := near(x.Mul(a.load(i, i), signs.load(x.int(0), i)))
			return []kernel.Value{near(x.Mul(c[0], v)), ups, downs}
		})
	again := func(p, times, by kernel.Value) kernel.Value {
		return x.Loop(x.int(0), times, one, []kernel.Value{p}, func(_ kernel.Value, c []kernel.Value) []kernel.Value {
			return []kernel.Value{x.Mul(c[0], by)}
		})[0]
	}
	both := x.least(c[1], c[2])
	return again(again(c[0], x.Sub(c[1], both), up), x.Sub(c[2], both), down)
}
