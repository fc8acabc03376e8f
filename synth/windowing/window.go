package windowing

import (
	"fmt"
	"strings"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/reduction"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
)

// Folds is the reduction whose operator and identity an operation uses.
var Folds = map[ops.Op]ops.Op{
	ops.WindowSum: ops.Sum, ops.WindowProduct: ops.Product,
	ops.WindowMax: ops.ReduceMax, ops.WindowMin: ops.ReduceMin,
	ops.CumulativeSum: ops.Sum, ops.CumulativeProduct: ops.Product,
	ops.CumulativeMax: ops.ReduceMax, ops.CumulativeMin: ops.ReduceMin,
}

// Job folds each window of a tensor. The elements of a window are folded one after the
// other in row-major order, beginning with the identity. Padding counts as the identity,
// too. So a result does not depend on the device.
type Job struct {
	Op       ops.Op
	Elem     ops.DType // of the operand
	Stored   ops.DType // of From: Elem, or where there are several passes the type that computes it
	Result   ops.DType // of To, where Job is a fold of Op
	dims     []windowDim
	unrolled bool // the windows are constants of the kernel
	tile     int  // outputs of an invocation, side by side along axis
	axis     int  // the first dimension that has windows and is not the last; else -1
	From, To codegen.Buffer
	index    scalar.Type
	initial  *codegen.Source // where the extreme is wanted, not the fold: what padding counts as
	as       ops.DType
	fun      *foldFun         // where windows are folded by a function
	starts   []codegen.Source // its initial value: once, or as an accumulator and as an element
}

// windowDim is one dimension of a Job.
type windowDim struct {
	out, in, stride  int // windows, elements, and how far apart the elements are
	window, dilation int
	every, first     int  // window o begins at element o*every + first
	plain            bool // window o is element o
	inside           bool // no window has padding
}

// The work of a kernel is bounded: the elements of a window, and the elements of all
// windows in one dispatch.
const (
	maxWindow  = 1 << 22
	windowWork = 1 << 31
)

// Lower plans a fold of windows.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	d := types[0].DType
	if in.Ins[0].Lit != nil {
		return nil, lowering.Unsupported("windows of a literal")
	}
	as := windowsOf(in)
	passes := [][]axisWindow{as}
	if separable(in.Op, d) {
		if axes, ok := wholeAxes(types[0].Shape, as); ok {
			whole := &ops.Instr{Op: Folds[in.Op], Ins: in.Ins, Outs: in.Outs, Attrs: [][]int{axes, {1}}}
			return reduction.Lower(whole, types, t)
		}
		passes = separate(types[0].Shape, as)
	}
	jobs, temps := separated(in, types[0], passes)
	var programs []*codegen.Program
	for _, j := range jobs {
		each, err := j.each()
		if err != nil {
			return nil, err
		}
		programs = append(programs, inParts(j.Units(), each*j.tile, func(first, end int) *codegen.Program {
			return j.Program(t, first, end, each)
		})...)
	}
	return codegen.NewPlan(t, temps, programs...)
}

// each is how many elements a window has.
func (j *Job) each() (int, error) {
	n := 1
	for i := range j.dims {
		if n *= j.dims[i].window; n > maxWindow {
			return 0, lowering.Unsupported("windows of more than %d elements", maxWindow)
		}
	}
	return n, nil
}

// inParts gives programs for so many units that cost each as much.
func inParts(units, each int, program func(first, end int) *codegen.Program) (all []*codegen.Program) {
	part := max(1, windowWork/each)
	for first := 0; first < units; first += part {
		all = append(all, program(first, min(units, first+part)))
	}
	return all
}

// Split describes the dimensions. Neighbours that have no windows are one.
func (j *Job) Split(s, windows ops.Shape, window, padding, every, dilations []int) {
	strides, extent := s.Strides(), s.Size()
	for i, n := range s {
		lo, hi := padding[2*i], padding[2*i+1]
		w := windowDim{out: windows[i], in: n, stride: strides[i],
			window: window[i], dilation: dilations[i], every: every[i], first: -lo}
		last := (w.out-1)*w.every + w.first + (w.window-1)*w.dilation
		w.inside = w.first >= 0 && last < n
		w.plain = w.window == 1 && w.first == 0 && (w.every == 1 || w.out == 1) && w.out == n
		extent = max(extent, n+max(lo, 0)+max(hi, 0))
		if k := len(j.dims) - 1; k >= 0 && w.plain && j.dims[k].plain {
			j.dims[k].out, j.dims[k].in, j.dims[k].stride = j.dims[k].out*n, j.dims[k].in*n, w.stride
			continue
		}
		j.dims = append(j.dims, w)
	}
	if len(j.dims) == 0 {
		j.dims = []windowDim{{out: 1, in: 1, stride: 1, window: 1, dilation: 1, every: 1, plain: true, inside: true}}
	}
	j.index = codegen.IndexType(max(extent, windows.Size()))
	j.unroll()
}

