package synth

import (
	"fmt"

	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// A system whose elimination meets a zero pivot has no solution. The kernels that
// divide by pivots do not look: what they write is then infinite or NaN. Whether
// it may be used, the steps here find out on the side, in a word of a temporary,
// which is the status of the plan.

// The shape of the search for zeros: a workgroup looks at statusDeep elements an
// invocation, but there are at most statusGroups of them.
const (
	statusDeep   = 4
	statusGroups = gpuLocal
)

// blame says what the status names where there is a zero: what the host does.
type blame int

const (
	theMatrix    blame = iota // its number in the batch
	theRow                    // of the first such matrix, in the order of its rows
	theRowUpward              // the same of a matrix whose rows are in reverse
)

// solvable appends the search for a zero on the diagonals of n by n triangles.
func (j *linalg) solvable(t strided, n int, name blame) {
	all := j.count * n
	groups := min((all+statusDeep*gpuLocal-1)/(statusDeep*gpuLocal), statusGroups)
	status := j.temp(4)
	j.plan.Status = &status
	search := statusWriter{t: j.typ, last: groups == 1}
	if search.last {
		j.status(search, j.buffer(t, Read), status, 1, all, places(t), n, name)
		return
	}
	least := j.temp(4 * groups)
	j.status(search, j.buffer(t, Read), least, groups, all, places(t), n, name)
	j.status(statusWriter{words: true, last: true}, words(least, groups, Read), status, 1, groups, nil, n, name)
}

// status appends a step of the search.
func (j *linalg) status(w statusWriter, from buffer, to Ref, groups, all int, where []int, n int, name blame) {
	p := &program{local: gpuLocal, groups: groups, body: w.write,
		bufs: []buffer{from, words(to, groups, Write)}}
	p.nums = []int{groups, all}
	if !w.words {
		p.nums = append(append(p.nums, n), where...)
	}
	if w.last {
		p.nums = append(p.nums, n, int(name))
	}
	p.key = fmt.Sprintf("first zero pivot %v words=%v last=%v", w.t, w.words, w.last)
	j.run(p)
}

// statusWriter writes a kernel that finds the first zero among diagonals, or the
// least of the numbers that such kernels gave. Pivots are numbered through the
// batch.
type statusWriter struct {
	t     scalar.Type
	words bool
	last  bool // of the steps: gives the status rather than a number
}

// noPivot is a number above those of all pivots.
const noPivot = 1<<31 - 1

func (w statusWriter) write(e *emitter) error {
	groups, all := e.num(), e.num()
	at := w.pivots(e)
	shared := e.Shared(scalar.U32, gpuLocal)
	group, me, none := e.group(), e.invocation(), e.int(noPivot)
	e.when(e.below(group, groups), func() {
		stride := e.Mul(groups, e.int(gpuLocal))
		mine := e.Loop(e.Add(e.Mul(group, e.int(gpuLocal)), me), all, stride, []kernel.Value{none},
			func(u kernel.Value, c []kernel.Value) []kernel.Value {
				return []kernel.Value{e.least(c[0], at(u))}
			})[0]
		e.StoreShared(shared, me, mine)
		e.tree(gpuLocal, func(into, from kernel.Value) {
			e.StoreShared(shared, into, e.least(e.LoadShared(shared, into), e.LoadShared(shared, from)))
		})
		e.then(e.same(me, e.int(0)), func() {
			first := e.LoadShared(shared, e.int(0))
			if w.last {
				first = e.Select(e.same(first, none), e.int(0), e.Add(w.blamed(e, first), e.int(1)))
			}
			e.Store(1, group, first)
		})
	})
	return nil
}

// pivots gives the number of pivot u if it is zero, or what was found before.
func (w statusWriter) pivots(e *emitter) func(u kernel.Value) kernel.Value {
	if w.words {
		return func(u kernel.Value) kernel.Value { return e.Load(0, u, 1)[0] }
	}
	x, n := arith{e, w.t}, e.num()
	t := e.grid(0)
	return func(u kernel.Value) kernel.Value {
		b, i := e.divide(u, n)
		return e.Select(x.zero(t.of(b).load(i, i)), u, e.int(noPivot))
	}
}

// blamed is what the status names where a pivot is zero.
func (w statusWriter) blamed(e *emitter, pivot kernel.Value) kernel.Value {
	n, name := e.num(), e.num()
	matrix, row := e.divide(pivot, n)
	is := func(b blame) kernel.Value { return e.same(name, e.int(int(b))) }
	row = e.Select(is(theRow), row, e.Sub(e.Sub(n, e.int(1)), row))
	return e.Select(is(theMatrix), matrix, row)
}
