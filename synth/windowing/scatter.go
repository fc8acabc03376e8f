package windowing

import (
	"fmt"
	"slices"
	"strings"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
)

// nowhere is the place of an extreme that is in the padding.
const nowhere = 1<<32 - 1

// LowerScatter plans two steps: the place of the extreme of each window, and then,
// at each place, the sum of the updates of the windows whose extreme is there. A
// place looks at all windows over it in their order, so sums do not depend on the
// device.
func LowerScatter(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	out := in.Outs[0].Type
	if err := codegen.CheckReal(codegen.DTypes(in, types)...); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil || in.Ins[1].Lit != nil {
		return nil, lowering.Unsupported("windows of a literal")
	}
	operandOf := func(i int) codegen.Buffer {
		return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: i}, Elem: lowering.ElemOf[types[i].DType], Access: lowering.Read, Bytes: int64(types[i].Bytes())}
	}
	initial := codegen.OperandSource(in, types, 2, nil, types[0].DType.Wide())
	n := types[1].Size()
	j := &Job{Op: in.Op, Elem: types[0].DType, Stored: types[0].DType, initial: &initial, as: types[2].DType, From: operandOf(0),
		To: codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: 0}, Elem: kernel.U32, Access: lowering.Write, Bytes: int64(4 * n)}}
	ones := slices.Repeat([]int{1}, len(out.Shape))
	j.Split(types[0].Shape, types[1].Shape, in.Attrs[0], in.Attrs[1], in.Attrs[2], ones)
	each, err := j.each()
	if err != nil {
		return nil, err
	}
	if j.index != scalar.U32 {
		return nil, lowering.Unsupported("more than 2^31 elements")
	}
	s := &spreadJob{dims: j.dims, places: j.To, source: operandOf(1), sourceType: types[1].DType,
		initialType: types[2].DType, to: codegen.ResultBuffer(out.DType), toType: out.DType}
	s.initial = codegen.OperandSource(in, types, 2, nil, out.DType.Wide())
	s.to.Access, s.to.Bytes, s.places.Access = lowering.Write, int64(out.Bytes()), lowering.Read
	programs := inParts(n, each, func(first, end int) *codegen.Program { return j.Program(t, first, end, each) })
	programs = append(programs, inParts(out.Size(), each, func(first, end int) *codegen.Program {
		return s.program(t, first, end, each)
	})...)
	return codegen.NewPlan(t, []int64{int64(4 * n)}, programs...)
}

// scalarOf gives a scalar source, in buffer buf unless it is a literal, as an
// element of type as.
func scalarOf(e *codegen.Emitter, s *codegen.Source, buf int, from, as ops.DType) kernel.Value {
	if s.Kind == codegen.FromLiteral {
		return e.Lits[0]
	}
	return e.Read(s, from, as, e.Fetch(buf, e.Index(0), 1)[0])
}

// none is the state before the first place of a window: no extreme, no place,
// nothing seen.
func (w *writer) none() []kernel.Value {
	return []kernel.Value{w.padding[0], w.Int(scalar.U32, nowhere), w.Int(scalar.U32, 0)}
}

