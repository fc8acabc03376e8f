package factor

import (
	"fmt"

	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// A system whose elimination meets a zero pivot has no solution. The kernels that
// divide by pivots do not look: what they write is then infinite or NaN. Whether
// it may be used, the steps here find out on the side. They write the status of the system to
// the word of a check of the plan.

// The shape of the search for zeros: a workgroup looks at statusDeep elements an
// invocation, but there are at most statusGroups of them.
const (
	statusDeep   = 4
	statusGroups = codegen.GPULocal
)

// blame says what the status names where there is a zero: that which the error of the host names.
type blame int

const (
	TheMatrix    blame = iota // its number in the batch
	TheRow                    // of the first such matrix, in the order of its rows
	TheRowUpward              // the same of a matrix whose rows are in reverse
)

// Solvable appends the search for a zero on the diagonals of n by n triangles.
func (j *Job) Solvable(t Matrices, n int, name blame) {
	all := j.Count * n
	groups := min((all+statusDeep*codegen.GPULocal-1)/(statusDeep*codegen.GPULocal), statusGroups)
	status := lowering.Ref{Kind: lowering.CheckWord, Index: len(j.Plan.Checks)}
	j.Plan.Checks = append(j.Plan.Checks, lowering.Check{Singular: true})
	search := statusWriter{t: j.Typ, last: groups == 1}
	if search.last {
		j.status(search, j.Buffer(t, lowering.Read), status, 1, all, Places(t), n, name)
		return
	}
	least := j.NewTemp(4 * groups)
	j.status(search, j.Buffer(t, lowering.Read), least, groups, all, Places(t), n, name)
	j.status(statusWriter{words: true, last: true}, Words(least, groups, lowering.Read), status, 1, groups, nil, n, name)
}

// status appends a step of the search.
func (j *Job) status(w statusWriter, from codegen.Buffer, to lowering.Ref, groups, all int, where []int, n int, name blame) {
	p := &codegen.Program{Local: codegen.GPULocal, Groups: groups, Body: w.write,
		Buffers: []codegen.Buffer{from, Words(to, groups, lowering.Write)}}
	p.Numbers = []int{groups, all}
	if !w.words {
		p.Numbers = append(append(p.Numbers, n), where...)
	}
	if w.last {
		p.Numbers = append(p.Numbers, n, int(name))
	}
	p.Key = fmt.Sprintf("first zero pivot %v words=%v last=%v", w.t, w.words, w.last)
	j.Run(p)
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

func (w statusWriter) write(e *codegen.Emitter) error {
	groups, all := e.NextNumber(), e.NextNumber()
	at := w.pivots(e)
	shared := e.Shared(scalar.U32, codegen.GPULocal)
	group, me, none := e.Group(), e.Invocation(), e.Index(noPivot)
	e.When(e.IsLess(group, groups), func() {
		stride := e.Mul(groups, e.Index(codegen.GPULocal))
		mine := e.Loop(e.Add(e.Mul(group, e.Index(codegen.GPULocal)), me), all, stride, []kernel.Value{none},
			func(u kernel.Value, c []kernel.Value) []kernel.Value {
				return []kernel.Value{e.Min(c[0], at(u))}
			})[0]
		e.StoreShared(shared, me, mine)
		e.ReduceTree(codegen.GPULocal, func(into, from kernel.Value) {
			e.StoreShared(shared, into, e.Min(e.LoadShared(shared, into), e.LoadShared(shared, from)))
		})
		e.IfThen(e.IsEqual(me, e.Index(0)), func() {
			first := e.LoadShared(shared, e.Index(0))
			if w.last {
				first = e.Select(e.IsEqual(first, none), e.Index(0), e.Add(w.blamed(e, first), e.Index(1)))
			}
			e.Store(1, group, first)
		})
	})
	return nil
}

// pivots gives the number of pivot u if it is zero, or what was found before.
func (w statusWriter) pivots(e *codegen.Emitter) func(u kernel.Value) kernel.Value {
	if w.words {
		return func(u kernel.Value) kernel.Value { return e.Load(0, u, 1)[0] }
	}
	x, n := Arith{e, w.t}, e.NextNumber()
	t := GridOf(e, 0)
	return func(u kernel.Value) kernel.Value {
		b, i := e.DivMod(u, n)
		return e.Select(x.Zero(t.Of(b).Load(i, i)), u, e.Index(noPivot))
	}
}

// blamed is what the status names where a pivot is zero.
func (w statusWriter) blamed(e *codegen.Emitter, pivot kernel.Value) kernel.Value {
	n, name := e.NextNumber(), e.NextNumber()
	matrix, row := e.DivMod(pivot, n)
	is := func(b blame) kernel.Value { return e.IsEqual(name, e.Index(int(b))) }
	row = e.Select(is(TheRow), row, e.Sub(e.Sub(n, e.Index(1)), row))
	return e.Select(is(TheMatrix), matrix, row)
}
