package scan

import (
	"fmt"

	"nxvk/ops"
	"nxvk/synth/codegen"
	"nxvk/synth/kernel"
	"nxvk/synth/lowering"
	"nxvk/synth/scalar"
	"nxvk/synth/strided"
	"nxvk/synth/windowing"
)

// scanJob folds the elements of lines and keeps every step.
//
// # Order
//
// Floating-point results depend on the order, so it is a function of the shape,
// the axis and the profile of the device. A line is cut into chunks. Within a
// chunk the elements are folded one after the other, or as a tile. A chunk is folded
// onto the total of all chunks before it. Those totals are a line that is scanned in the
// same manner, or, where lines are many, a workgroup has them as it walks a line.
type scanJob struct {
	op   ops.Op
	elem ops.DType

	dims   []int        // of the tensor, without the axis
	at     strided.View // where a line begins
	n      int          // elements of a line
	stride int          // between them; below zero where the line runs backward

	from, to         codegen.Buffer
	fromType, toType ops.DType
	length, parts    int // elements of a chunk, and chunks of a line
	group            int // neighbouring lines that an invocation has
	tiling           tiling
}

// The least elements of a chunk that is no tile, and how many of those there are
// at most, so that a device has enough to do.
const (
	scanChunk = 32
	gpuChunks = 1 << 18
	cpuChunks = 64
)

// Lower plans a running reduction.
func Lower(in *ops.Instr, types []ops.Type, t *lowering.Target) (*lowering.Plan, error) {
	d, s := types[0].DType, types[0].Shape
	if err := codegen.CheckReal(d); err != nil {
		return nil, err
	}
	if in.Ins[0].Lit != nil || len(s) == 0 {
		return nil, lowering.Unsupported("a scan of a scalar")
	}
	j := &scanJob{op: in.Op, elem: d, to: codegen.ResultBuffer(d), fromType: d, toType: d,
		from: codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Operand, Index: 0}, Elem: lowering.ElemOf[d]}}
	axis, strides := in.Attrs[0][0], s.Strides()
	j.n, j.stride = s[axis], strides[axis]
	if in.Attrs[1][0] != 0 {
		j.at.Offset, j.stride = (j.n-1)*j.stride, -j.stride
	}
	for i, n := range s {
		if i != axis {
			j.dims, j.at.Strides = append(j.dims, n), append(j.at.Strides, strides[i])
		}
	}
	var temps []int64
	programs := j.programs(t, &temps)
	return codegen.NewPlan(t, temps, programs...)
}

// programs plans the scan: at once where a line is one chunk or is walked; else the totals
// of the chunks, the scan of those, and the chunks with what comes before them.
func (j *scanJob) programs(t *lowering.Target, temps *[]int64) []*codegen.Program {
	j.dims = strided.Collapse(j.dims, []*strided.View{&j.at})
	k := strided.Product(j.dims)
	j.chunks(t, k)
	j.group = j.groupOf(t, k)
	if j.parts == 1 || j.tiling.walks {
		return []*codegen.Program{j.program(t, j.to, nil)}
	}
	wide := j.elem.Wide()
	temp := func() codegen.Buffer {
		*temps = append(*temps, int64(k*j.parts*wide.Size()))
		return codegen.Buffer{Ref: lowering.Ref{Kind: lowering.Temp, Index: len(*temps) - 1}, Elem: lowering.ElemOf[wide]}
	}
	rest := &scanJob{op: j.op, elem: j.elem, dims: []int{k}, n: j.parts,
		from: temp(), to: temp(), fromType: wide, toType: wide}
	rest.at.Strides, rest.stride = []int{j.parts}, 1
	if !j.dense() {
		rest.at.Strides, rest.stride = []int{1}, k
	}
	totals, before := rest.from, rest.to
	all := append([]*codegen.Program{j.program(t, totals, nil)}, rest.programs(t, temps)...)
	return append(all, j.program(t, j.to, &before))
}

// dense reports whether the elements of a line are neighbours.
func (j *scanJob) dense() bool { return j.stride == 1 || j.stride == -1 }

// chunks cuts the k lines, by their shape alone.
func (j *scanJob) chunks(t *lowering.Target, k int) {
	if j.tiled(t) {
		j.tiling = j.tilingOf(k)
		j.length = j.tiling.length()
		j.parts = (j.n + j.length - 1) / j.length
		return
	}
	most := gpuChunks
	if t.CPU {
		most = cpuChunks
	}
	want := max(1, most/k)
	j.length = max(scanChunk, (j.n+want-1)/want)
	j.parts = (j.n + j.length - 1) / j.length
}

