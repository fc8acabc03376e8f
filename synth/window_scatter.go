package synth

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// nowhere is the place of an extreme that is in the padding.
const nowhere = 1<<32 - 1

// lowerWindowScatter plans first the place of the extreme of each window, then the
// sum at each place of what the windows that have it there are given. A place looks
// at all windows over it in their order, so sums do not depend on the device.
func lowerWindowScatter(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	out := in.Outs[0].Type
	if err := real(dtypes(in, types)...); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil || in.Ins[1].Lit != nil {
		return nil, unsupported("windows of a literal")
	}
	operandOf := func(i int) buffer {
		return buffer{ref: Ref{Operand, i}, elem: storage[types[i].DType], access: Read, bytes: int64(types[i].Bytes())}
	}
	initial := operand(in, types, 2, nil, types[0].DType.Wide())
	n := types[1].Size()
	j := &windowJob{op: in.Op, elem: types[0].DType, initial: &initial, as: types[2].DType, from: operandOf(0),
		to: buffer{ref: Ref{Temp, 0}, elem: kernel.U32, access: Write, bytes: int64(4 * n)}}
	ones := slices.Repeat([]int{1}, len(out.Shape))
	j.split(types[0].Shape, types[1].Shape, in.Attrs[0], in.Attrs[1], in.Attrs[2], ones)
	each, err := j.each()
	if err != nil {
		return nil, err
	}
	if j.index != scalar.U32 {
		return nil, unsupported("more than 2^31 elements")
	}
	s := &spreadJob{dims: j.dims, places: j.to, source: operandOf(1), sourceType: types[1].DType,
		initialType: types[2].DType, to: result(out.DType), toType: out.DType}
	s.initial = operand(in, types, 2, nil, out.DType.Wide())
	s.to.access, s.to.bytes, s.places.access = Write, int64(out.Bytes()), Read
	programs := inParts(n, each, func(first, end int) *program { return j.program(t, first, end, each) })
	programs = append(programs, inParts(out.Size(), each, func(first, end int) *program {
		return s.program(t, first, end, each)
	})...)
	return t.plan([]int64{int64(4 * n)}, programs...)
}

// add lists a scalar source of a program.
func (p *program) add(s *source) {
	if s.kind == fromLiteral {
		p.lits = append(p.lits, s.lit)
		return
	}
	b := s.buffer
	b.access, b.bytes = Read, int64(b.elem.Size())
	p.bufs = append(p.bufs, b)
}

// scalarOf gives a scalar source, in buffer buf unless it is a literal, as an
// element of type as.
func (e *emitter) scalarOf(s *source, buf int, from, as ops.DType) kernel.Value {
	if s.kind == fromLiteral {
		return e.lits[0]
	}
	return e.value(s, from, as, e.fetch(buf, e.int(0), 1)[0])
}

// none is the state before the first place of a window: no extreme, no place,
// nothing seen.
func (w *windowWriter) none() []kernel.Value {
	return []kernel.Value{w.padding[0], w.Int(scalar.U32, nowhere), w.Int(scalar.U32, 0)}
}

// extreme keeps the last of the most extreme elements and its place. The first
// place of a window always counts, so that of a NaN stays.
func (w *windowWriter) extreme(at, inside kernel.Value, best []kernel.Value) []kernel.Value {
	x := w.element(at, inside)[0]
	beats := w.Compare(scalar.Le, best[0], x)
	if w.job.op == ops.WindowScatterMin {
		beats = w.Compare(scalar.Le, x, best[0])
	}
	first := w.Compare(scalar.Eq, best[2], w.Int(scalar.U32, 0))
	wins := w.Prim(scalar.OrB, scalar.Bool, first, beats)
	place := w.Select(inside, at, w.Int(scalar.U32, nowhere))
	return []kernel.Value{w.Select(wins, x, best[0]), w.Select(wins, place, best[1]), w.Int(scalar.U32, 1)}
}

// spreadJob adds, at each place of a tensor that is initial everywhere, the
// elements of source whose windows have their extreme there.
type spreadJob struct {
	dims        []windowDim
	places      buffer // of the extremes
	source      buffer
	sourceType  ops.DType
	initial     source
	initialType ops.DType
	to          buffer
	toType      ops.DType
}