// The units of a device's invocations, where there are many.
const (
	manyUnits  = 1 << 17
	largeGroup = 256 // invocations of a workgroup
	mostUnits  = 4   // of an invocation
)

// deal gives the invocations of a program so many units each, of n in all. Workgroups are
// large where there are many units, since a device takes as long to begin a small one.
func deal(t *lowering.Target, p *codegen.Program, n, each int) {
	p.Local = strided.GPUPart
	switch {
	case t.CPU:
		p.Local = codegen.CPULocal
	case n >= manyUnits:
		p.Local = largeGroup
	}
	p.Groups = (n + int(p.Local)*each - 1) / (int(p.Local) * each)
}

// repeats is how many units of so many loads an invocation has.
func repeats(t *lowering.Target, n, loads int) int {
	each := 1
	for !t.CPU && each < mostUnits && n >= 2*each*manyUnits && 2*each*loads <= unrolledLoads/2 {
		each *= 2
	}
	return each
}

// forUnits computes the units of an invocation from first up to end, and then stores what
// they give, so that no load waits for a store.
func forUnits(e *codegen.Emitter, first, end kernel.Value, each int, compute func(u kernel.Value) (store func())) {
	u := e.Add(e.Add(first, e.Mul(e.Group(), e.Index(e.Local*each))), e.Invocation())
	if each == 1 {
		e.IfThen(e.IsLess(u, end), func() { compute(u)() })
		return
	}
	last := e.Sub(end, e.Index(1))
	us, stores := make([]kernel.Value, each), make([]func(), each)
	for i := range us {
		us[i] = e.Add(u, e.Index(i*e.Local))
		stores[i] = compute(e.Min(us[i], last))
	}
	for i, store := range stores {
		e.IfThen(e.IsLess(us[i], end), store)
	}
}

// Program is the work of the units from first up to end, each of one window or of a few.
func (j *Job) Program(t *lowering.Target, first, end, each int) *codegen.Program {
	n := end - first
	p := &codegen.Program{Index: j.index, Buffers: []codegen.Buffer{j.To, j.From},
		Flops: int64(n*j.tile) * int64(each), Bytes: j.From.Bytes + j.To.Bytes, Numbers: []int{first, end}}
	repeat := 1
	if j.unrolled && j.initial == nil {
		repeat = repeats(t, n, j.loads())
	}
	deal(t, p, n, repeat)
	p.Body = func(e *codegen.Emitter) error { return j.write(e, repeat) }
	var b strings.Builder
	fmt.Fprintf(&b, "%v of %v repeat=%d", j.Op, j.Elem, repeat)
	if j.initial == nil && j.fun == nil && (j.Stored != j.Elem || j.Result != j.Elem) {
		fmt.Fprintf(&b, " from %v to %v", j.Stored, j.Result)
	}
	if j.initial != nil {
		fmt.Fprintf(&b, " initial %v literal=%v", j.as, j.initial.Kind == codegen.FromLiteral)
		p.Add(j.initial)
	}
	if j.fun != nil {
		b.WriteString(j.describeFun())
		for i := range j.starts {
			p.Add(&j.starts[i])
		}
	}
	for i, w := range j.dims {
		p.Numbers = append(p.Numbers, w.out, w.stride)
		if w.plain {
			b.WriteString(" plain")
			continue
		}
		if j.unrolled {
			p.Numbers = append(p.Numbers, w.first)
		} else {
			p.Numbers = append(p.Numbers, w.every, w.first, w.window, w.dilation)
		}
		fmt.Fprintf(&b, " inside=%v", w.inside)
		if !w.inside {
			p.Numbers = append(p.Numbers, w.in)
		}
		if !j.unrolled {
			continue
		}
		fmt.Fprintf(&b, " window=%d every=%d dilation=%d", w.window, w.every, w.dilation)
		if j.tile > 1 && i == j.axis {
			p.Numbers = append(p.Numbers, j.tiles())
			fmt.Fprintf(&b, " tile=%d", j.tile)
		}
	}
	p.Key = b.String()
	return p
}
