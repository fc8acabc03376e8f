package synth

import (
	"fmt"
	"strings"

	"nxvk/ops"
	"nxvk/synth/kernel"
	"nxvk/synth/scalar"
)

// folds is the reduction whose operator and identity an operation uses.
var folds = map[ops.Op]ops.Op{
	ops.WindowSum: ops.Sum, ops.WindowProduct: ops.Product,
	ops.WindowMax: ops.ReduceMax, ops.WindowMin: ops.ReduceMin,
	ops.CumulativeSum: ops.Sum, ops.CumulativeProduct: ops.Product,
	ops.CumulativeMax: ops.ReduceMax, ops.CumulativeMin: ops.ReduceMin,
}

// windowJob folds each window of a tensor. The elements of a window are folded
// one after the other in row-major order, beginning with the identity, which is
// also what padding counts as; so a result does not depend on the device.
type windowJob struct {
	op       ops.Op
	elem     ops.DType
	dims     []windowDim
	from, to buffer
	index    scalar.Type
}

// windowDim is one dimension of a windowJob.
type windowDim struct {
	out, in, stride  int // windows, elements, and how far apart the elements are
	window, dilation int
	every, first     int  // window o begins at element o*every + first
	plain            bool // window o is element o
	inside           bool // no window has padding
}

// The work of a kernel is bounded: so many elements a window, and so many of all
// windows in one dispatch.
const (
	maxWindow  = 1 << 22
	windowWork = 1 << 31
)

// lowerWindow plans a fold of windows.
func lowerWindow(in *ops.Instr, types []ops.Type, t *Target) (*Plan, error) {
	d := types[0].DType
	if err := real(d); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil {
		return nil, unsupported("windows of a literal")
	}
	j := &windowJob{op: in.Op, elem: d, to: result(d),
		from: buffer{ref: Ref{Operand, 0}, elem: storage[d], access: Read, bytes: int64(types[0].Bytes())}}
	j.to.access, j.to.bytes = Write, int64(in.Outs[0].Type.Bytes())
	j.split(in, types[0].Shape)
	each := 1
	for i := range j.dims {
		if each *= j.dims[i].window; each > maxWindow {
			return nil, unsupported("windows of more than %d elements", maxWindow)
		}
	}
	units := in.Outs[0].Type.Size()
	part := max(1, windowWork/each)
	var programs []*program
	for first := 0; first < units; first += part {
		programs = append(programs, j.program(t, first, min(units, first+part), each))
	}
	return t.plan(nil, programs...)
}

// split describes the dimensions. Neighbours that have no windows are one.
func (j *windowJob) split(in *ops.Instr, s ops.Shape) {
	strides, reach := s.Strides(), s.Size()
	for i, n := range s {
		lo, hi := in.Attrs[1][2*i], in.Attrs[1][2*i+1]
		w := windowDim{out: in.Outs[0].Type.Shape[i], in: n, stride: strides[i],
			window: in.Attrs[0][i], dilation: in.Attrs[3][i], every: in.Attrs[2][i], first: -lo}
		last := (w.out-1)*w.every + w.first + (w.window-1)*w.dilation
		w.inside = w.first >= 0 && last < n
		w.plain = w.window == 1 && w.first == 0 && (w.every == 1 || w.out == 1) && w.out == n
		reach = max(reach, n+max(lo, 0)+max(hi, 0))
		if k := len(j.dims) - 1; k >= 0 && w.plain && j.dims[k].plain {
			j.dims[k].out, j.dims[k].in, j.dims[k].stride = j.dims[k].out*n, j.dims[k].in*n, w.stride
			continue
		}
		j.dims = append(j.dims, w)
	}
	if len(j.dims) == 0 {
		j.dims = []windowDim{{out: 1, in: 1, stride: 1, window: 1, dilation: 1, every: 1, plain: true, inside: true}}
	}
	j.index = indexType(max(reach, in.Outs[0].Type.Size()))
}