func (j *spreadJob) program(t *Target, first, end, each int) *program {
	n := end - first
	p := &program{index: scalar.U32, bufs: []buffer{j.to, j.places, j.source}, body: j.write, local: gpuPart,
		flops: int64(n) * int64(each), bytes: j.places.bytes + j.source.bytes + j.to.bytes, nums: []int{first, end}}
	if t.CPU {
		p.local = cpuLocal
	}
	p.groups = (n + int(p.local) - 1) / int(p.local)
	p.add(&j.initial)
	var b strings.Builder
	fmt.Fprintf(&b, "spread %v from %v literal=%v to %v", j.sourceType, j.initialType, j.initial.kind == fromLiteral, j.toType)
	stride := 1
	strides := make([]int, len(j.dims))
	for i := len(j.dims) - 1; i >= 0; i-- {
		strides[i] = stride
		stride *= j.dims[i].out
	}
	for i, d := range j.dims {
		p.nums = append(p.nums, d.in, strides[i])
		fmt.Fprintf(&b, " plain=%v", d.plain)
		if !d.plain {
			p.nums = append(p.nums, d.out, d.every, -d.first, d.window)
		}
	}
	p.key = b.String()
	return p
}

// spreadWriter writes the kernel of a spreadJob.
type spreadWriter struct {
	*emitter
	job  *spreadJob
	dims []spreadNums
	add  *scalar.Func
	unit kernel.Value
}

// spreadNums are the numbers of a dimension, and which windows are over the
// place: all of them from first up to end.
type spreadNums struct {
	in, stride              kernel.Value
	out, every, low, window kernel.Value
	first, end              kernel.Value
}

func (j *spreadJob) write(e *emitter) error {
	w := &spreadWriter{emitter: e, job: j}
	var err error
	if w.add, err = e.t.expression(ops.Add.Info().Code, j.toType, 2, 0); err != nil {
		return err
	}
	first, end := e.num(), e.num()
	for i := range j.dims {
		n := spreadNums{in: e.num(), stride: e.num()}
		if !j.dims[i].plain {
			n.out, n.every, n.low, n.window = e.num(), e.num(), e.num(), e.num()
		}
		w.dims = append(w.dims, n)
	}
	w.unit = e.Add(e.Add(first, e.Mul(e.group(), e.int(e.local))), e.invocation())
	e.If(e.Compare(scalar.Lt, w.unit, end), func() []kernel.Value {
		at := w.windows()
		acc := e.scalarOf(&j.initial, 3, j.initialType, j.toType.Wide())
		e.Store(0, w.unit, e.encode(j.toType, w.along(0, at, acc)))
		return nil
	}, nil)
	return nil
}

// windows finds the windows over the place, and gives the number of the first
// along the dimensions that have none of their own.
func (w *spreadWriter) windows() kernel.Value {
	at, u := w.int(0), w.unit
	for i := len(w.dims) - 1; i >= 0; i-- {
		n, c := &w.dims[i], u
		if i > 0 {
			u, c = w.divide(u, n.in)
		}
		if w.job.dims[i].plain {
			at = w.Add(at, w.Mul(c, n.stride))
			continue
		}
		// Window o covers p from o*every up to o*every + window.
		p := w.Add(c, n.low)
		after := w.Add(w.Div(w.Sub(p, n.window), n.every), w.int(1))
		n.first = w.Select(w.Compare(scalar.Lt, p, n.window), w.int(0), after)
		last := w.Add(w.Div(p, n.every), w.int(1))
		n.end = w.Select(w.Compare(scalar.Lt, last, n.out), last, n.out)
		// A place that negative padding cuts off before the first window is a
		// very large number.
		n.end = w.Select(w.Compare(scalar.Lt, p, w.int(1<<31)), n.end, w.int(0))
	}
	return at
}

// along adds what the windows along dimensions k and on give.
func (w *spreadWriter) along(k int, at, acc kernel.Value) kernel.Value {
	if k == len(w.dims) {
		here := w.Compare(scalar.Eq, w.fetch(1, at, 1)[0], w.unit)
		x := w.convert(w.decode(w.job.sourceType, w.fetch(2, at, 1)[0]), w.job.sourceType, w.job.toType.Wide())
		return w.Select(here, w.Inline(w.add, []kernel.Value{acc, x}), acc)
	}
	if w.job.dims[k].plain {
		return w.along(k+1, at, acc)
	}
	n := &w.dims[k]
	return w.Loop(n.first, n.end, w.int(1), []kernel.Value{acc}, func(o kernel.Value, acc []kernel.Value) []kernel.Value {
		return []kernel.Value{w.along(k+1, w.Add(at, w.Mul(o, n.stride)), acc[0])}
	})[0]
}
