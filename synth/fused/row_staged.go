package fused

import (
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// Results of short rows leave through shared memory where a row is no whole number of vectors: rows of seven
// elements, an invocation each, would write to a sector of the memory many times. The rows of a workgroup are
// neighbours in memory, so that its invocations then store neighbouring elements.

// stagedRow is the longest row whose results leave through shared memory. In longer ones the invocations of a row
// store whole sectors.
const stagedRow = 32

// stage decides whether wide results leave through shared memory. They do not take more than half of it, so that two
// workgroups have room.
func (j *rowsJob) stage(t *lowering.Target) {
	n := strided.Product(j.Reduced)
	if !j.Order.Tree || j.again || n < 2 || n > stagedRow || n%strided.Components == 0 {
		return
	}
	rows, size := j.Order.Local/j.Order.Parts, 0
	for k := range j.fusion.Outs {
		if j.fusion.wide(k) {
			size += max(4*j.Finish.Outs[k].Parts(), j.Finish.Outs[k].Size())
		}
	}
	if size > 0 && 2*rows*lineOf(n)*size <= t.SharedMemory {
		j.staged = n
	}
}

// lineOf is how far apart rows of n elements are in shared memory: an odd number, so that invocations that store the
// same element of their rows use different banks.
func lineOf(n int) int { return n | 1 }

// storeStaged stores the wide results of the rows of a workgroup. row is that of the invocation among them.
func (w *rowsWriter) storeStaged(held []heldFour, row kernel.Value) {
	stage := &stage{w: w, rows: w.Local / (w.job.Order.Parts * w.job.shares), line: lineOf(w.job.staged), arrays: map[scalar.Type][]int{}}
	for k, i := range w.job.fusion.Outs {
		if !w.job.fusion.wide(k) {
			continue
		}
		if k > 0 {
			w.Barrier()
		}
		for _, h := range held {
			for component, p := range h.points {
				if !w.job.fusion.Exprs[i].Full {
					p = w.row.clone()
				}
				vs, r := p.store(w.Emitter, i, w.job.fusion.Exprs[i].Type), w.element(h.number, component)
				if w.job.short > 0 {
					stage.put(row, r, vs)
				} else {
					w.IfThen(w.exists(r), func() { stage.put(row, r, vs) })
				}
			}
		}
		w.Barrier()
		stage.store(w.outs + k)
	}
}

// stage is the shared memory through which results leave.
type stage struct {
	w          *rowsWriter
	rows, line int
	arrays     map[scalar.Type][]int // by the type of the values: one for each part of an element
	used       []int                 // those of the result
}

// put has the parts of element r of a row of the workgroup.
func (s *stage) put(row, r kernel.Value, vs []kernel.Value) {
	w := s.w
	t := w.Type(vs[0])
	for len(s.arrays[t]) < len(vs) {
		s.arrays[t] = append(s.arrays[t], w.Shared(t, s.rows*s.line))
	}
	s.used = s.arrays[t][:len(vs)]
	at := w.Add(w.Mul(row, w.Index(s.line)), r)
	for i, v := range vs {
		w.StoreShared(s.used[i], at, v)
	}
}

// store writes the elements to a buffer, neighbours by neighbouring invocations.
func (s *stage) store(buf int) {
	w, n := s.w, s.w.job.staged
	first := w.Mul(w.Group(), w.Index(s.rows))
	for at := 0; at < s.rows*n; at += w.Local {
		u := w.Add(w.Invocation(), w.Index(at))
		row, r := w.DivMod(u, w.Index(n))
		inside := w.IsLess(w.Add(first, row), w.Units)
		if at+w.Local > s.rows*n {
			inside = w.And2(inside, w.IsLess(u, w.Index(s.rows*n)))
		}
		w.IfThen(inside, func() {
			var vs []kernel.Value
			for _, array := range s.used {
				vs = append(vs, w.LoadShared(array, w.Add(w.Mul(row, w.Index(s.line)), r)))
			}
			w.Put(buf, w.Add(w.Mul(first, w.Index(n)), u), vs...)
		})
	}
}