// program folds the windows from first up to end.
func (j *windowJob) program(t *Target, first, end, each int) *program {
	n := end - first
	p := &program{index: j.index, bufs: []buffer{j.from, j.to}, body: j.write, local: gpuPart,
		flops: int64(n) * int64(each), bytes: j.from.bytes + j.to.bytes, nums: []int{first, end}}
	if t.CPU {
		p.local = cpuLocal
	}
	p.groups = (n + int(p.local) - 1) / int(p.local)
	var b strings.Builder
	fmt.Fprintf(&b, "%v of %v", j.op, j.elem)
	for _, w := range j.dims {
		p.nums = append(p.nums, w.out, w.stride)
		if w.plain {
			b.WriteString(" plain")
			continue
		}
		p.nums = append(p.nums, w.every, w.first, w.window, w.dilation)
		fmt.Fprintf(&b, " inside=%v", w.inside)
		if !w.inside {
			p.nums = append(p.nums, w.in)
		}
	}
	p.key = b.String()
	return p
}

// windowWriter writes the kernel of a windowJob.
type windowWriter struct {
	*emitter
	job      *windowJob
	dims     []windowNums
	operator *scalar.Func
	identity kernel.Value
}

// windowNums are the numbers of a windowDim, and where the window begins.
type windowNums struct {
	out, stride                    kernel.Value
	every, first, window, dilation kernel.Value
	in                             kernel.Value
	begin                          kernel.Value
}

func (j *windowJob) write(e *emitter) error {
	info := folds[j.op].Info()
	operator, err := e.t.expression(info.Code, j.elem, 2, 0)
	if err != nil {
		return err
	}
	identity, err := e.t.expression(info.Identity, j.elem, 0, 0)
	if err != nil {
		return err
	}
	w := &windowWriter{emitter: e, job: j, operator: operator}
	first, end := e.num(), e.num()
	for i := range j.dims {
		n := windowNums{out: e.num(), stride: e.num()}
		if !j.dims[i].plain {
			n.every, n.first, n.window, n.dilation = e.num(), e.num(), e.num(), e.num()
		}
		if !j.dims[i].inside {
			n.in = e.num()
		}
		w.dims = append(w.dims, n)
	}
	u := e.Add(e.Add(first, e.Mul(e.group(), e.int(e.local))), e.invocation())
	e.If(e.Compare(scalar.Lt, u, end), func() []kernel.Value {
		w.identity = e.Inline(identity, nil)
		at := w.place(u)
		acc := w.along(0, at, e.Const(scalar.Bool, 1), w.identity)
		e.Store(1, u, e.encode(j.elem, acc))
		return nil
	}, nil)
	return nil
}

// place finds where the window begins along each dimension that has one, and
// gives the index of the element at the place of the others.
func (w *windowWriter) place(u kernel.Value) kernel.Value {
	at := w.int(0)
	for i := len(w.dims) - 1; i >= 0; i-- {
		n, c := &w.dims[i], u
		if i > 0 {
			u, c = w.divide(u, n.out)
		}
		if w.job.dims[i].plain {
			at = w.Add(at, w.Mul(c, n.stride))
		} else {
			n.begin = w.Add(w.Mul(c, n.every), n.first)
		}
	}
	return at
}

// along folds what the window has along dimensions k and on. A place before the
// first element is a very large number, and so beyond the last.
func (w *windowWriter) along(k int, at, inside, acc kernel.Value) kernel.Value {
	if k == len(w.dims) {
		at = w.Select(inside, at, w.int(0))
		x := w.decode(w.job.elem, w.fetch(0, at, 1)[0])
		x = w.Select(inside, x, w.identity)
		return w.Inline(w.operator, []kernel.Value{x, acc})
	}
	if w.job.dims[k].plain {
		return w.along(k+1, at, inside, acc)
	}
	n := &w.dims[k]
	return w.Loop(w.int(0), n.window, w.int(1), []kernel.Value{acc}, func(i kernel.Value, carried []kernel.Value) []kernel.Value {
		p, within := w.Add(n.begin, w.Mul(i, n.dilation)), inside
		if !w.job.dims[k].inside {
			within = w.Prim(scalar.AndB, scalar.Bool, inside, w.Compare(scalar.Lt, p, n.in))
		}
		return []kernel.Value{w.along(k+1, w.Add(at, w.Mul(p, n.stride)), within, carried[0])}
	})[0]
}
