package leapfrog

import (
	"fmt"
	"maps"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/strided"
)

// The places of the state in shared memory, in units of dim.
const (
	leapQ = iota
	leapP
	leapGrad
	leapMetric
)

// leapfrogWriter writes the kernel of a job.
type leapfrogWriter struct {
	*codegen.Emitter
	job      *job
	mem      int // shared memory
	scratch  int
	me       kernel.Value
	instance kernel.Value
	rows     kernel.Value
	fresh    kernel.Value            // 1 where the first step is of no size, for the gradient
	memo     map[string]kernel.Value // elements that are computed
	err      error
}

func (j *job) write(e *codegen.Emitter) error {
	t := codegen.WideType(j.num)
	w := &leapfrogWriter{Emitter: e, job: j, mem: e.Shared(t, j.Size), rows: e.NextNumber(), fresh: e.NextNumber(),
		me: e.Invocation(), instance: e.Group(), memo: map[string]kernel.Value{}}
	if n := j.scratch(); n > 0 {
		w.scratch = e.Shared(t, n)
	}
	w.run()
	return w.err
}

// apart runs body, within a block of its own: what it computes is not there
// after it.
func (w *leapfrogWriter) apart(body func()) {
	outer := w.memo
	w.memo = maps.Clone(outer)
	body()
	w.memo = outer
}

// each runs body for every i below n, dealt out to the invocations.
func (w *leapfrogWriter) each(n int, body func(i kernel.Value)) {
	w.For(w.me, w.Index(n), w.Index(w.Local), func(i kernel.Value) { w.apart(func() { body(i) }) })
}

// only runs body where a condition holds.
func (w *leapfrogWriter) only(c kernel.Value, body func()) {
	w.IfThen(c, func() { w.apart(body) })
}

func (w *leapfrogWriter) place(part int, i kernel.Value) kernel.Value {
	return w.Add(w.Index(part*w.job.dim), i)
}

// run is the whole kernel.
func (w *leapfrogWriter) run() {
	d, t := w.job.dim, codegen.WideType(w.job.num)
	base := w.Mul(w.instance, w.Index(d))
	w.each(d, func(i kernel.Value) {
		for part := leapQ; part <= leapMetric; part++ {
			w.StoreShared(w.mem, w.place(part, i), w.Load(part, w.Add(base, i), 1)[0])
		}
	})
	eps := w.Load(4, w.instance, 1)[0]
	half := w.Mul(eps, w.Float(t, 0.5))
	steps := w.Add(w.Load(5, w.instance, 1)[0], w.fresh)
	w.For(w.Index(0), steps, w.Index(1), func(k kernel.Value) {
		moves := w.Not(w.IsLess(k, w.fresh))
		w.only(moves, func() { w.move(eps, half) })
		w.barrier()
		for i := range w.job.Stages {
			w.stage(&w.job.Stages[i])
		}
		w.row(k, moves, half)
		w.barrier()
	})
}

// move begins a step: the first half of the momentum, and the position.
func (w *leapfrogWriter) move(eps, half kernel.Value) {
	w.each(w.job.dim, func(i kernel.Value) {
		grad := w.LoadShared(w.mem, w.place(leapGrad, i))
		p := w.Add(w.LoadShared(w.mem, w.place(leapP, i)), w.Mul(half, grad))
		q := w.LoadShared(w.mem, w.place(leapQ, i))
		move := w.Mul(w.Mul(eps, w.LoadShared(w.mem, w.place(leapMetric, i))), p)
		w.StoreShared(w.mem, w.place(leapP, i), p)
		w.StoreShared(w.mem, w.place(leapQ, i), w.Add(q, move))
	})
}