// totals reports whether a program that writes to b writes the totals of chunks.
func (j *scanJob) totals(b codegen.Buffer) bool { return b.Ref != j.to.Ref }

// program writes the totals of chunks, or all elements of them.
func (j *scanJob) program(t *lowering.Target, to codegen.Buffer, before *codegen.Buffer) *codegen.Program {
	k := strided.Product(j.dims)
	units, size, groups := k*j.parts, k*j.n, j.groups()*j.parts
	from := j.from
	from.Access, from.Bytes = lowering.Read, int64(size*from.Elem.Size())
	to.Access, to.Bytes = lowering.Write, int64(size*to.Elem.Size())
	if j.totals(to) {
		to.Bytes = int64(units * to.Elem.Size())
	}
	p := &codegen.Program{Index: codegen.IndexType(max(size, units)), Local: strided.GPUPart, Buffers: []codegen.Buffer{from, to},
		Numbers: []int{groups, j.parts, j.groups(), j.length, j.n, j.stride, j.at.Offset},
		Bytes:   from.Bytes + to.Bytes, Flops: int64(size)}
	for i, d := range j.dims {
		p.Numbers = append(p.Numbers, d, j.at.Strides[i])
	}
	if before != nil {
		b := *before
		b.Access, b.Bytes = lowering.Read, int64(units*b.Elem.Size())
		p.Buffers = append(p.Buffers, b)
	}
	totals := j.totals(to)
	p.Groups = (groups + strided.GPUPart - 1) / strided.GPUPart
	p.Key = fmt.Sprintf("%v in %v of %v rank=%d dense=%v totals=%v before=%v",
		j.op, j.elem, j.fromType, len(j.dims), j.dense(), totals, before != nil)
	if j.group > 1 {
		p.Numbers = append(p.Numbers, k, j.across())
		p.Key += fmt.Sprintf(" group=%d whole=%v", j.group, j.whole())
	}
	if j.tiled(t) {
		j.tiling.dispatch(p, j, k)
	}
	p.Body = func(e *codegen.Emitter) error { return j.write(e, totals, before != nil) }
	p.Host = j.routine(t, p, totals)
	return p
}

// scanWriter writes a kernel of a scanJob.
type scanWriter struct {
	*codegen.Emitter
	job                   *scanJob
	operator              *scalar.Func
	units, parts, lines   kernel.Value
	length, n             kernel.Value
	stride, offset, begin kernel.Value
	dims, strides         []kernel.Value
	totals                bool
}

func (j *scanJob) write(e *codegen.Emitter, totals, before bool) error {
	operator, err := codegen.Expression(e.Target, windowing.Folds[j.op].Info().Code, j.elem, 2, 0)
	if err != nil {
		return err
	}
	var team, teams kernel.Value
	if j.tiled(e.Target) {
		team, teams = e.NextNumber(), e.NextNumber()
	}
	w := &scanWriter{Emitter: e, job: j, operator: operator, totals: totals,
		units: e.NextNumber(), parts: e.NextNumber(), lines: e.NextNumber(), length: e.NextNumber(), n: e.NextNumber(), stride: e.NextNumber(), offset: e.NextNumber()}
	for range j.dims {
		w.dims, w.strides = append(w.dims, e.NextNumber()), append(w.strides, e.NextNumber())
	}
	if j.tiled(e.Target) {
		w.writeTile(team, teams, before)
		return nil
	}
	w.writeLines(before)
	return nil
}

func (w *scanWriter) apply(x, y kernel.Value) kernel.Value {
	return w.Inline(w.operator, []kernel.Value{x, y})
}

// place is the index of element i of the line.
func (w *scanWriter) place(i kernel.Value) kernel.Value {
	return w.Add(w.begin, w.Mul(i, w.stride))
}

func (w *scanWriter) load(i kernel.Value) kernel.Value {
	return w.decoded(w.Fetch(0, w.place(i), 1)[0])
}

// decoded is a loaded element in the type that is folded.
func (w *scanWriter) decoded(x kernel.Value) kernel.Value {
	return w.Cast(w.Decode(w.job.fromType, x), w.job.fromType, w.job.elem)
}

// beginOf is where a line begins.
func (w *scanWriter) beginOf(line kernel.Value) kernel.Value {
	return w.Add(w.offset, w.Offsets(line, w.dims, w.strides))
}

// keep stores the result of element i.
func (w *scanWriter) keep(i, acc kernel.Value) {
	if !w.totals {
		w.Store(1, w.place(i), w.Encode(w.job.toType, acc))
	}
}