// extreme keeps the last of the most extreme elements and its place. The first
// place of a window always counts, so that of a NaN stays.
func (w *writer) extreme(at, inside kernel.Value, best []kernel.Value) []kernel.Value {
	x := w.element(at, inside)[0]
	beats := w.Compare(scalar.Le, best[0], x)
	if w.job.Op == ops.WindowScatterMin {
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
	places      codegen.Buffer // of the extremes
	source      codegen.Buffer
	sourceType  ops.DType
	initial     codegen.Source
	initialType ops.DType
	to          codegen.Buffer
	toType      ops.DType
}

func (j *spreadJob) program(t *lowering.Target, first, end, each int) *codegen.Program {
	n := end - first
	p := &codegen.Program{Index: scalar.U32, Buffers: []codegen.Buffer{j.to, j.places, j.source},
		Flops: int64(n) * int64(each), Bytes: j.places.Bytes + j.source.Bytes + j.to.Bytes, Numbers: []int{first, end}}
	repeat := 1
	if j.unrolled() {
		repeat = repeats(t, n, 2*j.over())
	}
	deal(t, p, n, repeat)
	p.Body = func(e *codegen.Emitter) error { return j.write(e, repeat) }
	p.Add(&j.initial)
	var b strings.Builder
	fmt.Fprintf(&b, "repeat=%d ", repeat)
	fmt.Fprintf(&b, "spread %v from %v literal=%v to %v", j.sourceType, j.initialType, j.initial.Kind == codegen.FromLiteral, j.toType)
	stride := 1
	strides := make([]int, len(j.dims))
	for i := len(j.dims) - 1; i >= 0; i-- {
		strides[i] = stride
		stride *= j.dims[i].out
	}
	for i, d := range j.dims {
		p.Numbers = append(p.Numbers, d.in, strides[i])
		fmt.Fprintf(&b, " plain=%v", d.plain)
		if !d.plain {
			p.Numbers = append(p.Numbers, d.out, -d.first)
			if j.unrolled() {
				fmt.Fprintf(&b, " window=%d every=%d over=%d", d.window, d.every, d.over())
			} else {
				p.Numbers = append(p.Numbers, d.every, d.window)
			}
		}
	}
	p.Key = b.String()
	return p
}

// over is how many windows can be over a place.
func (d *windowDim) over() int { return min(d.out, (d.window+d.every-1)/d.every) }

// over is how many windows can be over a place, or one more than a kernel looks at
// without a loop.
func (j *spreadJob) over() int {
	n := 1
	for i := range j.dims {
		n = min(n*j.dims[i].over(), mostOver+1)
	}
	return n
}

// mostOver is how many windows over a place a kernel looks at without a loop.
const mostOver = 16

func (j *spreadJob) unrolled() bool { return j.over() <= mostOver }

// spreadWriter writes the kernel of a spreadJob.
type spreadWriter struct {
	*codegen.Emitter
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

// write writes the kernel of a spreadJob whose invocations have so many places.
func (j *spreadJob) write(e *codegen.Emitter, places int) error {
	w := &spreadWriter{Emitter: e, job: j}
	var err error
	if w.add, err = codegen.Expression(e.Target, ops.Add.Info().Code, j.toType, 2, 0); err != nil {
		return err
	}
	first, end := e.NextNumber(), e.NextNumber()
	for i := range j.dims {
		n := spreadNums{in: e.NextNumber(), stride: e.NextNumber()}
		if d := &j.dims[i]; !d.plain {
			n.out, n.low = e.NextNumber(), e.NextNumber()
			if j.unrolled() {
				n.every, n.window = e.Index(d.every), e.Index(d.window)
			} else {
				n.every, n.window = e.NextNumber(), e.NextNumber()
			}
		}
		w.dims = append(w.dims, n)
	}
	initial := scalarOf(e, &j.initial, 3, j.initialType, j.toType.Wide())
	forUnits(e, first, end, places, func(u kernel.Value) (store func()) {
		w.unit = u
		x := w.along(0, w.windows(), w.Const(scalar.Bool, 1), initial)
		return func() { e.Store(0, u, e.Encode(j.toType, x)) }
	})
	return nil
}

// windows finds the windows over the place, and gives the number of the first
// along the dimensions that have none of their own.
func (w *spreadWriter) windows() kernel.Value {
	at, u := w.Index(0), w.unit
	for i := len(w.dims) - 1; i >= 0; i-- {
		n, c := &w.dims[i], u
		if i > 0 {
			u, c = w.DivMod(u, n.in)
		}
		if w.job.dims[i].plain {
			at = w.Add(at, w.Mul(c, n.stride))
			continue
		}
		// Window o covers p from o*every up to o*every + window.
		p := w.Add(c, n.low)
		after := w.Add(w.Div(w.Sub(p, n.window), n.every), w.Index(1))
		n.first = w.Select(w.Compare(scalar.Lt, p, n.window), w.Index(0), after)
		last := w.Add(w.Div(p, n.every), w.Index(1))
		n.end = w.Select(w.Compare(scalar.Lt, last, n.out), last, n.out)
		// A place that negative padding cuts off before the first window is a
		// very large number.
		n.end = w.Select(w.Compare(scalar.Lt, p, w.Index(1<<31)), n.end, w.Index(0))
	}
	return at
}

// along adds what the windows along dimensions k and on give, where there are some.
func (w *spreadWriter) along(k int, at, some, acc kernel.Value) kernel.Value {
	if k == len(w.dims) {
		at = w.Select(some, at, w.Index(0))
		here := w.And2(some, w.Compare(scalar.Eq, w.Fetch(1, at, 1)[0], w.unit))
		x := w.Cast(w.Decode(w.job.sourceType, w.Fetch(2, at, 1)[0]), w.job.sourceType, w.job.toType.Wide())
		return w.Select(here, w.Inline(w.add, []kernel.Value{acc, x}), acc)
	}
	if w.job.dims[k].plain {
		return w.along(k+1, at, some, acc)
	}
	n := &w.dims[k]
	if !w.job.unrolled() {
		return w.Loop(n.first, n.end, w.Index(1), []kernel.Value{acc}, func(o kernel.Value, acc []kernel.Value) []kernel.Value {
			return []kernel.Value{w.along(k+1, w.Add(at, w.Mul(o, n.stride)), some, acc[0])}
		})[0]
	}
	for i := range w.job.dims[k].over() {
		o := w.Add(n.first, w.Index(i))
		acc = w.along(k+1, w.Add(at, w.Mul(o, n.stride)), w.And2(some, w.Compare(scalar.Lt, o, n.end)), acc)
	}
	return acc
}