// row ends a step: the second half of the momentum, and what is told.
func (w *leapfrogWriter) row(k, moves, half kernel.Value) {
	j := w.job
	first := len(w.Buffers) - 4
	row := w.Add(w.Mul(w.instance, w.rows), w.Sub(k, w.fresh))
	w.each(j.dim, func(i kernel.Value) {
		grad := w.element(j.straight.Values[1], []kernel.Value{i})
		w.StoreShared(w.mem, w.place(leapGrad, i), grad)
		w.only(moves, func() {
			p := w.Add(w.LoadShared(w.mem, w.place(leapP, i)), w.Mul(half, grad))
			w.StoreShared(w.mem, w.place(leapP, i), p)
			at := w.Add(w.Mul(row, w.Index(j.dim)), i)
			w.Store(first, at, w.LoadShared(w.mem, w.place(leapQ, i)))
			w.Store(first+1, at, p)
			w.Store(first+2, at, grad)
		})
	})
	w.only(w.And2(moves, w.IsEqual(w.me, w.Index(0))), func() {
		w.Store(first+3, row, w.element(j.straight.Values[0], nil))
	})
}

func (w *leapfrogWriter) barrier() {
	if w.Local > 1 {
		w.Barrier()
	}
}

// stage computes values into shared memory.
func (w *leapfrogWriter) stage(s *stage) {
	for i, in := range s.Alone {
		if w.job.long(in) {
			w.fold(in)
		} else {
			w.keep(in, w.from(i, in.Outs[0].Type.Size()))
		}
	}
	for i, f := range s.Sweeps {
		if i > 0 {
			w.barrier() // the scratch is free again
		}
		w.sweep(f)
	}
	w.barrier()
}

// from is the invocation that begins with value i of a stage: of small ones
// each has other invocations, which do not wait for each other. The last ones are
// first, as a sweep leaves them the least.
func (w *leapfrogWriter) from(i, n int) int {
	bands := w.Local / band
	if n > band || bands < 2 {
		return 0
	}
	return band * (bands - 1 - i%bands)
}

// keep computes the elements of a value into shared memory, from the invocation
// on that is told.
func (w *leapfrogWriter) keep(in *ops.Instr, from int) {
	out := in.Outs[0]
	first := w.me
	if from > 0 {
		first = w.Sub(w.me, w.Index(from))
	}
	w.For(first, w.Index(out.Type.Size()), w.Index(w.Local), func(i kernel.Value) {
		w.apart(func() {
			x := w.made(in, w.coordinates(i, out.Type.Shape))
			w.StoreShared(w.mem, w.Add(w.Index(w.job.at[out.ID]), i), x)
		})
	})
}

// coordinates splits a flat index.
func (w *leapfrogWriter) coordinates(i kernel.Value, s ops.Shape) []kernel.Value {
	idx := make([]kernel.Value, len(s))
	for d := len(s) - 1; d >= 0; d-- {
		switch {
		case s[d] == 1:
			idx[d] = w.Index(0)
		case strided.Product(s[:d]) == 1:
			idx[d], i = i, w.Index(0)
		default:
			i, idx[d] = w.DivMod(i, w.Index(s[d]))
		}
	}
	return idx
}

// fixed are the coordinates of a flat index that is a number.
func (w *leapfrogWriter) fixed(i int, s ops.Shape) []kernel.Value {
	idx := make([]kernel.Value, len(s))
	for d := len(s) - 1; d >= 0; d-- {
		idx[d], i = w.Index(i%s[d]), i/s[d]
	}
	return idx
}

// flat joins coordinates.
func (w *leapfrogWriter) flat(idx []kernel.Value, s ops.Shape) kernel.Value {
	at := w.Index(0)
	for d, stride := range s.Strides() {
		if s[d] > 1 {
			at = w.Add(at, w.Mul(idx[d], w.Index(stride)))
		}
	}
	return at
}

// fail notes the first error.
func (w *leapfrogWriter) fail(err error) kernel.Value {
	if w.err == nil {
		w.err = err
	}
	return w.Float(codegen.WideType(w.job.num), 0)
}

func (w *leapfrogWriter) key(id ops.ID, idx []kernel.Value) string { return fmt.Sprint(id, idx) }
